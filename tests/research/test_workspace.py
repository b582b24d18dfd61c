from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import update

from alphaswarm.backtest import target_weights
from alphaswarm.core import DataInvalid, FieldNotFound, Store, StoreError, WeightsInvalid
from alphaswarm.dsl import evaluate
from alphaswarm.research import TrialWindow, Workspace
from alphaswarm.research.tables import settings

Open = Callable[..., Workspace]
REVERSAL = "cs_rank(-ts_sum(returns, 5))"


def test_it_is_made_at_first_use_and_found_again(open_workspace: Open, tmp_path: Path) -> None:
    first = open_workspace()
    assert (tmp_path / "ws" / "ledger.db").exists()
    assert not first.unsealed
    trial = first.evaluate(REVERSAL, panel="small")
    first.close()
    again = open_workspace()
    assert again.evaluate(REVERSAL, panel="small") == trial.model_copy(update={"known": True})


def test_the_default_is_a_directory_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Workspace.open() as workspace:
        assert workspace.path == Path(".alphaswarm")
        assert workspace.catalog.imported == Path(".alphaswarm/panels")
    assert (tmp_path / ".alphaswarm" / "ledger.db").exists()


def test_the_database_may_lie_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALPHASWARM_DB", f"sqlite:///{tmp_path}/other.db")
    with Workspace.open(tmp_path / "ws"):
        pass
    assert (tmp_path / "other.db").exists()
    assert not (tmp_path / "ws" / "ledger.db").exists()


def test_sealed_stays_sealed_and_unsealed_is_said(open_workspace: Open) -> None:
    open_workspace("sealed")
    with pytest.raises(StoreError, match="stays so"):
        open_workspace("sealed", unsealed=True)
    assert open_workspace("open", unsealed=True).unsealed
    again = open_workspace("open")
    assert again.unsealed
    trial = again.evaluate(REVERSAL, panel="small")
    assert any("unsealed" in warning for warning in trial.warnings)
    panel = again.panel("small")
    days = np.datetime_as_string(panel.dates[[0, -1]], "D")
    assert trial.window == TrialWindow(role="in-sample", start=days[0], end=days[1])
    assert (trial.as_of, trial.trials_total) == (days[1], 1)
    assert again.seen("small") is panel
    assert again.backtest(REVERSAL, panel="small").dates[-1] == days[1]


def test_a_newer_format_is_refused(open_workspace: Open) -> None:
    workspace = open_workspace()
    with workspace.store.write() as connection:
        connection.execute(update(settings).where(settings.c.name == "format").values(value="2"))
    with pytest.raises(StoreError, match="format 2"):
        open_workspace()


@pytest.mark.parametrize("kind", ["file", "garbage"])
def test_what_is_no_workspace(open_workspace: Open, tmp_path: Path, kind: str) -> None:
    if kind == "file":
        (tmp_path / "ws").write_text("x")
    else:
        (tmp_path / "ws").mkdir()
        (tmp_path / "ws" / "ledger.db").write_bytes(b"garbage" * 999)
    with pytest.raises(StoreError):
        open_workspace()


@pytest.mark.parametrize("loss", ["gone", "empty", "no rows"])
def test_a_lost_ledger_is_no_new_project(open_workspace: Open, tmp_path: Path, loss: str) -> None:
    open_workspace().close()
    ledger = tmp_path / "ws" / "ledger.db"
    kept = ledger.read_bytes()
    (tmp_path / "ws" / "runs" / "r0001").mkdir(parents=True)
    ledger.unlink()
    if loss == "empty":
        ledger.touch()
    elif loss == "no rows":
        Store(ledger).close()
    for _ in range(2):
        with pytest.raises(StoreError, match=r"restore ledger\.db .* or move the directory runs away"):
            open_workspace()
    assert loss != "gone" or not ledger.exists()
    ledger.write_bytes(kept)
    open_workspace()


def test_weights_of_a_date(workspace: Workspace) -> None:
    panel = workspace.panel("small")
    day = str(panel.dates[250])[:10]  # after the search window: nothing is measured
    target = workspace.target_weights(REVERSAL, panel="small", as_of=day, horizon=3)
    assert (
        target.digest
        == target_weights(evaluate(REVERSAL, panel), panel, day, tranches=3, provenance=target.provenance).digest
    )
    assert target.provenance["panel"] == panel.digest
    assert abs(target.cash - 1.0) < 1e-12
    assert workspace.target_weights(REVERSAL, panel="small").as_of == panel.dates[-1]
    with pytest.raises(WeightsInvalid):
        workspace.target_weights(REVERSAL, panel="small", as_of="1999-01-01")
    with pytest.raises(FieldNotFound):
        workspace.target_weights("cap", panel="small", as_of=day)
    assert workspace.trials_total("small") == 0


def test_only_the_search_window_is_seen(workspace: Workspace) -> None:
    windows = workspace.windows("small")
    seen = workspace.seen("small")
    assert str(seen.dates[-1])[:10] == str(windows.search.end)
    assert seen.shape[0] == 180
    assert workspace.panel("small").shape[0] == 300


def test_a_file_is_a_panel_too(workspace: Workspace, tmp_path: Path) -> None:
    panel = workspace.panel("small")
    rows = ["date,symbol,close"]
    for day, prices in zip(panel.dates, panel["close"], strict=True):
        rows += [f"{str(day)[:10]},{name},{price:.6f}" for name, price in zip(panel.symbols, prices, strict=True)]
    (tmp_path / "mine.csv").write_text("\n".join(rows))
    trial = workspace.evaluate("cs_rank(close)", panel=str(tmp_path / "mine.csv"))
    assert trial.panel == "mine"
    assert workspace.trials_total("mine") == 1
    (tmp_path / "bad.csv").write_text("date,symbol,close\n2020-01-01,a,-1\n")
    with pytest.raises(DataInvalid):
        workspace.evaluate("cs_rank(close)", panel=str(tmp_path / "bad.csv"))


def test_threads_share_a_workspace(workspace: Workspace) -> None:
    texts = [f"cs_rank(ts_mean(returns, {window}))" for window in range(2, 10)]
    with ThreadPoolExecutor(4) as pool:
        trials = list(pool.map(lambda text: workspace.evaluate(text, panel="small"), texts * 3))
    assert sum(not trial.known for trial in trials) == len(texts)
    assert len({trial.id for trial in trials}) == len(texts)
    assert workspace.trials_total("small") == len(texts)
    assert workspace.memory.stats()["documents"] == len(texts)


def test_what_is_heavy_is_loaded_late() -> None:
    heavy = ["numba", "scipy", "chromadb", "matplotlib", "pandas", "pyarrow"]
    code = f"import sys; import alphaswarm.research; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert run.stdout.strip() == "[]"


def test_looking_up_is_quick(workspace: Workspace) -> None:
    workspace.evaluate(REVERSAL, panel="small")
    fastest = 1.0
    for _ in range(20):
        start = time.perf_counter()
        workspace.evaluate(REVERSAL, panel="small")
        fastest = min(fastest, time.perf_counter() - start)
    assert fastest < 0.05  # some 1 ms on an idle machine; a computation takes ten times that
