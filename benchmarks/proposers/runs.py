"""One search of one proposer on one market: what each trial showed, in order."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from alphaswarm.agents import ProposalRequest, make_proposer
from alphaswarm.agents.proposers.random import RandomProposer
from alphaswarm.core import AlphaSwarmError, EvidenceInvalid, ExpressionError, Panel
from alphaswarm.dsl import evaluate, parse
from alphaswarm.evaluation import Evaluator, default_windows
from alphaswarm.evaluation.residual import Exposures
from benchmarks.truth.markets import named
from benchmarks.truth.research import HORIZON, PANEL, project, researched
from benchmarks.truth.rows import real_panel
from benchmarks.truth.truths import likeness, planted_market, rank_correlation

__all__ = ["MARKETS", "PEER", "Market", "Size", "run_one"]

PEER = "gplearn"
# Generations of the peer: enough for the budget even where it repeats itself.
POPULATION, SPARE = 60, 3
LIKE = 0.5
TRIES = 100

Record = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """How large markets and searches are; the published table is made at the default."""

    days: int = 1500
    names: int = 500
    ic: float = 0.03
    planted: int = 300
    real: int = 100
    # Trials that chance is given to find the truth, beyond the budget: nothing is measured of them but likeness.
    patience: int = 1000


@dataclass(frozen=True)
class Market:
    """Where the proposers compete.

    Attributes:
        title: in the table.
        make: the panel of a seed; its meta says what was planted, if anything was.
        budget: trials of a search.
    """

    title: str
    make: Callable[[int, Size], Panel]
    budget: Callable[[Size], int]


@lru_cache(maxsize=1)
def needs_a_formula(seed: int, size: Size) -> Panel:
    """The first planted market of this seed whose truth ranks unlike every field.

    A drawn formula often ranks like the price itself. Whoever draws finds that at once, and it says nothing.
    """
    for attempt in range(TRIES):
        panel = planted_market(seed * TRIES + attempt, days=size.days, names=size.names, ic=size.ic)
        truth = evaluate(panel.meta["planted"]["expression"], panel)
        if likeness(truth, list(panel.fields.values())) < LIKE:
            return panel
    raise EvidenceInvalid(f"none of {TRIES} truths drawn for seed {seed} is unlike every field")


MARKETS = {
    "planted": Market("planted IC 0.03, 500 names x 1500 days", needs_a_formula, lambda size: size.planted),
    "real": Market("us431", lambda _seed, _size: real_panel(), lambda size: size.real),
}


def run_one(market: str, proposer: str, seed: int, path: str, oracles: str, size: Size = Size()) -> float:
    """Run one search and keep what it showed; whole or not at all. CPU seconds, those of a peer not counted."""
    began = time.process_time()
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    panel = named(MARKETS[market].make(seed, size), PANEL)
    budget = MARKETS[market].budget(size)
    if proposer == PEER:
        trials = _gplearn(panel, seed, budget, oracles)
    else:
        trials = _searched(panel, proposer, seed, budget, place.with_suffix(".llm"))
    truth = panel.meta.get("planted", {}).get("expression")
    record: Record = {"market": market, "proposer": proposer, "seed": seed, "truth": truth}
    if truth:
        values = evaluate(truth, panel)
        for trial in trials:
            trial["likeness"] = _likeness_of(trial["expression"], panel, values)
        record["found"] = next((n for n, one in enumerate(trials, 1) if abs(one["likeness"]) >= LIKE), None)
        record["looked"] = len(trials)
        if proposer == "random" and record["found"] is None:
            record |= _drawn_on(panel, values, seed, trials, size.patience)
    spent = time.process_time() - began
    record |= {"trials": trials, "cpu": round(spent, 1)}
    half = place.with_suffix(".half")
    half.write_text(json.dumps(record), "utf-8")
    half.replace(place)
    return spent


def _searched(panel: Panel, name: str, seed: int, budget: int, directory: Path) -> list[Record]:
    """Trials of a run as `alphaswarm agent run` makes it, without its verdicts."""
    with project(panel) as workspace:
        _, outcome = researched(
            workspace, name, lambda _: make_proposer(name, os.environ, directory), seed=seed, budget=budget
        )
    return [
        {
            "expression": one.get("expression", one["text"]),
            "z": (one.get("metrics") or {}).get("evidence_z"),
            "source": one["source"],
        }
        for one in outcome["candidates"]
    ]


def _gplearn(panel: Panel, seed: int, budget: int, python: str) -> list[Record]:
    """Trials of gplearn on the search window: as many distinct formulas as the others are given, measured as theirs.

    It is told what our own evidence is about: the part of returns that common risks leave, by volatility.
    """
    evaluator = _evaluator(panel)
    seen = evaluator.panel
    label = np.full(seen.shape, np.nan)
    label[evaluator.rows] = evaluator.per_risk[HORIZON]
    names = sorted(seen.fields)
    with tempfile.TemporaryDirectory() as directory:
        given, wanted = Path(directory) / "in.npz", Path(directory) / "out.json"
        np.savez(
            given,
            fields=np.stack([seen[name] for name in names]),
            names=names,
            label=label,
            seed=seed,
            population=POPULATION,
            generations=SPARE * -(-budget // POPULATION),
        )
        script = Path(__file__).with_name("gplearn_peer.py")
        subprocess.run([python, str(script), str(given), str(wanted)], check=True, stdout=sys.stderr)
        texts = json.loads(wanted.read_text("utf-8"))
    trials: list[Record] = []
    had: set[str] = set()
    for text in texts:
        try:
            parsed = parse(text)
        except ExpressionError:  # no field is left in it, or it is too large
            key, z = text, None
        else:
            key = parsed.digest
            z = None if key in had else evaluator.evidence(evaluate(parsed, seen)).evidence_z
        if key not in had:
            had.add(key)
            trials.append({"expression": text, "z": z, "source": PEER})
        if len(trials) == budget:
            break
    return trials


@lru_cache(maxsize=1)
def _evaluator(panel: Panel) -> Evaluator:
    window = default_windows(PANEL, panel).search
    seen = panel.head(window.rows(panel.dates).stop)
    return Evaluator(seen, window, horizon=HORIZON, exposures=Exposures.of(seen))


def _likeness_of(text: str, panel: Panel, truth: np.ndarray) -> float:
    try:
        return rank_correlation(evaluate(text, panel), truth)
    except AlphaSwarmError:  # no formula: a trial all the same
        return 0.0


def _drawn_on(
    panel: Panel, truth: np.ndarray, seed: int, trials: Sequence[Mapping[str, Any]], patience: int
) -> dict[str, int | None]:
    """How long chance, which learns nothing from evidence, would go on until it finds the truth."""
    history = [{"digest": _digest(one["expression"])} for one in trials]
    proposer, count = RandomProposer(), len(trials)
    fields = tuple(sorted({*panel.fields, "returns"}))
    for round_ in range(count // proposer.batch + 1, patience):
        request = ProposalRequest(
            seed=seed,
            round=round_,
            count=proposer.batch,
            fields=fields,
            groups=tuple(sorted(panel.groups)),
            rows=panel.shape[0],
            horizon=HORIZON,
            history=tuple(history),
        )
        for proposal in asyncio.run(proposer.propose(request)):
            count += 1
            if abs(_likeness_of(proposal.expression, panel, truth)) >= LIKE:
                return {"found": count, "looked": count}
            if count == patience:
                return {"found": None, "looked": count}
            history.append({"digest": _digest(proposal.expression)})
    return {"found": None, "looked": count}


def _digest(text: str) -> str:
    try:
        return parse(text).digest
    except ExpressionError:
        return text
