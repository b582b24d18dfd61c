"""What a workspace knows of a run, as the report takes it up."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import update

from alphaswarm.core import AlphaSwarmError, FixedClock, Panel, UnknownName
from alphaswarm.data import synthetic_market
from alphaswarm.evaluation import Evaluator, hurdle
from alphaswarm.research import TrialWindow, Workspace, write_report
from alphaswarm.research.report import render
from alphaswarm.research.report_data import PanelFacts, _shown, collect
from alphaswarm.research.tables import runs

ALPHA = "-ts_mean(returns, 3)"
TEXTS = (
    ALPHA,
    "cs_rank(volume)",
    "close / open",
    "-ts_std(returns, 10)",
    "ts_rank(volume, 10)",
    "delay(close, -1)",
    "no_such_field + 1",
)


class Gone:
    """A catalog that has lost everything."""

    def open(self, name: str) -> Panel:
        raise UnknownName.of("panel", name, [])

    def adopt(self, name: str) -> str:
        return str(self.open(name).meta["name"])

    def default(self) -> str:
        return "small"

    def names(self) -> list[str]:
        return []


def small(panel: Panel) -> Panel:
    return replace(panel, meta={**panel.meta, "name": "small"})


class Market:
    """A catalog of one small market in which `ALPHA` works."""

    def __init__(self) -> None:
        self.panel = small(synthetic_market("planted", seed=5, days=320, names=60, expression=ALPHA, ic=0.12))

    def open(self, name: str) -> Panel:
        if name != "small":
            raise UnknownName.of("panel", name, ["small"])
        return self.panel

    def adopt(self, name: str) -> str:
        return str(self.open(name).meta["name"])

    def default(self) -> str:
        return "small"

    def names(self) -> list[str]:
        return ["small"]


@pytest.fixture(scope="module")
def market() -> Market:
    return Market()


@pytest.fixture
def workspace(tmp_path: Path, market: Market) -> Iterator[Workspace]:
    with Workspace.open(tmp_path / "work", clock=FixedClock(), catalog=market) as opened:
        yield opened


def search(workspace: Workspace, texts: tuple[str, ...] = TEXTS, **changes: object) -> str:
    said = {"panel": "small", "proposer": "search", "budget": len(texts), "seed": 1, "intent": "it's a test"}
    run = workspace.start_run(**(said | changes))  # type: ignore[arg-type]
    for text in texts:
        try:
            workspace.evaluate(text, panel="small", run=run.id, source="search", rationale=f"why {text}")
        except AlphaSwarmError:
            continue
    workspace.finish_run(run.id, "complete")
    return run.id


def test_a_run_is_collected(workspace: Workspace, market: Market) -> None:
    data = collect(workspace, search(workspace))
    assert data.trials_total == len(data.trials) == len(TEXTS)
    assert data.hurdle == hurdle(len(TEXTS))
    assert data.measured[0].expression == ALPHA
    strengths = [abs(trial.rank_ic_t or 0.0) for trial in data.measured]
    assert strengths == sorted(strengths, reverse=True)
    assert len(data.measured) == 5
    assert data.panel == PanelFacts.of("small", market.panel)
    assert data.panel.digest == market.panel.digest
    assert data.window == TrialWindow(**workspace.windows("small").search.to_dict())
    assert "numpy" in data.versions


def test_the_sheets_show_the_series_behind_the_figures(workspace: Workspace) -> None:
    data = collect(workspace, search(workspace))
    beat = [trial for trial in data.measured if abs(trial.rank_ic_t or 0.0) >= data.hurdle]
    assert [sheet.trial for sheet in data.sheets] == beat == data.beat
    assert beat
    assert not data.has_residuals
    for sheet in data.sheets:
        assert sheet.sign * np.nanmean(sheet.series.rank_ic) == pytest.approx(sheet.trial.rank_ic, abs=1e-12)
        assert sheet.sheet.evidence.rank_ic_t == pytest.approx(abs(sheet.trial.rank_ic_t or 0.0), abs=1e-9)
        assert sheet.series.dates[-1] <= workspace.windows("small").search.end
        assert sheet.verdict is not None
        assert sheet.verdict.status == "too short"


def test_bets_stand_first_and_what_moves_with_them_has_no_sheet(workspace: Workspace, market: Market) -> None:
    data = collect(workspace, search(workspace, (ALPHA, "-ts_mean(returns, 4)", "-ts_mean(returns, 2)")))
    assert len(data.beat) == 3
    names = {trial.digest: trial.expression for trial in data.measured}
    weakest = data.beat[-1].digest
    first = data.verdicts[data.beat[0].digest]
    told = {
        digest: verdict.model_copy(update={"status": "unconfirmed", "k": 1} if digest == weakest else {})
        for digest, verdict in data.verdicts.items()
    }
    told[first.digest] = first.model_copy(update={"status": "redundant"})
    shown = _shown(replace(data, verdicts=told))
    assert [trial.expression for trial in shown] == [names[weakest], data.beat[1].expression]
    assert [verdict.digest for verdict in replace(data, verdicts=told).bets] == [weakest]


def test_near_misses_stand_in_where_nothing_survived(workspace: Workspace) -> None:
    data = collect(
        workspace,
        search(workspace, ("cs_rank(volume)", "ts_rank(volume, 10)", "ts_std(volume, 9)", "ts_skew(volume, 20)")),
    )
    assert all(abs(trial.rank_ic_t or 0.0) < data.hurdle for trial in data.trials)
    near = [trial for trial in data.measured if abs(trial.rank_ic_t or 0.0) >= 2]
    assert [sheet.trial for sheet in data.sheets] == (near or data.measured[:3])


def test_nothing_after_the_search_window_is_read(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    run = search(workspace)
    last = workspace.windows("small").search.end
    read: list[np.datetime64] = []
    whole = Evaluator.rank

    def watched(self: Evaluator, factor: np.ndarray) -> object:
        read.append(self.panel.dates[-1])
        assert factor.shape[0] == self.panel.shape[0]
        return whole(self, factor)

    monkeypatch.setattr(Evaluator, "rank", watched)
    collect(workspace, run)
    assert read
    assert max(read) <= last


def test_a_run_without_one_valid_candidate_still_reports(workspace: Workspace) -> None:
    data = collect(workspace, search(workspace, ("delay(close, -1)",)))
    assert data.sheets == ()
    assert "1 tried, 0 beat" in render(data)


def test_an_unfinished_run_and_an_empty_one_report(workspace: Workspace) -> None:
    run = workspace.start_run(panel="small", proposer="random", budget=5, seed=1)
    assert "0 tried, 0 beat" in render(collect(workspace, run.id))
    workspace.evaluate("cs_rank(volume)", panel="small", run=run.id)
    data = collect(workspace, run.id)
    assert "this is what there is so far" in render(data)
    assert data.verdicts == {}


def test_what_was_decided_is_not_shown_before_the_run_has_ended(workspace: Workspace) -> None:
    run = search(workspace)
    assert collect(workspace, run).verdicts
    with workspace.store.write() as connection:  # as if it had been killed between its verdicts and its end
        connection.execute(update(runs).values(finished=None, outcome=None))
    data = collect(workspace, run)
    assert data.verdicts == {}
    assert all(sheet.verdict is None for sheet in data.sheets)
    assert "a run is judged when it has ended by itself" in render(data)


def test_in_an_unsealed_workspace_every_number_is_in_sample(tmp_path: Path, market: Market) -> None:
    with Workspace.open(tmp_path / "open", unsealed=True, clock=FixedClock(), catalog=market) as opened:
        html = render(collect(opened, search(opened)))
    assert "Every row was read, so every number is in-sample: nothing can be confirmed here." in html
    assert "In-sample: this workspace was made unsealed" in html
    assert "Numbers and pictures of the whole panel" in html


def test_a_recalled_candidate_is_marked_and_counted_once(workspace: Workspace) -> None:
    search(workspace, ("cs_rank(volume)",))
    data = collect(workspace, search(workspace, ("cs_rank(volume)", "ts_rank(volume, 10)")))
    assert data.trials_total == 2
    html = render(data)
    assert html.count('<span class="source">recalled</span>') == 1
    assert "2 tried, 0 beat" in html


def test_a_panel_that_changed_gives_no_pictures(workspace: Workspace, tmp_path: Path) -> None:
    run = search(workspace)
    other = Market()
    other.panel = small(synthetic_market("null", seed=6, days=320, names=60))
    with Workspace.open(tmp_path / "work", clock=FixedClock(), catalog=other) as opened:
        data = collect(opened, run)
    assert data.sheets == ()
    assert "The panel has changed since this run" in render(data)


def test_a_panel_that_is_gone_gives_no_pictures(workspace: Workspace, tmp_path: Path) -> None:
    run = search(workspace)
    with Workspace.open(tmp_path / "work", clock=FixedClock(), catalog=Gone()) as opened:
        data = collect(opened, run)
    assert data.sheets == ()
    assert len(data.trials) == len(TEXTS)
    html = render(data)
    assert "The panel can&#39;t be opened now: unknown panel" in html
    assert "Nobody said" not in html


def test_a_run_whose_label_is_longer_than_the_window_has_no_sheets(workspace: Workspace) -> None:
    run = search(workspace)
    with workspace.store.write() as connection:  # as an older version began it
        connection.execute(update(runs).values(horizon=252))
    data = collect(workspace, run)
    assert data.sheets == ()
    assert len(data.trials) == len(TEXTS)
    assert "7 tried" in render(data)


def test_data_that_left_the_search_window_give_no_pictures(workspace: Workspace, tmp_path: Path) -> None:
    run = search(workspace)
    later = Market()
    later.panel = replace(later.panel, dates=later.panel.dates + np.timedelta64(9_000, "D"))
    with Workspace.open(tmp_path / "work", clock=FixedClock(), catalog=later) as opened:
        data = collect(opened, run)
    assert data.sheets == ()
    assert "has no day in it now" in data.panel.caveats[0]


def test_an_unknown_run_is_refused_and_nothing_is_written(workspace: Workspace) -> None:
    with pytest.raises(UnknownName, match="unknown run"):
        write_report(workspace, "../r0001")
    assert not (workspace.path / "reports").exists()


def test_the_report_is_written_whole_and_the_same_in_two_workspaces(tmp_path: Path, market: Market) -> None:
    pages = []
    for name in ("one", "two"):
        with Workspace.open(tmp_path / name, clock=FixedClock(), catalog=market) as opened:
            path = write_report(opened, search(opened))
            assert path == tmp_path / name / "reports" / "r0001.html"
            assert [entry.name for entry in path.parent.iterdir()] == ["r0001.html"]
            pages.append(path.read_bytes())
    assert pages[0] == pages[1]
    assert b"<!doctype html>" in pages[0]


def test_the_command_holds_whatever_the_run_was_asked(workspace: Workspace) -> None:
    words = shlex.split(collect(workspace, search(workspace, ("close",), seed=9)).command)
    options = dict(zip(words[3::2], words[4::2], strict=True))
    assert words[:3] == ["alphaswarm", "agent", "run"]
    assert options == {
        "--panel": workspace.run("r0001").panel,
        "--proposer": "search",
        "--budget": "1",
        "--seed": "9",
        "--horizon": "5",
        "--intent": "it's a test",
    }
