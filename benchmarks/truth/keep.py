"""Results on disk: one file for each seed of each row, whole or not there."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any


def run_one(row: str, seed: int, path: str) -> float:
    """Run one seed of a row and keep what it gave; whole or not at all. CPU seconds."""
    from benchmarks.truth.rows import ROWS, Scale

    began, cpu = time.perf_counter(), time.process_time()
    found = ROWS[row].one(seed, Scale())
    spent = time.process_time() - cpu
    record = {
        "row": row,
        "seed": seed,
        **found,
        "seconds": round(time.perf_counter() - began, 2),
        "cpu": round(spent, 2),
    }
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    half = place.with_suffix(".half")
    half.write_text(json.dumps(record), "utf-8")
    half.replace(place)
    return spent


def records(out: Path, row: str) -> list[dict[str, Any]]:
    """What is there of a row, in order of seeds."""
    found = [json.loads(path.read_text("utf-8")) for path in sorted((out / row).glob("*.json"))]
    return sorted(found, key=lambda one: one["seed"])
