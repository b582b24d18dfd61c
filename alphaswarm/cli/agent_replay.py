"""The same run again, from what was kept of it: no model and no network is asked."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alphaswarm.cli.agent_job import RECALLED, research
from alphaswarm.core import SpecInvalid

if TYPE_CHECKING:
    from alphaswarm.research import Run, Workspace

__all__ = ["differences", "replay"]

LEDGER_VARIABLE = "ALPHASWARM_DB"
REPLAY_VARIABLE = "ALPHASWARM_LLM_REPLAY"
# What would ask something outside, or put a limit on replies that cost nothing now.
UNWANTED = (
    "ALPHASWARM_CHECKPOINT_URL",
    "ALPHASWARM_DB",
    "ALPHASWARM_LLM_API_KEY",
    "ALPHASWARM_LLM_BASE_URL",
    "ALPHASWARM_LLM_MAX_MONEY",
    "ALPHASWARM_LLM_PRICE_IN",
    "ALPHASWARM_LLM_PRICE_OUT",
    "OPENAI_API_KEY",
)
MOST_SHOWN = 20


def replay(project: Workspace, run: Run) -> dict[str, Any]:
    """Make a finished run again on a copy of the ledger as it was when it began, and set the summaries side by side.

    Returns:
        `run_id`, `same` (bit for bit), `summary` (sha256), `replayed` (that of the run made again), `differences`
        (paths into the summary with both values, at most 20).

    Raises:
        SpecInvalid: the run has not finished, or its ledger is not in SQLite.
        ProviderError: a reply that was not kept is needed.
    """
    from alphaswarm.data import Catalog
    from alphaswarm.research import Workspace
    from alphaswarm.research.rewind import rewind

    if run.status != "finished":
        raise SpecInvalid(f"a run must have finished to be replayed; {run.id} is {run.status}")
    kept = project.path / "runs" / run.id
    with tempfile.TemporaryDirectory(prefix="alphaswarm-replay-") as made:
        directory = Path(made)
        rewind(project.store, project.path, run, directory)
        if (kept / RECALLED).is_dir():
            shutil.copytree(kept / RECALLED, directory / "runs" / run.id / RECALLED)
        with _own_ledger(), Workspace.open(directory, catalog=Catalog(imported=project.path / "panels")) as copy:
            again = copy.resume_run(run.id)
            result = research(copy, _as_default(again), _settings(run, kept), show=_silent)
            # A person's refusal is no part of what is computed again.
            outcome = "declined" if run.outcome == "declined" else result["outcome"]
            copy.finish_run(run.id, outcome)
            second = copy.run_summary(run.id)
    first = project.run_summary(run.id)
    return {
        "run_id": run.id,
        "same": first.digest == second.digest,
        "summary": first.digest,
        "replayed": second.digest,
        "differences": differences(first.body, second.body)[:MOST_SHOWN],
    }


def differences(one: Any, two: Any, path: str = "") -> list[dict[str, Any]]:
    """Where two documents differ: ``{path, kept, replayed}`` of each value, lists of other lengths as a whole."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        names = sorted({*one, *two})
        return [found for name in names for found in differences(one.get(name), two.get(name), f"{path}.{name}")]
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        pairs = enumerate(zip(one, two, strict=True))
        return [found for place, (a, b) in pairs for found in differences(a, b, f"{path}[{place}]")]
    return [] if one == two else [{"path": path.lstrip("."), "kept": _short(one), "replayed": _short(two)}]


def _short(value: Any) -> Any:
    return value if isinstance(value, int | float | str | None) else f"{type(value).__name__} of {len(value)}"


def _as_default(run: Run) -> Run:
    """The run without a gate or a server elsewhere: neither changes what is found."""
    return run.model_copy(update={"config": {k: v for k, v in run.config.items() if k not in ("approve", "mcp")}})


def _settings(run: Run, kept: Path) -> dict[str, str]:
    settings = {name: value for name, value in os.environ.items() if name not in UNWANTED}
    model = run.config.get("model")
    return settings | {REPLAY_VARIABLE: str(kept)} | ({"ALPHASWARM_LLM_MODEL": model} if model else {})


@contextmanager
def _own_ledger() -> Iterator[None]:
    """Without the variable that would open the project's own ledger in the place of the copy."""
    named = os.environ.pop(LEDGER_VARIABLE, None)
    try:
        yield
    finally:
        if named is not None:
            os.environ[LEDGER_VARIABLE] = named


@contextmanager
def _silent(*_: object) -> Iterator[Callable[[object], None]]:
    yield lambda _event: None
