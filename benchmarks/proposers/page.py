"""What the searches of all seeds amount to: a table, a picture, and whether the demands are met."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.proposers.picture import Panel, draw
from benchmarks.proposers.runs import LIKE, MARKETS, PEER

__all__ = ["demands", "read", "table", "write_page"]

BEGIN, END = "<!-- proposers -->", "<!-- end of proposers -->"
# Of trials that chance needs, the share that a search may need.
SHARE = 1 / 3
AT = (30, 100, 300)
SEEDS = 10
NEVER = float("inf")

Record = Mapping[str, Any]
Found = Mapping[str, Mapping[str, Sequence[Record]]]


def read(out: Path) -> dict[str, dict[str, list[Record]]]:
    """Market, then proposer, to what is there of it, in order of seeds."""
    found: dict[str, dict[str, list[Record]]] = {}
    for market in MARKETS:
        for directory in sorted((out / market).glob("*")):
            records = [json.loads(path.read_text("utf-8")) for path in sorted(directory.glob("*.json"))]
            if records:
                found.setdefault(market, {})[directory.name] = records
    return found


def table(found: Found) -> list[str]:
    """A Markdown line for each proposer on each market; medians over seeds."""
    lines = [
        f"| market | proposer | seeds | truth found | trials until then | best corr | best z after {_counts(AT)} |",
        "|---|---|---|---|---|---|---|",
    ]
    for market, proposers in found.items():
        for name, records in _ordered(proposers):
            z = curve(records, strength)
            cells = [MARKETS[market].title, f"`{name}`" if name != PEER else name, str(len(records))]
            if records[0]["truth"]:
                inside = sum(_until(one) <= len(one["trials"]) for one in records)
                best = curve(records, likeness)[-1]
                cells += [f"{inside} of {len(records)}", _shown(records), f"{best:.2f}"]
            else:
                cells += ["", "", ""]
            cells.append(", ".join(f"{z[at - 1]:.1f}" for at in AT if at <= len(z)))
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def demands(found: Found) -> tuple[list[str], bool]:
    """The table, what was demanded of it, and whether all that is met."""
    planted = found.get("planted", {})
    demanded = [one for one in (_against_chance(planted), _against_the_peer(planted)) if one[0]]
    lines = table(found)
    if demanded:
        lines += ["", *(f"- {text}: {'met' if kept else '**not met**'}" for text, kept in demanded)]
    if any(len(records) < SEEDS for proposers in found.values() for records in proposers.values()):
        lines += ["", f"Unfinished: {SEEDS} seeds of each are wanted, so none of this is an answer yet."]
    return lines, all(kept for _, kept in demanded)


def write_page(page: Path, found: Found) -> None:
    """Put table and demands between the marks of the page, and the picture beside it."""
    before, rest = page.read_text("utf-8").split(BEGIN)
    _, after = rest.split(END)
    lines, _ = demands(found)
    page.write_text("\n".join([f"{before}{BEGIN}", *lines, f"{END}{after}"]), "utf-8")
    page.with_suffix(".svg").write_text(draw(_panels(found)), "utf-8")


def curve(records: Sequence[Record], value: Callable[[Record], float]) -> np.ndarray:
    """The best so far after each trial, the median over seeds; who stops early keeps what they had."""
    longest = max(len(one["trials"]) for one in records)
    best = np.zeros((len(records), longest))
    for row, one in zip(best, records, strict=True):
        reached = np.maximum.accumulate([value(trial) for trial in one["trials"]])
        row[: len(reached)], row[len(reached) :] = reached, reached[-1]
    return np.asarray(np.median(best, axis=0))


def strength(trial: Record) -> float:
    return abs(trial["z"] or 0.0)


def likeness(trial: Record) -> float:
    return abs(trial["likeness"])


def _against_chance(planted: Mapping[str, Sequence[Record]]) -> tuple[str, bool]:
    seeds = _shared(planted, "search", "random")
    if not seeds:
        return "", True
    ours, theirs = (median(_until(one) for one in seeds[name]) for name in ("search", "random"))
    text = (
        f"`search` finds the truth (|corr| >= {LIKE:g} in a trial) in at most a third of the trials that `random` "
        f"needs (medians of {len(seeds['search'])} seeds: {_shown(seeds['search'])} and {_shown(seeds['random'])})"
    )
    return text, ours < NEVER and ours <= SHARE * theirs


def _against_the_peer(planted: Mapping[str, Sequence[Record]]) -> tuple[str, bool]:
    seeds = _shared(planted, "search", PEER)
    if not seeds:
        return "", True
    ours, theirs = (sum(_until(one) < NEVER for one in seeds[name]) for name in ("search", PEER))
    text = (
        f"`search` finds it at least as often as gplearn in as many trials ({ours} and {theirs} of {len(seeds[PEER])})"
    )
    return text, ours >= theirs


def _shared(planted: Mapping[str, Sequence[Record]], *names: str) -> dict[str, list[Record]]:
    """The records of those seeds that all of `names` have; empty where there are none."""
    if not all(name in planted for name in names):
        return {}
    both = set.intersection(*({one["seed"] for one in planted[name]} for name in names))
    return {name: [one for one in planted[name] if one["seed"] in both] for name in names} if both else {}


def _until(record: Record) -> float:
    return NEVER if record["found"] is None else record["found"]


def _shown(records: Sequence[Record]) -> str:
    """The median of trials until the truth was found; that of an even number of seeds may lie between two."""
    value = median(_until(one) for one in records)
    return (
        f"more than {min(one['looked'] for one in records if one['found'] is None)}" if value == NEVER else f"{value:g}"
    )


def _ordered(proposers: Mapping[str, Sequence[Record]]) -> list[tuple[str, Sequence[Record]]]:
    first = ["search", "hybrid", "llm", "random", PEER]
    return [(name, proposers[name]) for name in first if name in proposers]


def _counts(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]} trials"


def _panels(found: Found) -> list[Panel]:
    wanted = [
        ("planted", "best |corr| to the truth, planted", likeness),
        ("planted", "best |z|, planted", strength),
        ("real", "best |z|, us431", strength),
    ]
    return [
        Panel(title, {name: curve(records, value) for name, records in _ordered(found[market])})
        for market, title, value in wanted
        if market in found
    ]
