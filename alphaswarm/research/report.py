"""One HTML file per run: what was tried, what stood out, and why to doubt it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import jinja2
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from alphaswarm.core import atomic_write
from alphaswarm.research import pictures
from alphaswarm.research.factor_page import factor_page, failures, short_verdict
from alphaswarm.research.plot import figure, number
from alphaswarm.research.report_data import FactorSheet, ReportData, collect
from alphaswarm.research.trial import Trial

if TYPE_CHECKING:
    from alphaswarm.evaluation.verdict import Verdict
    from alphaswarm.research.runs import Run
    from alphaswarm.research.workspace import Workspace

__all__ = ["render", "write_report"]

ROWS_SHOWN = 20  # of the ranked table; the others fold away
MISSES_SHOWN = 8
CAVEATS_SHOWN = 3
SAME_BET = 0.7  # |correlation| from which two factors count as one, as on WorldQuant BRAIN
UNJUDGED = "search evidence only, not judged: "
# What a candidate's warnings say where something is wrong with it, not merely to be known.
ALARMS = ("ranks and money disagree", "a mean daily IC of")
PROPOSERS = {
    "search": "a seeded genetic search over the grammar that starts from published formulas; no LLM took part",
    "random": "random draws from the grammar; no LLM took part",
    "llm": "a language model",
    "hybrid": "a language model and a genetic search that builds on it",
}
FILLS = {
    "close_t1": "decided at close t, filled at close t+1",
    "open_t1": "decided at close t, filled at open t+1",
}


def write_report(workspace: Workspace, run_id: str) -> Path:
    """Write ``reports/RUN.html`` in the workspace, whole or not at all, and return its path.

    Raises:
        UnknownName: no such run, or its panel is gone.
    """
    data = collect(workspace, run_id)
    path = workspace.path / "reports" / f"{data.run.id}.html"
    atomic_write(path, render(data).encode("utf-8", "replace"))
    return path


def render(data: ReportData) -> str:
    """The report as one HTML page: no script, no request, every text escaped; equal data give equal bytes."""
    style = Markup((Path(__file__).parent / "templates" / "report.css").read_text("utf-8"))  # noqa: S704  our own file
    places = {sheet.trial.id: place for place, sheet in enumerate(data.sheets, 1)}
    top = max([data.hurdle * 1.25, *(held.z or 0.0 for held in data.held.values())])
    rows = [_row(data, rank, trial, places, top) for rank, trial in enumerate(data.measured, 1)]
    beat = [row for row in rows if row.gate == "beat"]
    alike = _correlations(data.sheets)
    headline, beneath = _headline(data.line)
    unsealed = data.window is not None and data.window.role == "in-sample"
    page = _templates().get_template("report.html")
    return page.render(
        d=data,
        run=data.run,
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        line=data.line,
        headline=headline,
        beneath=beneath,
        proposer=_proposer(data.run),
        caveats=_caveats(data),
        caveats_shown=CAVEATS_SHOWN,
        unsealed=unsealed,
        read="whole panel" if unsealed else "search window",
        window=f"{data.window.start} to {data.window.end}" if data.window else "not begun",
        funnel=_funnel(data),
        dots=pictures.t_dots([(row.written_t, row.title) for row in rows if row.held.z is not None], data.hurdle),
        costs=_bets_by_cost(data, places),
        together=_together(data),
        rows=rows,
        rows_shown=max(ROWS_SHOWN, len(beat)),
        beat=beat,
        unmeasured=[(trial.expression, _refusal(trial)) for trial in data.trials if trial.status != "evaluated"],
        misses=[row for row in rows if row.failed and not row.sheet][:MISSES_SHOWN],
        same=[row for row in rows if row.same],
        sheets=[
            factor_page(data, place, sheet, _remarks(data, sheet.trial)) for place, sheet in enumerate(data.sheets, 1)
        ],
        heat=None if alike is None else pictures.heat_map([f"F{place + 1}" for place in range(len(alike))], alike),
        bets=None if alike is None else _bets(alike),
        curve=_curve(data),
        provenance=_provenance(data),
        number=number,
        cost=f"{data.cost_bp:g}",
    )


def _headline(line: str) -> tuple[str, str]:
    """The top line in two parts: what is said large, and what is said beneath."""
    if line.startswith(UNJUDGED):
        return line.removeprefix(UNJUDGED), _sentence(UNJUDGED.rstrip(": "))
    for mark in ("; ", " ("):
        first, found, rest = line.partition(mark)
        if found:
            return first, _sentence(rest.removesuffix(")") if mark == " (" else rest)
    return line, ""


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _proposer(run: Run) -> str:
    model = _model(run)
    return f"the language model {model}" if model else PROPOSERS.get(run.proposer, f"the proposer {run.proposer}")


def _model(run: Run) -> str:
    return str(run.config.get("model") or "")


def _refusal(trial: Trial) -> str:
    place = f" at column {trial.column}" if trial.column else ""
    return f"{trial.reason or trial.status}{place}: {trial.message or 'no reason was kept'}"


def _row(data: ReportData, rank: int, trial: Trial, places: Mapping[str, int], top: float) -> SimpleNamespace:
    held, verdict = data.held[trial.id], data.verdicts.get(trial.digest)
    status = None if verdict is None else verdict.status
    gate = "rest" if held.z is None else pictures.gate(held.z, data.hurdle)
    written = held.sign * (held.z or 0.0)
    redundant = status == "redundant"
    judged = verdict is not None and status not in ("confirmed", "redundant", "too short", "in-sample")
    near = verdict is None and gate == "near"
    failed = failures(verdict) if verdict is not None and judged else _remarks(data, trial) if near else []
    return SimpleNamespace(
        rank=rank,
        trial=trial,
        held=held,
        written_t=written,
        sheet=places.get(trial.id),
        gate=gate,
        gauge=pictures.t_bar(held.z, data.hurdle, top),
        title=f"#{rank}  t {figure(written, '.2f')}  {trial.expression}",
        status=(status or gate).replace(" ", "-"),
        verdict=_in_short(data, verdict, gate, places),
        words="" if verdict is None else verdict.words,
        alarms=[text for text in trial.warnings if text.startswith(ALARMS)],
        failed=failed,
        same=verdict.words if verdict is not None and redundant else "",
    )


def _in_short(data: ReportData, verdict: Verdict | None, gate: str, places: Mapping[str, int]) -> str:
    if verdict is None:
        return {"beat": "not judged", "near": "near", "rest": ""}[gate]
    if verdict.status != "redundant":
        return short_verdict(verdict)
    told = verdict.gate("distinct")
    like = [
        f"as F{places[trial.id]}"
        for trial in data.measured
        if trial.id in places and told is not None and told.reason.endswith(f" {trial.expression}")
    ]
    return f"{short_verdict(verdict)} {like[0]}" if like else short_verdict(verdict)


def _bets_by_cost(data: ReportData, places: Mapping[str, int]) -> Markup | None:
    """The cost curves of all bets, on the side that they are held on."""
    curves = []
    for trial in data.measured:
        verdict = data.verdicts.get(trial.digest)
        if verdict is not None and verdict.k is not None:
            curve = {point["bp"]: point["sharpe"] for point in verdict.reported.get("cost_curve", ())}
            name = f"F{places[trial.id]}" if trial.id in places else ""
            curves.append((name, curve, "main" if verdict.status == "confirmed" else "thin"))
    if not any(curve for _, curve, _ in curves):
        return None
    return pictures.cost_curves(curves, data.cost_bp, data.bets[0].thresholds.net_sharpe)


def _together(data: ReportData) -> SimpleNamespace | None:
    """What all trials say together, as it stood when the last of the bets was made; none of it is a gate."""
    told = [verdict.reported for verdict in data.bets if "effective_trials" in verdict.reported]
    if not told:
        return None
    latest = max(told, key=lambda reported: reported["trials"])
    overfitting, found = latest["pbo"], latest["bh"]
    places = {sheet.trial.digest: place for place, sheet in enumerate(data.sheets, 1)}
    return SimpleNamespace(
        trials=latest["trials"],
        effective=latest["effective_trials"],
        pbo=None if overfitting is None else number(overfitting["probability"], ".2f"),
        loss=None if overfitting is None else number(overfitting["loss_probability"], ".2f"),
        slope=None if overfitting is None else number(overfitting["slope"], ".2f"),
        discoveries=found["discoveries"],
        q=f"{found['q']:.0%}",
        deflated=[
            (
                f"F{places[verdict.digest]}",
                number(verdict.reported.get("dsr_1T"), ".2f"),
                number(verdict.reported.get("dsr_empirical"), ".2f"),
            )
            for verdict in data.bets
            if verdict.digest in places
        ],
    )


def _remarks(data: ReportData, trial: Trial) -> list[str]:
    """What speaks against a factor, in words; what holds for every candidate stands beside the data."""
    found: list[str] = []
    held = data.held[trial.id]
    if held.z is not None and held.z < data.hurdle:
        found.append(f"it falls {data.hurdle - held.z:.2f} short of the hurdle")
    if held.breakeven_bp is not None and held.breakeven_bp < data.cost_bp:
        found.append(
            f"breaks even at {figure(held.breakeven_bp, '.1f')} bp, below the default cost of {data.cost_bp:g} bp"
        )
    return found + [warning for warning in trial.warnings if warning not in _shared(data)]


def _shared(data: ReportData) -> list[str]:
    """The warnings that every candidate carries."""
    first, *others = [trial.warnings for trial in data.measured] or [[]]
    return [warning for warning in first if all(warning in warnings for warnings in others)]


def _caveats(data: ReportData) -> list[str]:
    """What to know of the data before believing a number, the gravest first."""
    known = any("surviv" in caveat for caveat in data.panel.caveats)  # the panel's own words say more
    found = [warning for warning in _shared(data) if not (known and "surviv" in warning)]
    found += data.panel.caveats
    if data.panel.digest and data.panel.survivorship_biased is None:
        found.append("nobody said whether names that were delisted are in it; if not, the figures flatter")
    if data.panel.digest not in ("", data.run.panel_digest):
        found.insert(0, "the panel has changed since this run: the daily pictures of its factors can't be drawn again")
    return [_sentence(text) for text in dict.fromkeys(found)]


def _funnel(data: ReportData) -> list[tuple[str, int | None, Markup]]:
    """From proposals to what can be traded; None where it was not judged."""
    counts: dict[str, int | None] = {
        "proposed": len(data.trials),
        "evaluated": len(data.measured),
        f"beat {data.hurdle:.2f}": len(data.beat),
    }
    judged = bool(data.verdicts) or (data.run.finished is not None and not data.beat)
    counts |= {
        "bets": len(data.bets) if judged else None,
        "confirmed": sum(verdict.status == "confirmed" for verdict in data.bets) if judged else None,
        f"tradable at {data.cost_bp:g} bp": sum(verdict.tradable for verdict in data.bets) if judged else None,
    }
    most = max(1, len(data.trials))
    styles = ("pale", "pale", "pale", "main", "main", "main")
    return [
        (name, count, pictures.share_bar((count or 0) / most, style))
        for (name, count), style in zip(counts.items(), styles, strict=True)
    ]


def _correlations(sheets: Sequence[FactorSheet]) -> NDArray[np.float64] | None:
    """Correlations [S, S] of the daily results without common risks, over the days that all have.

    Of results before costs where a panel is too short for the others.
    """
    if len(sheets) < 2:
        return None
    for returns in (np.stack([getattr(one.series, name) for one in sheets]) for name in ("neutral", "gross")):
        known = returns[:, np.isfinite(returns).all(axis=0)]
        if known.shape[1] >= 3:
            with np.errstate(invalid="ignore", divide="ignore"):  # a book that never trades correlates with nothing
                return np.atleast_2d(np.corrcoef(known))
    return None


def _bets(correlations: NDArray[np.float64]) -> int:
    """How many of the factors, best first, are unlike every one kept before."""
    kept: list[int] = []
    for place, row in enumerate(np.abs(correlations)):
        if not (row[kept] >= SAME_BET).any():
            kept.append(place)
    return len(kept)


def _curve(data: ReportData) -> Markup:
    from alphaswarm.evaluation import hurdle

    counts = [round(10 ** (power / 8)) for power in range(8 * 4 + 1)]
    return pictures.hurdle_curve(counts, [hurdle(count) for count in counts], data.trials_total, data.hurdle)


def _provenance(data: ReportData) -> list[tuple[str, str | Markup]]:
    code = Markup("<code>{}</code>").format
    run, window = data.run, data.window
    model = _model(run) or ("" if run.proposer in {"llm", "hybrid"} else "no LLM" if run.proposer in PROPOSERS else "")
    facts: list[tuple[str, str | Markup]] = [
        ("Repeat it", code(data.command)),
        ("Panel digest", code(run.panel_digest)),
        ("Source", data.panel.source),
        ("Licence", data.panel.licence),
        ("Window", f"{window.role}, {window.start} to {window.end}; labels end inside it" if window else ""),
        ("Label and fill", f"{run.horizon} days, {FILLS.get(run.fill, run.fill)}"),
        ("Portfolio", f"ranks, gross 1, net 0, held in {run.horizon} staggered tranches"),
        ("Default cost", f"{data.cost_bp:g} bp a traded dollar"),
        ("Proposer", ", ".join(filter(None, (run.proposer, model)))),
        ("Seed, budget", f"{run.seed}, {run.budget} new trials"),
        ("Trials ever on these data", f"{data.trials_total:,}"),
        ("Selection window", _selection(data)),
        ("Versions", ", ".join(f"{name} {number}" for name, number in sorted(data.versions.items()))),
    ]
    return [(name, value) for name, value in facts if value]


def _selection(data: ReportData) -> str:
    bets = data.bets
    if not bets:
        return "" if data.run.finished is None else "nothing of this run was sent to it"
    most = max(verdict.k or 0 for verdict in bets)
    return f"number {bets[0].selection}, pass or fail only; K = {most} finalists ever sent to it by then"


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:]
