"""The table that `bench_dsl` ends with: what was aimed at, what was measured, and what bounds a miss."""

from __future__ import annotations

from typing import Any

__all__ = ["table"]

# What keeps a figure from its target where it misses.
BOUNDS = {
    "kunquant": "the daily sort of some 20 ranks",
    "pandas": "pandas' own speed: 22.8 s when the target was set, on another processor",
    "natural": "one more pass of writes: results leave blocks for rows",
    "ts_mean": "memory: the share of copy bandwidth says how near",
    "ts_std": "float64 additions and stores",
    "ts_corr": "float64 additions and stores",
    "ts_argmax": "compares, and stores of the suffix",
    "decay_linear": "float64 additions; KunQuant adds up short windows directly",
    "ts_rank": "one subtraction and two bounds for each row of the window",
    "growth": "the suffix of a window of 250 fills the first-level cache",
    "mining": "the daily sort, half of the time",
    "first": "LLVM, mostly in `cs_rank` and `binary`; `alphaswarm doctor --warm-up` does it beforehand",
    "threads": "other work on the second processor",
    "element": "four operators a cell, each a pass over a chunk in the cache",
}
FAMILIES = 5  # that `first_evaluation` uses: sums, ranks, two operands, and to blocks and back


def table(report: dict[str, Any]) -> list[str]:
    """Lines of the table; a figure whose peers were not asked is left out."""
    rows: list[tuple[str, str, float, bool, str]] = []

    def at_least(what: str, measured: float | None, target: float, bound: str, unit: str = "x") -> None:
        if measured is not None:
            rows.append((what, f">= {target:g} {unit}", measured, measured >= target, bound))

    def at_most(what: str, measured: float | None, target: float, bound: str, unit: str) -> None:
        if measured is not None:
            rows.append((what, f"<= {target:g} {unit}", measured, measured <= target, bound))

    single, total, alphas = report["operators"], report["sum"], report["sixteen"]
    for peer, target in (("bottleneck", 5.5), ("kunquant", 11.0), ("pandas", 45.0), ("plain_pandas", 45.0)):
        at_least(f"16 alphas, against {peer}", alphas.get(f"x_{peer}"), target, peer)
    rank = single["cs_rank"]
    at_least("cs_rank, KunQuant", rank.get("ratio"), 18.0, "")
    at_least("cs_rank, bottleneck", rank["bottleneck"] / rank["ours"] if "bottleneck" in rank else None, 3.5, "")
    at_most("cs_rank, ties over none", report["ties"], 1.8, "", "x")
    at_least("19 operators, KunQuant", total.get("ratio"), 6.0, "")
    at_least("19 operators on natural rows", total.get("natural_ratio"), 4.5, "natural")
    targets = {
        "ts_mean": (0.9, 0.9, 0.9),
        "ts_std": (2.5, 2.5, 2.5),
        "ts_corr": (2.3, 2.3, 2.3),
        "ts_argmax": (2.3, 7.0, 18.0),
        "decay_linear": (0.6, 2.5, 8.0),
        "ts_rank": (0.95, 1.4, 2.2),
    }
    for name, aims in targets.items():
        for window, aim in zip((10, 20, 60), aims, strict=True):
            at_least(f"{name} {window}, KunQuant", single[f"{name}{window}"].get("ratio"), aim, name)
            at_least(f"{name} {window}, KunQuant on 8 lanes", single[f"{name}{window}"].get("ratio8"), aim, name)
    at_most("largest error of float32", max(row["error"] for row in single.values()) * 1e7, 2.0, "", "e-7")
    at_most("the same once a spike of 1e12 has left", report["spike"] * 1e7, 2.0, "", "e-7")
    for name, grown in report["growth"].items():
        at_most(f"{name}, windows 10 to 250", grown, 1.4, "growth", "x")
    at_least("fused element-wise", 100 * report["element_wise"]["share"], 60.0, "element", "% of copying")
    mined = report["mining"]
    at_least("random expressions with RankIC, KunQuant's run", mined.get("x_run"), 10.0, "mining")
    at_least("the same with its compilation", mined.get("x_with_compile"), 16.0, "mining")
    at_most("memory, one at a time", report["memory_mb"], 250.0, "", "MB")
    at_most("memory, ten at a time, shared", report["memory_shared_mb"], 400.0, "", "MB")
    at_least("two threads", report["two_threads"], 1.6, "threads")
    at_most("first value, kernels kept", report["first"]["warm"], 1.5, "first", "s")
    at_most("first value, no kernel kept", report["first"]["cold"], 2.5 + 1.5 * FAMILIES, "first", "s")
    lines = [f"{'what':52}{'target':>18}{'measured':>10}  verdict"]
    for what, aim, measured, met, bound in rows:
        why = "met" if met else f"missed: {BOUNDS.get(bound, bound)}"
        lines.append(f"{what:52}{aim:>18}{measured:>10.2f}  {why}")
    return lines
