"""What is left of a factor, against least squares with dummies in plain numpy, date by date."""

import numpy as np
import pytest
from scipy.stats import rankdata

from alphaswarm.backtest import rank_rows
from alphaswarm.core import EvidenceInvalid
from alphaswarm.evaluation import ic_series, newey_west_t, rank_ic_series
from alphaswarm.evaluation.neutral import ExposureSet, correlations_left, residual_ranks, what_is_left

DAYS, NAMES = 25, 80


@pytest.fixture(scope="module")
def arrays():
    """Factor, three exposures, group codes, labels and scaled residual labels, all with gaps and ties."""
    rng = np.random.default_rng(5)

    def draw(gap):
        values = rng.standard_normal((DAYS, NAMES)).round(1)
        return np.where(rng.random(values.shape) < gap, np.nan, values)

    size, beta, volatility = draw(0.03), draw(0.0), draw(0.05)
    codes = rng.integers(-1, 5, (DAYS, NAMES)).astype(np.int32)
    codes[:, 0] = 5  # a group of one name
    factor = (draw(0.04) + 0.8 * np.nan_to_num(size) + 0.3 * codes).round(6)
    factor[3, 25:] = np.nan  # a thin day
    factor[4] = 1.0  # a day without differences
    return {
        "factor": factor,
        "exposures": {"size": size, "beta": beta, "volatility": volatility},
        "codes": codes,
        "labels": (draw(0.02) + 0.2 * np.nan_to_num(factor)).round(6),
        "scaled": np.where(np.arange(DAYS)[:, None] < 6, np.nan, draw(0.1)),
    }


def least_squares(y, columns, codes):
    """The residual of `y` on a constant, dummies and columns: the obvious way."""
    dummies = [(codes == g).astype(float) for g in np.unique(codes)]
    x = np.column_stack([np.ones(y.size), *dummies, *columns])
    return y - x @ np.linalg.lstsq(x, y, rcond=1e-10)[0], np.linalg.matrix_rank(x)


def reference_rows(values, columns, codes, target):
    """Per date: the names that have all, and the residual of their ranks; None where it is missing."""
    ranked = [np.where(np.isnan(c), np.nan, rankdata(c, axis=1, nan_policy="omit")) for c in columns]
    for t in range(DAYS):
        keep = np.isfinite(values[t]) & np.isfinite(target[t]) & (codes[t] >= 0)
        for column in ranked:
            keep &= np.isfinite(column[t])
        if keep.sum() < 30:
            yield keep, None
            continue
        residual, used = least_squares(rankdata(values[t, keep]), [c[t, keep] for c in ranked], codes[t, keep])
        enough = keep.sum() >= 30 + used - 1 and np.abs(residual).max() > 1e-6
        yield keep, residual if enough else None


@pytest.mark.parametrize(
    ("names", "grouped"),
    [
        ((), True),
        (("size",), False),
        (("size",), True),
        (("size", "beta", "volatility"), False),
        (("size", "beta", "volatility"), True),
    ],
)
def test_residuals_are_those_of_least_squares(arrays, names, grouped):
    columns = {name: arrays["exposures"][name] for name in names}
    groups = {"sector": arrays["codes"]} if grouped else {}
    exposures = ExposureSet.of(columns, groups, shape=(DAYS, NAMES))
    assert exposures.names == (*groups, *columns)
    codes = arrays["codes"] if grouped else np.zeros((DAYS, NAMES), int)
    got = residual_ranks(arrays["factor"], exposures)
    defined = 0
    for t, (keep, residual) in enumerate(reference_rows(arrays["factor"], columns.values(), codes, arrays["factor"])):
        expected = np.full(NAMES, np.nan)
        if residual is not None:
            expected[keep] = residual
            defined += 1
        np.testing.assert_allclose(got[t], expected, rtol=0, atol=1e-10)
    assert defined > DAYS // 2
    assert np.isnan(got[[3, 4]]).all()


@pytest.mark.parametrize("grouped", [False, True])
def test_correlations_are_those_of_the_residuals(arrays, grouped):
    columns = arrays["exposures"]
    groups = {"sector": arrays["codes"]} if grouped else {}
    codes = arrays["codes"] if grouped else np.zeros((DAYS, NAMES), int)
    factor, labels, scaled = arrays["factor"], arrays["labels"], arrays["scaled"]
    exposures = ExposureSet.of(columns, groups, shape=(DAYS, NAMES))
    rank_ic, evidence = correlations_left(rank_rows(factor), exposures, rank_rows(labels), scaled)

    def expected(target, ranked):
        for t, (keep, residual) in enumerate(reference_rows(factor, columns.values(), codes, target)):
            other = target[t, keep]
            yield np.nan if residual is None else np.corrcoef(residual, rankdata(other) if ranked else other)[0, 1]

    np.testing.assert_allclose(rank_ic, [[*expected(labels, True)]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(evidence, [[*expected(scaled, False)]], rtol=0, atol=1e-12)
    assert np.isfinite(evidence).sum() > DAYS // 3


def test_rows_of_one_table_speak_of_the_same_names(arrays):
    shape = (DAYS, NAMES)
    codes, columns = arrays["codes"], arrays["exposures"]
    whole = ExposureSet.of(columns, {"sector": codes}, shape=shape)
    factor, labels, scaled = (arrays[name] for name in ("factor", "labels", "scaled"))
    rows = [("sector",), ("beta",), ("size", "volatility"), ("sector", "size", "beta", "volatility"), ()]
    found = correlations_left(rank_rows(factor), whole, rank_rows(labels), scaled, rows)
    complete = np.where(whole.codes >= 0, factor, np.nan)
    for place, row in enumerate(rows[:-1]):
        group = {"sector": codes} if "sector" in row else {}
        alone = ExposureSet.of({name: columns[name] for name in row if name != "sector"}, group, shape=shape)
        for got, expected in zip(
            found, correlations_left(rank_rows(complete), alone, rank_rows(labels), scaled), strict=True
        ):
            np.testing.assert_allclose(got[place], expected[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[0][-1], rank_ic_series(complete, labels), rtol=0, atol=1e-12)
    with pytest.raises(EvidenceInvalid, match=r"among \['sector', 'size', .* got \['momentum'\]"):
        correlations_left(rank_rows(factor), whole, rank_rows(labels), scaled, [("momentum",)])


def test_a_table_holds_the_means_of_the_days(arrays):
    exposures = ExposureSet.of(arrays["exposures"], {"sector": arrays["codes"]}, shape=(DAYS, NAMES))
    ranked, labels = rank_rows(arrays["factor"]), rank_rows(arrays["labels"])
    table = what_is_left(ranked, exposures, {"risk": ("beta", "volatility")}, labels, arrays["scaled"], horizon=3)
    rank_ic, evidence = correlations_left(ranked, exposures, labels, arrays["scaled"], [("beta", "volatility")])
    (row,) = table
    assert row.n_days == np.isfinite(rank_ic).sum()
    assert (row.rank_ic, row.evidence) == pytest.approx((np.nanmean(rank_ic), np.nanmean(evidence)), rel=1e-12)
    assert row.rank_ic_t == newey_west_t(rank_ic[0], horizon=3)
    assert row.evidence_t == newey_west_t(evidence[0], horizon=3)
    assert row.to_dict() == {
        "name": "risk",
        "exposures": ["beta", "volatility"],
        "n_days": row.n_days,
        "rank_ic": row.rank_ic,
        "rank_ic_t": row.rank_ic_t,
        "evidence": row.evidence,
        "evidence_t": row.evidence_t,
    }


def test_without_residual_labels_there_is_no_evidence(arrays):
    exposures = ExposureSet.of({"size": arrays["exposures"]["size"]}, shape=(DAYS, NAMES))
    labels = rank_rows(arrays["labels"])
    rank_ic, evidence = correlations_left(rank_rows(arrays["factor"]), exposures, labels, None)
    assert np.isfinite(rank_ic).any()
    assert np.isnan(evidence).all()


def test_a_group_that_holds_everybody_leaves_the_rank_ic_and_the_evidence(arrays):
    everybody = ExposureSet.of({}, {"market": np.zeros((DAYS, NAMES), np.int32)}, shape=(DAYS, NAMES))
    factor, labels, scaled = arrays["factor"], arrays["labels"], arrays["scaled"]
    rank_ic, evidence = correlations_left(rank_rows(factor), everybody, rank_rows(labels), scaled)
    np.testing.assert_allclose(rank_ic[0], rank_ic_series(factor, labels), rtol=0, atol=1e-13)
    both = np.where(np.isfinite(scaled), factor, np.nan)
    np.testing.assert_allclose(evidence[0], ic_series(rank_rows(both).ranks, scaled), rtol=0, atol=1e-13)


@pytest.mark.parametrize("transform", [lambda x: x, lambda x: -np.exp(3 * x), lambda x: x**3])
def test_nothing_is_left_of_an_exposure_itself(arrays, transform):
    size = arrays["exposures"]["size"]
    exposures = ExposureSet.of({"size": size}, shape=(DAYS, NAMES))
    assert np.isnan(residual_ranks(transform(size), exposures)).all()


def test_copies_and_sums_of_exposures_change_nothing(arrays):
    beta = arrays["exposures"]["beta"]
    codes = arrays["codes"]
    plain = ExposureSet.of({"beta": beta}, {"sector": codes}, shape=(DAYS, NAMES))
    columns = plain.columns[0]
    offset = np.where(codes >= 0, codes, 0)
    # twice the same, once turned, and once shifted by its sector: all spanned by the first and the dummies
    many = ExposureSet(
        ("sector", *"abcd"),
        np.stack([columns, columns, 7.0 - 2.0 * columns, columns + 40.0 * offset]),
        plain.codes,
        True,
    )
    np.testing.assert_allclose(
        residual_ranks(arrays["factor"], many), residual_ranks(arrays["factor"], plain), rtol=0, atol=1e-9
    )


def test_nearly_collinear_exposures_keep_their_difference():
    rng = np.random.default_rng(9)
    base = rng.permuted(np.tile(np.arange(1.0, 201.0), (3, 1)), axis=1)
    near = base.copy()
    near[:, [0, 1]] += 1e-5  # two names differ by a hundred-thousandth of a rank
    pair = ExposureSet(("a", "b"), np.stack([base, near]), np.zeros(base.shape, np.int32), False)
    factor = rng.standard_normal(base.shape)
    got = residual_ranks(factor, pair)
    for t in range(3):
        bump = (np.arange(200) < 2).astype(float)
        expected, _ = least_squares(rankdata(factor[t]), [base[t], bump], np.zeros(200))
        np.testing.assert_allclose(got[t], expected, rtol=0, atol=1e-4)


def test_residuals_are_orthogonal_to_what_was_taken_out(arrays):
    exposures = ExposureSet.of(arrays["exposures"], {"sector": arrays["codes"]}, shape=(DAYS, NAMES))
    left = residual_ranks(arrays["factor"], exposures)
    for t in np.flatnonzero(np.isfinite(left).any(axis=1)):
        here = np.isfinite(left[t])
        for g in np.unique(exposures.codes[t, here]):
            assert abs(left[t, here & (exposures.codes[t] == g)].sum()) < 1e-9
        for column in exposures.columns:
            assert abs(left[t, here] @ column[t, here]) < 1e-7


def test_later_rows_change_nothing(arrays):
    factor, columns = arrays["factor"].copy(), {k: v.copy() for k, v in arrays["exposures"].items()}
    before = residual_ranks(factor, ExposureSet.of(columns, {"s": arrays["codes"]}, shape=factor.shape))
    codes = arrays["codes"].copy()
    for array in (factor, *columns.values()):
        array[12:] = np.random.default_rng(1).standard_normal(array[12:].shape)
    codes[12:] = 0
    after = residual_ranks(factor, ExposureSet.of(columns, {"s": codes}, shape=factor.shape))
    np.testing.assert_array_equal(after[:12], before[:12])
    assert not np.array_equal(after[12:], before[12:], equal_nan=True)


def test_shapes_must_agree(arrays):
    shape = (DAYS, NAMES)
    with pytest.raises(EvidenceInvalid, match="'beta' must have the factor's shape"):
        ExposureSet.of({"beta": np.ones((DAYS, 3))}, shape=shape)
    with pytest.raises(EvidenceInvalid, match="needs exposures and at most one group"):
        ExposureSet.of({}, shape=shape)
    one = ExposureSet.of({"beta": arrays["exposures"]["beta"]}, shape=shape)
    with pytest.raises(EvidenceInvalid, match="exposures must have the factor's shape"):
        residual_ranks(arrays["factor"][1:], one)
    with pytest.raises(EvidenceInvalid, match="labels must have the factor's shape"):
        correlations_left(rank_rows(arrays["factor"]), one, rank_rows(arrays["labels"][1:]), None)
