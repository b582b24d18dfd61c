"""How well the memory finds: the formulas of `questions`, asked for in other forms and in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from alphaswarm.core import Store
from alphaswarm.dsl import parse
from alphaswarm.rag import Memory
from benchmarks.memory.questions import Case, cases, commuted, document, documents, nearly, renamed

__all__ = ["Quality", "measured"]

NONSENSE = ("zxqv blorp plink", "grault garply", "qwertz uiop", "fnord", "xyzzy plugh frobnicate")
K = 10


@dataclass(frozen=True)
class Quality:
    """Shares of the questions that were answered as they should be.

    Attributes:
        embedder: what made the text vectors.
        size: formulas in the set.
        same: commuted and renamed forms whose formula stands first.
        apart: formulas kept beside their negation or reversed nesting that stand first when asked for with other
            windows.
        recall: plain questions whose formula is among the first ten.
        first: plain questions whose formula stands first.
        nonsense: answers to words that mean nothing.
    """

    embedder: str
    size: int
    same: float
    apart: float
    recall: float
    first: float
    nonsense: int


def measured(embedder: str, every: int = 1) -> Quality:
    """Ask everything, or every so manieth question, of a memory that holds the set and its opposites."""
    with TemporaryDirectory() as directory:
        store = Store(Path(directory) / "ledger.db")
        memory = Memory(store, Path(directory) / "rag", embedder)
        try:
            return _asked(memory, store, every)
        finally:
            memory.close()
            store.close()


def _asked(memory: Memory, store: Store, every: int) -> Quality:
    kept = list(documents())
    pairs = list(zip(kept, cases(), strict=True))[::every]
    with store.write() as connection:
        for known in kept:
            memory.remember(known, connection)
    places, same = [], []
    for known, case in pairs:
        found = [hit.id for hit in memory.query(case.question, k=K).results]
        places.append(found.index(known.id) if known.id in found else K)
        forms = {commuted(parse(case.expression)), renamed(case.expression), f"({case.expression}) + 0"}
        same += [_first(memory, form) == known.digest for form in forms if form is not None]
    nonsense = sum(len(memory.query(text).results) for text in NONSENSE)
    total = len(places)
    return Quality(
        memory.query("price", k=1).embedder,
        len(kept),
        sum(same) / len(same),
        _told_apart(memory, store, [case for _, case in pairs]),
        sum(place < K for place in places) / total,
        sum(place == 0 for place in places) / total,
        nonsense,
    )


def _told_apart(memory: Memory, store: Store, asked: list[Case]) -> float:
    """Keep formulas beside their negations and reversed nestings, then ask with other windows for each."""
    sides = []
    for case in asked[:: max(1, len(asked) // 50)]:
        x = case.expression
        sides += [f"ts_sum({x}, 7)", f"-ts_sum({x}, 7)", f"cs_rank(delta({x}, 3))", f"delta(cs_rank({x}), 3)"]
    with store.write() as connection:
        for number, side in enumerate(sides):
            memory.remember(document(f"side {number}", side), connection)
    return sum(_first(memory, nearly(side)) == parse(side).digest for side in sides) / len(sides)


def _first(memory: Memory, text: str) -> str:
    return next((hit.digest for hit in memory.query(text, k=1).results), "")
