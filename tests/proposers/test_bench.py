"""The bench of proposers, small: a search and a draw on a small market, and what is made of results."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from alphaswarm.core import Panel
from alphaswarm.data.synthetic import synthetic_dates
from alphaswarm.dsl import evaluate, parse
from benchmarks.proposers import page, runs
from benchmarks.proposers.picture import Panel as Plot
from benchmarks.proposers.picture import draw
from benchmarks.truth.truths import likeness

PYTHON = Path(__file__).parents[2] / ".oracles" / "bin" / "python"
SMALL = runs.Size(days=900, names=100, ic=0.06, planted=15, patience=25)

needs_oracles = pytest.mark.skipif(not PYTHON.exists(), reason="needs the environment of benchmarks/oracles.txt")


def run(proposer: str, directory: Path) -> dict[str, Any]:
    place = directory / "planted" / proposer / "3.json"
    runs.run_one("planted", proposer, 3, str(place), str(PYTHON), SMALL)
    assert not list(directory.rglob("*.half"))
    return json.loads(place.read_text("utf-8"))


def test_a_search_is_kept_trial_by_trial(tmp_path: Path) -> None:
    record = run("search", tmp_path)
    assert len(record["trials"]) == record["looked"] == SMALL.planted
    assert [one["source"].split(":")[0] for one in record["trials"]] == ["known"] * 10 + ["search"] * 5
    assert max(abs(one["z"] or 0.0) for one in record["trials"]) > 0.0
    assert record["found"] in {None, *range(10, 16)}  # the published are unlike every truth, but for the drift it adds
    assert list(page.read(tmp_path)["planted"]) == ["search"]


def test_chance_goes_on_until_it_finds_the_truth(tmp_path: Path) -> None:
    record = run("random", tmp_path)
    assert len(record["trials"]) == SMALL.planted
    assert record["looked"] == SMALL.patience or record["found"] == record["looked"] or record["found"] <= 15
    digests = {parse(one["expression"]).digest for one in record["trials"]}
    assert len(digests) == SMALL.planted


def test_a_truth_needs_a_formula() -> None:
    panel = runs.needs_a_formula(3, SMALL)
    assert panel.digest == runs.needs_a_formula(3, SMALL).digest
    truth = evaluate(panel.meta["planted"]["expression"], panel)
    assert likeness(truth, [panel[name] for name in ("open", "close", "volume", "returns")]) < runs.LIKE


@pytest.mark.oracles
@needs_oracles
def test_gplearn_makes_as_many_different_trials(tmp_path: Path) -> None:
    record = run("gplearn", tmp_path)
    assert len(record["trials"]) == SMALL.planted
    assert sum(one["z"] is not None for one in record["trials"]) > SMALL.planted / 2


@pytest.mark.oracles
@needs_oracles
def test_functions_of_gplearn_compute_what_their_text_says(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    fields = {name: rng.standard_normal((150, 8)) for name in ("close", "volume")}
    script = (
        "import sys, numpy as np; sys.path.insert(0, sys.argv[1]); import gplearn_peer as peer\n"
        "given = np.load(sys.argv[2]); one, other = given['close'], given['volume']\n"
        "known = peer.functions(one.shape)\n"
        "values = {n: f(*[one.ravel(), other.ravel()][:f.arity]).reshape(one.shape) for n, (t, f) in known.items()}\n"
        "np.savez(sys.argv[3], **values, **{'text ' + n: t for n, (t, f) in known.items()})"
    )
    given, wanted = tmp_path / "in.npz", tmp_path / "out.npz"
    np.savez(given, **fields)
    subprocess.run([PYTHON, "-c", script, Path(runs.__file__).parent, given, wanted], check=True)
    panel = Panel.from_arrays(fields, synthetic_dates(150), [f"s{n}" for n in range(8)])
    with np.load(wanted) as found:
        names = [name for name in found if not name.startswith("text ")]
        assert len(names) == 8 + 25 + 4 + 6
        for name in names:
            text = str(found[f"text {name}"]).format("close", "volume")
            ours, theirs = evaluate(text, panel), found[name]
            both = np.isfinite(ours) & np.isfinite(theirs)
            assert both.sum() >= min(np.isfinite(ours).sum(), np.isfinite(theirs).sum()) > 0, name
            order = [np.corrcoef(a[m], b[m])[0, 1] for a, b, m in zip(ours, theirs, both, strict=True) if m.sum() > 2]
            assert min(order) > 1 - 1e-6, name


def record(found: int | None, looked: int = 300, seed: int = 0, truth: str | None = "x") -> dict[str, Any]:
    trials = [{"z": z, "likeness": corr} for z, corr in ((1.0, 0.1), (-4.0, -0.7), (None, 0.0))]
    return {"seed": seed, "truth": truth, "found": found, "looked": looked, "trials": trials}


def found_in(*counts: int | None, looked: int = 300) -> list[dict[str, Any]]:
    return [record(count, looked, seed) for seed, count in enumerate(counts)]


@pytest.mark.parametrize(
    ("search", "chance", "met"),
    [
        (found_in(40, 60, 50), found_in(100, 150, 700), True),
        (found_in(40, 60, 51), found_in(100, 150, 700), False),
        (found_in(40, None, 50), found_in(100, None, None, looked=1000), True),
        (found_in(None, None, 50), found_in(None, None, None, looked=1000), False),
    ],
)
def test_the_demand_against_chance(search: Any, chance: Any, met: bool) -> None:
    lines, kept = page.demands({"planted": {"search": search, "random": chance}})
    assert kept is met
    assert lines[-3].endswith(": met" if met else ": **not met**")
    assert lines[-1].startswith("Unfinished: 10 seeds")
    whole = {"search": found_in(*range(40, 50)), "random": found_in(*range(400, 410))}
    assert page.demands({"planted": whole})[0][-1].endswith(": met")


def test_the_demand_against_gplearn() -> None:
    assert page.demands({"planted": {"search": found_in(40, None), "gplearn": found_in(2, None)}})[1] is True
    assert page.demands({"planted": {"search": found_in(40, None), "gplearn": found_in(2, 3)}})[1] is False
    only_shared = {"search": found_in(40), "gplearn": found_in(2, 3)}
    assert page.demands({"planted": only_shared})[1] is True


def test_the_page_and_its_picture(tmp_path: Path) -> None:
    results = {
        "planted": {"random": found_in(None, looked=1000), "search": found_in(2), "gplearn": found_in(3)},
        "real": {"search": [record(None, truth=None)]},
    }
    place = tmp_path / "proposers.md"
    place.write_text(f"above\n{page.BEGIN}\nold\n{page.END}\nbelow\n", "utf-8")
    page.write_page(place, results)
    text = place.read_text("utf-8")
    assert text.startswith(f"above\n{page.BEGIN}\n| market |")
    assert text.endswith(f"an answer yet.\n{page.END}\nbelow\n")
    assert "| `random` | 1 | 0 of 1 | more than 1000 | 0.70 |" in text
    assert text.index("`search`") < text.index("`random`") < text.index("gplearn")
    assert "| us431 | `search` | 1 |  |  |  |" in text
    picture = ElementTree.parse(tmp_path / "proposers.svg")  # noqa: S314 - ours
    assert len(picture.findall(".//{http://www.w3.org/2000/svg}g")) == 3


def test_curves_are_the_best_so_far() -> None:
    both = [record(2), record(2) | {"trials": [{"z": 3.0, "likeness": 0.9}]}]
    assert page.curve(both, page.strength).tolist() == [2.0, 3.5, 3.5]
    assert page.curve(both[:1], page.likeness).tolist() == [0.1, 0.7, 0.7]
    assert draw([Plot("a < b", {"search": np.array([0.5])})]).count("a &lt; b") == 2
