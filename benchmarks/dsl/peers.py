"""Other libraries on the same data, timed on request. Runs in an environment of its own and knows nothing of ours.

    python peers.py DIRECTORY    # of float32 [rows, names] arrays, name.npy

reads one request a line, {"peer": ..., "case": ...}, and answers with CPU milliseconds; the first answer of
"kunquant" is preceded by its compilation.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

WINDOWS = (10, 20, 60)
ALPHAS = (1, 2, 3, 4, 5, 6, 7, 12, 13, 17, 21, 28, 34, 50, 53, 101)
# Stocks side by side and type of each setting of KunQuant.
SETTINGS = {"kunquant": (8, "float"), "kunquant16": (16, "float"), "kunquant64": (8, "double")}


def load(directory: str) -> dict[str, np.ndarray]:
    return {path.stem: np.load(path) for path in Path(directory).glob("*.npy")}


class KunQuant:
    """Its blocked layout (stocks / lanes, days, lanes), conversions not counted, one thread."""

    def __init__(self, fields: dict[str, np.ndarray], lanes: int, dtype: str) -> None:
        self.dtype, self.lanes = dtype, lanes
        self.modules: dict[str, object] = {}
        self.numpy_type = np.float32 if dtype == "float" else np.float64
        rows, names = fields["close"].shape
        self.rows = rows
        padding = ((0, 0), (0, -names % lanes))
        self.fields = {
            name: np.ascontiguousarray(
                np.pad(values.astype(self.numpy_type), padding, constant_values=np.nan)
                .reshape(rows, -1, lanes)
                .transpose(1, 0, 2)
            )
            for name, values in fields.items()
        }

    def graph(self, case: str) -> tuple[object, list[str]]:
        from KunQuant.Op import Builder, Input, Output, Rank
        from KunQuant.ops import DecayLinear, TsArgMax, TsRank, WindowedAvg, WindowedCorrelation, WindowedStddev
        from KunQuant.predefined import Alpha101
        from KunQuant.Stage import Function

        builder = Builder()
        used: dict[str, object] = {}

        def field(name: str) -> object:
            if name not in used:
                used[name] = Input(name)
            return used[name]

        with builder:
            if case == "alphas":
                data = Alpha101.AllData(
                    open=field("open"),
                    close=field("close"),
                    high=field("high"),
                    low=field("low"),
                    volume=field("volume"),
                    amount=field("dollar_volume"),
                    vwap=field("vwap"),
                )
                for number in ALPHAS:
                    Output(getattr(Alpha101, f"alpha{number:03d}")(data), f"out{number}")
            elif case.startswith("random"):
                from random_graph import build

                Output(build(int(case[6:]), field), "out")
            else:
                name, window = case.rstrip("0123456789"), int(case[len(case.rstrip("0123456789")) :] or 0)
                close = field("close")
                made = {
                    "ts_mean": lambda: WindowedAvg(close, window),
                    "ts_std": lambda: WindowedStddev(close, window),
                    "ts_corr": lambda: WindowedCorrelation(close, window, field("volume")),
                    "decay_linear": lambda: DecayLinear(close, window),
                    "ts_argmax": lambda: TsArgMax(close, window),
                    "ts_rank": lambda: TsRank(close, window),
                    "cs_rank": lambda: Rank(close),
                }[name]()
                Output(made, "out")
        return Function(builder.ops), sorted(used)

    def prepare(self, cases: list[str]) -> float:
        from KunQuant.Driver import KunCompilerConfig
        from KunQuant.jit import cfake
        from KunQuant.runner import KunRunner

        begin = time.perf_counter()
        config = KunCompilerConfig(
            dtype=self.dtype, blocking_len=self.lanes, input_layout="STs", output_layout="STs", partition_factor=3
        )
        if self.dtype == "double":
            config.options = {"no_fast_stat": False}
        graphs = {case: self.graph(case) for case in cases}
        library = cfake.compileit(
            [(case, graph, config) for case, (graph, _) in graphs.items()],
            f"bench_{self.dtype}_{self.lanes}_{len(self.modules)}",
            cfake.CppCompilerConfig(),
        )
        for case, (_, used) in graphs.items():
            self.modules[case] = (library.getModule(case), used)
        self.library = library
        self.executor = KunRunner.createSingleThreadExecutor()
        return time.perf_counter() - begin

    def run(self, case: str) -> dict[str, np.ndarray]:
        from KunQuant.runner import KunRunner

        module, used = self.modules[case]
        inputs = {name: self.fields[name] for name in used}
        return KunRunner.runGraph(self.executor, module, inputs, 0, self.rows)

    def rank_ic(self, case: str) -> np.ndarray:
        """A random expression with its daily rank correlation."""
        from KunQuant.runner import KunRunner

        out = self.run(case)["out"]
        result = np.empty(self.rows, self.numpy_type)
        KunRunner.corrWith(self.executor, [out], self.fields["label"], [result], layout="STs", rank_inputs=True)
        return result

    def natural(self, out: np.ndarray) -> np.ndarray:
        return out.transpose(1, 0, 2).reshape(self.rows, -1)


def bottleneck_case(case: str, fields: dict[str, np.ndarray]) -> np.ndarray:
    import bottleneck as bn

    name = case.rstrip("0123456789")
    window = int(case[len(name) :] or 0)
    close, volume = fields["close"], fields["volume"]
    if name == "ts_mean":
        return bn.move_mean(close, window, axis=0)
    if name == "ts_std":
        return bn.move_std(close, window, axis=0, ddof=1)
    if name == "ts_corr":
        return corr(close, volume, window)
    if name == "ts_rank":
        return (bn.move_rank(close, window, axis=0) * (window - 1) / 2 + (window + 1) / 2) / window
    if name == "ts_argmax":
        return bn.move_argmax(close, window, axis=0)
    if name == "decay_linear":
        return decay(close, window)
    return rank(close)


def corr(x: np.ndarray, y: np.ndarray, d: int) -> np.ndarray:
    import bottleneck as bn

    mean = lambda values: bn.move_mean(values, d, axis=0)  # noqa: E731
    x, y = x.astype(np.float64), y.astype(np.float64)
    mx, my = mean(x), mean(y)
    with np.errstate(all="ignore"):
        return (mean(x * y) - mx * my) / (bn.move_std(x, d, axis=0) * bn.move_std(y, d, axis=0))


def decay(x: np.ndarray, d: int) -> np.ndarray:
    out = np.full(x.shape, np.nan, x.dtype)
    total = np.zeros((len(x) - d + 1, x.shape[1]), x.dtype)
    for k in range(d):
        total += x[k : len(x) - d + 1 + k] * np.float32((k + 1) * 2 / (d * (d + 1)))
    out[d - 1 :] = total
    return out


def rank(x: np.ndarray) -> np.ndarray:
    import bottleneck as bn

    ranks = bn.nanrankdata(x, axis=1)
    ranks /= (~np.isnan(ranks)).sum(axis=1, keepdims=True)
    return ranks.astype(x.dtype)


def numpy_alphas(f: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The sixteen alphas in numpy with bottleneck's moving windows."""
    import bottleneck as bn

    def delta(x: np.ndarray, d: int) -> np.ndarray:
        out = np.full_like(x, np.nan)
        out[d:] = x[d:] - x[:-d]
        return out

    mean = lambda x, d: bn.move_mean(x, d, axis=0)  # noqa: E731
    std = lambda x, d: bn.move_std(x, d, axis=0, ddof=1)  # noqa: E731
    ts_rank = lambda x, d: (bn.move_rank(x, d, axis=0) * (d - 1) / 2 + (d + 1) / 2) / d  # noqa: E731
    o, h, l, c, v, w, r = (f[name] for name in ("open", "high", "low", "close", "volume", "vwap", "returns"))  # noqa: E741
    adv = mean(f["dollar_volume"], 20)
    with np.errstate(all="ignore"):
        inner = np.where(r < 0, std(r, 20), c)
        a21 = mean(c, 8)
        s8, m2 = std(c, 8), mean(c, 2)
        cov = lambda x, y, d: (mean(x * y, d) - mean(x, d) * mean(y, d)) * (d / (d - 1))  # noqa: E731
        a28 = corr(adv, l, 5) + (h + l) / 2 - c
        dc7 = delta(c, 7)
        return [
            rank(bn.move_argmax(np.sign(inner) * inner**2, 5, axis=0)) - 0.5,
            -corr(rank(delta(np.log(v), 2)), rank((c - o) / o), 6),
            -corr(rank(o), rank(v), 10),
            -ts_rank(rank(l), 9),
            rank(o - bn.move_sum(w, 10, axis=0) / 10) * -np.abs(rank(c - w)),
            -corr(o, v, 10),
            np.where(adv < v, -ts_rank(np.abs(dc7), 60) * np.sign(dc7), -1.0),
            np.sign(delta(v, 1)) * -delta(c, 1),
            -rank(cov(rank(c), rank(v), 5)),
            -rank(ts_rank(c, 10)) * rank(delta(delta(c, 1), 1)) * rank(ts_rank(v / adv, 5)),
            np.where(a21 + s8 < m2, -1.0, np.where(m2 < a21 - s8, 1.0, np.where(v / adv >= 1, 1.0, -1.0))),
            a28 / np.nansum(np.abs(a28), axis=1, keepdims=True),
            rank(1 - rank(std(r, 2) / std(r, 5)) + (1 - rank(delta(c, 1)))),
            -bn.move_max(rank(corr(rank(v), rank(w), 5)), 5, axis=0),
            -delta(((c - l) - (h - c)) / (c - l), 9),
            (c - o) / ((h - l) + np.float32(0.001)),
        ]


def pandas_alphas(f: dict[str, np.ndarray]) -> list[object]:
    """The sixteen alphas in pandas; argmax by numpy on each window, as an array, which is the fast way."""
    import pandas as pd

    o, h, l, c, v, w, r, m = (  # noqa: E741
        pd.DataFrame(f[name]) for name in ("open", "high", "low", "close", "volume", "vwap", "returns", "dollar_volume")
    )
    rank = lambda x: x.rank(axis=1, pct=True)  # noqa: E731
    adv = m.rolling(20).mean()
    inner = c.where(~(r < 0), r.rolling(20).std())
    dc7 = c.diff(7)
    a28 = adv.rolling(5).corr(l) + (h + l) / 2 - c
    s8, m8, m2 = c.rolling(8).std(), c.rolling(8).mean(), c.rolling(2).mean()
    argmax = (np.sign(inner) * inner**2).rolling(5).apply(lambda x: len(x) - 1 - np.argmax(x), raw=True)
    return [
        rank(argmax) - 0.5,
        -rank(np.log(v).diff(2)).rolling(6).corr(rank((c - o) / o)),
        -rank(o).rolling(10).corr(rank(v)),
        -rank(l).rolling(9).rank(pct=True),
        rank(o - w.rolling(10).sum() / 10) * -rank(c - w).abs(),
        -o.rolling(10).corr(v),
        (-dc7.abs().rolling(60).rank(pct=True) * np.sign(dc7)).where(adv < v, -1.0),
        np.sign(v.diff()) * -c.diff(),
        -rank(rank(c).rolling(5).cov(rank(v))),
        -rank(c.rolling(10).rank(pct=True)) * rank(c.diff().diff()) * rank((v / adv).rolling(5).rank(pct=True)),
        pd.DataFrame(np.where(m8 + s8 < m2, -1.0, np.where(m2 < m8 - s8, 1.0, np.where(v / adv >= 1, 1.0, -1.0)))),
        a28.div(a28.abs().sum(axis=1), axis=0),
        rank(1 - rank(r.rolling(2).std() / r.rolling(5).std()) + (1 - rank(c.diff()))),
        -rank(rank(v).rolling(5).corr(rank(w))).rolling(5).max(),
        -(((c - l) - (h - c)) / (c - l)).diff(9),
        (c - o) / (h - l + 0.001),
    ]


def argmax_on_series(f: dict[str, np.ndarray], stocks: int = 40) -> float:
    """Milliseconds that argmax over 5 days costs more where it is written without `raw`, from a few stocks."""
    import pandas as pd

    some, spent = pd.DataFrame(f["close"][:, :stocks]), []
    for raw in (True, False):
        begin = time.process_time()
        some.rolling(5).apply(np.argmax, raw=raw)
        spent.append(time.process_time() - begin)
    return 1000 * (spent[1] - spent[0]) * f["close"].shape[1] / stocks


def main() -> None:
    fields = load(sys.argv[1])
    kun: dict[str, KunQuant] = {}
    for line in sys.stdin:
        request = json.loads(line)
        peer, case = request["peer"], request["case"]
        if peer.startswith("kunquant"):
            if peer not in kun:
                kun[peer] = KunQuant(fields, *SETTINGS[peer])
            if request.get("prepare"):
                begin = time.process_time()
                seconds = kun[peer].prepare(request["prepare"])
                print(json.dumps({"seconds": seconds, "own_cpu": time.process_time() - begin}), flush=True)
                continue
            run = kun[peer].rank_ic if case.startswith("random") else kun[peer].run
            work = lambda: run(case)  # noqa: E731, B023
        elif case == "argmax on series":
            print(json.dumps({"ms": argmax_on_series(fields)}), flush=True)
            continue
        elif case == "alphas":
            work = lambda: (numpy_alphas if peer == "bottleneck" else pandas_alphas)(fields)  # noqa: E731, B023
        else:
            work = lambda: bottleneck_case(case, fields)  # noqa: E731, B023
        begin = time.process_time()
        result = work()
        spent = time.process_time() - begin
        if request.get("save"):
            out = kun[peer].natural(result["out"]) if peer.startswith("kunquant") else result
            np.save(request["save"], out)
        print(json.dumps({"ms": 1000 * spent}), flush=True)


if __name__ == "__main__":
    main()
