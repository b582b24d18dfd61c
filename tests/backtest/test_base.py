import numpy as np
import pytest

from alphaswarm.backtest import ENGINES, BaseBacktestEngine, EventEngine, VectorEngine
from alphaswarm.backtest.base import aligned
from alphaswarm.core import Panel, SpecInvalid, TargetWeights, UnknownName, WeightsInvalid

NAN = np.nan
SYMBOLS = ("A", "B", "C")


def make_panel(days=6):
    close = 10.0 + np.arange(3.0 * days).reshape(days, 3)
    return Panel.from_arrays({"close": close}, np.datetime64("2024-01-01") + np.arange(days), SYMBOLS)


def test_engines_by_name():
    assert list(ENGINES) == ["event", "vector"]
    with pytest.raises(UnknownName, match="vector"):
        _ = ENGINES["vectr"]


def test_nothing_decided_is_nan_throughout():
    np.testing.assert_array_equal(aligned(None, SYMBOLS), [NAN] * 3)


def test_weights_are_put_beside_the_symbols():
    target = TargetWeights(np.datetime64("2024-01-01"), ["C", "A", "Z"], [0.2, -0.1, 0.0])
    np.testing.assert_array_equal(aligned(target, SYMBOLS), [-0.1, 0.0, 0.2])
    given = [0.1, NAN, 0.3]
    np.testing.assert_array_equal(aligned(given, SYMBOLS), given)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ([0.1, 0.2], "one weight for each of 3"),
        ([[0.1, 0.2, 0.3]], "one weight for each of 3"),
        ([0.1, -np.inf, 0.3], "finite"),
        (TargetWeights(np.datetime64("2024-01-01"), ["Z"], [0.5]), "Z"),
    ],
)
def test_what_does_not_fit_is_refused(target, words):
    with pytest.raises(WeightsInvalid, match=words):
        aligned(target, SYMBOLS)


def test_aligned_weights_are_a_copy():
    given = np.array([0.1, 0.2, 0.3])
    aligned(given, SYMBOLS)[0] = 9
    assert given[0] == 0.1


class Half:
    """Half in the first name while it has nothing, and keeps what it was shown."""

    def __init__(self):
        self.seen = []

    def decide(self, moment):
        self.seen.append(moment)
        return [0.5, 0.0, 0.0] if not moment.weights.any() else None


@pytest.mark.parametrize("engine", [VectorEngine(capital=50.0), EventEngine(cash=1e4)])
def test_an_agent_sees_its_account(engine):
    agent = Half()
    result = engine.run(make_panel(), context={"rl_agent": agent})
    assert [moment.row for moment in agent.seen] == list(range(5))
    for moment in agent.seen:
        assert moment.panel.shape == (moment.row + 1, 3)
        assert moment.equity == result.equity[moment.row]
        np.testing.assert_array_equal(moment.weights, result.positions[moment.row])
    assert (result.turnover > 0).sum() == 1


def test_an_engine_that_takes_no_agent_says_so():
    class Closed(VectorEngine):
        name = "closed"
        supports_rl_injection = False

    assert issubclass(Closed, BaseBacktestEngine)
    with pytest.raises(SpecInvalid, match="closed"):
        Closed().run(make_panel(), context={"rl_agent": Half()})


@pytest.mark.parametrize("context", [None, {}, {"agent": Half()}])
def test_somebody_must_decide(context):
    with pytest.raises(WeightsInvalid, match="rl_agent"):
        VectorEngine().run(make_panel(), context=context)


def test_a_fault_of_the_agents_own_is_not_hidden():
    class Broken:
        def decide(self, moment):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        VectorEngine().run(make_panel(), context={"rl_agent": Broken()})
