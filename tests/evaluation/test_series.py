import numpy as np
import pytest

from alphaswarm.core import SpecInvalid
from alphaswarm.evaluation import Evaluator, Window


@pytest.fixture(scope="module")
def series(market, factor):
    return Evaluator(market, Window("search", market.dates[20], market.dates[119])).series(factor)


def test_every_series_has_the_dates_of_the_window(series, market):
    np.testing.assert_array_equal(series.dates, market.dates[20:120])
    for values in (series.ic, series.rank_ic, series.gross, series.turnover, series.coverage, *series.decay.values()):
        assert values.shape == (100,)
    assert series.quantiles.shape == (100, 5)


def test_net_is_gross_less_the_cost_of_turnover(series):
    np.testing.assert_array_equal(series.net(0), series.gross)
    np.testing.assert_allclose(series.net(0) - series.net(20), 0.002 * series.turnover * (series.gross * 0 + 1))
    with pytest.raises(SpecInvalid):
        series.net(-1)


def test_equity_compounds_from_one_and_is_flat_where_nothing_is_held(series):
    equity = series.equity(5)
    assert equity[0] == pytest.approx(1 + (series.net(5)[0] if series.active[0] else 0))
    np.testing.assert_allclose(equity[1:] / equity[:-1] - 1, np.where(series.active, series.net(5), 0)[1:], atol=1e-15)
    assert np.isfinite(equity).all()


def test_arrays_are_read_only(series):
    for values in (series.dates, series.gross, series.decay[20]):
        assert not values.flags.writeable
