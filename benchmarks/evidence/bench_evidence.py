"""Full evidence on 500 names and 2500 days: one factor against alphalens-reloaded, and many candidates.

    python -m benchmarks.evidence.bench_evidence [--oracles .oracles/bin/python] [--candidates 100 | --all]

Ours is the whole tear sheet: IC suite at five horizons, residual evidence, quantiles, what is left beside
sector, size, beta and volatility, by year, regime and sector, deflated Sharpe ratios, bootstrap intervals, costs and
capacity. Theirs is the data path of `create_full_tear_sheet` (clean factor and forward returns at the same
five horizons, then what it computes before it draws), which has none of: residuals, deflation, bootstrap,
costs, capacity. What all factors of a panel share is prepared once and shown apart.

Candidates are random expressions; each is computed from the panel and gets a tear sheet, in two processes
that share nothing. Seconds of one factor are CPU, those of candidates wall.
Ends with status 1 where a demand is not met.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from alphaswarm.core import Panel, make_rng
from alphaswarm.data.synthetic import synthetic_market
from alphaswarm.dsl import evaluate
from alphaswarm.dsl.mutate import random_expr
from alphaswarm.evaluation import DECAY_HORIZONS, Evaluator, TearSheets, Window

DAYS, NAMES = 2500, 500
FACTOR = "-ts_sum(returns, 5)"
SAMPLE, WHOLE, PROCESSES = 100, 1000, 2
MOST_SECONDS, LEAST_RATIO, MOST_WALL = 1.0, 50.0, 180.0


def seconds(work: Callable[[], Any]) -> float:
    """CPU seconds of this process."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def prepared(panel: Panel) -> TearSheets:
    """What all factors of the panel share."""
    return TearSheets(Evaluator(panel, Window("search", panel.dates[0], panel.dates[-1])))


def theirs(panel: Panel, factor: np.ndarray, python: str) -> dict[str, float]:
    """CPU seconds of the peer, in its own process; the last day has no fill."""
    with tempfile.TemporaryDirectory() as directory:
        given, wanted = Path(directory) / "in.npz", Path(directory) / "out.npz"
        feed = {"factor": factor[:-1], "prices": panel["close"][1:], "dates": panel.dates[:-1]}
        np.savez(given, periods=list(DECAY_HORIZONS), **feed)
        script = Path(__file__).with_name("peers.py")
        subprocess.run([python, str(script), str(given), str(wanted), "seconds"], check=True, stdout=subprocess.DEVNULL)
        with np.load(wanted) as found:
            return {name: float(value) for name, value in found.items()}


def one_factor(panel: Panel, python: str | None, repeats: int) -> dict[str, float]:
    """Part A: one factor, kernels compiled."""
    factor = evaluate(FACTOR, panel)
    prepared(panel).sheet(factor, n_trials=60)
    preparation = statistics.median(seconds(lambda: prepared(panel)) for _ in range(min(repeats, 3)))
    sheets = prepared(panel)
    row = {
        "preparation": preparation,
        "search": statistics.median(seconds(lambda: sheets.evaluator.evidence(factor)) for _ in range(repeats)),
        "sheet": statistics.median(seconds(lambda: sheets.sheet(factor, n_trials=60)) for _ in range(repeats)),
    }
    if python:
        peer = theirs(panel, factor, python)
        row |= {"alphalens_clean": peer["clean"], "alphalens_performance": peer["performance"]}
        total = peer["clean"] + peer["performance"]
        row |= {"ratio": total / row["sheet"], "ratio_with_preparation": total / (row["sheet"] + preparation)}
    return row


_SHEETS: list[TearSheets] = []


def begin() -> None:
    """The panel of one process."""
    _SHEETS.append(prepared(synthetic_market(days=DAYS, names=NAMES)))


def candidate(seed: int) -> tuple[bool, float]:
    """Computes one random expression and its tear sheet: whether any day had a rank IC, and CPU seconds."""
    sheets = _SHEETS[0]
    panel = sheets.evaluator.panel
    start = time.process_time()
    drawn = random_expr(make_rng(seed, "candidate"), panel.fields, panel.groups, max_depth=4)
    found = sheets.sheet(evaluate(drawn, panel, threads=1), n_trials=WHOLE)
    return found.evidence.n_days > 0, time.process_time() - start


def candidates(count: int) -> dict[str, float]:
    """Part B: wall seconds of many candidates, from two new processes to the last result."""
    start = time.perf_counter()
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn"), begin) as pool:
        list(pool.map(candidate, range(-2 * PROCESSES, 0)))  # both get prepared
        after = time.perf_counter()
        found = list(pool.map(candidate, range(count), chunksize=4))
        end = time.perf_counter()
    each = (end - after) / count
    return {
        "count": count,
        "with_rank_ic": sum(defined for defined, _ in found),
        "cpu_each": sum(spent for _, spent in found) / count,
        f"cpu_{WHOLE}_by_process": sum(spent for _, spent in found) / count * WHOLE / PROCESSES,
        "start": after - start,
        "wall": end - start,
        f"wall_{WHOLE}": after - start + each * WHOLE,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracles", help="python with benchmarks/oracles.txt installed")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--candidates", type=int, default=SAMPLE, help="how many; 0 leaves them out")
    parser.add_argument("--all", action="store_true", help=f"{WHOLE} candidates")
    arguments = parser.parse_args()
    row = one_factor(synthetic_market(days=DAYS, names=NAMES), arguments.oracles, arguments.repeats)
    print(json.dumps({"one factor": {name: round(value, 3) for name, value in row.items()}}))
    demands = [("seconds of CPU for one factor", row["sheet"], MOST_SECONDS, False)]
    if "ratio" in row:
        demands.append(("times as fast as alphalens-reloaded", row["ratio"], LEAST_RATIO, True))
    count = WHOLE if arguments.all else arguments.candidates
    if count:
        many = candidates(count)
        print(json.dumps({"candidates": {name: round(value, 3) for name, value in many.items()}}))
        sample = "" if count == WHOLE else f", by a sample of {count}"
        demands.append((f"seconds for {WHOLE} candidates{sample}", many[f"wall_{WHOLE}"], MOST_WALL, False))
    for what, value, bound, least in demands:
        print(f"{value:.2f} {what} (at {'least' if least else 'most'} {bound:g} demanded)")
    return int(any(value < bound if least else value > bound for _, value, bound, least in demands))


if __name__ == "__main__":
    sys.exit(main())
