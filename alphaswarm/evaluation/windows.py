"""Windows: which days a number may be computed from, and what it may be used for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import EvidenceInvalid, Panel, UnknownName
from alphaswarm.evaluation.splits import date_range

__all__ = ["EMBARGO_ROWS", "ROLES", "Window", "Windows", "default_windows"]

ROLES = ("search", "selection", "vault", "in-sample")
# Rows after a boundary on which nothing is decided: what the days before it moved has then settled. A fixed
# formula may look back over the boundary; what is fitted needs an embargo as long as its lookback.
EMBARGO_ROWS = 21

# Calendar windows of panels whose history is well known; about 60, 20 and 20 percent.
_FIXED = {
    "us431": (("2007-01-03", "2012-12-31"), ("2013-01-01", "2014-12-31"), ("2015-01-01", "2016-12-30")),
}
# Of the rows of any other panel: search ends after 3/5, selection after 4/5.
_FIFTHS = (3, 4, 5)


@dataclass(frozen=True)
class Window:
    """The dates `start` to `end`, both included, and their role.

    Attributes:
        role: "search" (numbers may be read), "selection" (judges finalists), "vault" (read once), or
            "in-sample" (all there is, where nothing was sealed).
        start: datetime64[D]; given as anything that `date_range` takes for a day.
        end: the same.

    Raises:
        UnknownName: another role.
        EvidenceInvalid: no dates, or the end before the start.
    """

    role: str
    start: np.datetime64
    end: np.datetime64

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise UnknownName.of("role of a window", str(self.role), ROLES)
        start, end = date_range((self.start, self.end))
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)

    def rows(self, dates: NDArray[np.datetime64]) -> slice:
        """The rows of increasing `dates` that lie in the window; an empty slice if none do."""
        days = dates.astype("datetime64[D]")
        return slice(int(np.searchsorted(days, self.start, "left")), int(np.searchsorted(days, self.end, "right")))

    def after_embargo(self, dates: NDArray[np.datetime64], rows: int = EMBARGO_ROWS) -> Window:
        """The window without its first `rows` rows of `dates`: those on which something may be decided.

        Raises:
            EvidenceInvalid: it has no more rows than these.
        """
        here = self.rows(dates)
        if here.stop - here.start <= rows:
            raise EvidenceInvalid(
                f"a window needs more than the {rows} rows of its embargo, got {max(0, here.stop - here.start)} "
                f"from {self.start} to {self.end}"
            )
        return Window(self.role, dates[here.start + rows], self.end)

    def to_dict(self) -> dict[str, str]:
        """Plain text: role, start and end as ``YYYY-MM-DD``."""
        return {"role": self.role, "start": str(self.start), "end": str(self.end)}


@dataclass(frozen=True)
class Windows:
    """Three windows that share no day, in order of time.

    Raises:
        EvidenceInvalid: they overlap, are out of order, or carry another role.
    """

    search: Window
    selection: Window
    vault: Window

    def __post_init__(self) -> None:
        for role in ROLES[:3]:
            if self[role].role != role:
                raise EvidenceInvalid(f"the {role} window must carry the role {role!r}, got {self[role].role!r}")
        if not self.search.end < self.selection.start <= self.selection.end < self.vault.start:
            raise EvidenceInvalid(
                "windows must follow each other without sharing a day: search, selection, vault; "
                f"got {[window.to_dict() for window in (self.search, self.selection, self.vault)]}"
            )

    def __getitem__(self, role: str) -> Window:
        """The window of that role; `UnknownName` lists the three."""
        if role not in ROLES[:3]:
            raise UnknownName.of("window", role, ROLES[:3])
        window: Window = getattr(self, role)
        return window


def default_windows(panel_name: str, panel: Panel) -> Windows:
    """The windows a panel gets at first use: fixed dates for us431, else 60/20/20 % of its rows.

    Raises:
        EvidenceInvalid: fewer than five days, which can't be cut in three.
    """
    if panel_name in _FIXED:
        return _windows([(np.datetime64(start), np.datetime64(end)) for start, end in _FIXED[panel_name]])
    days = np.unique(panel.dates.astype("datetime64[D]"))
    if days.size < 5:
        raise EvidenceInvalid(f"windows need a panel of at least 5 days, got {days.size}")
    ends = [days.size * part // 5 for part in _FIFTHS]
    starts = [0, *ends[:-1]]
    return _windows([(days[start], days[end - 1]) for start, end in zip(starts, ends, strict=True)])


def _windows(spans: list[tuple[np.datetime64, np.datetime64]]) -> Windows:
    search, selection, vault = spans
    return Windows(Window("search", *search), Window("selection", *selection), Window("vault", *vault))
