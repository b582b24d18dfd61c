"""Rule-based critique of a trial: the same evidence always gets the same words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from alphaswarm.agents.state import strength
from alphaswarm.core.errors import ExpressionError
from alphaswarm.dsl import Expr, operators, parse
from alphaswarm.dsl.signature import SlotKind

__all__ = ["Critique", "criticise"]

# A t-value under this is what chance gives one candidate in twenty; the floor of every hurdle is 3.
WEAK_T = 2.0
FLOOR_T = 3.0
# Proportional cost of one traded dollar in basis points, the default of the backtests.
COST_BP = 5.0
# Both sides, per day: holding five staggered tranches brings a fast signal to about 0.3.
FAST_TURNOVER = 0.5
THIN_COVERAGE = 0.7
# Both sides, per day: nothing holds that fast in practice, whatever it costs.
HECTIC_TURNOVER = 1.0
# A portfolio that stands still is one bet, however many days it is held.
STILL_TURNOVER = 0.001
# The best published daily signals on large stocks reach 0.03 to 0.05.
LEAK_IC = 0.08
# What behaves like something stored to this rank correlation is the same bet.
CROWDED = 0.7
# Share of the panel's rows that a formula may need before its first value.
LONG_LOOKBACK = 1 / 3
# Candidates whose metrics agree this closely rank the same names.
SAME = 1e-6
SLOWER = "slow it down: decay_linear, ts_mean or a longer window"


@dataclass(frozen=True)
class Critique:
    """What is wrong (`text`, stored with the trial) and what to try (`advice`, read by the proposer)."""

    text: str
    advice: str


def criticise(
    metrics: Mapping[str, Any],
    earlier: Iterable[Mapping[str, Any]] = (),
    *,
    candidate: Mapping[str, Any] | None = None,
    rows: int | None = None,
) -> Critique:
    """Judge one trial by its evidence on the search window.

    Args:
        metrics: an evaluated trial's metrics by name (`rank_ic`, `rank_ic_t`, `turnover`, ...).
        earlier: candidates of this run that came before, with `digest` and `metrics`.
        candidate: the whole candidate (`expression`, `warnings`, `nearest`, `sign`); given for a proposer that reads
            advice, it is then told all that the rules find: also leaks, dead windows, constant output, haste,
            what the memory holds already, units, and an effect with the other sign.
        rows: of the panel, for windows that leave too little.
    """
    faults: list[tuple[str, str]] = [
        found
        for found in (_strength(metrics), _cost(metrics), _coverage(metrics), _contradiction(metrics), _fading(metrics))
        if found
    ]
    twin = _twin(metrics, earlier)
    if twin:
        faults.insert(0, (f"it ranks like candidate {twin[:12]}", "change the idea, not its scale or sign"))
    if candidate is not None:
        faults = [*_leak(metrics), *faults, *_moves(metrics), *_said(metrics, candidate)]
        faults += _dead(str(candidate.get("expression", "")), rows)
    if not faults:
        return Critique("no fault found by the rules", "combine it with an idea that trades on something else")
    return Critique("; ".join(text for text, _ in faults), "; ".join(dict.fromkeys(hint for _, hint in faults)))


def _leak(metrics: Mapping[str, Any]) -> list[tuple[str, str]]:
    strongest = max((abs(metrics.get(name) or 0.0) for name in ("ic", "rank_ic")), default=0.0)
    if strongest <= LEAK_IC:
        return []
    text = f"too good: a mean daily IC of {strongest:.3f} is more than any known signal reaches, look for a leak"
    return [(text, "do not build on it before the data are checked")]


def _moves(metrics: Mapping[str, Any]) -> list[tuple[str, str]]:
    turnover = metrics.get("turnover")
    if turnover is None:
        return []
    if turnover < STILL_TURNOVER:
        text = f"constant output: turnover {turnover:.4f} a day is one portfolio held for ever"
        return [(text, "measure a change or a deviation, not a level")]
    if turnover > HECTIC_TURNOVER:
        return [(f"turns over {turnover:.2f} of the book a day", SLOWER)]
    return []


def _said(metrics: Mapping[str, Any], candidate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the tools said of the candidate, and what its proposer expected of it."""
    faults = []
    nearest = candidate.get("nearest") or {}
    likeness = nearest.get("likeness")
    if isinstance(likeness, int | float) and nearest.get("of") == "behaviour" and likeness >= CROWDED:
        text = (
            f"crowded: it behaves like stored trial {str(nearest.get('digest', ''))[:12]} (correlation {likeness:.2f})"
        )
        faults.append((text, "look for an effect that is not in the memory yet"))
    doubtful = "; ".join(str(warning) for warning in candidate.get("warnings") or ())
    if doubtful:
        faults.append((f"doubtful units: {doubtful[:160]}", "compare like with like: returns, ranks or ratios"))
    expected, z = candidate.get("sign") or 0, strength(metrics)
    if z is not None and abs(z) >= WEAK_T and expected * z < 0:
        found = "lower" if z < 0 else "higher"
        faults.append(
            (f"the effect has the other sign: high values earn {found} returns", "say why, or drop the reason")
        )
    return faults


def _dead(text: str, rows: int | None) -> list[tuple[str, str]]:
    """Windows that do nothing, or need more history than there is."""
    try:
        expression = parse(text)
    except ExpressionError:
        return []
    faults = []
    idle = sorted({node.op for node in _calls(expression) if _window(node) == 1})
    if idle:
        faults.append((f"dead window: {', '.join(idle)} over one day changes nothing", "give it at least two days"))
    if rows is not None and expression.lookback is not None and expression.lookback > LONG_LOOKBACK * rows:
        text = f"it needs {expression.lookback} earlier rows of the panel's {rows}"
        faults.append((text, "use shorter windows, or fields that are there on most days"))
    return faults


def _calls(expression: Expr) -> Iterator[Expr]:
    waiting, seen = [expression], set()
    while waiting:
        node = waiting.pop()
        if node.kind == "call" and node not in seen:
            seen.add(node)
            yield node
            waiting += node.args


def _window(node: Expr) -> float | None:
    """The window of a call over time; None where it has none."""
    slots = operators()[node.op].slots
    for slot, argument in zip(slots, node.args, strict=False):
        if slot.kind is SlotKind.WINDOW:
            return argument.value
    return None


def _strength(metrics: Mapping[str, Any]) -> tuple[str, str] | None:
    t = strength(metrics)
    if t is None:
        why = (metrics.get("missing") or {}).get("rank_ic_t", "too few days with values")
        return f"no evidence: {why}", "use shorter windows, or fields that are there on most days"
    of = "RankIC t" if metrics.get("evidence_z") is None else "evidence z"
    if abs(t) < WEAK_T:
        return f"weak: {of} {t:.2f} is what chance gives", "leave this idea or change what it measures"
    if abs(t) < FLOOR_T:
        return (
            f"not enough: {of} {t:.2f} is under {FLOOR_T:g}",
            "vary the window, or take out what it is mixed with",
        )
    return None


def _cost(metrics: Mapping[str, Any]) -> tuple[str, str] | None:
    turnover, breakeven, t = metrics.get("turnover"), metrics.get("breakeven_bp"), strength(metrics)
    if turnover is None or breakeven is None or t is None:
        return None
    if t < 0:  # what would be held is the negation
        breakeven = -breakeven
    if breakeven >= COST_BP:
        return None
    if breakeven <= 0:
        return f"earns nothing before costs (break-even {breakeven:.1f} bp)", "do not build on its direction"
    text = f"pays for {breakeven:.1f} bp only, {COST_BP:g} bp is the default cost"
    if turnover > FAST_TURNOVER:
        return f"{text}; turnover {turnover:.2f} a day", SLOWER
    return text, "look for a larger effect, it is slow already"


def _coverage(metrics: Mapping[str, Any]) -> tuple[str, str] | None:
    coverage = metrics.get("coverage")
    if coverage is None or coverage >= THIN_COVERAGE:
        return None
    return f"covers {100 * coverage:.0f} % of the names", "use shorter windows, or a lower min_obs"


def _contradiction(metrics: Mapping[str, Any]) -> tuple[str, str] | None:
    rank_ic, sharpe, evidence = metrics.get("rank_ic"), metrics.get("sharpe"), metrics.get("evidence")
    t = strength(metrics)
    if rank_ic is None or sharpe is None or t is None or abs(t) < WEAK_T:
        return None
    if rank_ic * sharpe >= 0 and (evidence is None or evidence * rank_ic >= 0):
        return None
    beyond = "" if evidence is None else f", evidence {evidence:.4f}"
    return (
        f"ranks and money disagree: RankIC {rank_ic:.4f}{beyond}, Sharpe {sharpe:.2f} before costs (as low-risk "
        "factors do)",
        "neutralise it against volatility",
    )


def _fading(metrics: Mapping[str, Any]) -> tuple[str, str] | None:
    decay = {int(days): entry for days, entry in (metrics.get("decay") or {}).items() if entry.get("t") is not None}
    sure = sorted(days for days, entry in decay.items() if abs(entry["t"]) >= WEAK_T)
    if len(sure) < 2 or decay[sure[0]]["t"] * decay[sure[-1]]["t"] > 0:
        return None
    return f"turns its sign between {sure[0]} and {sure[-1]} days", "it mixes two effects: split them by window"


def _twin(metrics: Mapping[str, Any], earlier: Iterable[Mapping[str, Any]]) -> str:
    keys = ("rank_ic", "turnover", "coverage")
    mine = [metrics.get(key) for key in keys]
    if mine[0] is None:
        return ""
    for other in earlier:
        theirs = [(other.get("metrics") or {}).get(key) for key in keys]
        # Sign-blind: the negation of a factor is the same idea.
        same = (
            a is not None and b is not None and abs(abs(a) - abs(b)) <= SAME for a, b in zip(mine, theirs, strict=True)
        )
        if all(same):
            return str(other.get("digest", ""))
    return ""
