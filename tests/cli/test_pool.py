"""`alphaswarm pool` and `alpha submit`: from a verdict to a release, on a market with an alpha in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from alphaswarm.data import Catalog, synthetic_market

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

TRUTH = "-ts_sum(returns, 5)"
ASKED = ("--panel", "market", "--horizon", "1")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    panels = tmp_path_factory.mktemp("panels")
    Catalog(imported=panels).add("market", synthetic_market("planted", seed=5, days=1000, names=110, ic=0.06))
    return panels / "market.npz"


@pytest.fixture
def market(kept: Path) -> str:
    """A market with a planted alpha, in the workspace of the present directory."""
    panels = Path(".alphaswarm/panels")
    panels.mkdir(parents=True)
    (panels / kept.name).write_bytes(kept.read_bytes())
    return "market"


def test_from_a_verdict_to_a_release(shell: Shell, market: str) -> None:
    empty = shell("pool", "list", *ASKED)
    assert (empty.code, "is empty" in empty.out) == (0, True)
    assert shell("pool", "release", *ASKED).code == 2
    verdict = shell("alpha", "submit", TRUTH, *ASKED, "--json").json
    assert verdict.keys() >= {
        "expression",
        "status",
        "tradable",
        "words",
        "gates",
        "reported",
        "n_trials",
        "k",
        "trial",
    }
    assert (verdict["status"], verdict["k"]) == ("confirmed", 1)
    text = shell("alpha", "submit", TRUTH, *ASKED).out
    assert verdict["words"] in text
    assert "known: reversal_5" in text
    assert "sealed" in text
    added = shell("pool", "add", verdict["trial"][:12], "--json").json
    assert [member["trial"] for member in added["members"]] == [verdict["trial"]]
    sealed = shell("pool", "list", *ASKED)
    assert "selection and vault are sealed" in sealed.out
    released = shell("pool", "release", *ASKED)
    assert released.code == 0, released.err
    assert "vault" in released.out
    again = shell("pool", "release", *ASKED, "--json")
    assert again.code == 2
    assert "read once" in again.json["error"]["message"]
    shown = shell("pool", "list", *ASKED, "--json").json
    assert shown["released"]["vault"]["members"][0]["n_days"] > 100
    assert shown["others"] == []
    assert shell("pool", "list", "--panel", market, "--json").json["others"] == [{"horizon": 1, "fill": "close_t1"}]


def test_what_is_not_confirmed_stays_out(shell: Shell, market: str) -> None:
    rejected = shell("alpha", "submit", "cs_rank(volume)", *ASKED)
    assert rejected.code == 0
    assert "FAIL" in rejected.out
    trial = shell("alpha", "list", "--json").json["trials"][0]["id"]
    outcome = shell("pool", "add", trial, "--json")
    assert outcome.code == 2
    assert outcome.json["error"]["reason"] == "EVIDENCE_INVALID"
    assert shell("pool", "add", "0000000").code == 2


def test_expressions_side_by_side(shell: Shell, market: str) -> None:
    texts = (TRUTH, "-ts_sum(returns, 4)", "cs_rank(volume)")
    found = shell("alpha", "compare", *texts, *ASKED, "--json").json
    assert len(found["alphas"]) == len(found["values"]) == len(found["results"]) == 3
    assert found["values"][0][1] > 0.7
    text = shell("alpha", "compare", *texts, *ASKED)
    assert text.code == 0, text.err
    assert "correlation of daily results" in text.out
    assert shell("alpha", "compare", TRUTH, *ASKED).code == 2
    slip = shell("alpha", "compare", *texts, "--horizn", "1")
    assert slip.code == 2
    assert "--horizon" in slip.err
