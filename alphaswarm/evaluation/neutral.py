"""What is left of a factor beside exposures that anybody can have: sector, size, beta, volatility, known factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.backtest import RankedRows, metrics, rank_rows
from alphaswarm.backtest.ranking import MIN_NAMES, rerank
from alphaswarm.core import EvidenceInvalid
from alphaswarm.core.jit import jit
from alphaswarm.evaluation.ic import newey_west_t

__all__ = ["ExposureSet", "Left", "correlations_left", "residual_ranks", "what_is_left"]

# A column (or the factor itself) that keeps less than this share of its length beside the others adds
# nothing: what remains is rounding.
_INDEPENDENT = 1e-8
# Beside this share of its length, rounding may no longer be orthogonal to the others.
_LOST = 0.1

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExposureSet:
    """Exposures that are taken out of a factor together, on D dates.

    Attributes:
        names: what they are called, the group first.
        columns: float64 [K, D, N], each the average ranks of an exposure within its date; NaN where missing.
        codes: int32 [D, N], the group of each name (0 without a group), -1 where anything is missing.
        grouped: whether the codes stand for a group.
    """

    names: tuple[str, ...]
    columns: Floats
    codes: NDArray[np.int32]
    grouped: bool

    @classmethod
    def of(
        cls,
        exposures: Mapping[str, ArrayLike],
        groups: Mapping[str, NDArray[np.int32]] | None = None,
        *,
        shape: tuple[int, int],
    ) -> ExposureSet:
        """Rank `exposures` (name to [D, N], known at the close of their row) date by date.

        Args:
            exposures: name to values; a monotone transform of them changes nothing.
            groups: at most one, name to codes [D, N].
            shape: (D, N).

        Raises:
            EvidenceInvalid: nothing to take out, more than one group, or another shape.
        """
        given = dict(groups or {})
        arrays = {name: np.asarray(values, np.float64) for name, values in exposures.items()}
        if len(given) > 1 or not (given or arrays):
            raise EvidenceInvalid(f"a set needs exposures and at most one group, got {[*given]} and {[*arrays]}")
        for name, values in (given | arrays).items():
            if values.shape != shape:
                raise EvidenceInvalid(f"exposure {name!r} must have the factor's shape {shape}, got {values.shape}")
        columns = np.empty((len(arrays), *shape))
        codes = np.zeros(shape, np.int32)
        for group in given.values():
            codes = group
        for place, values in enumerate(arrays.values()):
            columns[place] = rank_rows(values).ranks
            codes = np.where(np.isnan(columns[place]), -1, codes)
        return cls((*given, *arrays), columns, np.ascontiguousarray(codes, np.int32), bool(given))


@dataclass(frozen=True)
class Left:
    """What is left of a factor beside one set of exposures; None where undefined.

    Attributes:
        name: of the set.
        exposures: what was taken out.
        n_days: dates with a defined rank IC.
        rank_ic: mean of what is left, see `correlations_left`.
        rank_ic_t: its Newey-West t.
        evidence: mean correlation of what is left with the scaled residual label.
        evidence_t: its t.
    """

    name: str
    exposures: tuple[str, ...]
    n_days: int
    rank_ic: float | None
    rank_ic_t: float | None
    evidence: float | None
    evidence_t: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {"exposures": list(self.exposures)}


def what_is_left(
    ranked: RankedRows,
    exposures: ExposureSet,
    rows: Mapping[str, Sequence[str]],
    labels: RankedRows,
    scaled: Floats | None,
    horizon: int,
) -> tuple[Left, ...]:
    """A table: the means over all dates of `correlations_left` for each of `rows`, name to what is taken out."""
    rank_ic, evidence = correlations_left(ranked, exposures, labels, scaled, list(rows.values()))
    table = []
    for place, (name, taken) in enumerate(rows.items()):
        ranks, values = (found[place][np.isfinite(found[place])] for found in (rank_ic, evidence))
        table.append(
            Left(
                name=name,
                exposures=tuple(taken),
                n_days=ranks.size,
                rank_ic=metrics.mean(ranks),
                rank_ic_t=newey_west_t(ranks, horizon=horizon),
                evidence=metrics.mean(values),
                evidence_t=newey_west_t(values, horizon=horizon),
            )
        )
    return tuple(table)


def residual_ranks(factor: ArrayLike, exposures: ExposureSet) -> Floats:
    """The ranks of `factor` without what a linear fit on the ranks of the exposures explains, [D, N].

    Per date: ordinary least squares of the factor's average ranks on an intercept (or one dummy for
    each group) and the exposures' ranks, over the names that have all of them. NaN elsewhere, on dates
    with fewer than 30 names more than columns, and where nothing is left.

    Raises:
        EvidenceInvalid: a factor of another shape than the exposures.
    """
    ranked = rank_rows(factor)
    _check(ranked, exposures)
    out = np.full(ranked.ranks.shape, np.nan)
    _residual_rows(
        ranked.ranks, ranked.order, ranked.tie, ranked.count, exposures.columns, exposures.codes, MIN_NAMES, out
    )
    return out


def correlations_left(
    ranked: RankedRows,
    exposures: ExposureSet,
    labels: RankedRows,
    scaled: Floats | None,
    rows: Sequence[Sequence[str]] | None = None,
) -> tuple[Floats, Floats]:
    """Rank IC and evidence of what is left of a factor, date by date.

    Both are semi-partial correlations: the factor's ranks are replaced by their residual of
    `residual_ranks`, fitted over the names that also have the target; the target stays as it is. Without
    anything to take out they are the rank IC and the residual evidence themselves.

    Args:
        ranked: the factor on D dates.
        exposures: what can be taken out. Whatever is, only names that have all of it count: so all rows
            speak of the same names.
        labels: forward returns, ranked.
        scaled: [D, N], residual labels over volatility; None where there are none.
        rows: R choices of exposures to take out together; everything at once when absent.

    Returns:
        rank_ic [R, D], evidence [R, D]; NaN on the dates that `residual_ranks` leaves out, or without
        differences.

    Raises:
        EvidenceInvalid: shapes that differ, or a row that names what the exposures do not hold.
    """
    _check(ranked, exposures)
    shape = ranked.ranks.shape
    targets = np.full(shape, np.nan) if scaled is None else np.ascontiguousarray(scaled, np.float64)
    if labels.ranks.shape != shape or targets.shape != shape:
        raise EvidenceInvalid(
            f"labels must have the factor's shape {shape}, got {labels.ranks.shape} and {targets.shape}"
        )
    chosen = [exposures.names] if rows is None else rows
    unknown = {name for row in chosen for name in row} - set(exposures.names)
    if unknown:
        raise EvidenceInvalid(f"a row must name exposures among {list(exposures.names)}, got {sorted(unknown)}")
    taken = np.array([[name in row for name in exposures.names] for row in chosen], np.bool_)
    if not exposures.grouped:
        taken = np.insert(taken, 0, False, axis=1)
    return _correlations(
        ranked.ranks,
        ranked.order,
        ranked.tie,
        ranked.count,
        exposures.columns,
        exposures.codes,
        taken,
        labels.ranks,
        labels.order,
        labels.tie,
        labels.count,
        targets,
        MIN_NAMES,
    )


def _check(ranked: RankedRows, exposures: ExposureSet) -> None:
    if exposures.codes.shape != ranked.ranks.shape:
        raise EvidenceInvalid(
            f"exposures must have the factor's shape {ranked.ranks.shape}, got {exposures.codes.shape}"
        )


@jit
def _residual_rows(
    ranks: Floats,
    order: NDArray[np.int32],
    tie: NDArray[np.int32],
    count: NDArray[np.int64],
    columns: Floats,
    codes: NDArray[np.int32],
    min_names: int,
    out: Floats,
) -> None:
    days, names = ranks.shape
    keep = np.empty(names)
    among = np.empty(names)
    place = np.empty(names, np.int64)
    y = np.empty(names)
    x = np.empty((columns.shape[0], names))
    group = np.empty(names, np.int32)
    total = np.empty(max(1, codes.max() + 1))
    members = np.empty(total.size, np.int64)
    for t in range(days):
        n = _common(ranks[t], codes[t], ranks[t], keep, place)
        _among(ranks[t], order[t], tie[t], count[t], keep, place[:n], among, y)
        _gather(columns, t, codes[t], place[:n], x, group)
        if _fit(y[:n], x[:, :n], group[:n], total, members, min_names):
            for k in range(n):
                out[t, place[k]] = y[k]


@jit
def _correlations(
    ranks: Floats,
    order: NDArray[np.int32],
    tie: NDArray[np.int32],
    count: NDArray[np.int64],
    columns: Floats,
    codes: NDArray[np.int32],
    taken: NDArray[np.bool_],
    label_ranks: Floats,
    label_order: NDArray[np.int32],
    label_tie: NDArray[np.int32],
    label_count: NDArray[np.int64],
    scaled: Floats,
    min_names: int,
) -> tuple[Floats, Floats]:
    """`taken` [R, 1 + K] says which of the group and the columns each row takes out."""
    days, names = ranks.shape
    rows = taken.shape[0]
    last = columns.shape[0]  # the factor's place after the columns, before the target
    rank_ic = np.full((rows, days), np.nan)
    evidence = np.full((rows, days), np.nan)
    keep = np.empty(names)
    among = np.empty(names)
    place = np.empty(names, np.int64)
    x = np.empty((last + 1, names))
    about = np.empty((last + 2, names))
    group = np.empty(names, np.int32)
    sums = np.empty((last + 2, max(1, codes.max() + 1)))
    members = np.empty(sums.shape[1], np.int64)
    whole = np.empty((last + 2, last + 2))
    within = np.empty((last + 2, last + 2))
    for t in range(days):
        n = _common(ranks[t], codes[t], label_ranks[t], keep, place)
        _among(ranks[t], order[t], tie[t], count[t], keep, place[:n], among, x[last])
        _gather(columns, t, codes[t], place[:n], x, group)
        _products(x, group[:n], about, sums, members, whole, within)
        z = about[last + 1, :n]
        _among(label_ranks[t], label_order[t], label_tie[t], label_count[t], keep, place[:n], among, z)
        _correlate(x, group[:n], about, sums, members, whole, within, taken, min_names, rank_ic[:, t])
        same = n > 0
        for k in range(n):
            z[k] = scaled[t, place[k]]
            same = same and np.isfinite(z[k])
        if not same:  # residual labels are rarer: their own names, their own fit
            n = _common(ranks[t], codes[t], scaled[t], keep, place)
            if n < min_names:
                continue
            _among(ranks[t], order[t], tie[t], count[t], keep, place[:n], among, x[last])
            _gather(columns, t, codes[t], place[:n], x, group)
            _products(x, group[:n], about, sums, members, whole, within)
            for k in range(n):
                about[last + 1, k] = scaled[t, place[k]]
        _correlate(x, group[:n], about, sums, members, whole, within, taken, min_names, evidence[:, t])
    return rank_ic, evidence


@jit
def _products(
    x: Floats,
    group: NDArray[np.int32],
    about: Floats,
    sums: Floats,
    members: NDArray[np.int64],
    whole: Floats,
    within: Floats,
) -> None:
    """Products of rows of `x` [K + 1, :n] about their means in `whole`, about those of their `group` [n] in `within`.

    A row whose length is mostly that of its mean gets 0 with itself: a difference of products says too little.
    Fills `about` with the rows about their means, `sums` [K + 1, G] with their sums by group, `members` [G].
    """
    vectors = x.shape[0]
    n = group.size
    for v in range(vectors):
        here = x[v, :n]
        there = about[v, :n]
        size = _dot(here, here)
        mean = _sum(here) / max(n, 1)
        for k in range(n):
            there[k] = here[k] - mean
        for earlier in range(v + 1):
            whole[v, earlier] = _dot(there, about[earlier, :n])
            whole[earlier, v] = whole[v, earlier]
        if whole[v, v] < _LOST * _LOST * size:
            whole[v, v] = 0.0
    members[:] = 0
    for k in range(n):
        members[group[k]] += 1
    for v in range(vectors):
        _sum_groups(about[v, :n], group, sums[v])
    for v in range(vectors):
        for earlier in range(v + 1):
            within[v, earlier] = _less_groups(whole[v, earlier], sums[v], sums[earlier], members)
            within[earlier, v] = within[v, earlier]
        if within[v, v] < _LOST * _LOST * whole[v, v]:
            within[v, v] = 0.0


@jit
def _sum_groups(values: Floats, group: NDArray[np.int32], total: Floats) -> None:
    total[:] = 0.0
    for k in range(values.size):
        total[group[k]] += values[k]


@jit
def _less_groups(product: float, a: Floats, b: Floats, members: NDArray[np.int64]) -> float:
    for g in range(members.size):
        if members[g] > 0:
            product -= a[g] * b[g] / members[g]
    return product


@jit
def _correlate(
    x: Floats,
    group: NDArray[np.int32],
    about: Floats,
    sums: Floats,
    members: NDArray[np.int64],
    whole: Floats,
    within: Floats,
    taken: NDArray[np.bool_],
    min_names: int,
    out: Floats,
) -> None:
    """The correlation of the target, the last row of `about`, with what each row of `taken` leaves of the factor.

    From the products of `_products`, which is fast, where every vector keeps a tenth of its length beside
    those before it, and by a fit of the vectors themselves where it does not.
    """
    last = x.shape[0]
    n = group.size
    used = 0
    for g in range(members.size):
        used += members[g] > 0
    target = about[last, :n]
    size = np.sqrt(_dot(target, target))
    mean = _sum(target) / max(n, 1)
    for k in range(n):
        target[k] -= mean
    length = np.sqrt(_dot(target, target))
    if n < min_names or not length > 1e-14 * size:
        return
    _sum_groups(target, group, sums[last])
    for v in range(last):
        whole[v, last] = _dot(about[v, :n], target)
        within[v, last] = _less_groups(whole[v, last], sums[v], sums[last], members)
    work = np.empty((last, last + 1))
    for row in range(taken.shape[0]):
        kept = 0
        for column in range(last - 1):
            kept += taken[row, 1 + column]
        needed = min_names + kept + (used - 1 if taken[row, 0] else 0)
        found = np.nan
        if n >= needed:
            found = _without(within if taken[row, 0] else whole, taken[row, 1:], work)
        if np.isnan(found):
            found = _fitted(x, group, members.size, taken[row], target, min_names)
        out[row] = found / length


@jit
def _without(products: Floats, taken: NDArray[np.bool_], work: Floats) -> float:
    """The target's product with the residual of the factor, of length 1; NaN where rounding could be seen.

    Elimination in the matrix of products: of the columns that are taken, in their order, then the factor's row.
    """
    last = products.shape[0] - 2  # the factor's place
    rows = 0
    for v in range(last + 1):
        if v < last and not taken[v]:
            continue
        across = 0
        for other in range(last + 2):
            if other >= last or taken[other]:
                work[rows, across] = products[v, other]
                across += 1
        before = work[rows, rows]
        for earlier in range(rows):
            times = work[earlier, rows] / work[earlier, earlier]
            for column in range(rows, across):
                work[rows, column] -= times * work[earlier, column]
        if not work[rows, rows] > _LOST * _LOST * before:
            return np.nan
        rows += 1
    return float(work[rows - 1, rows] / np.sqrt(work[rows - 1, rows - 1]))


@jit
def _fitted(
    x: Floats, group: NDArray[np.int32], groups: int, taken: NDArray[np.bool_], target: Floats, min_names: int
) -> float:
    """As `_without`, from the vectors themselves; NaN where there is no residual."""
    last = x.shape[0] - 1
    n = group.size
    work = np.empty((last, n))
    left = x[last, :n].copy()
    used = 0
    for column in range(last):
        if taken[1 + column]:
            work[used] = x[column, :n]
            used += 1
    size = groups if taken[0] else 1
    among = group if taken[0] else np.zeros(n, np.int32)
    if not _fit(left, work[:used], among, np.empty(size), np.empty(size, np.int64), min_names):
        return np.nan
    return float(_dot(left, target) / np.sqrt(_dot(left, left)))


@jit
def _common(ranks: Floats, codes: NDArray[np.int32], target: Floats, keep: Floats, place: NDArray[np.int64]) -> int:
    """The names that have everything: 1 in `keep` (NaN elsewhere), listed in `place`; how many."""
    n = 0
    for i in range(ranks.size):
        if codes[i] >= 0 and not np.isnan(ranks[i]) and np.isfinite(target[i]):
            keep[i] = 1.0
            place[n] = i
            n += 1
        else:
            keep[i] = np.nan
    return n


@jit
def _among(
    ranks: Floats,
    order: NDArray[np.int32],
    tie: NDArray[np.int32],
    count: int,
    keep: Floats,
    place: NDArray[np.int64],
    among: Floats,
    out: Floats,
) -> None:
    """The ranks of the names of `place` among each other."""
    if place.size == count:
        for k in range(place.size):
            out[k] = ranks[place[k]]
    else:
        rerank(order, tie, count, keep, among)
        for k in range(place.size):
            out[k] = among[place[k]]


@jit
def _gather(
    columns: Floats, t: int, codes: NDArray[np.int32], place: NDArray[np.int64], x: Floats, group: NDArray[np.int32]
) -> None:
    for k in range(place.size):
        group[k] = codes[place[k]]
    for column in range(columns.shape[0]):
        for k in range(place.size):
            x[column, k] = columns[column, t, place[k]]


@jit
def _fit(
    y: Floats, x: Floats, group: NDArray[np.int32], total: Floats, members: NDArray[np.int64], min_names: int
) -> bool:
    """Turn `y` into its residual on group means and columns; False where too few names or nothing are left.

    Modified Gram-Schmidt. A column that loses much of its length is orthogonalised twice, which is
    enough (Giraud and others 2005); one that the others explain is left out instead of being divided by
    what rounding left of it. Dummies need no columns: everything is taken about the mean of its group
    (Frisch, Waugh and Lovell).
    """
    members[:] = 0
    if members.size == 1:
        members[0] = group.size
    else:
        for k in range(group.size):
            members[group[k]] += 1
    used = 0
    for g in range(members.size):
        used += members[g] > 0
    before = _centre(y, group, total, members)
    kept = 0
    for column in range(x.shape[0]):
        new = x[column]
        length = _centre(new, group, total, members)
        if length == 0.0:
            continue
        for earlier in range(kept):
            _remove(new, x[earlier])
        left = np.sqrt(_dot(new, new))
        if left < _LOST * length:
            for earlier in range(kept):
                _remove(new, x[earlier])
            left = np.sqrt(_dot(new, new))
        if left > _INDEPENDENT * length:
            scale = 1.0 / left
            for k in range(y.size):
                x[kept, k] = scale * new[k]
            kept += 1
    if y.size < min_names + kept + used - 1 or before == 0.0:
        return False
    for column in range(kept):
        _remove(y, x[column])
    return bool(np.sqrt(_dot(y, y)) > _INDEPENDENT * before)


@jit
def _centre(values: Floats, group: NDArray[np.int32], total: Floats, members: NDArray[np.int64]) -> float:
    """Take off the mean of each group; the length that is left, 0 where it is only rounding."""
    size = np.sqrt(_dot(values, values))
    if total.size == 1:
        mean = _sum(values) / max(values.size, 1)
        for k in range(values.size):
            values[k] -= mean
    else:
        total[:] = 0.0
        for k in range(values.size):
            total[group[k]] += values[k]
        for g in range(total.size):
            total[g] /= max(members[g], 1)
        for k in range(values.size):
            values[k] -= total[group[k]]
    length = np.sqrt(_dot(values, values))
    return float(length) if length > _INDEPENDENT * size else 0.0


@jit
def _remove(values: Floats, unit: Floats) -> None:
    part = _dot(values, unit)
    for k in range(values.size):
        values[k] -= part * unit[k]


@jit
def _sum(a: Floats) -> float:
    # four sums side by side: the processor need not wait for one to add the next
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    whole = a.size - a.size % 4
    for k in range(0, whole, 4):
        s0 += a[k]
        s1 += a[k + 1]
        s2 += a[k + 2]
        s3 += a[k + 3]
    for k in range(whole, a.size):
        s0 += a[k]
    return (s0 + s1) + (s2 + s3)


@jit
def _dot(a: Floats, b: Floats) -> float:
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    whole = a.size - a.size % 4
    for k in range(0, whole, 4):
        s0 += a[k] * b[k]
        s1 += a[k + 1] * b[k + 1]
        s2 += a[k + 2] * b[k + 2]
        s3 += a[k + 3] * b[k + 3]
    for k in range(whole, a.size):
        s0 += a[k] * b[k]
    return (s0 + s1) + (s2 + s3)
