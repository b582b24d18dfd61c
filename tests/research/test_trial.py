from __future__ import annotations

import pytest
from pydantic import ValidationError

from alphaswarm.research import Trial
from alphaswarm.research.trial import trial_key

CONTRACT = {"expression", "digest", "panel", "panel_digest", "window", "horizon", "ic", "ic_t", "rank_ic", "rank_ic_t"}
CONTRACT |= {"icir", "turnover", "coverage", "breakeven_bp", "n_days", "trial", "trials_total", "warnings"}
MORE = {"id", "status", "known", "first_run", "fill", "source", "rationale", "parents", "critique", "decay"}
MORE |= {"quantiles", "spread", "sharpe", "net_sharpe", "max_drawdown", "missing", "as_of"}


def test_the_key_of_a_trial_never_changes() -> None:
    given = {"digest": "d" * 64, "panel": "us431", "panel_digest": "p" * 64, "horizon": 5, "fill": "close_t1"}
    key = trial_key(**given)
    assert key == "1b822eb71c4b4e45d30884ddf8e73b9278bbf3f4ebfbccec25086466569a2894"
    for name, other in {"digest": "e", "panel": "x", "panel_digest": "q", "horizon": 6, "fill": "open_t1"}.items():
        assert trial_key(**{**given, name: other}) != key


def test_a_trial_has_the_promised_keys_and_is_frozen(workspace) -> None:
    trial = workspace.evaluate("cs_rank(close)", panel="small")
    body = trial.model_dump(mode="json")
    assert set(body) >= CONTRACT | MORE
    assert body["window"] == {"role": "search", "start": "2010-01-04", "end": body["as_of"]}
    assert Trial.model_validate(body) == trial
    with pytest.raises(ValidationError):
        trial.rank_ic = 1.0
