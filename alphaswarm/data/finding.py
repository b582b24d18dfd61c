"""What a check of a panel can find."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "FindingKind"]


class FindingKind(StrEnum):
    """Kinds of findings, in the order in which they are reported."""

    DUPLICATE_SESSION = "duplicate_session"
    MISSING_SESSION = "missing_session"
    EXTRA_SESSION = "extra_session"
    RETURN_OVER_GAP = "return_over_gap"
    THIN_DAY = "thin_day"
    STALE_DAY = "stale_day"
    PRICE_NOT_POSITIVE = "price_not_positive"
    BAR_OUT_OF_ORDER = "bar_out_of_order"
    SPLIT_LIKE = "split_like"
    JUMP_UP = "jump_up"
    SUSPECT_RETURN = "suspect_return"
    LARGE_RETURN = "large_return"
    SPIKE_AND_REVERT = "spike_and_revert"
    VOLUME_ABSENT = "volume_absent"
    VOLUME_SCALE = "volume_scale"
    GAP = "gap"
    LATE_START = "late_start"
    EARLY_END = "early_end"
    TWINS = "twins"
    NO_LEAVERS = "no_leavers"

    @property
    def meaning(self) -> str:
        """One sentence for people."""
        return _MEANINGS[self]


_MEANINGS = {
    FindingKind.DUPLICATE_SESSION: "two rows of a daily panel fall on one day",
    FindingKind.MISSING_SESSION: "the exchange was open and the panel has no row",
    FindingKind.EXTRA_SESSION: "the panel has a row and the exchange was closed",
    FindingKind.RETURN_OVER_GAP: "a return spans more than one session",
    FindingKind.THIN_DAY: "far fewer names than on the days around it",
    FindingKind.STALE_DAY: "many names have a return of exactly 0: prices of the day before",
    FindingKind.PRICE_NOT_POSITIVE: "a price of 0 or below",
    FindingKind.BAR_OUT_OF_ORDER: "open or close outside low..high",
    FindingKind.SPLIT_LIKE: "an overnight fall like that of an unadjusted split or spin-off",
    FindingKind.JUMP_UP: "an overnight rise above 25 %: a takeover, or an unadjusted reverse split",
    FindingKind.SUSPECT_RETURN: "a very large return without the volume that such a move brings",
    FindingKind.LARGE_RETURN: "a return beyond 35 %, with volume",
    FindingKind.SPIKE_AND_REVERT: "a large move that the next row takes back",
    FindingKind.VOLUME_ABSENT: "no volume, or a volume of 0 or below, on a day with a price",
    FindingKind.VOLUME_SCALE: "volume changes its scale from one day or one year to the next",
    FindingKind.GAP: "a name is missing between its first and its last row",
    FindingKind.LATE_START: "a name starts after the panel does",
    FindingKind.EARLY_END: "a name ends before the panel does",
    FindingKind.TWINS: "two names move as one: share classes, or the same data twice",
    FindingKind.NO_LEAVERS: "no name ever leaves: survivorship-biased",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault or oddity: flagged, never repaired.

    Attributes:
        date: ISO date, or None when it is about a whole name or the whole panel.
        symbol: the name, or None when it is about a whole day or the whole panel.
        detail: what was seen, for people.
        value: the figure behind it (a return, a ratio, a count), None when there is none.
    """

    kind: FindingKind
    detail: str
    date: str | None = None
    symbol: str | None = None
    value: float | None = None
