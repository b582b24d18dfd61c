"""Research projects: a workspace, its ledger of trials, its runs and their reports."""

from typing import TYPE_CHECKING, Any

from alphaswarm.research.backtests import BacktestRecord
from alphaswarm.research.runs import Run
from alphaswarm.research.trial import Trial, TrialWindow
from alphaswarm.research.workspace import Workspace

if TYPE_CHECKING:
    from alphaswarm.research.report import write_report

__all__ = ["BacktestRecord", "Run", "Trial", "TrialWindow", "Workspace", "write_report"]


def __getattr__(name: str) -> Any:
    # Reports draw pictures and fill templates: only who asks for one loads that.
    if name == "write_report":
        from alphaswarm.research.report import write_report

        return write_report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
