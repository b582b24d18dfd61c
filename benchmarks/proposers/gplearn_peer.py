"""gplearn on a panel. Runs in an environment of its own and knows nothing of ours.

    python gplearn_peer.py IN.npz OUT.json

IN holds `fields` [F, T, N] of the search window and what lies before it, their `names`, `label` [T, N] (what a
formula is to predict; NaN where nothing is asked), `seed`, `population` and `generations`. OUT gets the text of every
program in the order in which gplearn made them, in a common notation.

As it ships gplearn works cell by cell; a formula over time is given to it by `make_function`, as its users do. The
samples are the cells of the panel, row by row, so that a function can shape them back.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bottleneck as bn
import numpy as np
from gplearn.fitness import make_fitness
from gplearn.functions import make_function
from gplearn.genetic import SymbolicRegressor, _Program

Array = np.ndarray
WINDOWS, PAIR_WINDOWS, LAGS = (3, 5, 10, 20, 60), (5, 10, 20, 40), (1, 5, 20)
# Rows of the label overlap for as long as it looks ahead; these do not.
EVERY = 5
LEAST_NAMES = 30
# Not gplearn's defaults: trees as deep as the truths may be, and variety for a small population.
DEPTHS, TOURNAMENT = (2, 4), 5


def over_time(shape: tuple[int, int], work: Callable[..., Array], arity: int) -> Callable[..., Array]:
    """`work` on [T, N] as a function of flat samples; what is no panel (gplearn tries functions so) comes back.

    gplearn counts the arguments of the code that it is handed.
    """

    def flat(*given: Array) -> Array:
        if given[0].size != shape[0] * shape[1]:
            return np.nan_to_num(given[0])
        with np.errstate(all="ignore"):
            found = work(*(np.ascontiguousarray(one.reshape(shape)) for one in given))
        return np.where(np.isfinite(found), found, np.nan).ravel()

    return (lambda x: flat(x)) if arity == 1 else (lambda x, y: flat(x, y))


def shifted(values: Array, lag: int) -> Array:
    return np.vstack([np.full((lag, values.shape[1]), np.nan), values[:-lag]])


def correlated(one: Array, other: Array, window: int) -> Array:
    def mean(values: Array) -> Array:
        return bn.move_mean(values, window, axis=0)

    spread = bn.move_std(one, window, axis=0) * bn.move_std(other, window, axis=0)
    return (mean(one * other) - mean(one) * mean(other)) / spread


def functions(shape: tuple[int, int]) -> dict[str, Any]:
    """What gplearn may use, by name; each with the text of what it computes, {0} and {1} being its arguments."""
    found: dict[str, Any] = {}

    def add(name: str, text: str, arity: int, work: Callable[..., Array]) -> None:
        found[name] = text, make_function(function=over_time(shape, work, arity), name=name, arity=arity)

    add("plus", "({0} + {1})", 2, np.add)
    add("minus", "({0} - {1})", 2, np.subtract)
    add("times", "({0} * {1})", 2, np.multiply)
    add("over", "({0} / {1})", 2, np.divide)
    add("negative", "(-{0})", 1, np.negative)
    add("absolute", "abs({0})", 1, np.abs)
    add("logarithm", "log({0})", 1, np.log)
    add("rank", "cs_rank({0})", 1, lambda x: bn.nanrankdata(x, axis=1))
    moving = {"mean": bn.move_mean, "std": bn.move_std, "max": bn.move_max, "min": bn.move_min, "rank": bn.move_rank}
    for kind, move in moving.items():
        for d in WINDOWS:
            add(f"{kind}_{d}", f"ts_{kind}({{0}}, {d})", 1, lambda x, move=move, d=d: move(x, d, axis=0))
    for d in PAIR_WINDOWS:
        add(f"corr_{d}", f"ts_corr({{0}}, {{1}}, {d})", 2, lambda x, y, d=d: correlated(x, y, d))
    for d in LAGS:
        add(f"delay_{d}", f"delay({{0}}, {d})", 1, lambda x, d=d: shifted(x, d))
        add(f"delta_{d}", f"delta({{0}}, {d})", 1, lambda x, d=d: x - shifted(x, d))
    return found


def strength(label: Array) -> Callable[[Array, Array, Array], float]:
    """|t| of the daily correlation of ranks with `label` [T, N], over rows that don't overlap."""
    rows = np.flatnonzero(np.isfinite(label).any(axis=1))[::EVERY]
    wanted = label[rows]

    def metric(_: Array, predicted: Array, __: Array) -> float:
        if predicted.size != label.size:
            return 0.0
        values = predicted.reshape(label.shape)[rows]
        both = np.isfinite(values) & np.isfinite(wanted)
        ranks = bn.nanrankdata(np.where(both, values, np.nan), axis=1)
        target = np.where(both, wanted, np.nan)
        with np.errstate(all="ignore"):
            ranks = ranks - bn.nanmean(ranks, axis=1)[:, None]
            target = target - bn.nanmean(target, axis=1)[:, None]
            size = np.sqrt(bn.nansum(ranks**2, axis=1) * bn.nansum(target**2, axis=1))
            daily = bn.nansum(ranks * target, axis=1) / size
        daily = daily[np.isfinite(daily) & (both.sum(axis=1) >= LEAST_NAMES)]
        if daily.size < 2 or daily.std() == 0.0:
            return 0.0
        return float(abs(daily.mean()) / daily.std(ddof=1) * np.sqrt(daily.size))

    return metric


def text_of(program: list[Any], names: list[str], texts: dict[str, str]) -> str:
    """A program, which is a list in prefix order, in the common notation."""

    def read(nodes: Iterator[Any]) -> str:
        node = next(nodes)
        if isinstance(node, int):
            return names[node]
        return texts[node.name].format(*(read(nodes) for _ in range(node.arity)))

    return read(iter(program))


def written_down(kept: list[list[Any]]) -> None:
    """Have every program kept when it is judged: gplearn forgets those without children."""
    judge = _Program.raw_fitness

    def raw_fitness(program: Any, *given: Any) -> float:
        kept.append(list(program.program))
        return judge(program, *given)

    _Program.raw_fitness = raw_fitness


def main() -> None:
    given, wanted = sys.argv[1:]
    made: list[list[Any]] = []
    written_down(made)
    with np.load(given) as asked:
        fields, label = asked["fields"], asked["label"]
        names = asked["names"].tolist()
        seed, population, generations = (int(asked[name]) for name in ("seed", "population", "generations"))
    known = functions(label.shape)
    learner = SymbolicRegressor(
        population_size=population,
        generations=generations,
        tournament_size=TOURNAMENT,
        init_depth=DEPTHS,
        const_range=None,
        function_set=[function for _, function in known.values()],
        metric=make_fitness(function=strength(label), greater_is_better=True),
        stopping_criteria=np.inf,
        random_state=seed,
    )
    samples = np.nan_to_num(fields.reshape(len(names), -1).T)
    learner.fit(samples, np.nan_to_num(label).ravel())
    texts = {name: text for name, (text, _) in known.items()}
    Path(wanted).write_text(json.dumps([text_of(one, names, texts) for one in made]), "utf-8")


if __name__ == "__main__":
    main()
