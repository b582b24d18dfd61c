"""Proposers at an equal budget: ``python -m benchmarks.proposers``, or ``make bench-proposers``.

One file for each seed, market and proposer: what is there is not run again, so a run that was stopped goes on.
`hybrid` and `llm` take part where a model is configured (ALPHASWARM_LLM_BASE_URL, _MODEL, _API_KEY), gplearn where its
environment is there (--oracles). Ends with status 1 where a demand is not met.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

FIRST_SEED = 500


def main() -> int:
    # One thread for each process; set before numpy is loaded in any of them.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    from alphaswarm.agents.proposers.choose import CONFIGURED
    from benchmarks.proposers.page import SEEDS, demands, read, write_page
    from benchmarks.proposers.runs import MARKETS, PEER, run_one

    model = any(os.environ.get(name) for name in CONFIGURED)
    names = ["search", "random", *(["hybrid", "llm"] if model else []), PEER]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proposers", description=__doc__)
    parser.add_argument("--markets", nargs="+", choices=list(MARKETS), default=list(MARKETS))
    parser.add_argument("--proposers", nargs="+", choices=names, default=names)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=Path("proposer-results"), help="where results are kept")
    parser.add_argument("--oracles", default=".oracles/bin/python", help="python with benchmarks/oracles.txt installed")
    parser.add_argument("--docs", type=Path, help="write table and picture into this page")
    parser.add_argument("--show", action="store_true", help="print what is there, run nothing")
    given = parser.parse_args()
    if not Path(given.oracles).exists():
        given.proposers = [name for name in given.proposers if name != PEER]
    # Seed by seed, so that whatever is there when it is stopped can be compared.
    missing = [
        (market, proposer, seed, place)
        for market in given.markets
        for seed in range(FIRST_SEED, FIRST_SEED + given.seeds)
        for proposer in given.proposers
        if not (place := given.out / market / proposer / f"{seed}.json").exists()
    ]
    if missing and not given.show:
        began = time.perf_counter()
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(given.jobs, mp_context=spawn) as pool:
            waiting = {
                pool.submit(run_one, market, proposer, seed, str(place), given.oracles): f"{market} {proposer} {seed}"
                for market, proposer, seed, place in missing
            }
            for count, done in enumerate(as_completed(waiting), 1):
                left = (time.perf_counter() - began) / count * (len(missing) - count) / 60
                said = f"{count}/{len(missing)} {waiting[done]}: {done.result():.0f} s CPU; {left:.0f} min left"
                print(said, flush=True)
    found = read(given.out)
    if given.docs:
        write_page(given.docs, found)
    lines, met = demands(found)
    print("\n".join(lines))
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
