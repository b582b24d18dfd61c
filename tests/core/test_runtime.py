"""Clock and rng are passed in and repeatable."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from alphaswarm.core import FixedClock, SystemClock, make_rng


def test_fixed_clock_moves_only_when_told() -> None:
    clock = FixedClock(datetime(2024, 1, 1, tzinfo=UTC))
    start = clock.monotonic()
    assert clock.now() == clock.now()
    clock.advance(1.5)
    assert clock.now() == datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=1.5)
    assert clock.monotonic() - start == 1.5


def test_system_clock_is_utc() -> None:
    clock = SystemClock()
    assert clock.now().tzinfo is UTC
    assert clock.monotonic() <= clock.monotonic()


def test_rng_depends_on_seed_and_names_only() -> None:
    first = make_rng(7, "propose", 3).integers(0, 1 << 60, 4).tolist()
    make_rng(7, "other").random(100)
    assert make_rng(7, "propose", 3).integers(0, 1 << 60, 4).tolist() == first
    others = [make_rng(8, "propose", 3), make_rng(7, "propose", 4), make_rng(7, "propose")]
    assert all(rng.integers(0, 1 << 60, 4).tolist() != first for rng in others)
    # pinned: a resumed run on another machine must draw the same
    assert first == PINNED


PINNED = [44795973765634303, 1131400794975783532, 451454709917832912, 372189612251067441]
