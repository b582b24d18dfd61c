"""`Expr`: the immutable, interned node of an expression, its builders and its text.

Equal trees are one object: ``parse(a) is parse(b)`` wherever both say the same, so shared subtrees cost
nothing and identity is equality. The table of living nodes holds them weakly: what nobody uses is forgotten.
Nothing here recurses, so no depth of tree can exhaust the stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from threading import Lock
from typing import Any, NoReturn
from weakref import WeakValueDictionary

from alphaswarm.core.errors import ExpressionError, Reason, near
from alphaswarm.dsl.constants import constant_value
from alphaswarm.dsl.limits import MAX_DEPTH, MAX_NAME, MAX_NODES
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Family, Operator, Result, SlotKind

__all__ = ["Expr", "call", "field", "group", "number", "render"]

KEYWORDS = frozenset({"and", "or", "not"})
NAME = re.compile(r"(?!__)[a-z_][a-z0-9_]*", re.ASCII)
_ATOM = 9  # binds tighter than every operator
_MINUS = 7


class Expr:
    """One node. Build it with `number`, `field`, `group`, `call` or `parse`; never by the class itself.

    Attributes:
        kind: "number", "field", "group" or "call".
        op: operator name of a call, else "".
        name: of a field or group, else "".
        value: of a number, else 0.
        args: positional arguments of a call; literals are number nodes.
        options: keyword options that differ from their defaults, sorted by name.
        depth: levels of nodes, a leaf being 1.
        nodes: nodes of the written tree, repeated subtrees counted each time.
        fields, groups: names used below, sorted.
        lookback: earlier rows that the value of a row reads (0 for today's row alone), the largest sum
            along any path: a window of d reads d - 1, a lag of d reads d. None where an operator carries
            state, because then it reads all history.
        warmup: the same sum, with the window of a recursive operator counted as d - 1: what to give it
            before the first row that shall count.
        constant: the value of a tree without fields that is built of element-wise operators, else None;
            NaN where it has no finite value.
        condition: whether every value is 0, 1 or NaN by construction.
    """

    __slots__ = (
        "__weakref__",
        "_digest",
        "args",
        "condition",
        "constant",
        "depth",
        "fields",
        "groups",
        "kind",
        "lookback",
        "name",
        "nodes",
        "op",
        "options",
        "value",
        "warmup",
    )

    kind: str
    op: str
    name: str
    value: float
    args: tuple[Expr, ...]
    options: tuple[tuple[str, float], ...]
    depth: int
    nodes: int
    fields: tuple[str, ...]
    groups: tuple[str, ...]
    lookback: int | None
    warmup: int
    constant: float | None
    condition: bool
    _digest: str | None

    def __init__(self) -> None:
        raise TypeError("build an Expr with parse, number, field, group or call")

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"an Expr is immutable, can't set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an Expr is immutable, can't delete {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _intern, (self.kind, self.op, self.name, self.value, self.args, self.options)

    def __str__(self) -> str:
        return render(self)[0]

    def __repr__(self) -> str:
        return f"Expr({str(self)!r})"

    @property
    def digest(self) -> str:
        """sha256 of ``"v1:"`` and the canonical text: equal for formulas that are equal by the exact rules."""
        digest = self._digest
        if digest is None:
            from alphaswarm.dsl.canonical import canonical_digest  # the rules are written in terms of nodes

            digest = canonical_digest(self)
            object.__setattr__(self, "_digest", digest)
        return digest

    def walk(self) -> Iterator[Expr]:
        """Every distinct node once, arguments before the calls that use them, this node last."""
        seen: set[Expr] = set()
        stack: list[tuple[Expr, bool]] = [(self, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                yield node
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack.extend((argument, False) for argument in reversed(node.args))


_Key = tuple[str, str, str, float, tuple[Expr, ...], tuple[tuple[str, float], ...]]
_living: WeakValueDictionary[_Key, Expr] = WeakValueDictionary()
_lock = Lock()


def number(value: float) -> Expr:
    """A finite literal; -0 is 0."""
    value = float(value) + 0.0
    if value - value != 0:
        raise ExpressionError(
            f"a number must be finite, got {value}", text=str(value), column=1, reason=Reason.DSL_CONSTANT
        )
    return _intern("number", "", "", value, (), ())


def field(name: str) -> Expr:
    """The panel's field `name`."""
    return _intern("field", "", _checked_name(name), 0.0, (), ())


def group(name: str) -> Expr:
    """The panel's group `name`; it may stand in a group slot only."""
    return _intern("group", "", _checked_name(name), 0.0, (), ())


def call(op: str, *args: Expr | float, **options: float) -> Expr:
    """Operator `op` on `args` (plain numbers become literals) with keyword `options`.

    A shorthand gives what it stands for, a minus before a literal gives the negative literal, an option that
    says its default is dropped: each formula has one tree. Counts are checked here, meaning by `check`.

    Raises:
        ExpressionError: no such operator or option, a wrong count of arguments, or a tree beyond the caps.
    """
    operator = OPERATORS.get(op)
    if operator is None:
        _refuse(op, f"there is no operator {op!r}", Reason.DSL_NAME, near(op, OPERATORS))
    nodes = tuple(arg if isinstance(arg, Expr) else number(arg) for arg in args)
    least = len(operator.slots)
    if len(nodes) < least or (len(nodes) > least and not operator.variadic):
        _refuse(op, f"{op} takes {count_of(operator)}, got {len(nodes)}", Reason.DSL_ARITY, operator.signature)
    for name in options:
        if operator.option(name) is None:
            _refuse(op, f"{op} has no option {name!r}", Reason.DSL_NAME, operator.signature)
    if operator.expands is not None:
        target, source = operator.expands
        return call(target, field(source), *nodes, **options)
    node = plain_call(op, nodes, tuple(options.items()))
    if node.depth > MAX_DEPTH or node.nodes > MAX_NODES:
        got = f"{node.depth} levels and {node.nodes} nodes"
        limit = f"at most {MAX_DEPTH} levels and {MAX_NODES} nodes"
        _refuse(op, f"an expression has {limit}, got {got}", Reason.DSL_TOO_LARGE, "")
    return node


def plain_call(op: str, args: tuple[Expr, ...], options: tuple[tuple[str, float], ...] = ()) -> Expr:
    """`call` without checks and caps, for arguments that are known to fit."""
    if op == "neg" and args[0].kind == "number":
        return number(-args[0].value)
    kept = []
    for name, value in sorted(options):
        option = OPERATORS[op].option(name)
        window = OPERATORS[op].window
        default = option.default if option else None
        if default is None and window is not None:
            default = args[window].value
        if value != default:
            kept.append((name, int(value) if option and option.whole and value == int(value) else float(value)))
    return _intern("call", op, "", 0.0, args, tuple(kept))


def count_of(operator: Operator) -> str:
    """How many arguments `operator` takes, in words."""
    least = len(operator.slots)
    return f"{'at least ' if operator.variadic else ''}{least} argument{'' if least == 1 else 's'}"


def number_text(value: float) -> str:
    """The shortest decimal that reads back as `value`."""
    return str(int(value)) if value == int(value) and abs(value) < 1e16 else repr(value)


def render(expr: Expr) -> tuple[str, dict[tuple[Expr, int], int]]:
    """The text of `expr`, infix with as few parentheses as the grammar allows, and where things stand.

    Returns:
        The text; and for each call and argument index the 1-based column where that argument first starts
        (index -1: the call itself).
    """
    parts: list[str] = []
    columns: dict[tuple[Expr, int], int] = {}
    column = 1
    stack: list[str | tuple[Expr, int, Expr, int]] = [(expr, 0, expr, -1)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            column += len(item)
            continue
        node, least, parent, index = item
        if index >= 0:
            columns.setdefault((parent, index), column)
        if _binding(node) < least:
            stack.append(")")
            parts.append("(")
            column += 1
        columns.setdefault((node, -1), column)
        stack.extend(reversed(_pieces(node)))
    return "".join(parts), columns


def _binding(node: Expr) -> int:
    if node.kind == "number":
        return _MINUS if node.value < 0 else _ATOM
    return (OPERATORS[node.op].precedence if node.kind == "call" else 0) or _ATOM


def _pieces(node: Expr) -> list[str | tuple[Expr, int, Expr, int]]:
    if node.kind == "number":
        return [number_text(node.value)]
    if node.kind != "call":
        return [node.name]
    operator = OPERATORS[node.op]
    level, symbol = operator.precedence, operator.symbol
    if symbol and len(node.args) == 1:
        return [symbol if symbol == "-" else f"{symbol} ", (node.args[0], level, node, 0)]
    if symbol:
        # equal precedence needs parentheses on the right of a left-associative operator, on both sides of a
        # comparison (they do not chain), and on the left of ** (whose right side may be a minus)
        left = level + 1 if symbol == "**" or operator.family is Family.COMPARISON else level
        right = _MINUS if symbol == "**" else level + 1
        return [(node.args[0], left, node, 0), f" {symbol} ", (node.args[1], right, node, 1)]
    pieces: list[str | tuple[Expr, int, Expr, int]] = [f"{node.op}("]
    for index, argument in enumerate(node.args):
        if index:
            pieces.append(", ")
        pieces.append((argument, 0, node, index))
    pieces.extend(f", {name}={number_text(value)}" for name, value in node.options)
    pieces.append(")")
    return pieces


def _intern(
    kind: str, op: str, name: str, value: float, args: tuple[Expr, ...], options: tuple[tuple[str, float], ...]
) -> Expr:
    key = (kind, op, name, value, args, options)
    with _lock:
        known = _living.get(key)
    if known is not None:
        return known
    node = object.__new__(Expr)
    put = object.__setattr__
    for slot, content in zip(("kind", "op", "name", "value", "args", "options"), key, strict=True):
        put(node, slot, content)
    put(node, "_digest", None)
    put(node, "depth", 1 + max((argument.depth for argument in args), default=0))
    put(node, "nodes", 1 + sum(argument.nodes for argument in args))
    put(node, "fields", (name,) if kind == "field" else _merged(argument.fields for argument in args))
    put(node, "groups", (name,) if kind == "group" else _merged(argument.groups for argument in args))
    warmup, bounded = _reach(op, args)
    put(node, "warmup", warmup)
    put(node, "lookback", warmup if bounded else None)
    put(node, "constant", value if kind == "number" else constant_value(op, [argument.constant for argument in args]))
    put(node, "condition", kind == "call" and _is_condition(op, args))
    with _lock:
        return _living.setdefault(key, node)  # another thread may have been first


def _reach(op: str, args: tuple[Expr, ...]) -> tuple[int, bool]:
    """Rows reached back to, and whether that is all."""
    warmup = max((argument.warmup for argument in args), default=0)
    bounded = all(argument.lookback is not None for argument in args)
    if not op:
        return warmup, bounded
    operator = OPERATORS[op]
    for index, argument in enumerate(args):
        kind = operator.slot(index).kind
        if argument.kind == "number" and kind in (SlotKind.WINDOW, SlotKind.LAG):
            warmup += max(0, int(argument.value) - (kind is SlotKind.WINDOW))
    return warmup, bounded and not operator.recursive


def _is_condition(op: str, args: tuple[Expr, ...]) -> bool:
    operator = OPERATORS[op]
    if operator.result is not Result.SAME:
        return operator.result is Result.CONDITION
    series = [arg for index, arg in enumerate(args) if operator.slot(index).kind is SlotKind.SERIES]
    return any(arg.condition for arg in series) and all(arg.condition or is_truth(arg) for arg in series)


def is_truth(expr: Expr) -> bool:
    """Whether `expr` is the literal 0 or 1, which may stand for false or true."""
    return expr.kind == "number" and expr.value in (0.0, 1.0)


def _merged(names: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({name for part in names for name in part}))


def _checked_name(name: str) -> str:
    if not NAME.fullmatch(name) or name in KEYWORDS:
        hint = "lower case a-z, 0-9 and _, not starting with a digit or two underscores, and not and, or, not"
        _refuse(name, f"{name!r} is no name", Reason.DSL_SYNTAX, hint)
    if len(name) > MAX_NAME:
        _refuse(name, f"a name has at most {MAX_NAME} characters, got {len(name)}", Reason.DSL_TOO_LARGE, "")
    return name


def _refuse(text: str, message: str, reason: Reason, hint: str) -> NoReturn:
    raise ExpressionError(message, text=text, column=1, reason=reason, hint=hint)
