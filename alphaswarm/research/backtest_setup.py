"""What a backtest does, beside whose weights it holds: the rule from factor to weights, and the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from inspect import Parameter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import AlphaSwarmError, Panel, Reason, SpecInvalid, load_spec, resolve_class
from alphaswarm.core.errors import near

if TYPE_CHECKING:
    from alphaswarm.backtest import BaseBacktestEngine, Fill
    from alphaswarm.trading import Costs

__all__ = [
    "SPEC_SUFFIXES",
    "BacktestRequest",
    "WeightRule",
    "cost_of",
    "described",
    "engine_for",
    "fit_baseline",
    "label_fill",
    "read_spec",
    "request_for",
    "spoken",
]

MAX_COST_BP = 1_000.0
DEFAULT_HORIZON = 5
SPEC_SUFFIXES = (".yaml", ".yml", ".json")
Kind = Literal["expression", "pool", "weights", "baseline"]
KINDS: Mapping[str, Kind] = {
    "expression": "expression",
    "pool": "pool",
    "weights_file": "weights",
    "baseline": "baseline",
}
# What says how fast a result is there, and nothing of what it is.
IRRELEVANT = frozenset({"threads"})


@dataclass(frozen=True)
class WeightRule:
    """From a factor to weights.

    Attributes:
        rule: "rank", in proportion to the rank; "quantile", equal weights in the top quantile against the bottom one.
        quantiles: how many.
        long_short: against the bottom quantile; else the top one alone.
        staggered: rows that each row's weights are held, in equal parts of the capital; the horizon if None.

    Raises:
        SpecInvalid: a value that can't be.
    """

    rule: Literal["rank", "quantile"] = "rank"
    quantiles: int = 5
    long_short: bool = True
    staggered: int | None = None

    def __post_init__(self) -> None:
        if self.rule not in ("rank", "quantile"):
            raise SpecInvalid(f"rule must be rank or quantile, got {self.rule!r}")
        if self.rule == "rank" and (self.quantiles != 5 or not self.long_short):
            raise SpecInvalid("quantiles and long_short belong to rule quantile; ranks are always long and short")
        for name, least, value in (("quantiles", 2, self.quantiles), ("staggered", 1, self.staggered)):
            if value is None and name == "staggered":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= 252:
                raise SpecInvalid(f"{name} must be a whole number from {least} to 252, got {value!r}")
        if not isinstance(self.long_short, bool):
            raise SpecInvalid(f"long_short must be true or false, got {self.long_short!r}")

    def tranches(self, horizon: int) -> int:
        """Rows that each row's weights are held."""
        return horizon if self.staggered is None else self.staggered

    def weights(self, factor: NDArray[np.float64], horizon: int) -> NDArray[np.float64]:
        """Of `factor` [T, N], staggered: [T, N], row t decided at close t."""
        from alphaswarm.backtest import quantile_weights, rank_weights, stagger

        if self.rule == "rank":
            decided = rank_weights(factor)
        else:
            decided = quantile_weights(factor, self.quantiles, self.long_short)
        return stagger(decided, self.tranches(horizon))

    def words(self, horizon: int) -> str:
        """The rule in one line."""
        if self.rule == "rank":
            book = "in proportion to ranks, long and short"
        else:
            book = f"top of {self.quantiles} quantiles" + (" against the bottom one" if self.long_short else "")
        days = self.tranches(horizon)
        return f"{book}, held {days} day{'s in staggered parts' if days > 1 else ''}"


@dataclass(frozen=True)
class BacktestRequest:
    """One question: whose weights, on which panel, traded how.

    Attributes:
        kind: of what is held.
        text: the expression; the weights file; the name of the baseline; nothing for the pool.
        panel: name or path.
        engine: trades the weights.
        horizon: rows that a factor's label spans and, if the rule doesn't say otherwise, its weights are held.
        rule: from a factor to weights.
        factor: the expression that a baseline ranks by, where it needs one.
        settings: of a baseline, such as the rows of its volatility; its own defaults where they are not given.
    """

    kind: Kind
    text: str
    panel: str
    engine: BaseBacktestEngine
    horizon: int = DEFAULT_HORIZON
    rule: WeightRule = WeightRule()
    factor: str | None = None
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def engine_for(
    name: str, *, cost_bp: float = 5.0, mode: str | None = None, fill: str | None = None
) -> BaseBacktestEngine:
    """The engine of this name with proportional costs.

    Args:
        name: "vector" or "event".
        cost_bp: cost of a traded dollar in basis points.
        mode: of the event engine: when its orders are filled.
        fill: of the vector engine: close_t1 or open_t1.

    Raises:
        UnknownName: there is no such engine.
        AlphaSwarmError: a cost, mode or fill that can't be.
    """
    from alphaswarm.backtest import ENGINES, EventEngine, VectorEngine
    from alphaswarm.trading import ProportionalCosts
    from alphaswarm.trading.costs import BASIS_POINT

    kind = ENGINES[name]
    if not 0.0 <= cost_bp <= MAX_COST_BP:
        raise AlphaSwarmError(f"cost_bp must be 0 to {MAX_COST_BP:g}, got {cost_bp}", Reason.ARGUMENT_INVALID)
    if kind is EventEngine:
        if fill is not None:
            raise SpecInvalid(f"the event engine fills by its mode and takes no fill, got {fill!r}")
        return EventEngine(mode=cast("Any", mode), commission=cost_bp * BASIS_POINT)
    if kind is not VectorEngine:
        raise SpecInvalid(f"engine {name!r} has settings of its own: name it in a spec")
    if mode is not None:
        raise SpecInvalid(f"the vector engine has a fill and no mode, got {mode!r}")
    return VectorEngine(costs=ProportionalCosts(cost_bp), fill=cast("Fill", fill or "close_t1"))


def label_fill(engine: BaseBacktestEngine, panel: Panel) -> Fill:
    """The fill of the label that a look at this engine's result is a look at."""
    from alphaswarm.backtest import EventEngine

    if isinstance(engine, EventEngine):
        return "close_t1" if engine.mode_on(panel) in ("close_to_close", "cheat_on_close") else "open_t1"
    return cast("Fill", getattr(engine, "fill", "close_t1"))


def cost_of(engine: BaseBacktestEngine) -> float | None:
    """Basis points of a traded dollar; None where costs are not proportional."""
    from alphaswarm.trading import ProportionalCosts
    from alphaswarm.trading.costs import BASIS_POINT

    costs = getattr(engine, "costs", None)
    commission = round(getattr(engine, "commission", 0.0) / BASIS_POINT, 9)
    if isinstance(costs, ProportionalCosts):
        return costs.bp + commission
    return commission if costs is None else None


def described(part: Any) -> Any:
    """An engine, rule or cost model as plain JSON: its class and every setting that changes a result."""
    if is_dataclass(part):
        known = {one.name: described(getattr(part, one.name)) for one in fields(part) if one.name not in IRRELEVANT}
        return {"class": type(part).__name__, **known}
    return [described(one) for one in part] if isinstance(part, tuple) else part


def spoken(engine: Mapping[str, Any], fill: str, cost_bp: float | None) -> str:
    """A `described` engine in one line."""
    mode = engine.get("mode")
    when = f"filled at {'close' if fill == 'close_t1' else 'open'} t+1"
    if mode == "cheat_on_close":
        when = "filled at the close that decided"
    if mode is not None:
        when = f"{mode}, {when}"
    costs = engine.get("costs") or {}
    paid = f"{cost_bp:g} bp a traded dollar" if cost_bp is not None else f"costs {costs.get('class', 'unknown')}"
    unusual = [
        f"every {engine['every']} rows" if engine.get("every", 1) > 1 else "",
        f"band {engine['band']:g}" if engine.get("band") else "",
        "long only" if engine.get("long_only") else "",
        f"cash earns {engine['cash_rate']:.2%} a year" if engine.get("cash_rate") else "",
        f"lot {engine['lot']:g}" if engine.get("lot", 1.0) != 1.0 else "",
        f"at most {engine['volume_share']:.1%} of a bar's volume" if engine.get("volume_share") else "",
    ]
    return ", ".join([when, paid, *filter(None, unusual)])


def request_for(
    source: str | None,
    panel: str,
    engine: BaseBacktestEngine,
    *,
    horizon: int = DEFAULT_HORIZON,
    baseline: str | None = None,
) -> BacktestRequest:
    """What a word on a command line asks for.

    Args:
        source: "pool"; a file of weights (by its suffix); else an expression.
        panel: name or path.
        engine: trades the weights.
        horizon: see `BacktestRequest`.
        baseline: held instead; `source` is then the expression that it ranks by, if it needs one.

    Raises:
        AlphaSwarmError: neither source nor baseline.
    """
    if baseline is not None:
        return BacktestRequest("baseline", baseline, panel, engine, horizon, factor=source)
    if source is None:
        raise AlphaSwarmError(
            "a backtest needs an expression, pool, a weights file, a spec or a baseline, got none",
            Reason.ARGUMENT_INVALID,
        )
    from alphaswarm.data.table import SUFFIXES

    if source == "pool":
        return BacktestRequest("pool", "", panel, engine, horizon)
    if source.lower().endswith(SUFFIXES):  # no expression ends so
        return BacktestRequest("weights", source, panel, engine, horizon)
    return BacktestRequest("expression", source, panel, engine, horizon)


# Specs


def read_spec(path: Path, panel: str | None = None) -> BacktestRequest:
    """What a YAML file asks for.

    It names one of `expression`, `pool: true`, `weights_file` (beside the spec) and `baseline`, and may say `panel`,
    `horizon`, `weights` (`rule`, `quantiles`, `long_short`, `staggered`), `factor` and `settings` (of a baseline) and
    `engine`: a
    name, or ``{class, module_path, kwargs}`` of an engine inside this package, whose `costs` are a number of basis
    points or such a component.

    Args:
        path: the file.
        panel: used where the spec names none.

    Raises:
        SpecInvalid: malformed, an unknown key, or code that is not allowed.
    """
    spec = load_spec(path)
    _known_keys("a backtest", spec, {*KINDS, "panel", "horizon", "weights", "factor", "settings", "engine"})
    named = [key for key in KINDS if key in spec]
    if len(named) != 1:
        raise SpecInvalid(f"a backtest needs one of {', '.join(KINDS)}, got {' and '.join(named) or 'none'}")
    held = spec[named[0]]
    if named[0] == "pool":
        if held is not True:
            raise SpecInvalid(f"pool must be true where it is named, got {held!r}")
        held = ""
    elif named[0] == "weights_file":
        held = str(path.parent / _text("weights_file", held))
    on = spec.get("panel", panel)
    if on is None:
        raise SpecInvalid("a backtest needs a panel: name it in the spec, or beside it")
    horizon = spec.get("horizon", DEFAULT_HORIZON)
    return BacktestRequest(
        kind=KINDS[named[0]],
        text=_text(named[0], held),
        panel=_text("panel", on),
        engine=_engine(spec.get("engine", "vector")),
        horizon=horizon,
        rule=_made(WeightRule, _mapping("weights", spec.get("weights", {}))),
        factor=None if spec.get("factor") is None else _text("factor", spec["factor"]),
        settings=_mapping("settings", spec.get("settings", {})),
    )


def _engine(spec: Any) -> BaseBacktestEngine:
    from alphaswarm.backtest import BaseBacktestEngine

    if isinstance(spec, str):
        return engine_for(spec)
    kind, settings = _component("engine", spec, BaseBacktestEngine)
    if "costs" in settings:
        settings["costs"] = _costs(settings["costs"])
    made: BaseBacktestEngine = _made(kind, settings)
    return made


def _costs(spec: Any) -> Costs | None:
    from alphaswarm.trading import ProportionalCosts

    if spec is None:
        return None
    if isinstance(spec, int | float) and not isinstance(spec, bool):
        return ProportionalCosts(float(spec))
    kind, settings = _component("costs", spec, None)
    if "costs" in settings:
        settings["costs"] = _costs(settings["costs"])
    if "parts" in settings:
        parts = settings["parts"]
        if not isinstance(parts, list) or not parts:
            raise SpecInvalid(f"parts must be a list of costs, got {parts!r}")
        settings["parts"] = tuple(_costs(part) for part in parts)
    made: Costs = _made(kind, settings)
    return made


def _component(what: str, spec: Any, base: type | None) -> tuple[type, dict[str, Any]]:
    named = _mapping(what, spec)
    _known_keys(f"the component {what}", named, {"class", "module_path", "kwargs"})
    kind = resolve_class(named)
    fits = issubclass(kind, base) if base is not None else hasattr(kind, "charge")
    if not (fits and is_dataclass(kind)):
        raise SpecInvalid(f"{kind.__name__} can't be the {what} of a backtest", Reason.SPEC_NOT_ALLOWED)
    return kind, dict(_mapping("kwargs", named.get("kwargs", {})))


def _made(kind: type, settings: Mapping[str, Any]) -> Any:
    """`kind` with these settings, each of the kind of its default."""
    known = {one.name: one for one in fields(kind)}
    _known_keys(kind.__name__, settings, set(known))
    for name, value in settings.items():
        _like(f"{name} of {kind.__name__}", value, known[name].default)
    try:
        return kind(**settings)
    except (TypeError, ValueError) as error:
        if isinstance(error, AlphaSwarmError):
            raise
        raise SpecInvalid(f"{kind.__name__} can't be made of {dict(settings)}: {error}") from None


def fit_baseline(request: BacktestRequest, takes: Mapping[str, Parameter]) -> None:
    """See that a baseline, a function of these parameters, can be made with the settings that are asked for.

    Raises:
        SpecInvalid: it takes no such setting, or none of that kind.
    """
    valid = {name: one.default for name, one in takes.items() if name not in ("panel", "factor")}
    _known_keys(f"settings of {request.text}", request.settings, set(valid))
    for name, value in request.settings.items():
        _like(f"{name} of {request.text}", value, valid[name])


def _like(what: str, value: Any, default: Any) -> None:
    """A setting is of the kind of its default: a number for a number."""
    numeric = isinstance(default, int | float) and not isinstance(default, bool)
    if isinstance(default, bool) is not isinstance(value, bool) or (numeric and not isinstance(value, int | float)):
        raise SpecInvalid(f"{what} can't be {value!r}")


def _mapping(what: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise SpecInvalid(f"{what} must be a mapping with text keys, got {value!r}")
    return value


def _text(what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SpecInvalid(f"{what} must be text, got {value!r}")
    return value


def _known_keys(what: str, given: Mapping[str, Any], valid: set[str]) -> None:
    for key in given:
        if key not in valid:
            hint = near(key, valid)
            raise SpecInvalid(f"{what} takes {', '.join(sorted(valid))}; got {key!r}{'; ' + hint if hint else ''}")
