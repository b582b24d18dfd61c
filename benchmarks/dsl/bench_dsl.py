"""The panel engine against its peers, in one run: median CPU time on one thread, peers interleaved.

    python3 -m venv .oracles && .oracles/bin/pip install -r benchmarks/oracles.txt
    python -m benchmarks.dsl.bench_dsl [--oracles .oracles/bin/python] [--repeats 7] [--mined 200] [--json FILE]

Panel of 2500 days and 1000 stocks, float32. KunQuant runs in its own blocked layout, conversions not counted, and
counts with the best of its accurate settings (float32 on 8 or 16 lanes, or float64 with incremental statistics)
for each operator.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from alphaswarm.core import Panel
from alphaswarm.dsl import parse
from alphaswarm.dsl.evaluate import evaluate
from alphaswarm.dsl.kernels.engine import _Run
from alphaswarm.dsl.kernels.inputs import Inputs
from alphaswarm.dsl.kernels.steps import Lowering
from alphaswarm.dsl.kernels.vectors import LANES
from alphaswarm.dsl.rank_ic import daily_rank_ic
from benchmarks.dsl.alphas import ALPHAS
from benchmarks.dsl.market import NAMES, ROWS, arrays, panel_of
from benchmarks.dsl.random_graph import draw, text
from benchmarks.dsl.verdict import table

WINDOWS = (10, 20, 60)
SINGLE = [
    f"{op}{d}" for op in ("ts_mean", "ts_std", "ts_corr", "ts_rank", "decay_linear", "ts_argmax") for d in WINDOWS
]
SINGLE.append("cs_rank")
KUN_MINED = 25
# Settings of KunQuant that are accurate on this host; registers of 512 bits hold 16 float32.
KUNQUANT = ("kunquant", "kunquant64", "kunquant16") if LANES == 16 else ("kunquant", "kunquant64")


def cpu_ms(work: Callable[[], Any]) -> float:
    """CPU milliseconds of this thread."""
    begin = time.thread_time()
    work()
    return 1000 * (time.thread_time() - begin)


def expression(case: str) -> str:
    """The single operator `case` in our language."""
    name = case.rstrip("0123456789")
    window = case[len(name) :]
    if name == "cs_rank":
        return "cs_rank(close)"
    return f"ts_corr(close, volume, {window})" if name == "ts_corr" else f"{name}(close, {window})"


def in_blocks(source: str, panel: Panel, dtype: str = "float32") -> Callable[[], None]:
    """What computes `source` from blocks into blocks, as KunQuant is timed."""
    inputs = Inputs.of(panel, dtype)
    step = Lowering()(parse(source))
    run = _Run([step], panel, inputs, 1)
    for event in run.schedule.events:
        event.exports.clear()
    run.schedule.buffers[step] = len(run.buffers)
    run.buffers.append(inputs.layout.buffer())
    run.roots = []

    def work() -> None:
        for event in run.schedule.events:
            if event.across:
                run._across(event.steps[0])
            else:
                run._stage(event)

    work()
    return work


class Peers:
    """The other environment, one request at a time."""

    def __init__(self, python: str, fields: dict[str, np.ndarray], directory: str) -> None:
        for name, values in fields.items():
            np.save(Path(directory) / f"{name}.npy", values)
        script = Path(__file__).with_name("peers.py")
        self.process = subprocess.Popen(
            [python, str(script), directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, peer: str, case: str, **more: Any) -> dict[str, float]:
        """The answer to one request."""
        stdin, stdout = self.process.stdin, self.process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("peers have no pipes")
        print(json.dumps({"peer": peer, "case": case, **more}), file=stdin, flush=True)
        for line in stdout:
            if line.startswith("{"):  # KunQuant prints remarks of its own
                return json.loads(line)
        raise RuntimeError(f"{peer} failed on {case}")

    def ms(self, peer: str, case: str) -> Callable[[], float]:
        """A timing of `case`."""
        return lambda: self.ask(peer, case)["ms"]


def medians(timings: dict[str, Callable[[], float]], repeats: int) -> dict[str, float]:
    """Median of each timing, interleaved."""
    taken: dict[str, list[float]] = {name: [] for name in timings}
    for timing in timings.values():
        timing()
    for _ in range(repeats):
        for name, timing in timings.items():
            taken[name].append(timing())
    return {name: statistics.median(values) for name, values in taken.items()}


def copy_bandwidth(repeats: int) -> float:
    """GB/s of copying 256 MB, read and write counted."""
    source = np.ones(64 * 1024 * 1024, np.float32)
    target = np.empty_like(source)
    times = [cpu_ms(lambda: np.copyto(target, source)) for _ in range(repeats + 2)]
    return 2 * source.nbytes / (1e6 * min(times))


def error(source: str, panel: Panel) -> float:
    """Largest error of float32 against float64 on the same data, relative to the largest value of the day."""
    single, double = evaluate(source, panel, dtype="float32").astype(np.float64), evaluate(source, panel)
    with np.errstate(all="ignore"):
        scale = np.maximum(np.abs(double), 1e-30)
        away = np.abs(single - double)
        relative = away / np.maximum(scale, np.nanmedian(np.abs(double)))
    if not (np.isnan(single) == np.isnan(double)).all():
        return float("nan")
    return float(np.nanmax(relative))


def spike_error(source: str) -> float:
    """Error of float32 in the first window after a spike of 1e12 has left."""
    fields = arrays(200, 32)
    fields["close"][50] = 1e12
    panel = panel_of(fields)
    single = evaluate(source, panel, dtype="float32").astype(np.float64)
    double = evaluate(source, panel_of({**fields, "close": np.where(fields["close"] > 1e11, 1.0, fields["close"])}))
    after = slice(50 + 20, 120)
    return float(np.nanmax(np.abs(single[after] - double[after]) / np.abs(double[after])))


def single_operators(panel: Panel, peers: Peers | None, repeats: int, bandwidth: float) -> dict[str, Any]:
    """Part A: 19 operators."""
    out: dict[str, Any] = {}
    for case in SINGLE:
        work = in_blocks(expression(case), panel)
        double = in_blocks(expression(case), panel, "float64")
        timings = {
            "ours": lambda work=work: cpu_ms(work),
            "ours64": lambda work=double: cpu_ms(work),
            "natural": lambda case=case: cpu_ms(lambda: evaluate(expression(case), panel, dtype="float32")),
        }
        if peers:
            timings |= {
                **{peer: peers.ms(peer, case) for peer in KUNQUANT},
                "bottleneck": peers.ms("bottleneck", case),
            }
        row = medians(timings, repeats)
        inputs = 3 if case.startswith("ts_corr") else 2
        row["share"] = inputs * 4 * ROWS * NAMES / (row["ours"] * 1e6) / bandwidth
        row["error"] = error(expression(case), panel)
        if peers:
            row["best"] = min(row[peer] for peer in KUNQUANT)
            row["ratio"], row["ratio8"] = (
                row["best"] / row["ours"],
                min(row["kunquant"], row["kunquant64"]) / row["ours"],
            )
        out[case] = row
        print(case, {name: round(value, 9 if name == "error" else 2) for name, value in row.items()}, flush=True)
    total = {name: sum(row[name] for row in out.values()) for name in ("ours", "ours64", "natural")}
    if peers:
        total |= {name: sum(row[name] for row in out.values()) for name in ("best", "bottleneck")}
        total["best8"] = sum(min(row["kunquant"], row["kunquant64"]) for row in out.values())
        total["ratio"], total["natural_ratio"] = total["best"] / total["ours"], total["best"] / total["natural"]
    total["float64"] = total["ours64"] / total["ours"]
    print("sum", {name: round(value, 2) for name, value in total.items()}, flush=True)
    return {"operators": out, "sum": total}


def sixteen(panel: Panel, peers: Peers | None, repeats: int) -> dict[str, float]:
    """The 16 alphas in one call."""
    texts = list(ALPHAS.values())
    timings = {
        "ours": lambda: cpu_ms(lambda: evaluate(texts, panel, dtype="float32")),
        "ours64": lambda: cpu_ms(lambda: evaluate(texts, panel)),
    }
    if peers:
        for peer in KUNQUANT:
            if peer != "kunquant64":
                timings[peer] = peers.ms(peer, "alphas")
        timings["bottleneck"] = peers.ms("bottleneck", "alphas")
    row = medians(timings, repeats)
    if peers:
        row["pandas"] = peers.ask("pandas", "alphas")["ms"]
        # as published code has it: argmax without `raw`, on a Series for each window
        row["plain_pandas"] = row["pandas"] + peers.ask("pandas", "argmax on series")["ms"]
        row |= {f"x_{name}": row[name] / row["ours"] for name in row if not name.startswith("ours")}
    print("16 alphas", {name: round(value, 1) for name, value in row.items()}, flush=True)
    return row


def ties(panel: Panel, repeats: int) -> float:
    """Time of cs_rank on ten distinct values over that on distinct ones."""
    many = arrays()
    coarse = panel_of({"close": np.floor(10 * many["vwap"] / many["vwap"].max(axis=1, keepdims=True))})
    distinct, tied = in_blocks("cs_rank(close)", panel), in_blocks("cs_rank(close)", coarse)
    row = medians({"distinct": lambda: cpu_ms(distinct), "ties": lambda: cpu_ms(tied)}, repeats)
    print("ties / distinct", round(row["ties"] / row["distinct"], 2), flush=True)
    return row["ties"] / row["distinct"]


def growth(panel: Panel, repeats: int) -> dict[str, float]:
    """Largest over smallest time of windows from 10 to 250."""
    out = {}
    for op in ("ts_mean", "ts_std", "ts_corr", "decay_linear", "ts_argmax"):
        timings = {}
        for d in (10, 20, 60, 120, 250):
            work = in_blocks(expression(f"{op}{d}"), panel)
            timings[str(d)] = lambda work=work: cpu_ms(work)
        row = medians(timings, repeats)
        out[op] = max(row.values()) / row["10"]
    print("windows 10 to 250", {name: round(value, 2) for name, value in out.items()}, flush=True)
    return out


def element_wise(panel: Panel, repeats: int, bandwidth: float) -> dict[str, float]:
    """Alpha 101 in one pass: four fields read, one result written."""
    work = in_blocks(ALPHAS["a101"], panel)
    ms = medians({"ours": lambda: cpu_ms(work)}, repeats)["ours"]
    row = {"ms": ms, "share": 5 * 4 * ROWS * NAMES / (ms * 1e6) / bandwidth}
    print("element-wise", {name: round(value, 2) for name, value in row.items()}, flush=True)
    return row


def mining(panel: Panel, peers: Peers | None, count: int) -> dict[str, float]:
    """Random expressions with their daily rank correlation."""
    labels = np.load(LABELS)
    texts = [text(draw(seed)) for seed in range(count)]
    daily_rank_ic(texts[:20], panel, labels)  # compiles
    row = {"ours": cpu_ms(lambda: daily_rank_ic(texts, panel, labels)) / count}
    if peers:
        cases = [f"random{seed}" for seed in range(KUN_MINED)]
        peer = KUNQUANT[0]  # its correlation takes 8 lanes only
        row["compile"] = 1000 * peers.ask(peer, "", prepare=cases)["seconds"] / KUN_MINED
        row["kunquant"] = sum(peers.ask(peer, case)["ms"] for case in cases) / KUN_MINED
        row["ours_on_those"] = cpu_ms(lambda: daily_rank_ic(texts[:KUN_MINED], panel, labels)) / KUN_MINED
        row["x_run"] = row["kunquant"] / row["ours_on_those"]
        row["x_with_compile"] = (row["kunquant"] + row["compile"]) / row["ours_on_those"]
    print("mining, ms each", {name: round(value, 1) for name, value in row.items()}, flush=True)
    return row


MEMORY = """
import sys
import numpy as np
from benchmarks.dsl.market import arrays, panel_of
from benchmarks.dsl.random_graph import draw, text
from alphaswarm.dsl import crossover, mutate, parse
from alphaswarm.dsl.rank_ic import daily_rank_ic
from alphaswarm.dsl.evaluate import evaluate
panel = panel_of(arrays())
labels = np.load(sys.argv[1])
texts = [text(draw(seed)) for seed in range(int(sys.argv[2]))]
evaluate("ts_mean(close, 3)", panel_of(arrays(20, 20)))

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name))

def above(work):
    base = status("VmRSS")
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    work()
    print((status("VmHWM") - base) * 1024 / 1e6)


def in_groups_of_ten():
    # children of ten parents, which share what they inherit
    rng = np.random.default_rng(0)
    parents = [parse(one) for one in texts[:10]]
    children = [crossover(mutate(a, rng, panel.fields), b, rng) for a in parents for b in parents]
    for first in range(0, len(children), 10):
        evaluate(children[first : first + 10], panel, dtype="float32")


above(in_groups_of_ten if sys.argv[3] == "shared" else lambda: daily_rank_ic(texts, panel, labels))
"""
FIRST = """
import time
begin = time.perf_counter()
import numpy as np
from alphaswarm.core import Panel
from alphaswarm.dsl import evaluate
x = np.arange(2000.0).reshape(50, 40) % 7
panel = Panel.from_arrays({"close": x}, np.datetime64("2020-01-01") + np.arange(50), [f"s{n}" for n in range(40)])
evaluate("cs_rank(ts_mean(close, 5)) - 0.5", panel, dtype="float32")
print(time.perf_counter() - begin, time.process_time())
"""


def child(code: str, *arguments: str, **environment: str) -> list[float]:
    """The numbers that a new process prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return [float(word) for word in done.stdout.split()]


def first_evaluation() -> dict[str, float]:
    """Seconds from start to the first value in a new process: wall and CPU, with and without kept kernels."""
    child(FIRST)
    warm = min(child(FIRST) for _ in range(5))
    with tempfile.TemporaryDirectory() as cache:
        cold = child(FIRST, NUMBA_CACHE_DIR=cache)
    row = {"warm": warm[0], "warm_cpu": warm[1], "cold": cold[0], "cold_cpu": cold[1]}
    print("first evaluation, s", {name: round(value, 2) for name, value in row.items()}, flush=True)
    return row


def threads(panel: Panel, repeats: int) -> float:
    """Wall time of the 16 alphas on one thread over that on two."""
    texts = list(ALPHAS.values())

    def wall(count: int) -> float:
        begin = time.perf_counter()
        evaluate(texts, panel, dtype="float32", threads=count)
        return time.perf_counter() - begin

    wall(2)
    best = {count: min(wall(count) for _ in range(repeats)) for count in (1, 2)}
    print("two threads", round(best[1] / best[2], 2), "x; wall s", best, flush=True)
    return best[1] / best[2]


def main() -> None:
    """Run everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracles", help="python of the environment that holds the peers")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--mined", type=int, default=200)
    parser.add_argument("--json", type=Path, help="where to write all figures")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        pinned = max(os.sched_getaffinity(0))
    fields = arrays()
    panel = panel_of(fields)
    global LABELS
    with tempfile.TemporaryDirectory() as directory:
        LABELS = str(Path(directory) / "label.npy")
        label = np.random.default_rng(9).standard_normal((ROWS, NAMES)).astype(np.float32)
        peers = Peers(options.oracles, {**fields, "label": label}, directory) if options.oracles else None
        np.save(LABELS, label.astype(np.float32))
        if peers:
            for peer in KUNQUANT:
                cases = SINGLE if peer == "kunquant64" else [*SINGLE, "alphas"]
                print(peer, "compiles:", round(peers.ask(peer, "", prepare=cases)["seconds"], 1), "s", flush=True)
        everywhere = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {pinned})
        bandwidth = copy_bandwidth(options.repeats)
        print("copy bandwidth, GB/s", round(bandwidth, 1), flush=True)
        report: dict[str, Any] = {"copy_gb_s": bandwidth}
        report |= single_operators(panel, peers, options.repeats, bandwidth)
        report["ties"] = ties(panel, options.repeats)
        report["growth"] = growth(panel, options.repeats)
        report["element_wise"] = element_wise(panel, options.repeats, bandwidth)
        report["sixteen"] = sixteen(panel, peers, max(3, options.repeats // 2))
        report["mining"] = mining(panel, peers, options.mined)
        os.sched_setaffinity(0, everywhere)
        report["memory_mb"] = child(MEMORY, LABELS, str(options.mined), "single")[0]
        report["memory_shared_mb"] = child(MEMORY, LABELS, str(options.mined), "shared")[0]
        print(
            "memory above inputs, MB", round(report["memory_mb"], 1), round(report["memory_shared_mb"], 1), flush=True
        )
        report["spike"] = max(spike_error(f"{op}(close, 20)") for op in ("ts_mean", "ts_std", "decay_linear"))
        print("error after a spike", report["spike"], flush=True)
        report["first"] = first_evaluation()
        report["two_threads"] = threads(panel, options.repeats)
        print(f"float64 takes {report['sum']['float64']:.2f} x the time of float32")
        print("share of copy bandwidth:", {case: round(row["share"], 2) for case, row in report["operators"].items()})
        print(*table(report), sep="\n", flush=True)
        if options.json:
            options.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
