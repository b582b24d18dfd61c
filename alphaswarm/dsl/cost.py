"""What an expression costs on a panel, before it is evaluated.

The estimate counts operations: cells times what the table says of each distinct call (`Work`). It is the cost of the
plain method, window by window; the compiled engine does many windows in less, so it bounds the work from above.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from alphaswarm.dsl.expr import Expr
from alphaswarm.dsl.limits import FREE_OPERATIONS, OPERATIONS_A_CELL
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Work

__all__ = ["budget", "cost"]

_A_CELL: dict[Work, Callable[[float, float], float]] = {
    Work.CELL: lambda _rows, _names: 1.0,
    Work.DAY: lambda _rows, names: math.log2(names) + 1.0,
    Work.ROWS: lambda rows, _names: rows,
    Work.MOMENTS: lambda rows, _names: 4.0 * rows,
    Work.PAIRS: lambda rows, _names: 8.0 * rows,
    Work.SORTS: lambda rows, _names: rows * (math.log2(rows) + 1.0),
}


def cost(expr: Expr, shape: tuple[int, int]) -> float:
    """Operations that `expr` takes on [T, N] cells; what stands twice in it is computed once.

    Args:
        expr: a checked expression.
        shape: (T, N) of the panel.
    """
    days, names = shape
    total = 0.0
    for node in expr.walk():
        if node.kind == "call":
            operator = OPERATORS[node.op]
            rows = node.args[operator.window].value if operator.window is not None else 1.0
            total += _A_CELL[operator.work](rows, names)
    return total * days * names


def budget(shape: tuple[int, int]) -> float:
    """Operations that an expression may take on [T, N] cells; `check` refuses more.

    `OPERATIONS_A_CELL` for each cell, and on small panels `FREE_OPERATIONS` in any case.
    """
    return float(max(FREE_OPERATIONS, OPERATIONS_A_CELL * shape[0] * shape[1]))
