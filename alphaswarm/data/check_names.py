"""Faults of whole names: gaps, late starts and early ends, twins, and whether anybody ever left."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from alphaswarm.data.finding import Finding, FindingKind
from alphaswarm.data.observed import Observed

__all__ = ["lives", "twins"]

TWIN_CORRELATION = 0.97
FEWEST_COMMON_ROWS = 60
# Pairs cost N^2 T; beyond this many names it would take minutes.
MOST_NAMES = 3000


def lives(observed: Observed) -> Iterator[Finding]:
    """When each name is there."""
    present = observed.present
    rows = present.shape[0]
    first = present.argmax(axis=0)
    last = rows - 1 - present[::-1].argmax(axis=0)
    held = present.sum(axis=0)
    left = 0
    for column, symbol in enumerate(observed.panel.symbols):
        if not held[column]:
            yield Finding(FindingKind.GAP, "no price on any day", symbol=symbol, value=float(rows))
            continue
        start, end = int(first[column]), int(last[column])
        absent = end - start + 1 - int(held[column])
        if absent:
            hole = start + int(np.argmin(present[start:, column]))
            detail = f"{absent} rows missing, the first on {observed.day(hole)}"
            yield Finding(FindingKind.GAP, detail, date=observed.day(hole), symbol=symbol, value=float(absent))
        if start:
            detail = f"starts {start} rows after the panel"
            yield Finding(FindingKind.LATE_START, detail, date=observed.day(start), symbol=symbol, value=float(start))
        if end < rows - 1:
            left += 1
            detail = f"ends {rows - 1 - end} rows before the panel"
            yield Finding(
                FindingKind.EARLY_END, detail, date=observed.day(end), symbol=symbol, value=float(rows - 1 - end)
            )
    if not left:
        detail = f"all {len(observed.panel.symbols)} names last to the end: studies on it are survivorship-biased"
        yield Finding(FindingKind.NO_LEAVERS, detail)


def twins(observed: Observed, notes: list[str]) -> Iterator[Finding]:
    """Pairs of names whose returns correlate above 0.97 on at least 60 common rows."""
    if observed.returns is None:
        return
    if len(observed.panel.symbols) > MOST_NAMES:
        notes.append(f"twins are not checked: more than {MOST_NAMES} names")
        return
    correlation = _correlations(observed.returns)
    for one, two in np.argwhere(np.triu(correlation > TWIN_CORRELATION, k=1)):
        value = float(correlation[one, two])
        names = f"{observed.panel.symbols[one]} and {observed.panel.symbols[two]}"
        yield Finding(
            FindingKind.TWINS, f"{names} correlate at {value:.3f}", symbol=observed.panel.symbols[one], value=value
        )


def _correlations(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pearson correlation of each pair over its common rows [N, N]; NaN with too few."""
    known = np.isfinite(values)
    # centred first: the one-pass formula below would lose digits otherwise
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0.0).sum(axis=0) / count
    x = np.where(known, values - mean, 0.0)
    k = known.astype(np.float64)
    common = k.T @ k
    sums, squares = x.T @ k, (x * x).T @ k  # of the row's name over the pair's common rows
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = x.T @ x - sums * sums.T / common
        variance = squares - sums**2 / common
        correlation = covariance / np.sqrt(variance * variance.T)
    return np.where(common >= FEWEST_COMMON_ROWS, correlation, np.nan)
