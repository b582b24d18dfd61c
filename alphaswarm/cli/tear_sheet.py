"""`alpha evaluate --full`: everything about one factor on the search window, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alphaswarm.cli.output import number, print_table

if TYPE_CHECKING:
    from alphaswarm.evaluation.sheet import SharpeFigures, TearSheet
    from alphaswarm.research import Trial, Workspace

__all__ = ["print_tear_sheet", "tear_sheet"]


def tear_sheet(project: Workspace, trial: Trial) -> TearSheet:
    """The tear sheet of a trial, as it is written, on the window that it was measured on."""
    from alphaswarm.dsl import evaluate
    from alphaswarm.evaluation.sheet import TearSheets

    evaluator = project.evaluator(trial.panel, trial.horizon, trial.fill)
    (factor,) = evaluate([trial.expression], evaluator.panel)
    return TearSheets(evaluator).sheet(factor, n_trials=trial.trials_total)


def print_tear_sheet(sheet: TearSheet) -> None:
    """Its tables; what is left out stands beneath them with its reason."""
    found = sheet.evidence
    columns = ("", "days", "RankIC", "t", "evidence", "t", "Sharpe")
    rows = [("all days", found.n_days, found.rank_ic, found.rank_ic_t, found.evidence, found.evidence_t, found.sharpe)]
    rows += [
        (part.name, part.n, part.rank_ic, part.rank_ic_t, part.evidence, part.evidence_t, part.sharpe)
        for part in (*sheet.years, *sheet.regimes, *sheet.groups)
    ]
    rows += [
        (f"without {left.name}", left.n_days, left.rank_ic, left.rank_ic_t, left.evidence, left.evidence_t, None)
        for left in sheet.left
    ]
    for days, point in sorted(found.decay.items()):
        evidence, t = sheet.evidence_decay.get(days, (None, None))
        rows.append((f"{days} days ahead", found.n_days, point.rank_ic, point.t, evidence, t, None))
    print()
    print_table(
        columns,
        [
            (name, str(n), number(ic, 4), number(ic_t), number(evidence, 4), number(t), number(sharpe))
            for name, n, ic, ic_t, evidence, t, sharpe in rows
        ],
        right=columns[1:],
    )
    print()
    for name, figures in (("no cost", sheet.gross), (f"{found.cost_bp:g} bp", sheet.net)):
        print(f"Sharpe     {name}: {_sharpe(figures)}")
    by_cost = ", ".join(f"{point.bp:g} bp {number(point.sharpe)}" for point in sheet.costs)
    print(f"costs      {by_cost}; break-even {number(found.breakeven_bp, 1)} bp")
    fifths = ", ".join("-" if value is None else f"{1e4 * value:.1f}" for value in found.quantiles)
    print(f"quantiles  {fifths} bp a day, lowest to highest")
    if sheet.capacity.aum is not None:
        print(f"capacity   {sheet.capacity.aum:,.0f}")
    print(f"exposure   {', '.join(f'{name} {number(value)}' for name, value in sheet.exposure.items())}")
    for label in sheet.brain:
        answer = {True: "holds", False: "does not hold", None: "undefined"}[label.passed]
        print(f"BRAIN      {label.name} {number(label.value)}, {label.asked}: {answer}")
    for name, why in sheet.missing.items():
        print(f"left out   {name}: {why}")


def _sharpe(figures: SharpeFigures) -> str:
    ends = "" if figures.interval is None else f" [{number(figures.interval[0])}, {number(figures.interval[1])}]"
    needs = "" if figures.min_track_record is None else f", needs {figures.min_track_record:.0f} days"
    deflated = f"PSR {number(figures.psr)}, DSR {number(figures.dsr)} of {figures.n_trials} trials"
    return f"{number(figures.sharpe)}{ends}, {deflated}{needs}, has {figures.n_obs}"
