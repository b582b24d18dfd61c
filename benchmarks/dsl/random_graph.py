"""Random expressions that we and KunQuant both know: depth 3 to 5, the operators of the 101 alphas."""

from __future__ import annotations

import random
from collections.abc import Callable

FIELDS = ("open", "high", "low", "close", "volume", "vwap")
WINDOWS = (5, 10, 20, 60)
UNARY = ("cs_rank", "abs", "neg")
WINDOWED = ("ts_mean", "ts_std", "ts_rank", "ts_argmax", "ts_max", "ts_min", "decay_linear", "delta", "delay", "ts_sum")
BINARY = ("add", "sub", "mul", "div")

Tree = tuple


def draw(seed: int) -> Tree:
    """A tree: (field,), (op, x), (op, x, d), (op, x, y) or (op, x, y, d)."""
    rng = random.Random(seed)

    def node(depth: int) -> Tree:
        if depth <= 1 or rng.random() < 0.1:
            return (rng.choice(FIELDS),)
        kind = rng.random()
        if kind < 0.2:
            return (rng.choice(UNARY), node(depth - 1))
        if kind < 0.6:
            return (rng.choice(WINDOWED), node(depth - 1), rng.choice(WINDOWS))
        if kind < 0.9:
            return (rng.choice(BINARY), node(depth - 1), node(depth - 1))
        return ("ts_corr", node(depth - 1), node(depth - 1), rng.choice(WINDOWS))

    tree = node(rng.randint(3, 5))
    while len(tree) == 1:
        tree = node(rng.randint(3, 5))
    return tree


def text(tree: Tree) -> str:
    """The expression in our language."""
    if len(tree) == 1:
        return tree[0]
    parts = ", ".join(str(part) if isinstance(part, int) else text(part) for part in tree[1:])
    return f"{tree[0]}({parts})"


def build(seed: int, field: Callable[[str], object]) -> object:
    """The expression as a graph of KunQuant."""
    from KunQuant import ops
    from KunQuant.Op import ConstantOp, Rank

    windowed = {
        "ts_mean": ops.WindowedAvg, "ts_std": ops.WindowedStddev, "ts_rank": ops.TsRank, "ts_argmax": ops.TsArgMax,
        "ts_max": ops.WindowedMax, "ts_min": ops.WindowedMin, "decay_linear": ops.DecayLinear,
        "delay": ops.BackRef, "ts_sum": ops.WindowedSum,
    }  # fmt: skip
    binary = {"add": ops.Add, "sub": ops.Sub, "mul": ops.Mul, "div": ops.Div}

    def node(tree: Tree) -> object:
        if len(tree) == 1:
            return field(tree[0])
        op, x = tree[0], node(tree[1])
        if op == "cs_rank":
            return Rank(x)
        if op == "abs":
            return ops.Abs(x)
        if op == "neg":
            return ops.Sub(ConstantOp(0), x)
        if op == "delta":
            return ops.Sub(x, ops.BackRef(x, tree[2]))
        if op == "ts_corr":
            return ops.WindowedCorrelation(x, tree[3], node(tree[2]))
        if op in binary:
            return binary[op](x, node(tree[2]))
        return windowed[op](x, tree[2])

    return node(draw(seed))
