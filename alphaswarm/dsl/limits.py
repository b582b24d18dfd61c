"""The caps that every expression keeps, wherever it comes from."""

from __future__ import annotations

__all__ = [
    "FREE_OPERATIONS",
    "MAX_BRACKETS",
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_LOOKBACK",
    "MAX_NAME",
    "MAX_NODES",
    "MAX_PROGRAM",
    "MAX_TOKENS",
    "MAX_WINDOW",
    "OPERATIONS_A_CELL",
]

MAX_BYTES = 4_096
"""Bytes of text, as given and as printed."""
MAX_DEPTH = 32
"""Levels of nodes; a leaf has depth 1."""
MAX_NODES = 256
"""Nodes of the written tree: every leaf counts, a repeated subtree counts each time."""
MAX_WINDOW = 504
"""Rows of one window or lag: two years of trading days."""
MAX_LOOKBACK = 2_520
"""Rows that nested windows reach back together: ten years of trading days."""
MAX_NAME = 64
"""Characters of a name, the limit that panels set too."""
MAX_BRACKETS = 64
"""Nested brackets: they are not nodes, so redundant ones are allowed up to this."""
MAX_TOKENS = 2_048
"""Names, numbers and signs: twice what the largest tree prints, so only padding meets it."""
OPERATIONS_A_CELL = 20_000
"""Estimated operations for each cell of the panel: eighty means of a year, ten correlations of a year."""
FREE_OPERATIONS = 1_000_000_000
"""Estimated operations that are never refused: about a second of plain work on one core."""
MAX_PROGRAM = 16_384
"""Bytes of a factor program: several pages of Python that build one expression."""
