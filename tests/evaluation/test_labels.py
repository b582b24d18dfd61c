import numpy as np
import pytest

from alphaswarm.core import EvidenceInvalid, FieldNotFound, Panel
from alphaswarm.evaluation import forward_returns


def panel(close, opened=None):
    fields = {"close": np.reshape(close, (-1, 1))}
    if opened is not None:
        fields["open"] = np.reshape(opened, (-1, 1))
    return Panel.from_arrays(fields, np.datetime64("2020-01-01") + np.arange(len(close)), ["A"])


def test_one_session_lies_between_decision_and_fill():
    labels = forward_returns(panel([1.0, 10.0, 11.0, 13.2]), 1)[:, 0]
    np.testing.assert_allclose(labels, [0.1, 0.2, np.nan, np.nan])
    np.testing.assert_allclose(forward_returns(panel([1.0, 10.0, 11.0, 13.2]), 2)[:, 0], [0.32, *[np.nan] * 3])


def test_open_fills_are_priced_at_the_open():
    labels = forward_returns(panel([1.0, 2.0, 3.0], [5.0, 10.0, 12.0]), 1, "open_t1")[:, 0]
    np.testing.assert_allclose(labels, [0.2, np.nan, np.nan])


def test_a_gap_is_never_filled_forward():
    # closes 10, nothing, 12 after the decision: no return into the gap, out of it, or across it
    close = [9.0, 10.0, np.nan, 12.0, 12.0]
    assert np.isnan(forward_returns(panel(close), 1)[:2]).all()
    assert np.isnan(forward_returns(panel(close), 2)[0, 0])
    assert forward_returns(panel(close), 1)[2, 0] == 0


@pytest.mark.parametrize("price", [0.0, -1.0])
def test_a_price_that_is_none_makes_no_return(price):
    assert np.isnan(forward_returns(panel([9.0, 10.0, price, 12.0]), 1)[:2]).all()


def test_a_horizon_beyond_the_panel_is_all_missing():
    assert np.isnan(forward_returns(panel([1.0, 2.0, 3.0]), 2)).all()
    assert np.isnan(forward_returns(panel([1.0, 2.0, 3.0]), 99)).all()


def test_what_is_asked_must_make_sense():
    with pytest.raises(EvidenceInvalid, match="at least 1 row"):
        forward_returns(panel([1.0, 2.0]), 0)
    with pytest.raises(EvidenceInvalid, match="close_t1, open_t1"):
        forward_returns(panel([1.0, 2.0]), 1, "close_t0")
    with pytest.raises(FieldNotFound, match="it offers close"):
        forward_returns(panel([1.0, 2.0]), 1, "open_t1")


@pytest.mark.parametrize("fill", ["close_t1", "open_t1"])
def test_a_label_reads_only_from_its_fill_to_its_exit(fill, market):
    labels = forward_returns(market, 3, fill)
    rows = np.arange(market.shape[0])
    for t in (0, 50, 120):
        changed = {
            name: np.where(((rows < t + 1) | (rows > t + 4))[:, None], 1.0, v) for name, v in market.fields.items()
        }
        other = Panel.from_arrays(changed, market.dates, market.symbols)
        np.testing.assert_array_equal(forward_returns(other, 3, fill)[t], labels[t])
