"""What trading costs; later also risk, orders and brokers."""

from alphaswarm.trading.costs import (
    COST_CURVE_BP,
    DEFAULT_COST_BP,
    BorrowCosts,
    Costs,
    MinimumFee,
    ProportionalCosts,
    SpreadCosts,
    SquareRootImpact,
    SumOfCosts,
    TradedNames,
)

__all__ = [
    "COST_CURVE_BP",
    "DEFAULT_COST_BP",
    "BorrowCosts",
    "Costs",
    "MinimumFee",
    "ProportionalCosts",
    "SpreadCosts",
    "SquareRootImpact",
    "SumOfCosts",
    "TradedNames",
]
