"""What refusing costs: hostile formulas by hand and generated, each read once.

Prints one JSON line: how many, the share that is a formula after all, milliseconds of wall and processor time
(median, 99th percentile, largest), the growth of the process's resident memory, and how a factor program's box
compares (one start each). The aim is 5 ms at the 99th percentile and 20 MB.
"""

from __future__ import annotations

import contextlib
import json
import resource
import statistics
import sys
import time

from alphaswarm.core import ExpressionError
from alphaswarm.dsl import build, parse
from tests.hostile.fuzzer import Fuzzer, refused

GENERATED = 20_000
PROGRAMS = ("alpha = cs_rank(-ts_sum(returns, 5))", "alpha = close.__class__", "alpha = 9 ** 9 ** 9")
RSS_UNIT = 1 if sys.platform == "darwin" else 1024


def read(text: str) -> bool:
    """Whether the text is a formula."""
    try:
        parse(text)
    except ExpressionError:
        return False
    return True


def quantiles(seconds: list[float]) -> dict[str, float]:
    """Median, 99th percentile and maximum in milliseconds."""
    ordered = sorted(seconds)
    chosen = {"median": statistics.median(ordered), "p99": ordered[int(len(ordered) * 0.99)], "max": ordered[-1]}
    return {name: round(1000 * value, 3) for name, value in chosen.items()}


def boxed(program: str) -> float:
    """Seconds from a program to its expression or refusal."""
    started = time.perf_counter()
    with contextlib.suppress(ExpressionError):
        build(program)
    return time.perf_counter() - started


def main() -> None:
    """Read them all."""
    fuzzer = Fuzzer(1)
    texts = [text for text, _, _ in refused().values()] + [fuzzer.text() for _ in range(GENERATED)]
    wall, cpu, formulas = [], [], 0
    for text in texts[:200]:
        read(text)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for text in texts:
        started, worked = time.perf_counter(), time.process_time()
        formulas += read(text)
        cpu.append(time.process_time() - worked)
        wall.append(time.perf_counter() - started)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * RSS_UNIT
    report = {
        "texts": len(texts),
        "formulas": round(formulas / len(texts), 3),
        "wall_ms": quantiles(wall),
        "cpu_ms": quantiles(cpu),
        "rss_mb": round(grown / 2**20, 1),
        "program_ms": round(1000 * statistics.median(boxed(program) for program in PROGRAMS * 5), 1),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
