from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import spearmanr
from sqlalchemy import delete, func, select

from alphaswarm.core import FieldNotFound
from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.dsl import parse
from alphaswarm.research import Workspace
from alphaswarm.research.novelty import ALIKE, DAYS, MISSING, Nearest, _correlations, sketch, sketches

Open = Callable[..., Workspace]
KNOWN = "cs_rank(-ts_sum(returns, 5))"


@pytest.fixture
def project(workspace: Workspace) -> Workspace:
    workspace.evaluate(KNOWN, panel="small")
    workspace.evaluate("ts_std(volume, 20)", panel="small")
    return workspace


def near(project: Workspace, text: str, **how) -> Nearest | None:
    return project.nearest(text, panel="small", **how)


def test_a_fresh_workspace_knows_nothing(workspace: Workspace) -> None:
    assert near(workspace, KNOWN) is None


@pytest.mark.parametrize(
    "twin",
    [
        "cs_rank(ts_sum(returns, 5))",
        "-3 * ts_sum(returns, 5) + 1",
        "2 - cs_rank(-ts_mean(returns, 5))",
        "ts_sum(returns, 4) + returns * 0 + delay(returns, 4)",
    ],
)
def test_sign_scale_and_spelling_make_nothing_new(project: Workspace, twin: str) -> None:
    found = near(project, twin)
    assert found is not None
    assert (found.of, found.expression) == ("behaviour", KNOWN)
    assert found.likeness >= 0.98
    assert "values" in found.why


def test_a_neighbour_is_alike_but_no_twin(project: Workspace) -> None:
    found = near(project, "cs_rank(-ts_sum(returns, 6))")
    assert found is not None
    assert ALIKE <= found.likeness < 0.98
    assert found.of == "behaviour"


def test_another_window_of_the_same_form_is_told_by_its_form(project: Workspace) -> None:
    found = near(project, "cs_rank(ts_sum(returns, 60))")
    assert found is not None
    assert (found.of, found.expression) == ("structure", KNOWN)
    assert "same form with other numbers" in found.why


def test_what_is_new_is_near_nothing(project: Workspace) -> None:
    assert near(project, "ts_corr(close, volume, 30)") is None


def test_the_expression_itself_is_not_its_own_neighbour(project: Workspace) -> None:
    assert near(project, KNOWN) is None
    assert near(project, "cs_rank( -ts_sum(returns,5))") is None


def test_only_trials_of_the_label_that_is_asked_for(project: Workspace) -> None:
    twin = "-3 * ts_sum(returns, 5)"
    assert near(project, twin, horizon=5).of == "behaviour"
    assert near(project, twin, horizon=6) is None
    project.evaluate(KNOWN, panel="small", horizon=6)
    assert near(project, twin, horizon=6).likeness >= 0.98


def test_nothing_is_counted_and_nothing_is_told_of_what_it_earned(project: Workspace) -> None:
    before = project.trials_total("small")
    found = near(project, "ts_sum(returns, 4)", horizon=5)
    assert project.trials_total("small") == before
    assert set(found.model_dump()) == {"digest", "expression", "why", "likeness", "of"}


def test_daily_results_count_too(project: Workspace) -> None:
    """Values of a day far from the sampled ones move only the results: on these the blends are as far apart."""
    blend = "cs_rank(-ts_sum(returns, 5)) + 0.6 * cs_rank(ts_mean(volume, 7))"
    values, results = near(project, blend), near(project, blend, horizon=5)
    assert values is not None
    assert results is not None
    assert results.likeness >= values.likeness


def test_sketches_are_made_where_they_are_missing(project: Workspace, open_workspace: Open) -> None:
    before = near(project, "ts_sum(returns, 4)")
    with project.store.write() as connection:
        connection.execute(delete(sketches))
    again = open_workspace()
    assert near(again, "ts_sum(returns, 4)") == before
    with again.store.read() as connection:
        assert connection.execute(select(func.count()).select_from(sketches)).scalar() == 2


def test_a_copy_of_the_data_has_the_same_neighbours(project: Workspace, market_home) -> None:
    Catalog(market_home).add("copy", synthetic_market("null", seed=3, days=300, names=40))
    found = project.nearest("ts_sum(returns, 5)", panel="copy")
    assert found is not None
    assert found.expression == KNOWN


def test_a_field_that_is_not_there(project: Workspace) -> None:
    with pytest.raises(FieldNotFound):
        near(project, "earnings / close")


def test_correlations_are_spearmans_on_common_names(project: Workspace) -> None:
    opened = project._panels.open("small")
    rng = np.random.default_rng(4)
    first, second = rng.standard_normal((2, *opened.seen.shape))
    second += first
    second[:, :3] = np.nan
    one, other = sketch(first, opened), sketch(second, opened)
    assert one.shape == (DAYS, opened.seen.shape[1])
    assert (other[:, :3] == MISSING).all()
    rows = opened.window.rows(opened.seen.dates)
    days = np.linspace(rows.start, rows.stop - 1, DAYS).round().astype(int)
    expected = np.mean([spearmanr(first[day, 3:], second[day, 3:]).statistic for day in days])
    assert _correlations(one, [other, one])[0] == pytest.approx(expected, abs=0.02)
    assert _correlations(one, [other, one])[1] == pytest.approx(1.0, abs=1e-5)
    nothing = sketch(np.full(opened.seen.shape, np.nan), opened)
    assert _correlations(nothing, [one]).tolist() == [0.0]
    assert parse(KNOWN).digest == project.trials(panel="small", order="proposed")[0].digest
