"""The backtest engines on 500 names and 2500 days at 10 bp, beside vectorbt and the memory they read, in one run.

    python -m benchmarks.backtest.bench_backtest [--oracles .oracles/bin/python] [--repeats 15]

- One strategy: `VectorEngine` in float32 on returns, against vectorbt's `from_orders` alone, which makes orders
  but no equity yet; with its `value`, which does, beside it. CPU seconds, the least of several, kernels compiled.
- A hundred strategies: bytes of weights and returns by the wall seconds of two threads, as a share of what the
  machine copies in the same minute with as many threads (bytes read and written, as STREAM counts them). Ten at a
  time, and the least of many, as the copy: on a machine that is shared, long work always meets others. The whole
  hundred at once is shown beside it.
- `EventEngine` with cash, whole lots and every order listed, filled at the open; against `from_orders` and `value`,
  which is as much: orders and equity. Against `from_orders` alone beside it.
- Memory of those hundred strategies beyond their inputs, in a process of its own.

Both sides trade the same weights, sells before buys; in float64 their equity must be the same to 1e-9.
Ends with status 1 where a demand is not met.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from alphaswarm.backtest import EventEngine, VectorEngine
from alphaswarm.core import Panel, make_rng
from alphaswarm.trading import ProportionalCosts

DAYS, NAMES, STRATEGIES, THREADS = 2500, 500, 100, 2
COSTS = ProportionalCosts(10)
CASH = 1e8
COPIED = 16 * 2**20  # float32 values, twice the largest cache
BURST, BURSTS = 10, 12
LEAST_VECTOR, LEAST_SHARE, LEAST_EVENT, MOST_MEGABYTES = 400.0, 0.5, 40.0, 100.0

Array = np.ndarray
Row = tuple[str, str, str, str]


def market() -> tuple[Panel, Array]:
    """A panel, and long-only weights that keep a twentieth in cash, so that nobody runs out of it."""
    rng = make_rng(1, "bench backtest")
    close = 50 * np.exp(np.cumsum(0.0002 + 0.02 * rng.standard_normal((DAYS, NAMES)), axis=0))
    opened = close * np.exp(0.005 * rng.standard_normal((DAYS, NAMES)))
    weights = rng.random((DAYS, NAMES))
    weights *= 0.95 / weights.sum(axis=1, keepdims=True)
    dates = np.busday_offset("2015-01-01", np.arange(DAYS))
    return Panel.from_arrays({"close": close, "open": opened}, dates, [f"S{name}" for name in range(NAMES)]), weights


def returns_of(panel: Panel) -> Array:
    """Close to close; the first row has none."""
    close = panel["close"]
    returns = np.full(close.shape, np.nan, np.float32)
    returns[1:] = close[1:] / close[:-1] - 1
    return returns


def least(work: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of the quickest of several, after one that compiles."""
    work()
    spent = []
    for _ in range(repeats):
        begin = clock()
        work()
        spent.append(clock() - begin)
    return min(spent)


def theirs(panel: Panel, weights: Array, python: str) -> dict[str, Any]:
    """vectorbt's CPU seconds and equity."""
    with tempfile.TemporaryDirectory() as directory:
        given, wanted = Path(directory) / "in.npz", Path(directory) / "out.npz"
        np.savez(given, close_0=panel["close"], weights_0=weights, setup_0=[COSTS.rate, CASH])
        script = Path(__file__).with_name("vectorbt_peer.py")
        subprocess.run([python, str(script), "seconds", str(given), str(wanted)], check=True)
        with np.load(wanted) as found:
            return {name: value if value.ndim else float(value) for name, value in found.items()}


def same_equity(panel: Panel, weights: Array, equity: Array) -> float:
    """The largest relative difference of our float64 engines to it."""
    engines = (
        VectorEngine(COSTS, capital=CASH),
        EventEngine(mode="close_to_close", commission=COSTS.rate, cash=CASH),
    )
    return max(float(np.abs(engine.run(panel, weights).equity / equity - 1).max()) for engine in engines)


def copy_bandwidth() -> float:
    """Bytes a second that two threads read and write, copying arrays that fit no cache."""
    source, goal = np.ones(COPIED, np.float32), np.ones(COPIED, np.float32)
    parts = [slice(k * COPIED // THREADS, (k + 1) * COPIED // THREADS) for k in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:

        def copy() -> None:
            list(pool.map(lambda part: np.copyto(goal[part], source[part]), parts))

        return 2 * source.nbytes / least(copy, 4 * BURSTS, time.perf_counter)


def many(weights: Array) -> Array:
    """A hundred strategies: each its own weights, in memory of its own."""
    batch = np.empty((STRATEGIES, *weights.shape), np.float32)
    for strategy in range(STRATEGIES):
        batch[strategy] = np.roll(weights, strategy, axis=1)
    return batch


def extra_megabytes() -> float:
    """In a new process: how far its memory rises above what it held with all inputs made."""
    done = subprocess.run([sys.executable, "-m", __spec__.name, "--memory"], check=True, capture_output=True, text=True)
    return float(done.stdout)


def memory() -> float:
    """The child of `extra_megabytes`."""
    panel, weights = market()
    returns = returns_of(panel)
    batch = many(weights)
    engine = VectorEngine(COSTS, dtype="float32", threads=THREADS)
    engine.run(returns=returns[:5], weights=batch[:2, :5])
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # the highest so far counts from here
    held = status("VmRSS")
    engine.run(returns=returns, weights=batch)
    return (status("VmHWM") - held) / 1024


def status(name: str) -> float:
    """Kilobytes that the kernel reports of this process."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return float(next(line for line in lines if line.startswith(name)).split()[1])


def table(rows: list[Row]) -> str:
    """Columns side by side."""
    rows = [("what", "demanded", "measured", "met"), *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracles", help="python with benchmarks/oracles.txt installed")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--memory", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory:
        print(memory())
        return 0
    panel, weights = market()
    returns, narrow = returns_of(panel), weights.astype(np.float32)
    vector = VectorEngine(COSTS, dtype="float32")
    event = EventEngine(mode="next_open", commission=COSTS.rate, cash=CASH)

    one = least(lambda: vector.run(returns=returns, weights=narrow, positions=False), arguments.repeats)
    kept = least(lambda: vector.run(returns=returns, weights=narrow), arguments.repeats)
    orders = least(lambda: event.run(panel, weights).fills.columns, arguments.repeats)
    unlisted = least(lambda: event.run(panel, weights), arguments.repeats)
    count = len(event.run(panel, weights).fills)
    print(f"vector engine, 1 strategy: {1e3 * one:.2f} ms, with positions kept {1e3 * kept:.2f} ms")
    print(f"event engine: {1e3 * orders:.1f} ms with {count} orders listed, {1e3 * unlisted:.1f} ms without the list")
    demands: list[tuple[str, float, float, str]] = []  # what, demanded (below 0: at most), measured, format
    if arguments.oracles:
        peer = theirs(panel, weights, arguments.oracles)
        plain, whole = peer["auto"], peer["auto"] + peer["auto_value"]
        quick = peer["default"]
        print(
            f"vectorbt: from_orders {plain:.3f} s, value {whole - plain:.3f} s more; "
            f"orders as they come {quick:.3f} s, value {peer['default_value']:.3f} s more"
        )
        print(f"largest difference of equity: {same_equity(panel, weights, peer['equity_0']):.1e}")
        print(
            f"event engine against from_orders alone: {plain / orders:.0f}x, without our list {plain / unlisted:.0f}x"
        )
        print(f"vector engine against from_orders and value: {whole / one:.0f}x")
        demands.append(("vector engine, 1 strategy, times vectorbt from_orders", LEAST_VECTOR, plain / one, "{:.0f}x"))
        demands.append(("event engine, every order listed, times vectorbt", LEAST_EVENT, whole / orders, "{:.0f}x"))
        if same_equity(panel, weights, peer["equity_0"]) > 1e-9:
            raise SystemExit("equity differs from vectorbt's")

    batch = many(weights)
    threaded = VectorEngine(COSTS, dtype="float32", threads=THREADS)
    copied = copy_bandwidth()
    spent = sum(
        least(lambda k=k: threaded.run(returns=returns, weights=batch[k : k + BURST]), BURSTS, time.perf_counter)
        for k in range(0, STRATEGIES, BURST)
    )
    copied = max(copied, copy_bandwidth())
    whole = least(lambda: threaded.run(returns=returns, weights=batch), 5, time.perf_counter)
    alone = least(lambda: vector.run(returns=returns, weights=batch[:BURST]), BURSTS) / BURST
    moved = (batch.nbytes + returns.nbytes) / spent
    print(
        f"{STRATEGIES} strategies: {STRATEGIES * DAYS / spent / 1e6:.2f} M strategy-days a second, all at once "
        f"{STRATEGIES * DAYS / whole / 1e6:.2f} M, one thread {DAYS / alone / 1e6:.2f} M by CPU; "
        f"{moved / 1e9:.1f} GB/s of inputs, copy {copied / 1e9:.1f} GB/s"
    )
    share = moved / copied
    demands.append((f"{STRATEGIES} strategies, {THREADS} threads, of the copy", LEAST_SHARE, share, "{:.0%}"))
    demands.append(("memory beyond the inputs, MB", -MOST_MEGABYTES, extra_megabytes(), "{:.0f}"))

    rows: list[Row] = []
    for what, bound, value, form in demands:
        met = value <= -bound if bound < 0 else value >= bound
        word = "at most " if bound < 0 else "at least "
        rows.append((what, word + form.format(abs(bound)), form.format(value), "yes" if met else "NO"))
    print(table(rows))
    return int(any(row[-1] == "NO" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
