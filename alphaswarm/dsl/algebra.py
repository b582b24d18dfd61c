"""What asks SymPy for simpler forms, in the limited child process of `alphaswarm.dsl.explain` and nowhere else.

Loaded by `alphaswarm.dsl.jail`; imports the standard library and SymPy only. Trees come and go as lists of nodes,
never as text: SymPy evaluates text that it is given. Arithmetic becomes SymPy's; every other operator is a function
it knows nothing about, so it simplifies between those. What it proposes is a proposal: it takes ``x / x`` for 1.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

__all__ = ["HOSTILE", "place", "prepare", "work"]

HOSTILE = False
SECONDS = 1.0
"""Processor time for simplifying, after the import; what was found by then is given."""

_Nodes = list[list[Any]]


class _TimeUpError(RuntimeError):
    """The time for simplifying is over."""


def prepare() -> None:
    """Import SymPy, which takes most of the time."""
    import sympy  # noqa: F401


def place() -> int:
    """Nothing of a program runs here."""
    return 0


def work(payload: dict[str, Any]) -> dict[str, Any]:
    """Forms of ``payload["nodes"]`` as SymPy writes them, the cheap ones first, and whether time ran out."""
    signal.signal(signal.SIGPROF, _time_up)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    found: list[_Nodes] = []
    late = False
    try:
        for form in _forms(payload["nodes"], frozenset(payload["order_only"])):
            if form not in found:
                found.append(form)
    except _TimeUpError:
        late = True
    signal.setitimer(signal.ITIMER_PROF, 0)
    return {"forms": found, "late": late}


def _time_up(_signal: int, _frame: FrameType | None) -> None:
    raise _TimeUpError


def _forms(nodes: _Nodes, order_only: frozenset[str]) -> Iterator[_Nodes]:
    """One form for each way of simplifying, applied to the arithmetic between the operators."""
    import sympy

    ways: tuple[Callable[[Any], Any], ...] = (lambda x: x, sympy.cancel, sympy.factor_terms, sympy.simplify)
    for way in ways:
        for keep_scale in (True, False):
            root = _read(nodes, way, order_only, keep_scale)
            yield _write(root if keep_scale else _unscaled(root))


def _read(nodes: _Nodes, way: Callable[[Any], Any], order_only: frozenset[str], keep_scale: bool) -> Any:
    """The SymPy tree of `nodes`, each part simplified by `way` before an operator closes over it."""
    import sympy

    made: list[Any] = []
    for kind, name, value, args, options in nodes:
        parts = [made[index] for index in args]
        if kind == "number":
            made.append(sympy.Rational(value))
        elif kind == "name":
            made.append(sympy.Symbol(name, real=True))
        elif name in _ARITHMETIC:
            made.append(_ARITHMETIC[name](*parts))
        else:
            parts = [way(part) for part in parts]
            if name in order_only and not keep_scale:
                parts[0] = _unscaled(parts[0])
            label = "|".join([name, *(f"{key}={number}" for key, number in options)])
            made.append(sympy.Function(label, real=True)(*parts))
    return way(made[-1])


def _unscaled(x: Any) -> Any:
    """`x` without an added constant and a factor, of which only the sign matters to an order."""
    _, rest = x.as_coeff_Add()
    factor, rest = rest.as_coeff_Mul()
    return -rest if factor < 0 else rest


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "inv": lambda x: 1 / x,
    "pow": lambda x, y: x**y,
    "abs": abs,
}


def _write(root: Any) -> _Nodes:
    """The nodes of a SymPy tree, arguments before calls."""
    nodes: _Nodes = []
    _emit(root, nodes)
    return nodes


def _number(value: float, nodes: _Nodes) -> int:
    nodes.append(["number", "", repr(float(value)), [], []])
    return len(nodes) - 1


def _call(name: str, args: list[int], nodes: _Nodes, options: list[list[Any]] | None = None) -> int:
    nodes.append(["call", name, "", args, options or []])
    return len(nodes) - 1


def _emit(x: Any, nodes: _Nodes) -> int:
    """Append the nodes of `x`; the index of the last."""
    if x.is_Rational:
        if _is_decimal(int(x.q)):
            return _number(float(x), nodes)
        return _call("div", [_number(float(x.p), nodes), _number(float(x.q), nodes)], nodes)
    if x.is_Symbol:
        nodes.append(["name", x.name, "", [], []])
        return len(nodes) - 1
    if x.is_Add:
        return _emit_sum(x, nodes)
    if x.is_Mul:
        return _emit_product(x, nodes)
    if x.is_Pow:
        return _emit_power(x, nodes)
    label = "abs" if type(x).__name__ == "Abs" else x.func.__name__
    name, *given = label.split("|")
    options = [[key, float(value)] for key, _, value in (one.partition("=") for one in given)]
    return _call(name, [_emit(part, nodes) for part in x.args], nodes, options)


def _is_decimal(below: int) -> bool:
    """Whether a fraction over `below` can be written out."""
    for factor in (2, 5):
        while below % factor == 0:
            below //= factor
    return below == 1


def _emit_sum(x: Any, nodes: _Nodes) -> int:
    terms = sorted(x.args, key=lambda term: (term.could_extract_minus_sign(), term.is_number))
    total = _emit(terms[0], nodes)
    for term in terms[1:]:
        minus = term.could_extract_minus_sign()
        total = _call("sub" if minus else "add", [total, _emit(-term if minus else term, nodes)], nodes)
    return total


def _emit_product(x: Any, nodes: _Nodes) -> int:
    if x.could_extract_minus_sign():
        return _call("neg", [_emit(-x, nodes)], nodes)
    over = [part for part in x.args if not (part.is_Pow and part.exp.is_number and part.exp < 0)]
    below = [1 / part for part in x.args if part.is_Pow and part.exp.is_number and part.exp < 0]
    product = _emit(over[0], nodes) if over else _number(1.0, nodes)
    for part in over[1:]:
        product = _call("mul", [product, _emit(part, nodes)], nodes)
    for part in below:
        product = _call("div", [product, _emit(part, nodes)], nodes)
    return product


def _emit_power(x: Any, nodes: _Nodes) -> int:
    if x.exp == -1:
        return _call("div", [_number(1.0, nodes), _emit(x.base, nodes)], nodes)
    if 2 * x.exp == 1:
        return _call("sqrt", [_emit(x.base, nodes)], nodes)
    return _call("pow", [_emit(x.base, nodes), _emit(x.exp, nodes)], nodes)
