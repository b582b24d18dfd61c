"""The default run, as a user starts it: 60 candidates on us431, the report included.

Prints one JSON line for each run and the median. A cold run compiles its kernels, a warm one finds them.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 3


def default_run(environment: dict[str, str]) -> dict[str, object]:
    """One run in a fresh workspace; wall seconds of the whole process."""
    with tempfile.TemporaryDirectory() as directory:
        command = [
            sys.executable,
            "-m",
            "alphaswarm",
            "agent",
            "run",
            "--json",
            "--workspace",
            str(Path(directory) / "w"),
        ]
        started = time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - started
        body = json.loads(done.stdout)
    return {
        "seconds": round(seconds, 2),
        "panel": body["panel"],
        "trials": body["trials"],
        "summary": body["summary"][:16],
    }


def main() -> None:
    """Warm runs, then one without any kept kernel."""
    warm = [default_run(dict(os.environ)) for _ in range(RUNS)]
    for row in warm:
        print(json.dumps({"kernels": "kept"} | row))
    with tempfile.TemporaryDirectory() as cache:
        print(json.dumps({"kernels": "none"} | default_run({**os.environ, "NUMBA_CACHE_DIR": cache})))
    print(f"median of {RUNS} with kept kernels: {statistics.median(float(str(row['seconds'])) for row in warm):.1f} s")


if __name__ == "__main__":
    main()
