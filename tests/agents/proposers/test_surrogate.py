"""The guess and the choice: against the formulas of the textbook, and on directions where the answer is plain."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.agents.proposers.surrogate import (
    LOOKING,
    SAME_IDEA,
    UNEXPLAINED,
    Map,
    _Model,
    choose,
    promising,
)

D = 40


def directions(count: int, seed: int = 1) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((count, D))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def test_the_guess_is_that_of_the_textbook() -> None:
    tried, offered = directions(6), directions(9, seed=2)
    evidence = np.array([3.0, -1.0, 2.0, 0.5, -4.0, 1.0])
    model = _Model(tried, evidence, offered)
    known = np.linalg.inv(tried.astype(float) @ tried.T + UNEXPLAINED * np.eye(6))
    cross = offered.astype(float) @ tried.T
    np.testing.assert_allclose(model.guess, cross @ known @ evidence, atol=1e-6)
    np.testing.assert_allclose(model.doubt, 1 - np.einsum("ij,jk,ik->i", cross, known, cross), atol=1e-6)
    assert model.scale == pytest.approx(np.sqrt(np.mean(evidence**2)))


def test_foreseeing_is_knowing_that_one_more_is_tried() -> None:
    tried, offered = directions(6), directions(9, seed=2)
    model = _Model(tried, np.ones(6), offered)
    nearness = model.foresee(4)
    np.testing.assert_allclose(nearness, offered @ offered[4], atol=1e-6)
    after = _Model(np.vstack([tried, offered[4:5]]), np.ones(7), offered)
    np.testing.assert_allclose(model.doubt, after.doubt, atol=1e-6)


def test_nothing_promising_looks_round() -> None:
    """Two crowds of formulas and a loner: each crowd is asked once, the larger one first."""
    crowd, second, loner = np.eye(D, dtype=np.float32)[:3]
    jitter = 0.15 * directions(12, seed=3)
    rows = np.vstack([crowd + jitter[:7], second + jitter[7:], loner[None]])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    known = Map.of(rows, np.zeros((0, D), np.float32))
    chosen = choose(known, np.zeros((0, D), np.float32), np.zeros(13), np.zeros((0, D), np.float32), np.zeros(0), 3)
    assert [0 if place < 7 else 1 if place < 12 else 2 for place in chosen] == [0, 1, 2]


def test_evidence_is_followed_once_it_is_strong() -> None:
    truth = directions(1)[0]
    far = directions(60, seed=4)
    near = (truth + 0.6 * directions(5, seed=5)) / 1.0
    near = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)
    tried = np.vstack([near[:1], far[:20]])
    known = Map.of(far[20:], np.zeros((0, D), np.float32))
    for t, least in ((promising(21) + 4.0, 5 - LOOKING), (promising(21) - 1.0, 0)):
        evidence = t * (tried @ truth).astype(float)
        evidence[0] = t
        chosen = choose(known, near[1:], np.zeros(44), tried, evidence, 5)
        assert sum(place >= 40 for place in chosen) >= least
        assert sum(place < 40 for place in chosen) >= 5 - least - 1


def test_the_sign_of_evidence_does_not_matter() -> None:
    tried, bred = directions(8), directions(10, seed=6)
    known = Map.of(directions(20, seed=7), directions(5, seed=8))
    evidence = np.linspace(-6, 5, 8)
    assert choose(known, bred, np.zeros(30), tried, evidence, 5) == choose(
        known, bred, np.zeros(30), tried, -evidence, 5
    )


def test_what_is_near_unknown_or_not_on_offer_is_not_chosen() -> None:
    base = directions(6)
    twin = base[:1] + 0.001 * directions(1, seed=9)
    twin /= np.linalg.norm(twin)
    assert float(twin[0] @ base[0]) > SAME_IDEA
    known = Map.of(base, np.zeros((0, D), np.float32))
    bred = np.vstack([twin, np.zeros((1, D))]).astype(np.float32)
    cost = np.zeros(8)
    cost[3] = np.inf
    chosen = choose(known, bred, cost, base[:1], np.array([9.0]), 10)
    assert sorted(chosen) == [1, 2, 4, 5]
    assert choose(known, bred, np.full(8, np.inf), base[:1], np.array([9.0]), 10) == []


def test_long_formulas_pay() -> None:
    tried, bred = directions(1), directions(2, seed=11)
    known = Map.of(directions(1, seed=12), np.zeros((0, D), np.float32))
    evidence = np.array([8.0])
    free = choose(known, bred, np.zeros(3), tried, evidence, 3)
    winner = free[-1] if len(free) == 2 else free[LOOKING - 1]
    assert winner >= 1
    cost = np.zeros(3)
    cost[winner] = 50.0
    assert choose(known, bred, cost, tried, evidence, 3)[1] != winner


def test_more_trials_make_more_luck() -> None:
    assert promising(0) == promising(100) == 3.5
    assert promising(300) == pytest.approx(3.76, abs=0.005)
