"""The canonical form: one tree for all formulas that the exact rules below make equal.

A rule is here only if both sides give the same bits in IEEE arithmetic (up to the sign of zero, which nothing
in the language can observe) with the same NaNs, on every panel. Sums and products are never reassociated.
**The rules and the text format are frozen**: the digest of a formula, sha256 of ``"v1:"`` and the canonical text,
names it for ever. Arguments are rewritten before the calls that use them.

Numbers and signs
 1. Cell-by-cell operators whose value IEEE fixes (`constants.EXACT`) are folded when all arguments are numbers.
 2. ``x + 0``, ``x - 0``, ``x * 1``, ``x / 1``, ``x ** 1``, ``signed_power(x, 1)`` are x; ``0 - x`` is ``-x``;
    ``inv(x)`` is ``1 / x``.
 3. ``--x`` is x; ``-(a - b)`` is ``b - a``. A negative number is the negative of its magnitude. Where an operator
    can pass a sign on, a difference a - b whose texts are out of order counts as the negative of ``b - a``.
 4. Signs move out: of ``* /`` (``-x * y`` is ``-(x * y)``), of the first two arguments that the table calls odd
    (``ts_sum(-x, d)`` is ``-ts_sum(x, d)``), and vanish where it calls them even (``abs(-x)`` is ``abs(x)``).
    Between ``+`` and ``-`` they turn into the other operator: ``x + -y`` is ``x - y``, ``x - -y`` is ``x + y``,
    ``-x + y`` is ``y - x``, ``-x - y`` is ``-(x + y)``.
Order and repetition
 5. The two arguments of ``+ * == !=``, ``ts_cov``, ``ts_corr``, ``ts_rank_corr`` are sorted by text.
 6. ``max``, ``min``, ``and``, ``or`` are flattened, freed of duplicates and sorted by text; ``and`` and ``or``
    are rebuilt by joining the two shallowest parts again and again. ``max`` and ``min`` join their numbers;
    ``c and 1`` and ``c or 0`` are c.
 7. Idempotent operators drop a repetition (``abs(abs(x))``, ``cs_rank(cs_rank(x))``, ...); what reads only the
    order within the day drops a ``cs_rank`` inside.
Conditions
 8. ``a > b`` is ``b < a``; ``a >= b`` is ``b <= a``; both sides negative (a number may stand for either) swap:
    ``-x < -y`` is ``y < x``, ``-x == 2`` is ``x == -2``.
 9. ``not not c`` is c; ``not`` before a comparison turns it round.
10. ``if_else`` on ``not c``, ``<=`` or ``!=`` swaps its branches; on 1 or 0 it is the branch;
    ``if_else(c, 1, 0)`` is c and ``if_else(c, 0, 1)`` is ``not c``.
Time
11. ``delay(delay(x, a), b)`` is ``delay(x, a + b)``; beyond the largest lag the inner ones are the largest.
12. What the table defines by a formula is that formula: ``x - delay(x, d)`` is ``delta(x, d)``,
    ``x / delay(x, d) - 1`` is ``pct_change(x, d)``, ``log(x / delay(x, d))`` is ``log_return(x, d)``,
    ``x - ts_max(x, d)`` is ``ts_max_diff(x, d)``, likewise min, ``ts_corr(x, delay(x, k), d)`` is
    ``ts_autocorr(x, d, k)``.
13. A window of one row that gives x itself is x.
Spelling (done when nodes are made): shorthands are written out, options at their default dropped,
``-(2)`` is the number -2, function forms of infix operators are infix.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable

from alphaswarm.dsl.constants import EXACT, constant_value
from alphaswarm.dsl.expr import Expr, number, plain_call
from alphaswarm.dsl.limits import MAX_WINDOW
from alphaswarm.dsl.operators import OPERATORS

__all__ = ["canonical", "canonical_digest"]

VERSION = "v1:"

_Args = tuple[Expr, ...]
_Options = tuple[tuple[str, float], ...]


def canonical(expr: Expr) -> Expr:
    """The canonical tree of `expr`; applying it twice changes nothing.

    It is a name, not a proposal: it may exceed the caps by the minus signs it pulls out.
    """
    made: dict[Expr, Expr] = {}
    for node in expr.walk():
        arguments = tuple(made[argument] for argument in node.args)
        made[node] = _make(node.op, arguments, node.options) if node.kind == "call" else node
    return made[expr]


def canonical_digest(expr: Expr) -> str:
    """Hex sha256 of the version and the canonical text."""
    return hashlib.sha256((VERSION + str(canonical(expr))).encode("ascii")).hexdigest()


def _make(op: str, args: _Args, options: _Options = ()) -> Expr:
    """The canonical call of canonical arguments."""
    if op in EXACT and all(argument.kind == "number" for argument in args):
        value = constant_value(op, [argument.value for argument in args])
        if value is not None and value == value:
            return number(value)
    if op == "ts_corr":
        return _corr(args[0], args[1], args[2], options)
    rule = _RULES.get(op)
    return rule(*args) if rule else _plain(op, args, options)


def _plain(op: str, args: _Args, options: _Options = ()) -> Expr:
    """What the flags of the table say: unit window, parity, order, repetition, commutation."""
    operator = OPERATORS[op]
    if operator.unit and operator.window is not None and args[operator.window].value == 1:
        return args[0]
    parts = list(args)
    negative = False
    for index in (*operator.odd, *operator.even):
        minus, parts[index] = _split(parts[index])
        negative ^= minus and index in operator.odd
    if operator.order_only and parts[0].op == "cs_rank":
        parts[0] = parts[0].args[0]
    inner = parts[0]
    if operator.idempotent and inner.op == op and inner.args[1:] == tuple(parts[1:]) and inner.options == options:
        node = inner
    else:
        if operator.commutative:
            parts[:2] = sorted(parts[:2], key=str)
        node = plain_call(op, tuple(parts), options)
    return _neg(node) if negative else node


def _split(expr: Expr) -> tuple[bool, Expr]:
    """Whether `expr` counts as negative, and its magnitude."""
    if expr.kind == "number":
        return expr.value < 0, number(abs(expr.value))
    if expr.op == "neg":
        return True, expr.args[0]
    if expr.op == "sub" and str(expr.args[0]) > str(expr.args[1]):
        return True, plain_call("sub", (expr.args[1], expr.args[0]))
    return False, expr


def _is(expr: Expr, value: float) -> bool:
    return expr.kind == "number" and expr.value == value


def _neg(x: Expr) -> Expr:
    if x.op == "neg":
        return x.args[0]
    if x.op == "sub":
        return plain_call("sub", (x.args[1], x.args[0]))
    return plain_call("neg", (x,))


def _sorted(op: str, x: Expr, y: Expr) -> Expr:
    first, second = sorted((x, y), key=str)
    return plain_call(op, (first, second))


def _add(x: Expr, y: Expr) -> Expr:
    if _is(x, 0):
        return y
    if _is(y, 0):
        return x
    if y.op == "neg":
        return _sub(x, y.args[0])
    if x.op == "neg":
        return _sub(y, x.args[0])
    return _sum(_split(x), _split(y))


def _sub(x: Expr, y: Expr) -> Expr:
    if _is(y, 0):
        return x
    if _is(x, 0):
        return _neg(y)
    if y.op == "neg":
        return _add(x, y.args[0])
    known = _difference(x, y)
    if known is not None:
        return known
    minus, magnitude = _split(y)
    return _sum(_split(x), (not minus, magnitude))


def _sum(x: tuple[bool, Expr], y: tuple[bool, Expr]) -> Expr:
    """The sum of two signed magnitudes."""
    if x[0] == y[0]:
        total = _sorted("add", x[1], y[1])
        return _neg(total) if x[0] else total
    plus, minus = (y[1], x[1]) if x[0] else (x[1], y[1])
    return _difference(plus, minus) or plain_call("sub", (plus, minus))


_DIFFERENCES = {"ts_max": "ts_max_diff", "ts_min": "ts_min_diff"}


def _difference(x: Expr, y: Expr) -> Expr | None:
    """``x - y`` where the table has an operator for it."""
    for first, second, turn in ((x, y, False), (y, x, True)):
        lag = _lag(first, second)
        change = _lag(*first.args) if first.op == "div" and _is(second, 1) else None
        known = None
        if lag is not None:
            known = _plain("delta", (first, number(lag)))
        elif change is not None:
            known = _plain("pct_change", (first.args[0], number(change)))
        elif second.op in _DIFFERENCES and second.args[0] is first:
            known = _plain(_DIFFERENCES[second.op], second.args, second.options)
        if known is not None:
            return _neg(known) if turn else known
    return None


def _lag(x: Expr, y: Expr) -> int | None:
    """By how many rows y is x delayed, where one operator can say so."""
    (base_x, rows_x), (base_y, rows_y) = _undelayed(x), _undelayed(y)
    lag = rows_y - rows_x
    return lag if base_x is base_y and 1 <= lag <= MAX_WINDOW else None


def _undelayed(x: Expr) -> tuple[Expr, int]:
    rows = 0
    while x.op == "delay":
        rows += int(x.args[1].value)
        x = x.args[0]
    return x, rows


def _mul(x: Expr, y: Expr) -> Expr:
    (minus_x, x), (minus_y, y) = _split(x), _split(y)
    product = y if _is(x, 1) else x if _is(y, 1) else _sorted("mul", x, y)
    return _neg(product) if minus_x != minus_y else product


def _div(x: Expr, y: Expr) -> Expr:
    (minus_x, x), (minus_y, y) = _split(x), _split(y)
    quotient = x if _is(y, 1) else plain_call("div", (x, y))
    return _neg(quotient) if minus_x != minus_y else quotient


def _inv(x: Expr) -> Expr:
    return _make("div", (number(1), x))


def _pow(x: Expr, y: Expr) -> Expr:
    return x if _is(y, 1) else plain_call("pow", (x, y))


def _log(x: Expr) -> Expr:
    lag = _lag(*x.args) if x.op == "div" else None
    return plain_call("log", (x,)) if lag is None else _plain("log_return", (x.args[0], number(lag)))


def _signed_power(x: Expr, y: Expr) -> Expr:
    return x if _is(y, 1) else _plain("signed_power", (x, y))


def _compare(op: str, x: Expr, y: Expr) -> Expr:
    """``<``, ``<=``, ``==`` or ``!=`` with the signs of both sides settled."""
    (minus_x, size_x), (minus_y, size_y) = _split(x), _split(y)
    either_x, either_y = x.kind == "number", y.kind == "number"
    if (minus_x or either_x) and (minus_y or either_y) and not (either_x and either_y):
        x = number(-x.value) if either_x else size_x
        y = number(-y.value) if either_y else size_y
        if op in ("lt", "le"):
            x, y = y, x
    return _sorted(op, x, y) if op in ("eq", "ne") else plain_call(op, (x, y))


def _not(c: Expr) -> Expr:
    if c.op == "not":
        return c.args[0]
    if c.op in ("lt", "le"):
        return plain_call("le" if c.op == "lt" else "lt", (c.args[1], c.args[0]))
    if c.op in ("eq", "ne"):
        return plain_call("ne" if c.op == "eq" else "eq", c.args)
    return plain_call("not", (c,))


def _parts(op: str, args: _Args) -> list[Expr]:
    """The arguments of nested calls of `op`, without duplicates, sorted by text."""
    parts: dict[Expr, str] = {}
    stack = list(args)
    while stack:
        part = stack.pop()
        if part.op == op:
            stack.extend(part.args)
        elif part not in parts:
            parts[part] = str(part)
    return sorted(parts, key=parts.__getitem__)


def _logic(op: str, *args: Expr) -> Expr:
    neutral = 1.0 if op == "and" else 0.0
    parts = [part for part in _parts(op, args) if not _is(part, neutral)]
    heap = [(part.depth, str(part), part) for part in parts]  # texts differ, so nodes are never compared
    heapq.heapify(heap)
    while len(heap) > 1:
        first, second = heapq.heappop(heap)[2], heapq.heappop(heap)[2]
        joined = plain_call(op, (first, second))
        heapq.heappush(heap, (joined.depth, str(joined), joined))
    return heap[0][2]


def _extreme(op: str, *args: Expr) -> Expr:
    parts = _parts(op, args)
    numbers = [part.value for part in parts if part.kind == "number"]
    if len(numbers) > 1:
        joined = number(max(numbers) if op == "max" else min(numbers))
        parts = sorted([part for part in parts if part.kind != "number"] + [joined], key=str)
    return parts[0] if len(parts) == 1 else plain_call(op, tuple(parts))


def _if_else(c: Expr, x: Expr, y: Expr) -> Expr:
    if c.kind == "number":
        return x if c.value != 0 else y
    if c.op in ("not", "le", "ne"):
        c, x, y = _not(c), y, x
    if _is(x, 1) and _is(y, 0):
        return c
    if _is(x, 0) and _is(y, 1):
        return _not(c)
    return plain_call("if_else", (c, x, y))


def _delay(x: Expr, d: Expr) -> Expr:
    minus, x = _split(x)
    rows = int(d.value)
    if x.op == "delay":
        rows += int(x.args[1].value)
        x = x.args[0]
    if rows > MAX_WINDOW:
        x, rows = plain_call("delay", (x, number(MAX_WINDOW))), rows - MAX_WINDOW
    node = plain_call("delay", (x, number(rows)))
    return _neg(node) if minus else node


def _corr(x: Expr, y: Expr, d: Expr, options: _Options) -> Expr:
    (minus_x, x), (minus_y, y) = _split(x), _split(y)
    negative = minus_x != minus_y
    for first, second in ((x, y), (y, x)):
        lag = _lag(first, second)
        if lag is not None:
            node = _plain("ts_autocorr", (first, d, number(lag)), options)
            return _neg(node) if negative else node
    node = _plain("ts_corr", (x, y, d), options)
    return _neg(node) if negative else node


_RULES: dict[str, Callable[..., Expr]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "neg": _neg,
    "inv": _inv,
    "log": _log,
    "pow": _pow,
    "signed_power": _signed_power,
    "lt": lambda x, y: _compare("lt", x, y),
    "le": lambda x, y: _compare("le", x, y),
    "gt": lambda x, y: _compare("lt", y, x),
    "ge": lambda x, y: _compare("le", y, x),
    "eq": lambda x, y: _compare("eq", x, y),
    "ne": lambda x, y: _compare("ne", x, y),
    "not": _not,
    "and": lambda *args: _logic("and", *args),
    "or": lambda *args: _logic("or", *args),
    "max": lambda *args: _extreme("max", *args),
    "min": lambda *args: _extreme("min", *args),
    "if_else": _if_else,
    "delay": _delay,
}
