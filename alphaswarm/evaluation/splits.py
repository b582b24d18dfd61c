"""Rows to fit on and rows to test on, so that no label is in both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.core import EvidenceInvalid

__all__ = ["Split", "combinatorial", "date_range", "purge", "segments", "walk_forward"]

Rows = NDArray[np.int64]

FORMS = 'two dates as [start, end], "start..end" or "start:end"'


class Split(NamedTuple):
    """Increasing row numbers to fit on, and to test on."""

    train: Rows
    test: Rows


def purge(n: int, test: ArrayLike, horizon: int, embargo: int = 0) -> Rows:
    """The rows of 0..n-1 that may train a model which is tested on the rows `test`.

    The label of row i spans the closed interval [i+1, i+1+h]: filled at close i+1, left at close
    i+1+h. A row whose label shares a moment with that of a test row is left out: those up to h rows
    before and h rows after each test row. Test rows need not adjoin; each takes away its own
    neighbours only (Lopez de Prado 2018, with closed intervals).

    Args:
        n: number of rows.
        test: row numbers, at least one, in any order.
        horizon: h, 1 or more.
        embargo: further rows left out after each test label's end, because what is fitted on them
            reads test rows as features: at least the lookback for anything that is fitted.

    Returns:
        Increasing row numbers; may be empty.

    Raises:
        EvidenceInvalid: no test row, one outside 0..n-1, a horizon below 1 or an embargo below 0.
    """
    chosen = _rows(n, test)
    _check_gaps(horizon, embargo)
    # +1 where a forbidden stretch begins, -1 after it ends
    edges = np.zeros(n + 1, np.int64)
    np.add.at(edges, np.maximum(chosen - horizon, 0), 1)
    np.add.at(edges, np.minimum(chosen + horizon + embargo + 1, n), -1)
    return np.flatnonzero(np.cumsum(edges[:n]) == 0)


def walk_forward(n: int, folds: int, horizon: int, *, embargo: int = 0, length: int | None = None) -> Iterator[Split]:
    """Fit on the past, test on what follows, and move on.

    The rows are cut into `folds` + 1 blocks, equal to within a row; each but the first is tested once. Training
    rows lie before the test, their labels end before its labels begin, and `embargo` rows more are left
    between.

    Args:
        n: number of rows.
        folds: number of tests, 1 or more.
        horizon: h, as in `purge`.
        embargo: rows left out between, on top of the purge.
        length: fit on so many of the latest rows at most; on all when absent.

    Raises:
        EvidenceInvalid: fewer rows than blocks, a first block without a row to train on, or counts
            out of range.
    """
    if folds < 1:
        raise EvidenceInvalid(f"a walk forward needs at least 1 fold, got {folds}")
    if length is not None and length < 1:
        raise EvidenceInvalid(f"the length of training must be at least 1 row, got {length}")
    _check_gaps(horizon, embargo)
    blocks = _blocks(n, folds + 1)
    gap = horizon + embargo
    if blocks[1][0] - gap < 1:
        raise EvidenceInvalid(
            f"the first of {folds + 1} blocks must hold more than horizon + embargo = {gap} rows, got {blocks[1][0]}"
        )
    for test in blocks[1:]:
        stop = int(test[0]) - gap
        yield Split(np.arange(0 if length is None else max(0, stop - length), stop), test)


def combinatorial(n: int, blocks: int, test_blocks: int, horizon: int, *, embargo: int = 0) -> Iterator[Split]:
    """Every choice of `test_blocks` out of `blocks` as the test, purged (combinatorial purged cross-validation).

    ``C(N, k)`` splits in which each row is tested ``C(N - 1, k - 1)`` times (Lopez de Prado 2018).

    Args:
        n: number of rows.
        blocks: N, stretches of time, equal to within a row.
        test_blocks: k, at least 1 and fewer than N.
        horizon: h, as in `purge`.
        embargo: as in `purge`.

    Raises:
        EvidenceInvalid: fewer rows than blocks, or counts out of range.
    """
    if not 1 <= test_blocks < blocks:
        raise EvidenceInvalid(f"test blocks must be at least 1 and fewer than the {blocks} blocks, got {test_blocks}")
    _check_gaps(horizon, embargo)
    parts = _blocks(n, blocks)
    for chosen in combinations(parts, test_blocks):
        test = np.concatenate(chosen)
        yield Split(purge(n, test, horizon, embargo), test)


def date_range(selector: Any) -> tuple[np.datetime64, np.datetime64]:
    """The first and the last day that `selector` means, both included.

    Lists and tuples of two dates and the texts ``start..end`` and ``start:end`` mean the same; a date is a
    text ``YYYY-MM-DD``, a `date`, a `datetime` (its day counts) or a `numpy.datetime64`.

    Raises:
        EvidenceInvalid: anything else, or an end before the start; nothing is guessed.
    """
    ends = _ends(selector)
    if ends is None:
        raise EvidenceInvalid(f"a range of dates must be {FORMS}, got {selector!r}")
    start, end = (_day(value, selector) for value in ends)
    if end < start:
        raise EvidenceInvalid(f"a range of dates must start at or before its end, got {start} to {end}")
    return start, end


def segments(dates: NDArray[np.datetime64], selectors: Mapping[str, Any]) -> dict[str, Rows]:
    """The rows of each named range of dates, for example of train, valid and test.

    Args:
        dates: datetime64 [T].
        selectors: name to what `date_range` understands.

    Returns:
        Increasing row numbers by name; no row is in two of them.

    Raises:
        EvidenceInvalid: a selector that is not understood, a range without a row, or ranges that overlap.
    """
    days = np.asarray(dates).astype("datetime64[D]")
    ranges = {name: date_range(selector) for name, selector in selectors.items()}
    for (one, (begin, end)), (other, (start, stop)) in combinations(ranges.items(), 2):
        if begin <= stop and start <= end:
            raise EvidenceInvalid(f"{one} ({begin} to {end}) and {other} ({start} to {stop}) must not share a day")
    found = {name: np.flatnonzero((days >= start) & (days <= end)) for name, (start, end) in ranges.items()}
    for name, rows in found.items():
        if not rows.size:
            raise EvidenceInvalid(f"{name} must hold a row, got none from {ranges[name][0]} to {ranges[name][1]}")
    return found


def _ends(selector: Any) -> tuple[Any, Any] | None:
    parts: Any = selector
    if isinstance(selector, str):
        parts = selector.split(".." if ".." in selector else ":")
        parts = [part.strip() for part in parts]
    elif isinstance(selector, np.ndarray):
        parts = list(selector)
    if isinstance(parts, list | tuple) and len(parts) == 2:
        return parts[0], parts[1]
    return None


def _day(value: Any, selector: Any) -> np.datetime64:
    day: np.datetime64 = np.datetime64("NaT", "D")
    try:
        if isinstance(value, date):  # a datetime is one too; pandas' missing time writes itself NaT
            day = np.datetime64(value.isoformat()[:10], "D")
        elif isinstance(value, np.datetime64):
            day = value.astype("datetime64[D]")
        elif isinstance(value, str):
            day = np.datetime64(date.fromisoformat(value), "D")
    except ValueError:  # no such day
        pass
    if np.isnat(day):
        raise EvidenceInvalid(f"a range of dates must be {FORMS}, got {selector!r}: {value!r} is no date YYYY-MM-DD")
    return day


def _rows(n: int, test: ArrayLike) -> Rows:
    chosen = np.asarray(test)
    if chosen.ndim != 1 or not chosen.size or not np.issubdtype(chosen.dtype, np.integer):
        raise EvidenceInvalid(
            f"test must be a list of row numbers with at least one, got {chosen.dtype} of shape {chosen.shape}"
        )
    if chosen.min() < 0 or chosen.max() >= n:
        raise EvidenceInvalid(f"test rows must lie in 0..{n - 1}, got {chosen.min()} to {chosen.max()}")
    return np.unique(chosen).astype(np.int64)


def _check_gaps(horizon: int, embargo: int) -> None:
    if horizon < 1:
        raise EvidenceInvalid(f"a horizon must be at least 1 row, got {horizon}")
    if embargo < 0:
        raise EvidenceInvalid(f"an embargo must be 0 rows or more, got {embargo}")


def _blocks(n: int, count: int) -> list[Rows]:
    if n < count:
        raise EvidenceInvalid(f"{count} blocks need at least as many rows, got {n}")
    return np.array_split(np.arange(n), count)
