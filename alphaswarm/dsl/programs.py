"""What runs a factor program, in the limited child process of `alphaswarm.dsl.build` and nowhere else.

This is the one file of the package that compiles and executes text. It is loaded by `alphaswarm.dsl.jail` and
imports the standard library and RestrictedPython only. A program passes, in this order: the list of syntax below
(no attribute but ``.append``, no import, string, class, lambda, ``while``, ``try``, star or dunder name);
RestrictedPython's transformer, which routes every iteration, subscript, unpacking and arithmetic through the guards
below; an execution without built-ins, in which nothing but operators, fields, numbers, lists and a few harmless
functions can be named; and a count of steps. What it builds are `Expression` objects, which know nothing but text.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, GeneratorType
from typing import Any, ClassVar

__all__ = ["HOSTILE", "SOURCE", "place", "prepare", "work"]

HOSTILE = True
SOURCE = "<program>"
"""The file name that the program is compiled under."""
RECURSION = 400
"""Frames of Python, the guards' own included."""
MAX_ITEMS = 10_000
"""Items of one list or range."""
MAX_STEPS = 50_000
"""Lines run, calls made and items taken together."""
MAX_BITS = 1_024
"""Bits of an integer: more than any window or number of the language needs."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}|_", re.ASCII)
_FIELD = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
_UNARY = 7  # how tightly a minus binds
_SYNTAX = (
    *(ast.Module, ast.Expr, ast.Assign, ast.AugAssign, ast.For, ast.If, ast.Pass, ast.Break, ast.Continue),
    *(ast.FunctionDef, ast.Return, ast.arguments, ast.arg, ast.Call, ast.keyword),
    *(ast.Name, ast.Load, ast.Store, ast.Constant, ast.List, ast.Tuple, ast.Subscript, ast.Slice, ast.Attribute),
    *(ast.ListComp, ast.GeneratorExp, ast.comprehension, ast.IfExp, ast.BoolOp, ast.And, ast.Or, ast.Compare),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.UnaryOp, ast.USub, ast.UAdd, ast.Not, ast.Invert),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr),
)
_INSTEAD = {
    ast.Import: "everything there is can be named without an import",
    ast.ImportFrom: "everything there is can be named without an import",
    ast.While: "loop over a list or a range",
    ast.Lambda: "write def",
    ast.AnnAssign: "leave the annotation out",
    ast.Starred: "name the arguments, or loop over them",
    ast.NamedExpr: "assign on a line of its own",
    ast.JoinedStr: "there is no text in a program",
    ast.Dict: "use a list of pairs",
    ast.In: "compare with == or loop",
}
_BINARY: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "Add": ("add", operator.add),
    "Sub": ("sub", operator.sub),
    "Mult": ("mul", operator.mul),
    "Div": ("div", operator.truediv),
    "FloorDiv": ("", operator.floordiv),
    "Mod": ("", operator.mod),
    "Pow": ("pow", operator.pow),
    "BitAnd": ("and", operator.and_),
    "BitOr": ("or", operator.or_),
}
_SIGNS = {"+=": "Add", "-=": "Sub", "*=": "Mult", "/=": "Div", "//=": "FloorDiv", "%=": "Mod", "**=": "Pow"}
_SIGNS |= {"&=": "BitAnd", "|=": "BitOr"}
# What a program can raise by being wrong; a refusal of ours is one of them.
_FAULTS = (ArithmeticError, AttributeError, LookupError, MemoryError, NameError, RuntimeError, TypeError, ValueError)


class _Refused(ValueError):
    """A rule that the program broke, in words for whoever wrote it."""

    def __init__(self, message: str, kind: str = "value", line: int = 0, column: int = 0, unknown: str = "") -> None:
        super().__init__(message)
        self.kind, self.line, self.column, self.unknown = kind, line, column, unknown


class _Run:
    """Where the one program of this process stands, and what it may use."""

    line = 1
    place = (0, 0)  # line and column of the operator that is being applied
    steps = 0
    operators: ClassVar[dict[str, dict[str, Any]]] = {}
    max_nodes = 0
    max_depth = 0

    @classmethod
    def step(cls) -> None:
        """Count; a program that goes on and on ends here."""
        cls.steps += 1
        if cls.steps > MAX_STEPS:
            raise _Refused(f"a program runs at most {MAX_STEPS} steps", "large")


def prepare() -> None:
    """Import the restricting compiler while imports are still open."""
    import RestrictedPython  # noqa: F401


def place() -> int:
    """The line that runs."""
    return _Run.line


def work(payload: dict[str, Any]) -> dict[str, Any]:
    """Run ``payload["source"]``; the text of its ``alpha`` with the places that its parts come from, or an error."""
    _Run.line, _Run.place, _Run.steps, _Run.operators = 1, (0, 0), 0, payload["operators"]
    _Run.max_nodes, _Run.max_depth = payload["max_nodes"], payload["max_depth"]
    depth, trace = sys.getrecursionlimit(), sys.gettrace()
    try:
        code, scope = _compiled(payload["source"])
        sys.setrecursionlimit(RECURSION)
        sys.settrace(lambda frame, event, _: _watch(scope, frame, event))
        exec(code, scope)  # noqa: S102  compiled by RestrictedPython, without built-ins, in a box
        sys.settrace(trace)
        return _result(scope.get("alpha"), payload["max_bytes"])
    except _FAULTS as error:
        sys.settrace(trace)
        return _described(error)
    finally:
        sys.setrecursionlimit(depth)


def _described(error: Exception) -> dict[str, Any]:
    line, column = _Run.place if _Run.place[0] else (_Run.line, 0)
    if isinstance(error, _Refused):
        if error.line:
            line, column = error.line, error.column
        return {"error": str(error), "kind": error.kind, "line": line, "column": column, "unknown": error.unknown}
    if isinstance(error, MemoryError):
        message, kind = "the program needs more memory than it may use", "large"
    elif isinstance(error, RecursionError):
        message, kind = "the program nests or recurses too deeply", "large"
    else:
        kind = "name" if isinstance(error, NameError) else "value"
        message = f"{type(error).__name__}: {error}"
    return {"error": message, "kind": kind, "line": line, "column": column, "unknown": ""}


# -- reading ---------------------------------------------------------------------------------------------


def _compiled(source: str) -> tuple[Any, dict[str, Any]]:
    """The restricted code, and the names that it starts with."""
    from RestrictedPython.compile import compile_restricted_exec
    from RestrictedPython.transformer import RestrictingNodeTransformer

    class Policy(RestrictingNodeTransformer):
        """RestrictedPython's rules, and every call of what is given and every binary operator through `_placed`."""

        def visit_BinOp(self, node: ast.BinOp) -> ast.AST:  # noqa: N802  the visitor's own names
            self.node_contents_visit(node)
            sign = ast.Constant(type(node.op).__name__)
            return placed(node, [ast.Name("_binary_", ast.Load()), sign, node.left, node.right], [])

        def visit_Call(self, node: ast.Call) -> Any:  # noqa: N802
            made = super().visit_Call(node)
            by_name = isinstance(node.func, ast.Name) and node.func.id not in own
            return placed(node, [node.func, *node.args], node.keywords) if by_name else made

    def placed(node: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.AST:
        where = [ast.Constant(node.lineno), ast.Constant(node.col_offset + 1)]
        made = ast.Call(ast.Name("_placed_", ast.Load()), [*where, *args], keywords)
        return ast.fix_missing_locations(ast.copy_location(made, node))

    try:
        tree = ast.parse(source, SOURCE)
        own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        scope = _scope(_checked(tree))
        result = compile_restricted_exec(tree, SOURCE, policy=Policy)
    except SyntaxError as error:
        raise _Refused(f"{error.msg}", "syntax", error.lineno or 0, error.offset or 0) from None
    if result.errors:
        found = re.fullmatch(r"Line (\d+|None): (.*)", result.errors[0], re.DOTALL)
        line = int(found[1]) if found and found[1] != "None" else 0
        raise _Refused(found[2] if found else result.errors[0], "syntax", line)
    return result.code, scope


def _checked(tree: ast.Module) -> set[str]:
    """Hold the whole tree to the list of syntax; the names that it reads."""
    names: set[str] = set()
    for node in ast.walk(tree):
        _Run.line = getattr(node, "lineno", _Run.line)
        if not isinstance(node, _SYNTAX):
            kind = type(node).__name__
            instead = _INSTEAD.get(type(node), "see the list of what may")
            _refuse(node, f"{kind} may not stand in a program; {instead}")
        rule = _RULES.get(type(node))
        if rule:
            rule(node)
        if isinstance(node, ast.Name):
            names.add(node.id)
    return names


def _refuse(node: ast.AST, message: str) -> None:
    raise _Refused(message, "syntax", getattr(node, "lineno", _Run.line), getattr(node, "col_offset", -1) + 1)


def _check_constant(node: Any) -> None:
    value = node.value
    if isinstance(value, str) and getattr(node, "prose", False):
        return
    if value is not None and not isinstance(value, bool | int | float):
        _refuse(node, f"a value is a number, got {type(value).__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        _refuse(node, "a number must be finite")
    if isinstance(value, int) and value.bit_length() > 64:
        _refuse(node, "a whole number has at most 64 bits")


def _check_statement(node: Any) -> None:
    value = node.value
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        value.prose = True  # type: ignore[attr-defined]  # a docstring: it is dropped
    elif not isinstance(value, ast.Call):
        _refuse(node, "a line must do something; the result is what is assigned to alpha")


def _check_attribute(node: Any) -> None:
    if node.attr != "append" or not isinstance(node.ctx, ast.Load):
        _refuse(node, f"there are no attributes but the .append of a list, got .{node.attr[:40]}")


def _check_function(node: Any) -> None:
    given = node.args
    if node.decorator_list or node.returns or getattr(node, "type_params", None):
        _refuse(node, "a function has neither decorators nor annotations")
    if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs:
        _refuse(node, "a function takes plain arguments only")
    _check_name(node, node.name)


def _check_target(node: Any) -> None:
    targets = list(node.targets) if isinstance(node, ast.Assign) else [node.target]
    while targets:
        target = targets.pop()
        if isinstance(target, ast.Tuple | ast.List):
            targets.extend(target.elts)
        elif not isinstance(target, ast.Name):
            _refuse(target, "only a name can be assigned to")


def _check_name(node: ast.AST, name: str) -> None:
    if not _NAME.fullmatch(name):
        _refuse(node, "a name has at most 64 letters, digits and _, and does not start with _")
    if name in ("print", "printed"):
        _refuse(node, "a program prints nothing: its result is what is assigned to alpha")


def _check_argument(node: Any) -> None:
    _check_name(node, node.arg)
    if node.annotation:
        _refuse(node, "a function has neither decorators nor annotations")


def _check_keyword(node: Any) -> None:
    if node.arg is None:
        _refuse(node.value, "name the options one by one")
    _check_name(node.value, node.arg)


def _check_comprehension(node: Any) -> None:
    if node.is_async:
        _refuse(node.target, "nothing is asynchronous here")
    _check_target(node)


_RULES: dict[type[ast.AST], Callable[[Any], None]] = {
    ast.Constant: _check_constant,
    ast.Expr: _check_statement,
    ast.Attribute: _check_attribute,
    ast.FunctionDef: _check_function,
    ast.Assign: _check_target,
    ast.AugAssign: _check_target,
    ast.For: _check_target,
    ast.comprehension: _check_comprehension,
    ast.Name: lambda node: _check_name(node, node.id),
    ast.arg: _check_argument,
    ast.keyword: _check_keyword,
}


# -- running ---------------------------------------------------------------------------------------------


def _scope(names: Iterable[str]) -> dict[str, Any]:
    """Every name that the program starts with: fields, operators, harmless functions, guards."""
    scope: dict[str, Any] = {name: Expression(name) for name in names if _FIELD.fullmatch(name)}
    scope.pop("alpha", None)  # it is what the program makes
    scope |= {name: _Operator(name) for name in _Run.operators}
    scope |= _FUNCTIONS
    for name in ("max", "min", "abs", "round"):
        scope[name] = _Either(name, _NUMBERS[name])
    return scope | {
        "__builtins__": {},
        "__name__": "program",
        "_binary_": _binary,
        "_placed_": _placed,
        "_inplacevar_": lambda sign, x, y: _binary(_SIGNS[sign], x, y),
        "_getattr_": _attribute,
        "_getitem_": _item,
        "_getiter_": _each,
        "_iter_unpack_sequence_": _each_unpacked,
        "_unpack_sequence_": _unpacked,
    }


def _watch(scope: dict[str, Any], frame: FrameType, _event: str) -> Any:
    """Follow the program's own frames line by line, and no others."""
    if frame.f_globals is not scope:
        return None

    def local(frame: FrameType, event: str, _arg: object) -> Any:
        if event == "line":
            _Run.line = max(1, frame.f_lineno)
            _Run.step()
        return local

    _Run.step()
    return local


class Expression:
    """A part of the formula: an operator on parts and numbers, or a field. It offers no way back to Python."""

    __slots__ = ("args", "depth", "name", "nodes", "operator", "options", "place")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str, args: tuple[Any, ...] | None = None, options: dict[str, Any] | None = None) -> None:
        _Run.step()
        self.name, self.operator = name, args is not None
        self.args, self.options = args or (), options or {}
        self.place = _Run.place if _Run.place[0] else (_Run.line, 0)
        parts = [part for part in self.args if isinstance(part, Expression)]
        self.nodes: int = 1 + len(self.args) - len(parts) + sum(part.nodes for part in parts)
        self.depth: int = 1 + max((part.depth for part in parts), default=int(bool(self.args)))
        if self.nodes > _Run.max_nodes or self.depth > _Run.max_depth:
            limit = f"at most {_Run.max_depth} levels and {_Run.max_nodes} nodes"
            raise _Refused(f"an expression has {limit}, got {self.depth} and {self.nodes}", "large")

    def __call__(self, *_args: object, **_options: object) -> None:
        if self.operator:
            raise _Refused("an expression can't be called")
        raise _Refused(f"there is no operator {self.name!r}", "name", unknown=self.name)

    def __bool__(self) -> bool:
        raise _Refused("an expression is neither true nor false here: write & | ~ and if_else, compare two at a time")

    def __neg__(self) -> Expression:
        return _applied("neg", (self,))

    def __pos__(self) -> Expression:
        return self

    def __invert__(self) -> Expression:
        return _applied("not", (self,))

    def __eq__(self, other: object) -> Any:
        return _applied("eq", (self, other))

    def __ne__(self, other: object) -> Any:
        return _applied("ne", (self, other))

    def __lt__(self, other: object) -> Expression:
        return _applied("lt", (self, other))

    def __le__(self, other: object) -> Expression:
        return _applied("le", (self, other))

    def __gt__(self, other: object) -> Expression:
        return _applied("gt", (self, other))

    def __ge__(self, other: object) -> Expression:
        return _applied("ge", (self, other))


def _applied(name: str, args: tuple[Any, ...], options: dict[str, Any] | None = None) -> Expression:
    """Operator `name` on expressions and numbers."""
    options = options or {}
    for value in (*args, *options.values()):
        if isinstance(value, Expression):
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            what = "a truth value (write 1 or 0)" if isinstance(value, bool) else type(value).__name__
            raise _Refused(f"{name} takes expressions and numbers, got {what}")
        _bounded_number(value)
    if any(isinstance(value, Expression) for value in options.values()):
        raise _Refused(f"an option of {name} must be a number")
    return Expression(name, args, options)


class _Operator:
    """An operator of the table, as a program calls it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any, **options: Any) -> Any:
        return _applied(self.name, args, options)


class _Either(_Operator):
    """A name that means Python's function on plain numbers, and the operator on expressions."""

    __slots__ = ("plain",)

    def __init__(self, name: str, plain: Callable[..., Any]) -> None:
        super().__init__(name)
        self.plain = plain

    def __call__(self, *args: Any, **options: Any) -> Any:
        given = args
        if self.name in ("max", "min") and len(args) == 1 and isinstance(args[0], list | tuple | range | GeneratorType):
            given = tuple(_each(args[0]))
        if any(isinstance(one, Expression) for one in given) or not given:
            return _applied(self.name, given, options)
        return _checked_value(self.plain(*given))


def _placed(line: int, column: int, function: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
    """``function(*args, **options)``, which stands at this place of the program; the place stays where it fails."""
    before, _Run.place = _Run.place, (line, column)
    made = function(*args, **options)
    _Run.place = before
    return made


def _binary(sign: str, x: Any, y: Any) -> Any:
    """``x sign y`` of expressions, or of numbers and lists within their bounds."""
    name, plain = _BINARY[sign]
    if isinstance(x, Expression) or isinstance(y, Expression):
        if not name:
            raise _Refused(f"{sign} is for numbers, not for expressions")
        return _applied(name, (x, y))
    whole = isinstance(x, int) and isinstance(y, int)
    if sign == "Pow" and whole and x.bit_length() * abs(y) > MAX_BITS:
        raise _Refused("a power of whole numbers this large is not computed", "large")
    if sign == "Mult":
        for many, times in ((x, y), (y, x)):
            if isinstance(many, list | tuple) and isinstance(times, int) and len(many) * times > MAX_ITEMS:
                raise _Refused(f"a list has at most {MAX_ITEMS} items", "large")
    return _checked_value(plain(x, y))


def _checked_value(value: Any) -> Any:
    """A value that a program may hold."""
    if isinstance(value, list | tuple):
        if len(value) > MAX_ITEMS:
            raise _Refused(f"a list has at most {MAX_ITEMS} items", "large")
    elif isinstance(value, int | float):
        _bounded_number(value)
    else:
        raise _Refused(f"a value is a number, a list or an expression, got {type(value).__name__}")
    return value


def _bounded_number(value: float) -> None:
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise _Refused(f"a whole number has at most {MAX_BITS} bits", "large")
    elif not math.isfinite(value):
        raise _Refused("a number must be finite")


def _attribute(value: Any, name: str) -> Any:
    if type(value) is not list or name != "append":
        raise _Refused("there are no attributes but the .append of a list")

    def append(item: Any) -> None:
        _Run.step()
        value.append(item)
        _checked_value(value)

    return append


def _item(value: Any, index: Any) -> Any:
    if not isinstance(value, list | tuple | range) or not isinstance(index, int | slice):
        raise _Refused("only a list can be indexed, by a whole number; for earlier rows write delay(x, d)")
    return value[index]


def _each(values: Any) -> Iterator[Any]:
    """Go through `values`, counting."""
    if not isinstance(values, list | tuple | range | GeneratorType):
        raise _Refused("only a list or a range can be gone through")
    for value in values:
        _Run.step()
        yield value


def _unpacked(values: Any, spec: dict[str, Any], _getiter: Any) -> list[Any]:
    """The parts of `values`, themselves unpacked where `spec` says so."""
    parts = list(_each(values))
    if len(parts) != spec["min_len"]:
        raise _Refused(f"there are {spec['min_len']} names for {len(parts)} values")
    for index, child in spec["childs"]:
        parts[index] = _unpacked(parts[index], child, _getiter)
    return parts


def _each_unpacked(values: Any, spec: dict[str, Any], getiter: Any) -> Iterator[Any]:
    for value in _each(values):
        yield _unpacked(value, spec, getiter)


def _range(*bounds: Any) -> range:
    made = range(*bounds)
    if not -MAX_ITEMS <= (made.stop - made.start) / made.step <= MAX_ITEMS:
        raise _Refused(f"a range has at most {MAX_ITEMS} items", "large")
    return made


def _sum(values: Any, *start: Any) -> Any:
    """The sum from the first on: an expression does not begin with 0 +."""
    parts = [*start, *_each(values)]
    total: Any = parts[0] if parts else 0
    for part in parts[1:]:
        total = _binary("Add", total, part)
    return total


def _round(value: Any, digits: Any = None) -> Any:
    if digits is not None and abs(digits) > MAX_BITS:
        raise _Refused(f"round keeps at most {MAX_BITS} digits", "large")
    return round(value, digits)


_NUMBERS: dict[str, Callable[..., Any]] = {"max": max, "min": min, "abs": abs, "round": _round}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "enumerate": lambda values, start=0: [(start + place, value) for place, value in enumerate(_each(values))],
    "float": lambda value: _checked_value(float(value)),
    "int": lambda value: _checked_value(int(value)),
    "len": lambda values: len(_checked_value(values) if not isinstance(values, range) else values),
    "list": lambda values=(): _checked_value(list(_each(values))),
    "range": _range,
    "reversed": lambda values: _checked_value(list(_each(values))[::-1]),
    "sum": _sum,
    "tuple": lambda values=(): _checked_value(tuple(_each(values))),
    "zip": lambda *many: list(zip(*(_each(values) for values in many), strict=False)),
}


# -- writing ---------------------------------------------------------------------------------------------


def _result(alpha: Any, max_bytes: int) -> dict[str, Any]:
    """The text of `alpha`, and which line and column each part of it comes from."""
    if not isinstance(alpha, Expression):
        what = "it was never assigned" if alpha is None else f"got {type(alpha).__name__}"
        raise _Refused(f"a program must assign an expression to alpha, {what}")
    parts: list[str] = []
    places: list[tuple[int, int, int]] = []
    column = 1
    stack: list[Any] = [(alpha, 0)]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            node, least = item
            if isinstance(node, Expression):
                if node.operator:
                    places.append((column, *node.place))
                stack.extend(reversed(_pieces(node, least)))
            else:
                text = repr(node)
                stack.append(f"({text})" if text.startswith("-") and least > _UNARY else text)
            continue
        parts.append(item)
        column += len(item)
        if column > max_bytes + 1:
            raise _Refused(f"an expression has at most {max_bytes} bytes when written out", "large", *alpha.place)
    return {"text": "".join(parts), "places": places}


def _pieces(node: Expression, least: int) -> list[Any]:
    """What `node` is written as, in parentheses where it binds looser than `least`."""
    if not node.operator:
        return [node.name]
    row = _Run.operators[node.name]
    level, symbol = row["precedence"], row["symbol"]
    pieces: list[Any]
    if symbol and len(node.args) == row["slots"] and not node.options:
        power = symbol == "**"
        if len(node.args) == 1:
            pieces = [symbol if symbol == "-" else f"{symbol} ", (node.args[0], level)]
        else:
            left = level + (power or row["comparison"])
            pieces = [(node.args[0], left), f" {symbol} ", (node.args[1], _UNARY if power else level + 1)]
        if level < least:
            pieces = ["(", *pieces, ")"]
        return pieces
    pieces = [f"{node.name}("]
    for index, argument in enumerate(node.args):
        pieces += [", "] * bool(index) + [(argument, 0)]
    for index, (name, value) in enumerate(node.options.items()):
        pieces.append(f"{', ' if node.args or index else ''}{name}={value!r}")
    return [*pieces, ")"]
