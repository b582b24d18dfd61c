"""`Step`: what the engine does for one node, and `Lowering`: from operators to steps.

Many operators share a kernel and differ by an operation code; a few are two steps. Equal steps are one object,
so what expressions share is done once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from alphaswarm.dsl.expr import Expr
from alphaswarm.dsl.kernels.block_decay import DECAY
from alphaswarm.dsl.kernels.block_extremes import EXTREMES
from alphaswarm.dsl.kernels.block_pairs import PAIRS
from alphaswarm.dsl.kernels.block_shape import HIGHEST, SHAPE
from alphaswarm.dsl.kernels.block_spread import SPREAD
from alphaswarm.dsl.kernels.block_sums import SUMS
from alphaswarm.dsl.kernels.cross import CROSS
from alphaswarm.dsl.kernels.cs_rank import RANKS
from alphaswarm.dsl.kernels.elementwise import BINARY, POWER, TERNARY, TRANSCENDENTAL, UNARY
from alphaswarm.dsl.kernels.order import ORDER
from alphaswarm.dsl.kernels.pairs import PAIR_WINDOWS
from alphaswarm.dsl.kernels.recursive import RECURSIVE
from alphaswarm.dsl.kernels.rolling import ROLLING
from alphaswarm.dsl.kernels.shift import SHIFT
from alphaswarm.dsl.operators import OPERATORS

__all__ = ["Lowering", "Step", "with_care"]

# Where a step happens: nowhere, cell by cell, down the columns of a block, across a day, on the whole panel.
LEAF = ("field", "number", "rows", "group")
ELEMENT = ("unary", "binary", "ternary", "transcendental", "power")
DAY = ("cs_rank", "cross", "rank_ic")
PANEL = ("cs_resid", "group_backfill")


def _codes(kernel: str, names: Sequence[str]) -> dict[str, tuple[str, int]]:
    return {name: (kernel, code) for code, name in enumerate(names)}


# Kernel and operation code of the operators that are one step. Windows with missing rows allowed go elsewhere.
KERNELS: dict[str, tuple[str, int]] = {
    **_codes("unary", UNARY),
    **_codes("binary", BINARY),
    **_codes("ternary", TERNARY),
    **_codes("transcendental", TRANSCENDENTAL),
    **_codes("power", POWER),
    **_codes("shift", SHIFT),
    **{name: ("rolling", code) for name, code in ROLLING.items()},
    **_codes("block_sums", SUMS),
    **_codes("block_spread", SPREAD),
    **_codes("block_shape", SHAPE),
    **_codes("block_decay", DECAY),
    **_codes("block_extremes", EXTREMES),
    **_codes("block_pairs", PAIRS),
    "ts_rank": ("ts_rank", 0),
    "ts_product": ("block_product", 0),
    "ts_rank_corr": ("rank_correlation", 0),
    **{name: ("order_statistic", code) for name, code in ORDER.items()},
    **_codes("recursive", RECURSIVE),
    **_codes("cs_rank", RANKS),
    **{name: ("cross", code) for name, code in CROSS.items()},
    "cs_resid": ("cs_resid", 0),
    "group_backfill": ("group_backfill", 0),
}


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """One instruction before it has addresses.

    Attributes:
        kernel: which kernel; for a leaf, what it is.
        op: operation code within the kernel.
        args: the steps whose values it reads.
        window: rows of the window, or the lag.
        p: first parameter; the value of a number.
        q: second parameter.
        min_obs: rows that must be valid.
        name: of a field or group.
    """

    kernel: str
    op: int = 0
    args: tuple[Step, ...] = ()
    window: int = 0
    p: float = 0.0
    q: float = 0.0
    min_obs: int = 0
    name: str = ""

    @property
    def leaf(self) -> bool:
        """Whether it is there before anything runs."""
        return self.kernel in LEAF

    @property
    def element(self) -> bool:
        """Whether each cell reads that cell of the arguments only."""
        return self.kernel in ELEMENT

    @property
    def across(self) -> bool:
        """Whether it needs all stocks at once."""
        return self.kernel in DAY or self.kernel in PANEL

    @property
    def on_panel(self) -> bool:
        """Whether it is done on [T, N] rows by numpy."""
        return self.kernel in PANEL


def with_care(step: Step) -> tuple[str, int]:
    """Kernel and code that do `step` on data which its own kernel refused."""
    if step.kernel == "block_pairs":
        return "pair_windows", PAIR_WINDOWS[PAIRS[step.op]]
    names = SPREAD if step.kernel == "block_spread" else SHAPE
    return "rolling", ROLLING[names[step.op]]


class Lowering:
    """Turns expressions into steps and remembers every one."""

    def __init__(self) -> None:
        self._steps: dict[tuple[object, ...], Step] = {}
        self._made: dict[Expr, Step] = {}

    def __call__(self, expr: Expr) -> Step:
        """The step that gives the values of `expr`."""
        for node in expr.walk():
            if node not in self._made:
                self._made[node] = self._node(node)
        return self._made[expr]

    def step(self, kernel: str, op: int = 0, args: tuple[Step, ...] = (), **rest: float | int | str) -> Step:
        """The one step with these contents."""
        key = (kernel, op, args, *sorted(rest.items()))
        if key not in self._steps:
            self._steps[key] = Step(kernel, op, args, **rest)  # type: ignore[arg-type]
        return self._steps[key]

    def _node(self, node: Expr) -> Step:
        if node.constant is not None:
            return self.step("number", p=float(node.constant))
        if node.kind != "call":
            return self.step(node.kind, name=node.name)
        operator = OPERATORS[node.op]
        kinds = [operator.slot(index).kind for index in range(len(node.args))]
        series = tuple(self._made[arg] for arg, kind in zip(node.args, kinds, strict=True) if not kind.literal)
        literals = [float(arg.value) for arg, kind in zip(node.args, kinds, strict=True) if kind.literal]
        if operator.elementwise:
            return self._element(node.op, series, literals)
        series = tuple(self.series(one) for one in series)
        options = dict(node.options)
        if node.op in _SPECIAL:
            return _SPECIAL[node.op](self, series, literals, options)
        kernel, op = KERNELS[node.op]
        if operator.window is None:
            parameter = literals[0] if literals else options.get("a", 1.0)
            if kernel == "shift":
                return self.step(kernel, op, series, window=int(parameter))
            return self.step(kernel, op, series, p=parameter)
        if node.op == "group_backfill":
            return self.step(kernel, op, series, window=int(literals[0]))
        return self.window(node.op, series, int(literals[0]), options, *literals[1:])

    def window(
        self, name: str, series: tuple[Step, ...], d: int, options: dict[str, float], parameter: float = 0.0
    ) -> Step:
        """The windowed operator `name`, by the column kernels where fewer than `d` rows may be valid."""
        kernel, op = KERNELS[name]
        min_obs = int(options.get("min_obs", d))
        if name in ROLLING and (min_obs < d or (name == "ts_moment" and not 2 <= parameter <= HIGHEST)):
            kernel, op = "rolling", ROLLING[name]
        elif min_obs < d and name in PAIR_WINDOWS:
            kernel, op = "pair_windows", PAIR_WINDOWS[name]
        return self.step(kernel, op, series, window=d, min_obs=min_obs, p=parameter)

    def _element(self, name: str, series: tuple[Step, ...], literals: list[float]) -> Step:
        kernel, op = KERNELS[name]
        if name == "clip":
            return self.step(kernel, op, series, p=literals[0], q=literals[1])
        made = series
        while kernel == "binary" and len(made) > 2:
            made = (self.step(kernel, op, made[:2]), *made[2:])
        return self.step(kernel, op, made)

    def series(self, step: Step) -> Step:
        """A number as a series, for kernels that read rows."""
        return self.binary("add", step, self.step("number", p=0.0)) if step.kernel == "number" else step

    def binary(self, name: str, x: Step, y: Step) -> Step:
        """`name` of two series."""
        return self.step("binary", BINARY.index(name), (x, y))


Special = Callable[[Lowering, tuple[Step, ...], list[float], dict[str, float]], Step]


def _holds(low: Lowering, condition: Step) -> Step:
    return low.step("unary", UNARY.index("holds"), (condition,))


def _count(low: Lowering, series: tuple[Step, ...], literals: list[float], options: dict[str, float]) -> Step:
    return low.window("ts_sum", (_holds(low, series[0]),), int(literals[0]), options)


def _sum_if(low: Lowering, series: tuple[Step, ...], literals: list[float], options: dict[str, float]) -> Step:
    kept = low.binary("mul", series[0], _holds(low, series[1]))
    return low.window("ts_sum", (kept,), int(literals[0]), options)


def _slope(low: Lowering, series: tuple[Step, ...], literals: list[float], options: dict[str, float]) -> Step:
    return low.window("ts_beta", (series[0], low.step("rows")), int(literals[0]), options)


def _autocorr(low: Lowering, series: tuple[Step, ...], literals: list[float], options: dict[str, float]) -> Step:
    past = low.step("shift", SHIFT.index("delay"), series, window=int(literals[1]))
    return low.window("ts_corr", (series[0], past), int(literals[0]), options)


def _ema(low: Lowering, series: tuple[Step, ...], literals: list[float], _options: dict[str, float]) -> Step:
    span = int(literals[0])
    return low.step("recursive", RECURSIVE.index("ema"), series, window=span, p=2.0 / (span + 1.0))


def _sma(low: Lowering, series: tuple[Step, ...], literals: list[float], _options: dict[str, float]) -> Step:
    n, m = literals
    return low.step("recursive", RECURSIVE.index("sma_cn"), series, window=int(n), p=m / n)


def _backfill(low: Lowering, series: tuple[Step, ...], literals: list[float], _options: dict[str, float]) -> Step:
    return low.step("recursive", RECURSIVE.index("ts_backfill"), series, window=int(literals[0]))


_SPECIAL: dict[str, Special] = {
    "ema": _ema,
    "sma_cn": _sma,
    "ts_autocorr": _autocorr,
    "ts_backfill": _backfill,
    "ts_count": _count,
    "ts_slope": _slope,
    "ts_sumif": _sum_if,
}
