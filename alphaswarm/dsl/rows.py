"""What rows of the table of operators are made of: the usual slots, and one function for each usual shape of row."""

from __future__ import annotations

from alphaswarm.dsl.limits import MAX_WINDOW
from alphaswarm.dsl.signature import Family, Operator, Option, Result, Slot, SlotKind, UnitRule, Work

__all__ = [
    "LAG",
    "MIN_OBS",
    "A",
    "B",
    "C",
    "D",
    "G",
    "X",
    "Y",
    "comparison",
    "cross",
    "grouped",
    "infix",
    "integer",
    "memory",
    "number",
    "pair",
    "rolling",
    "shorthand",
    "unary",
]

X = Slot("x", SlotKind.SERIES)
Y = Slot("y", SlotKind.SERIES)
C = Slot("c", SlotKind.CONDITION)
A = Slot("a", SlotKind.CONDITION)
B = Slot("b", SlotKind.CONDITION)
G = Slot("g", SlotKind.GROUP)
D = Slot("d", SlotKind.WINDOW, 1, MAX_WINDOW)
LAG = Slot("d", SlotKind.LAG, 1, MAX_WINDOW)

MIN_OBS = (Option("min_obs", None, 1, MAX_WINDOW, whole=True),)


def number(
    name: str, low: float, high: float = float("inf"), *, open_low: bool = False, open_high: bool = False
) -> Slot:
    """A slot for a number written out."""
    return Slot(name, SlotKind.NUMBER, low, high, open_low, open_high)


def integer(name: str, low: int, high: int) -> Slot:
    """A slot for a whole number written out."""
    return Slot(name, SlotKind.INTEGER, low, high)


def infix(
    name: str,
    symbol: str,
    precedence: int,
    doc: str,
    units: UnitRule,
    *,
    kernel: str = "binary",
    commutative: bool = False,
) -> Operator:
    """A sign between two series."""
    return Operator(
        name,
        (X, Y),
        doc,
        f"close {symbol} open",
        Family.ELEMENT,
        units,
        kernel,
        symbol=symbol,
        precedence=precedence,
        commutative=commutative,
    )


def comparison(name: str, symbol: str, *, commutative: bool = False) -> Operator:
    """A sign between two series that gives a condition."""
    doc = f"1 where x {symbol} y, else 0"
    return Operator(
        name,
        (X, Y),
        doc,
        f"close {symbol} open",
        Family.COMPARISON,
        UnitRule.COMPARED,
        "binary",
        result=Result.CONDITION,
        symbol=symbol,
        precedence=4,
        commutative=commutative,
    )


def unary(
    name: str,
    doc: str,
    units: UnitRule,
    kernel: str = "unary",
    *,
    idempotent: bool = False,
    odd: bool = False,
    even: bool = False,
    absolute: bool = False,
) -> Operator:
    """A function of one number."""
    return Operator(
        name,
        (X,),
        doc,
        f"{name}(returns)",
        Family.ELEMENT,
        units,
        kernel,
        absolute=absolute,
        idempotent=idempotent,
        odd=(0,) if odd else (),
        even=(0,) if even else (),
    )


def rolling(
    name: str,
    doc: str,
    units: UnitRule,
    kernel: str,
    work: Work = Work.ROWS,
    *,
    minimum: int = 1,
    unit: bool = False,
    odd: bool = False,
    even: bool = False,
    extra: tuple[Slot, ...] = (),
    example: str = "",
) -> Operator:
    """A statistic of one window."""
    return Operator(
        name,
        (X, D, *extra),
        doc,
        example or f"{name}(returns, 20)",
        Family.WINDOW,
        units,
        kernel,
        work,
        MIN_OBS,
        minimum=minimum,
        unit=unit,
        odd=(0,) if odd else (),
        even=(0,) if even else (),
    )


def pair(
    name: str,
    doc: str,
    units: UnitRule,
    work: Work = Work.PAIRS,
    kernel: str = "block_pairs",
    *,
    minimum: int,
    commutative: bool = False,
    odd: tuple[int, ...] = (),
    slots: tuple[Slot, ...] = (X, Y, D),
) -> Operator:
    """A statistic of two windows."""
    return Operator(
        name,
        slots,
        doc,
        f"{name}(returns, volume, 20)",
        Family.WINDOW,
        units,
        kernel,
        work,
        MIN_OBS,
        minimum=minimum,
        commutative=commutative,
        odd=odd,
    )


def memory(
    name: str,
    slots: tuple[Slot, ...],
    doc: str,
    example: str,
    units: UnitRule,
    *,
    result: Result = Result.NUMBER,
    odd: bool = False,
    even: bool = False,
    absolute: bool = False,
) -> Operator:
    """An operator that carries state."""
    return Operator(
        name,
        slots,
        doc,
        example,
        Family.STATE,
        units,
        "recursive",
        absolute=absolute,
        result=result,
        recursive=True,
        odd=(0,) if odd else (),
        even=(0,) if even else (),
    )


def cross(
    name: str,
    doc: str,
    units: UnitRule,
    kernel: str = "cross",
    *,
    extra: tuple[Slot, ...] = (),
    options: tuple[Option, ...] = (),
    example: str = "",
    idempotent: bool = False,
    odd: bool = False,
    order_only: bool = False,
) -> Operator:
    """An operator on the members of a day."""
    return Operator(
        name,
        (X, *extra),
        doc,
        example or f"{name}(returns)",
        Family.CROSS,
        units,
        kernel,
        Work.DAY,
        options,
        idempotent=idempotent,
        odd=(0,) if odd else (),
        order_only=order_only,
    )


def grouped(
    name: str,
    doc: str,
    units: UnitRule,
    *,
    odd: bool = False,
    even: bool = False,
    idempotent: bool = False,
    order_only: bool = False,
) -> Operator:
    """An operator on the members of a day with one label."""
    return Operator(
        name,
        (X, G),
        doc,
        f"{name}(returns, sector)",
        Family.GROUP,
        units,
        "cross",
        Work.DAY,
        odd=(0,) if odd else (),
        even=(0,) if even else (),
        idempotent=idempotent,
        order_only=order_only,
    )


def shorthand(name: str, field: str, doc: str) -> Operator:
    """A mean of one field, written out when it is read."""
    return Operator(
        name,
        (D,),
        doc,
        f"{name}(20)",
        Family.WINDOW,
        UnitRule.SAME,
        "block_sums",
        Work.ROWS,
        MIN_OBS,
        expands=("ts_mean", field),
    )
