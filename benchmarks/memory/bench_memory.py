"""What the memory costs at 50,000 factors, and how well it finds; see `docs/memory.md`.

Prints one line for each figure. Wall time is what a user waits; processor time is what it takes on a machine that has
other work too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from alphaswarm.core import Store, make_rng
from alphaswarm.dsl import canonical, random_expr
from alphaswarm.rag import Document, Memory
from alphaswarm.rag.minilm import is_installed
from benchmarks.memory.quality import measured
from benchmarks.memory.questions import cases

FIELDS = ("open", "high", "low", "close", "volume", "returns", "vwap")
QUERIES = 100


def factors(count: int) -> Iterator[Document]:
    """Different random formulas on two panels, with evidence and a few words."""
    rng = make_rng(11, "factors")
    seen: set[str] = set()
    while len(seen) < count:
        tree = canonical(random_expr(rng, FIELDS, ("sector",)))
        if tree.kind != "call" or tree.digest in seen:
            continue
        seen.add(tree.digest)
        number = len(seen)
        summary = {
            "panel": ("us431", "us500")[number % 2],
            "universe": "us431",
            "horizon": (1, 5, 20)[number % 3],
            "window": "search",
            "evidence_z": float(rng.normal()),
        }
        day = f"20{10 + number % 10}-12-31"
        text = f"idea {number} by the search"
        yield Document("alpha_factors", f"{number:064x}", str(tree), tree.digest, text, as_of=day, summary=summary)


def timed(name: str, work: Callable[[], Any]) -> Any:
    """Do it, and print how long it took."""
    wall, own = time.perf_counter(), time.process_time()
    result = work()
    print(f"{name:44}{time.perf_counter() - wall:9.1f} s wall{time.process_time() - own:9.1f} s processor", flush=True)
    return result


def asked(memory: Memory, name: str, questions: list[str], **filters: Any) -> None:
    """Ask each once and print median and 95th percentile."""
    walls, owns = [], []
    for question in questions:
        wall, own = time.perf_counter(), time.process_time()
        answer = memory.query(question, k=10, **filters)
        walls.append(1_000 * (time.perf_counter() - wall))
        owns.append(1_000 * (time.process_time() - own))
    p50, p95 = np.percentile(walls, [50, 95])
    own = np.percentile(owns, 95)
    print(f"{name:44}p50 {p50:6.1f} ms   p95 {p95:6.1f} ms   p95 processor {own:6.1f} ms ({answer.index})", flush=True)


def scale(count: int) -> None:
    """Ingest, index, rebuild and ask at `count` factors."""
    made = timed(f"making {count:,} formulas", lambda: list(factors(count)))
    formulas = [document.expression for document in made[:: max(1, count // QUERIES)]][:QUERIES]
    words = [case.question for case in list(cases())[:: max(1, 1_000 // QUERIES)]]
    with TemporaryDirectory() as directory:
        store = Store(Path(directory) / "ledger.db")
        memory = Memory(store, Path(directory) / "rag", "words")

        def ingest() -> None:
            for start in range(0, count, 500):
                with store.write() as connection:
                    for document in made[start : start + 500]:
                        memory.remember(document, connection)

        timed("remembering them", ingest)
        timed("first question: index built", lambda: memory.query("price"))
        timed("rag reindex", memory.reindex)
        for name, questions in (("formulas", formulas), ("words", words)):
            asked(memory, name, questions)
            asked(memory, f"{name}, of one panel by a day", questions, panel="us431", as_of="2015-12-31")
        memory.close()
        again = Memory(store, Path(directory) / "rag", "words")
        timed("first question of another process", lambda: again.query("price"))
        other = Memory(store, Path(directory) / "rag", "words")
        timed("first question without the index", lambda: other.query(formulas[0]))
        asked(other, "formulas, without the index", formulas)
        again.close()
        other.close()
        store.close()


def main() -> None:
    """Both parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--factors", type=int, default=50_000)
    parser.add_argument("--every", type=int, default=1, help="ask every so manieth question of the quality set")
    given = parser.parse_args()
    scale(given.factors)
    for embedder in ("words", *(["minilm"] if is_installed() else [])):
        print(timed(f"quality, embedder {embedder}", lambda name=embedder: measured(name, given.every)), flush=True)


if __name__ == "__main__":
    main()
