"""The truth table: ``python -m benchmarks.truth``, or ``make truth``.

One process for each core, one file for each seed of each row: what is there is not run again, so a run that was
stopped goes on. Set A is for calibration; the others are each run once on
frozen code and published.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from benchmarks.truth.keep import records, run_one

BEGIN, END = "<!-- truth table -->", "<!-- end of truth table -->"
FIRST_SEED = {"A": 0, "B": 10_000, "C": 20_000, "D": 30_000, "E": 40_000}


def table(out: Path, chosen: list[str]) -> list[str]:
    """The table, a Markdown line for each row."""
    from benchmarks.truth.rows import ROWS

    lines = ["| market | seeds | demand | measured | met | CPU min |", "|---|---|---|---|---|---|"]
    for name in chosen:
        row, done = ROWS[name], records(out, name)
        if not done:
            continue
        text, met = row.verdict(done)
        said = {True: "yes", False: "**no**", None: ""}[met]
        minutes = sum(one["cpu"] for one in done) / 60
        lines.append(f"| {row.market} | {len(done)} | {row.demand} | {text} | {said} | {minutes:.1f} |")
    return lines


def write_page(page: Path, lines: list[str]) -> None:
    """Put `lines` between the marks of a page."""
    before, rest = page.read_text("utf-8").split(BEGIN)
    _, after = rest.split(END)
    page.write_text("\n".join([f"{before}{BEGIN}", *lines, f"{END}{after}"]), "utf-8")


def main() -> None:
    """Run what is missing, then print the table."""
    # One thread for each process; set before numpy is loaded in any of them.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    from benchmarks.truth.rows import ROWS

    parser = argparse.ArgumentParser(prog="python -m benchmarks.truth", description=__doc__)
    parser.add_argument("--set", choices=sorted(FIRST_SEED), default="A", help="which seeds")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS), help="only these rows")
    parser.add_argument("--seeds", type=int, help="only the first so many of each row")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=Path, default=Path("truth-results"), help="where results are kept")
    parser.add_argument("--docs", type=Path, help="write the table into this page, between its marks")
    parser.add_argument("--show", action="store_true", help="print what is there, run nothing")
    given = parser.parse_args()
    out, first = given.out / given.set, FIRST_SEED[given.set]
    wanted = [
        (name, first + seed) for name in given.rows for seed in range(min(given.seeds or 10**9, ROWS[name].seeds))
    ]
    missing = [(name, seed) for name, seed in wanted if not (out / name / f"{seed}.json").exists()]
    if missing and not given.show:
        began = time.perf_counter()
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(given.jobs, mp_context=spawn) as pool:
            waiting = {
                pool.submit(run_one, name, seed, str(out / name / f"{seed}.json")): (name, seed)
                for name, seed in missing
            }
            for count, done in enumerate(as_completed(waiting), 1):
                name, seed = waiting[done]
                spent = time.perf_counter() - began
                left = spent / count * (len(missing) - count) / 60
                print(
                    f"{count}/{len(missing)} {name} {seed}: {done.result():.1f} s CPU; {left:.0f} min left", flush=True
                )
    lines = table(out, given.rows)
    print("\n".join(lines))
    if given.docs:
        write_page(given.docs, [f"Seeds of set {given.set}.", "", *lines])


if __name__ == "__main__":
    main()
