"""One factor on one screen: the verdict with every gate, raw ranks, residuals and money side by side, pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from alphaswarm.research import pictures
from alphaswarm.research.plot import figure, number
from alphaswarm.research.report_data import FactorSheet, ReportData

if TYPE_CHECKING:
    from alphaswarm.evaluation import FactorSeries
    from alphaswarm.evaluation.breakdown import Part
    from alphaswarm.evaluation.gates import GateResult
    from alphaswarm.evaluation.neutral import Left
    from alphaswarm.evaluation.sheet import SharpeFigures, TearSheet
    from alphaswarm.evaluation.verdict import Verdict

__all__ = ["factor_page", "failures", "headline", "short_verdict"]

AT_LEAST, AT_MOST = "\N{GREATER-THAN OR EQUAL TO}", "\N{LESS-THAN OR EQUAL TO}"
# How each gate is shown: words, format, unit, factor, relation to its threshold.
GATES: Mapping[str, tuple[str, str, str, float, str]] = {
    "history": ("Days in the window", ",.0f", "", 1, AT_LEAST),
    "leak": ("Mean daily |IC|, no leak", ".3f", "", 1, AT_MOST),
    "evidence": ("Evidence z", ".2f", "", 1, AT_LEAST),
    "residual_rank_ic": ("Residual RankIC t", ".2f", "", 1, AT_LEAST),
    "agreement": ("Ranks, means, money agree", "", "", 1, ""),
    "distinct": ("Unlike stronger bets", ".2f", "", 1, "<"),
    "confirmation": ("Holds on unseen days", ".2f", "", 1, f"z {AT_LEAST}"),
    "net_sharpe": ("Sharpe after cost", ".2f", "", 1, AT_LEAST),
    "net_dsr": ("The same, deflated", ".2f", "", 1, AT_LEAST),
    "breakeven": ("Break-even", ".1f", " bp", 1, AT_LEAST),
    "min_turnover": ("Turnover, not idle", ".1f", "%", 100, AT_LEAST),
    "max_turnover": ("Turnover, not wild", ".1f", "%", 100, AT_MOST),
    "max_weight": ("Largest weight", ".1f", "%", 100, "<"),
    "capacity": ("Capacity", "", "", 1, ""),
    "self_correlation": ("Likeness to the pool", ".2f", "", 1, "<"),
    "breakeven_selection": ("Break-even, unseen days", ".1f", " bp", 1, AT_LEAST),
    "net_sharpe_selection": ("Sharpe, unseen days", ".2f", "", 1, ">"),
}
SIGNED = ("evidence", "residual_rank_ic")  # shown on the side that the factor is held on
MARKS = {True: "pass", False: "fail", None: "open"}
SHORT = {
    "confirmed": "real, not tradable",
    "unconfirmed": "not confirmed",
    "redundant": "same bet",
    "rejected": "rejected",
    "withheld": "contradiction",
    "held": "leak alarm",
    "too short": "too short",
    "in-sample": "in-sample",
}
HEADLINES = {
    "unconfirmed": "Beat the hurdle, not confirmed",
    "redundant": "The same bet as a stronger one",
    "rejected": "Rejected on search",
    "withheld": "Contradiction, verdict withheld",
    "held": "Leak alarm, held",
    "too short": "Too short for a verdict",
    "in-sample": "In-sample, nothing can be confirmed",
}
TOLD_IN_WORDS = ("redundant", "withheld", "held", "too short", "in-sample")
STYLES = (("beta", "beta"), ("volatility", "vol"), ("size", "size"))
WIDE, NAMED, TOLD = "ends", "named", "named told"  # room for labels at the right, at the left, on both sides


def factor_page(data: ReportData, place: int, factor: FactorSheet, remarks: Sequence[str]) -> SimpleNamespace:
    """What the template of a factor shows; all figures of the search window, on the side that the factor is held on.

    Args:
        data: the report's.
        place: its number among the factors shown.
        factor: the one.
        remarks: what speaks against it, in words.
    """
    verdict, sheet = factor.verdict, factor.sheet
    known = (verdict.reported.get("known") or {}).get("label") if verdict else None
    return SimpleNamespace(
        place=place,
        trial=factor.trial,
        turned=factor.sign < 0,
        headline=headline(verdict),
        tone="open" if verdict is None else "pass" if verdict.status == "confirmed" else "fail",
        known=known,
        remarks=_against(verdict, remarks),
        tiers=_tiers(data, factor),
        groups=_side_by_side(sheet),
        luck=_luck(factor),
        likeness=_likeness(factor),
        rows=_pictures(factor),
    )


def _against(verdict: Verdict | None, remarks: Sequence[str]) -> Sequence[str]:
    """A verdict that came of more than figures tells itself; of the others the gates do."""
    if verdict is not None and verdict.status in TOLD_IN_WORDS:
        return [verdict.words, *(remark for remark in remarks if not remark.startswith("it falls"))]
    return remarks


def headline(verdict: Verdict | None) -> str:
    """A verdict in a few words."""
    if verdict is None:
        return "Not judged"
    if verdict.status != "confirmed":
        return HEADLINES[verdict.status]
    cost = f"{verdict.thresholds.cost_bp:g} bp"
    if not verdict.tradable:
        return f"Statistically real, not tradable at {cost}"
    biased = " on a biased panel" if "biased panel" in verdict.words else ""
    return f"Statistically real, tradable{biased} at {cost}"


def short_verdict(verdict: Verdict) -> str:
    """A verdict for a table."""
    return "real, tradable" if verdict.tradable else SHORT[verdict.status]


def failures(verdict: Verdict) -> list[str]:
    """The gates that were not passed, each with its value and what was asked."""
    told = []
    for gate in verdict.gates:
        if gate.passed is False and gate.name == "agreement":
            told.append(gate.reason)
        elif gate.passed is False:
            shown = _gate(gate, verdict.sign)
            value = f" {shown.value}" if shown.value else ""
            asked = f", asked {shown.asked}" if shown.asked else ""
            why = f" ({gate.reason})" if gate.reason and gate.window == "search" else ""
            told.append(f"{shown.words}{value}{asked}{why}")
    return told


def _gate(gate: GateResult, sign: int) -> SimpleNamespace:
    """One gate as it is shown. Of the selection window no value is, whatever it holds: pass or fail is all."""
    words, form, unit, scale, relation = GATES.get(gate.name, (gate.name, "g", "", 1, ""))
    value = gate.value
    if gate.window == "selection":
        shown = "sealed"
    elif gate.name == "capacity" and value is not None:
        shown = pictures.money(value)
    elif value is None or not form:
        shown = ""
    else:
        shown = figure((sign or 1) * value if gate.name in SIGNED else value * scale, form, unit)
    asked = "" if gate.threshold is None else f"{relation} {figure(gate.threshold * scale, 'g', unit)}"
    if gate.name == "confirmation" and gate.threshold is not None:
        asked = f"{relation} {gate.threshold:.2f}"
    if gate.name == "evidence" and gate.threshold is not None:
        asked = f"{relation} {gate.threshold:.2f}"
    return SimpleNamespace(words=words, value=shown, asked=asked, mark=MARKS[gate.passed], reason=gate.reason)


def _tiers(data: ReportData, factor: FactorSheet) -> list[SimpleNamespace]:
    """The gates of both tiers; why there are none where a tier was not asked."""
    verdict = factor.verdict
    if verdict is None:
        why = "a run is judged when it has ended by itself" if not data.run.finished else "this candidate was not sent"
        return [SimpleNamespace(title="Statistically real?", gates=[], why=f"Not judged: {why}.")]
    by_tier = [[_gate(gate, verdict.sign) for gate in verdict.gates if gate.tier == tier] for tier in (1, 2)]
    titles = ("Statistically real?", f"Tradable at {verdict.thresholds.cost_bp:g} bp?")
    return [
        SimpleNamespace(title=title, gates=gates, why="Not asked: only what is real is." if not gates else "")
        for title, gates in zip(titles, by_tier, strict=True)
    ]


def _side_by_side(sheet: TearSheet) -> list[tuple[str, list[tuple[str, Markup, bool]]]]:
    """Three groups of (name, number, whether it points down): raw ranks, residuals, money."""
    found, why = sheet.evidence, sheet.missing

    def one(
        name: str, key: str, value: float | None, form: str, unit: str = "", scale: float = 1.0
    ) -> tuple[str, Markup, bool]:
        return (
            name,
            number(value, form, unit, scale=scale, why=why.get(key, "")),
            (value or 0.0) < 0 and key != "max_drawdown",
        )

    cost = f"{found.cost_bp:g}"
    return [
        (
            "Raw",
            [
                one("RankIC", "rank_ic", found.rank_ic, ".4f"),
                one("t", "rank_ic_t", found.rank_ic_t, ".2f"),
                one("IC", "ic", found.ic, ".4f"),
                one("t", "ic_t", found.ic_t, ".2f"),
            ],
        ),
        (
            "Residual, what common risks leave",
            [
                one("Evidence", "evidence", found.evidence, ".4f"),
                one("t", "evidence_t", found.evidence_t, ".2f"),
                one("z", "evidence_z", found.evidence_z, ".2f"),
                one("RankIC", "residual_rank_ic", found.residual_rank_ic, ".4f"),
                one("t", "residual_rank_ic_t", found.residual_rank_ic_t, ".2f"),
            ],
        ),
        (
            "Money",
            [
                one("Sharpe, no cost", "sharpe", found.sharpe, ".2f"),
                one(f"at {cost} bp", f"net_sharpe.{cost}", found.net_sharpe.get(found.cost_bp), ".2f"),
                one("Break-even", "breakeven_bp", found.breakeven_bp, ".1f", " bp"),
                one("Turnover", "turnover", found.turnover, ".1f", "%", 100),
                one("Drawdown", "max_drawdown", found.max_drawdown, ".1f", "%", 100),
            ],
        ),
    ]


def _luck(factor: FactorSheet) -> list[tuple[str, Markup | str]]:
    """How much of the Sharpe ratio luck may be: before and after costs."""
    gross, net = factor.sheet.gross, factor.sheet.net
    reported = {} if factor.verdict is None else factor.verdict.reported

    def both(name: str) -> Markup:
        return Markup(" / ").join(number(getattr(figures, name), ".2f") for figures in (gross, net))

    facts: list[tuple[str, Markup | str]] = [
        ("Sharpe above 0 (PSR)", both("psr")),
        (f"Above luck of {gross.n_trials:,} (DSR)", both("dsr")),
    ]
    if reported.get("dsr_empirical") is not None:
        facts.append(("DSR, spread of all trials", number(reported["dsr_empirical"], ".2f")))
    facts.append(("Track record needed", _days(gross, "min_track_record")))
    facts.append(("Backtest needed", _days(gross, "min_backtest")))
    return facts


def _days(figures: SharpeFigures, name: str) -> Markup:
    value = getattr(figures, name)
    if value is None:
        return number(None, "", why="the Sharpe ratio is not above 0")
    return Markup("{} of {} days").format(figure(value, ",.0f"), figure(figures.n_obs, ",.0f"))


def _likeness(factor: FactorSheet) -> list[tuple[str, Markup | str]]:
    """What it resembles, what it is exposed to, what it can carry."""
    sheet, verdict = factor.sheet, factor.verdict
    facts: list[tuple[str, Markup | str]] = []
    nearest = (verdict.reported.get("known") or {}) if verdict else {}
    if nearest:
        facts.append(("Nearest formula", f"{nearest['name']} {figure(nearest['correlation'], '.2f')}"))
    pool = verdict.gate("self_correlation") if verdict else None
    if pool is not None:
        told = "the pool is empty" if pool.value is None else figure(pool.value, ".2f")
        facts.append(("Most alike in pool", told))
    passed = [label for label in sheet.brain if label.passed]
    failed = ", ".join(label.name.replace("_", "-") for label in sheet.brain if label.passed is False)
    lacks = f", not {failed}" if failed else ""
    facts.append(("BRAIN label", f"{len(passed)} of {len(sheet.brain)}{lacks}"))
    held = [f"{short} {figure(sheet.exposure[name] or 0.0, '.2f')}" for name, short in STYLES if name in sheet.exposure]
    if held:
        facts.append(("Leans on", ", ".join(held)))
    sub = sheet.sub_universe
    facts.append(("Sharpe, liquid half", number(sub.sharpe, ".2f", why=sub.reason)))
    facts.append(
        (
            "Coverage, autocorr.",
            Markup("{}, {}").format(
                number(sheet.evidence.coverage, ".0f", "%", scale=100), number(sheet.evidence.rank_autocorr, ".2f")
            ),
        )
    )
    if sheet.groups:
        # a group says little by itself; that most point one way says something
        known = [part for part in sheet.groups if part.evidence is not None]
        above = sum((part.evidence or 0.0) > 0 for part in known)
        facts.append(("Sectors that agree", f"{above} of {len(known)}"))
    return facts


def _pictures(factor: FactorSheet) -> list[tuple[str, list[tuple[str, str, Markup, str]]]]:
    """Three rows of four: is it there, what is it, does it pay. Each picture with title, note and style."""
    sheet, series, cost = factor.sheet, factor.series, factor.series.cost_bp
    found, dates = sheet.evidence, factor.series.dates
    years = [(_year(part, len(sheet.years)), *_points(part)) for part in sheet.years]
    decay = [
        (f"{days}d", sheet.evidence_decay.get(days, (None, None)), (point.rank_ic, point.t))
        for days, point in sorted(found.decay.items())
    ]
    raw = ("raw", (found.evidence, found.evidence_t), (found.rank_ic, found.rank_ic_t))
    left = [raw, *((row.name, *_points(row)) for row in sheet.left)]
    regimes = [
        (part.name.removeprefix("market ").replace("volatility", "vol"), *_points(part)) for part in sheet.regimes
    ]
    curves = {bp: series.equity(bp) for bp in sorted({0.0, cost, 2 * cost})}
    by_cost = {point.bp: point.sharpe for point in sheet.costs}
    carried = sheet.capacity
    return [
        (
            "Is it there?",
            [
                ("Cumulative", "", pictures.cumulative(dates, series.evidence, series.rank_ic), ""),
                ("By year", "", pictures.paired_bars(years, "evidence and RankIC by year"), ""),
                (
                    "Decay",
                    "by horizon",
                    pictures.paired_bars(decay, "evidence and RankIC by horizon", f"{found.horizon}d"),
                    "",
                ),
                ("95 % intervals", "block bootstrap", pictures.intervals(_intervals(sheet)), TOLD),
            ],
        ),
        (
            "What is it?",
            [
                (
                    "What is left",
                    "beside these exposures",
                    pictures.forest(left, "what is left beside exposures"),
                    NAMED,
                ),
                ("By regime", "of the market", pictures.forest(regimes, "evidence and RankIC by regime"), NAMED),
                ("Quantiles", "next day less mean, bp", pictures.quantile_bars(found.quantiles), ""),
                ("Turnover", "a day, both sides", pictures.turnover_line(dates, _steady(series)), ""),
            ],
        ),
        (
            "Does it pay?",
            [
                ("Equity", "after costs", pictures.equity_lines(dates, curves, cost), WIDE),
                ("Drawdown", f"after {cost:g} bp", pictures.drawdown_area(dates, curves[cost]), ""),
                ("Sharpe by cost", "bp; zero: break-even", pictures.cost_curve(by_cost, found.breakeven_bp, cost), ""),
                (
                    "Capacity",
                    carried.reason or "Sharpe by money run",
                    pictures.capacity_curve(carried.curve, carried.aum, found.sharpe),
                    "",
                ),
            ],
        ),
    ]


def _points(part: Part | Left) -> tuple[pictures.Point, pictures.Point]:
    return (part.evidence, part.evidence_t), (part.rank_ic, part.rank_ic_t)


def _year(part: Part, count: int) -> str:
    return part.name if count <= 4 else f"\N{RIGHT SINGLE QUOTATION MARK}{part.name[-2:]}"


def _intervals(sheet: TearSheet) -> list[tuple[str, float | None, tuple[float, float] | None, str]]:
    found = sheet.evidence
    rows = (
        ("evidence", found.evidence, sheet.intervals["evidence"], ".3f"),
        ("RankIC", found.rank_ic, sheet.intervals["rank_ic"], ".3f"),
        ("Sharpe", sheet.gross.sharpe, sheet.gross.interval, ".1f"),
        (f"net {found.cost_bp:g} bp", sheet.net.sharpe, sheet.net.interval, ".1f"),
    )
    return [
        (name, value, ends, "\N{EN DASH}" if ends is None else " to ".join(figure(end, form) for end in ends))
        for name, value, ends, form in rows
    ]


def _steady(series: FactorSeries) -> NDArray[np.float64]:
    """Turnover [D] from the day on which all tranches are in: entering is not trading."""
    entered = series.active & (np.cumsum(series.active) > series.horizon)
    return np.where(entered, series.turnover, np.nan)
