import pytest

from alphaswarm.backtest import ENGINES, EventEngine, VectorEngine
from alphaswarm.testing.engines import EngineContract
from alphaswarm.trading import ProportionalCosts, SquareRootImpact, SumOfCosts


class TestVectorEngine(EngineContract):
    def make_engine(self):
        return VectorEngine()


class TestVectorEngineAtTheOpen(EngineContract):
    def make_engine(self):
        return VectorEngine(fill="open_t1", band=0.01, cash_rate=0.03, every=2)


class TestVectorEngineWithImpact(EngineContract):
    def make_engine(self):
        return VectorEngine(costs=SumOfCosts((ProportionalCosts(5), SquareRootImpact(0.5))), capital=1e6)


class TestEventEngine(EngineContract):
    def make_engine(self):
        return EventEngine(commission=0.001)


class TestEventEngineWithCosts(EngineContract):
    def make_engine(self):
        return EventEngine(costs=SquareRootImpact(1.0), volume_share=0.1)


class TestEventEngineAtTheClose(EngineContract):
    def make_engine(self):
        return EventEngine(mode="close_to_close", commission=0.001)


class TestPeerNext(EngineContract):
    order_of_names_matters = True

    def make_engine(self):
        return EventEngine(mode="backtrader", commission=0.001)


class TestPeerOpen(EngineContract):
    fills_before_the_next_row = True  # sizes by a close that nobody knows yet
    order_of_names_matters = True

    def make_engine(self):
        return EventEngine(mode="backtrader_coo")


class TestPeerClose(EngineContract):
    fills_before_the_next_row = True
    order_of_names_matters = True

    def make_engine(self):
        return EventEngine(mode="cheat_on_close")


@pytest.mark.parametrize("name", ["vector", "event"])
def test_engines_have_names(name):
    assert ENGINES[name].name == name
