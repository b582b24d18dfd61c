"""What a run is asked: a file, a command line, and which goes first."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from alphaswarm.agents.spec import MAX_INTENTS, RunSpec, read_intents
from alphaswarm.core import SpecInvalid


def test_what_is_given_goes_before_the_file_and_the_file_before_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("budget: 5\nintent: reversal\nproposer: random\napprove: true\n")
    spec = RunSpec.of(path, {"budget": 9})
    assert (spec.budget, spec.intent, spec.proposer, spec.approve) == (9, "reversal", "random", True)
    assert (spec.horizon, spec.seed, spec.panel, spec.mcp) == (5, 0, None, None)
    assert RunSpec.of(None, {}) == RunSpec()
    with pytest.raises(ValidationError):
        spec.budget = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budgets: 5", "budgets: Extra inputs are not permitted; a run's spec may set intent, proposer, budget"),
        ("budget: 0", "budget: Input should be greater than or equal to 1"),
        ("budget: '5'", "budget: Input should be a valid integer"),
        ("seed: true", "seed: Input should be a valid integer"),
        ("- budget", "must be a mapping"),
        ("budget: !!python/object:os.system {}", "plain values only"),
    ],
)
def test_a_spec_that_says_what_can_not_be_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    with pytest.raises(SpecInvalid, match=message):
        RunSpec.of(path, {})


def test_intents_one_a_line(tmp_path: Path) -> None:
    path = tmp_path / "intents.txt"
    path.write_text("# what to look for\nreversal after large moves\n\n  volume that dries up \n")
    assert read_intents(path) == ["reversal after large moves", "volume that dries up"]


@pytest.mark.parametrize("text", ["", "# nothing\n\n", "a\n" * (MAX_INTENTS + 1), "\x00" * (1 << 21)])
def test_no_intents_or_too_many(tmp_path: Path, text: str) -> None:
    path = tmp_path / "intents.txt"
    path.write_text(text)
    with pytest.raises(SpecInvalid, match="must h"):
        read_intents(path)
    with pytest.raises(SpecInvalid, match="can't be read"):
        read_intents(tmp_path / "absent.txt")
