"""What a row of the operator table says: slots, options, and the facts that the rest of the language reads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Family", "Operator", "Option", "Result", "Scale", "Slot", "SlotKind", "UnitRule", "Work"]


class SlotKind(StrEnum):
    """What may stand in a slot."""

    SERIES = "series"
    CONDITION = "condition"
    GROUP = "group"
    WINDOW = "window"
    LAG = "lag"
    INTEGER = "integer"
    NUMBER = "number"

    @property
    def literal(self) -> bool:
        """Whether only a number written out may stand here."""
        return self in (SlotKind.WINDOW, SlotKind.LAG, SlotKind.INTEGER, SlotKind.NUMBER)

    @property
    def whole(self) -> bool:
        """Whether that number must be an integer."""
        return self.literal and self is not SlotKind.NUMBER


class Family(StrEnum):
    """What an operator ranges over."""

    ELEMENT = "element"
    COMPARISON = "comparison"
    LOGIC = "logic"
    LAG = "lag"
    WINDOW = "window"
    STATE = "state"
    CROSS = "cross"
    GROUP = "group"


class Result(StrEnum):
    """What an operator gives: `SAME` is a condition where all its series slots are."""

    NUMBER = "number"
    CONDITION = "condition"
    SAME = "same"


class UnitRule(StrEnum):
    """The unit of a result, and what the units of the series that it is made of must be."""

    SAME = "same"  # that of the first series
    ALIKE = "alike"  # all series share one, the result has it
    COMPARED = "compared"  # all series share one, the result is a plain number
    PLAIN = "plain"  # a plain number, whatever the series are in
    BARE = "bare"  # a plain number of plain numbers
    PRODUCT = "product"  # that of the first series times that of the second
    RATIO = "ratio"  # that of the first series over that of the second; 1 over it where there is only one
    POWER = "power"  # that of the first series to the power of the last argument
    SQUARE = "square"
    ROOT = "root"


class Scale(StrEnum):
    """What happens to a result when series are multiplied by a constant c > 0."""

    INVARIANT = "invariant"  # nothing, whichever series it is
    LINEAR = "linear"  # times c for the first series, nothing for others
    JOINT = "jointly linear"  # times c where all series are multiplied by the same c
    COMPARED = "jointly invariant"  # nothing where all series are multiplied by the same c
    PRODUCT = "product"  # times c for either series
    RATIO = "ratio"  # times c for the first series, over c for the second; over c where there is only one
    POWER = "power"  # times c to the power of the last argument, for the first series
    SQUARE = "square"
    ROOT = "root"
    NONE = "none"  # no such law


# A unit is a scale that has a name: where no fixed number meets the series, the result follows both alike.
_SCALES = {
    UnitRule.SAME: Scale.LINEAR,
    UnitRule.ALIKE: Scale.JOINT,
    UnitRule.COMPARED: Scale.COMPARED,
    UnitRule.PLAIN: Scale.INVARIANT,
    UnitRule.BARE: Scale.NONE,
    UnitRule.PRODUCT: Scale.PRODUCT,
    UnitRule.RATIO: Scale.RATIO,
    UnitRule.POWER: Scale.POWER,
    UnitRule.SQUARE: Scale.SQUARE,
    UnitRule.ROOT: Scale.ROOT,
}


class Work(StrEnum):
    """How many operations a cell costs; d is the window, N the names of a day."""

    CELL = "cell"  # 1
    DAY = "day"  # log2 N: a sort of the day
    ROWS = "rows"  # d: one pass over the window
    MOMENTS = "moments"  # 4 d: two passes over the window
    PAIRS = "pairs"  # 8 d: two passes over two windows
    SORTS = "sorts"  # d log2 d: a sort of the window


@dataclass(frozen=True, slots=True)
class Slot:
    """One positional argument; `low` and `high` bound a literal, `open_*` exclude the bound itself."""

    name: str
    kind: SlotKind
    low: float = float("-inf")
    high: float = float("inf")
    open_low: bool = False
    open_high: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """A keyword; `default` None means "as the window", `positional` that it may also follow the slots."""

    name: str
    default: float | None
    low: float
    high: float
    whole: bool = False
    open_low: bool = False
    positional: bool = False


@dataclass(frozen=True, slots=True)
class Operator:
    """A row of the table.

    Attributes:
        name: how it is called, and its key in the tables of values.
        slots: the positional arguments in order; with `variadic` the last one repeats.
        doc: the meaning, beyond the rules that hold for all.
        example: an expression that uses it.
        family: what it ranges over.
        units: the unit of its result, and what it asks of the units of its series.
        kernel: the compiled kernel that makes its values; windows in which rows may be missing go to those of
            whole columns, ``rolling`` and ``pair_windows``.
        work: what a cell of its result costs.
        options: the keywords it takes.
        result: number, condition, or as its arguments.
        minimum: the smallest window for which the statistic exists.
        recursive: whether its value depends on all history.
        symbol: how infix prints it, "" for a call; `precedence` 1 (loosest) to 8.
        commutative: its first two arguments may change places without changing a bit.
        idempotent: f(f(x)) is f(x).
        odd: slots where -x gives exactly minus the value. even: slots where -x gives the same value.
        unit: a window of one row gives x itself.
        absolute: fixed numbers meet the series (1 + x, bounds, whole steps), so a factor does not pass through.
        order_only: it reads only the order within the day, so a cs_rank inside changes nothing.
        expands: (operator, field) that it stands for; it never appears in a tree.
    """

    name: str
    slots: tuple[Slot, ...]
    doc: str
    example: str
    family: Family
    units: UnitRule
    kernel: str
    work: Work = Work.CELL
    options: tuple[Option, ...] = ()
    result: Result = Result.NUMBER
    variadic: bool = False
    minimum: int = 1
    recursive: bool = False
    symbol: str = ""
    precedence: int = 0
    commutative: bool = False
    idempotent: bool = False
    odd: tuple[int, ...] = ()
    even: tuple[int, ...] = ()
    unit: bool = False
    absolute: bool = False
    order_only: bool = False
    expands: tuple[str, str] | None = None

    def slot(self, index: int) -> Slot:
        """The slot of argument `index`; the last one repeats where the operator is variadic."""
        return self.slots[min(index, len(self.slots) - 1)]

    def option(self, name: str) -> Option | None:
        """The option called `name`, or None."""
        return next((option for option in self.options if option.name == name), None)

    @property
    def window(self) -> int | None:
        """Index of the window slot, or None."""
        return next((i for i, slot in enumerate(self.slots) if slot.kind is SlotKind.WINDOW), None)

    @property
    def scale(self) -> Scale:
        """What a positive factor on its series does to its result."""
        return Scale.NONE if self.absolute else _SCALES[self.units]

    @property
    def elementwise(self) -> bool:
        """Whether each cell of the result reads that cell of the arguments only."""
        return self.family in (Family.ELEMENT, Family.COMPARISON, Family.LOGIC)

    @property
    def signature(self) -> str:
        """How to write it, e.g. ``ts_mean(x, d, min_obs=d)``."""
        parts = [slot.name for slot in self.slots]
        if self.variadic:
            parts.append("...")
        for option in self.options:
            default = self.slots[self.window or 0].name if option.default is None else f"{option.default:g}"
            parts.append(f"{option.name}={default}")
        return f"{self.name}({', '.join(parts)})"
