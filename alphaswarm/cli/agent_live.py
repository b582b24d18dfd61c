"""What a run shows while it goes on: on stderr, a table that moves on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from alphaswarm.cli.output import MIN_FLEXIBLE, number, plain, progress_console, shortened

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from alphaswarm.core import Clock
    from alphaswarm.research import Run

__all__ = ["Story", "watched"]

LAST_SHOWN = 6
# A line for a log is written this often at most, and at the end.
SECONDS_BETWEEN_LINES = 5.0
SPENT = ("calls", "tokens", "money", "seconds")


class Story:
    """What a run's events tell, kept for showing.

    Args:
        run: whose events they are.
        limits: of what its model may cost, by name as in `SPENT`; those that there are.
    """

    def __init__(self, run: Run, limits: Mapping[str, float]) -> None:
        self.run = run
        self.limits = {name: limits[name] for name in SPENT if name in limits}
        self.phase = "starting"
        self.new = 0
        self.best: tuple[float, str] | None = None
        self.last: deque[Mapping[str, Any]] = deque(maxlen=LAST_SHOWN)
        self.spent: Mapping[str, float] = {}
        self.memory = 0
        self.lessons = 0

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take in one event of the researcher."""
        self.phase = event["phase"]
        self.new = event["budget"]["new"]
        self.spent = event.get("spent") or self.spent
        self.memory = event.get("memory", self.memory)
        self.lessons = event.get("lessons", self.lessons)
        candidate = event.get("candidate")
        if candidate is None:
            return
        z = _strength(candidate)
        if z is not None and (self.best is None or abs(z) > abs(self.best[0])):
            self.best = z, str(candidate["expression"])
        if self.phase == "critique":
            self.last.append(candidate)

    def line(self) -> str:
        """The state of the run in one line."""
        best = "nothing measured yet" if self.best is None else f"best z {self.best[0]:+.2f} {plain(self.best[1])}"
        parts = [f"{self.run.id}: {self.new}/{self.run.budget} trials", best, *self._left()]
        if self.memory or self.lessons:
            parts.append(f"memory {self.memory} hits, {self.lessons} lessons")
        return ", ".join(parts)

    def table(self, width: int, seconds: float) -> RenderableType:
        """The last candidates, the best one, and what is left of the budget."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold", expand=False)
        for name in ("z", "RankIC", "turnover"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("source", no_wrap=True)
        table.add_column("candidate", no_wrap=True)
        room = max(MIN_FLEXIBLE, width - 50)
        for candidate in self.last:
            metrics = candidate.get("metrics") or {}
            shown = plain(str(candidate.get("expression") or candidate.get("text", "")))
            if candidate["status"] != "evaluated":
                shown = f"{candidate['status']}: {shown}"
            table.add_row(
                number(_strength(candidate)),
                number(metrics.get("rank_ic"), 4),
                number(metrics.get("turnover")),
                Text(plain(str(candidate.get("source", "")))[:18]),
                Text(shortened(shown, room)),
            )
        best = "" if self.best is None else f"best z {self.best[0]:+.2f}  {shortened(plain(self.best[1]), room)}"
        left = " | ".join([f"{self.new}/{self.run.budget} trials", *self._left(), f"{seconds:.0f} s"])
        memory = f" | memory {self.memory} hits, {self.lessons} lessons" if self.memory or self.lessons else ""
        return Group(table, Text(best), Text(f"{self.phase:<11} {left}{memory}"))

    def _left(self) -> list[str]:
        parts = []
        for name in SPENT:
            spent, limit = self.spent.get(name, 0), self.limits.get(name)
            if limit is not None:
                parts.append(f"{_amount(spent)}/{_amount(limit)} {'model seconds' if name == 'seconds' else name}")
            elif spent:
                parts.append(f"{_amount(spent)} {name}")
        return parts


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.4g}"


def _strength(candidate: Mapping[str, Any]) -> float | None:
    metrics = candidate.get("metrics") or {}
    z: float | None = metrics.get("rank_ic_t") if metrics.get("evidence_z") is None else metrics["evidence_z"]
    return z


@contextmanager
def watched(
    run: Run, limits: Mapping[str, float], *, console: Console | None = None, clock: Clock | None = None
) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """What is to be called with each event of the run; it shows them while the context lasts.

    Args:
        run: that goes on.
        limits: as in `Story`.
        console: where to; stderr if absent.
        clock: for the pace of the lines.
    """
    from rich.live import Live

    from alphaswarm.core import SystemClock

    screen, pace = console or progress_console(), clock or SystemClock()
    story = Story(run, limits)
    began = pace.monotonic()
    told = began
    live = Live(console=screen, transient=True, auto_refresh=False) if screen.is_terminal else None

    def on_event(event: Mapping[str, Any]) -> None:
        nonlocal told
        story.hear(event)
        now = pace.monotonic()
        if event["phase"] == "start":
            again = ", resumed" if event["resumed"] else ""
            text = f"run {run.id} on {run.panel}{again}: {event['notice']}"
            screen.print(text, markup=False, highlight=False, soft_wrap=True)
        if live is not None:
            live.update(story.table(screen.width, now - began), refresh=True)
        elif event["phase"] == "decide" and (now - told >= SECONDS_BETWEEN_LINES or event["outcome"]):
            told = now
            screen.print(story.line(), markup=False, highlight=False, soft_wrap=True)

    if live is None:
        yield on_event
        return
    with live:
        yield on_event
