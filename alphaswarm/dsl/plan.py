"""`Plan`: what to compute in which order for a batch of expressions, and what may be forgotten when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from alphaswarm.dsl.expr import Expr

__all__ = ["Plan"]

# Arrays of one operator's own, at most: columns of two arguments, a result by column, an order or a mask.
SCRATCH = 4


@dataclass(frozen=True)
class Plan:
    """One step for each distinct node of a batch: what two expressions share is computed once.

    Attributes:
        steps: nodes, arguments before the calls that use them.
        uses: how many calls and outputs read each node's values.
        outputs: for each root, the places in the batch that ask for it.
    """

    steps: tuple[Expr, ...]
    uses: Counter[Expr]
    outputs: dict[Expr, tuple[int, ...]]

    @classmethod
    def of(cls, roots: Sequence[Expr]) -> Plan:
        """The plan for `roots`, in the order in which they first need each node."""
        steps: dict[Expr, None] = {}
        for root in roots:
            for node in root.walk():
                steps.setdefault(node)
        outputs: dict[Expr, tuple[int, ...]] = {}
        for place, root in enumerate(roots):
            outputs[root] = (*outputs.get(root, ()), place)
        uses: Counter[Expr] = Counter()
        for node in steps:
            uses.update(node.args)
        uses.update(outputs.keys())
        return cls(tuple(steps), uses, outputs)

    def peak(self) -> int:
        """Most arrays [T, N] of 8 bytes that exist at once, outputs and scratch included."""
        left = Counter(self.uses)
        alive: set[Expr] = set()
        done, peak = 0, 0
        for node in self.steps:
            if node.kind in ("call", "group"):  # a field is the panel's own, a number is one number
                alive.add(node)
            peak = max(peak, done + len(alive) + (SCRATCH if node.kind == "call" else 0))
            if node in self.outputs:
                done += len(self.outputs[node])
                peak = max(peak, done + len(alive))
            for released in self.release(node, left):
                alive.discard(released)
        return peak

    def release(self, node: Expr, left: Counter[Expr]) -> list[Expr]:
        """Count the uses that end with `node` off `left`; gives the nodes that nothing will read again."""
        left.subtract(node.args)
        if node in self.outputs:
            left[node] -= 1
        return [one for one in {*node.args, node} if left[one] == 0]
