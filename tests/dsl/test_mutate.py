"""Random expressions: sound, within the limits asked for, and the same in every process."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.core import ExpressionError, UnknownName
from alphaswarm.dsl import check, crossover, mutate, parse, random_expr
from alphaswarm.dsl.limits import MAX_DEPTH
from alphaswarm.dsl.operators import OPERATORS

FIELDS = ("close", "open", "returns", "volume")
GROUPS = ("sector",)
seeds = st.integers(0, 2**32)


def rng_of(seed):
    return np.random.default_rng(seed)


@given(seeds, st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_what_is_drawn_is_sound(seed, depth):
    expr = random_expr(rng_of(seed), FIELDS, GROUPS, max_depth=depth)
    assert check(expr) is expr
    assert expr.depth <= depth
    assert set(expr.fields) <= set(FIELDS)
    assert set(expr.groups) <= set(GROUPS)


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_a_mutant_is_sound_and_new(seed):
    rng = rng_of(seed)
    expr = random_expr(rng, FIELDS, GROUPS)
    changed = mutate(expr, rng, FIELDS, GROUPS, max_depth=6)
    assert check(changed) is changed
    assert changed is not expr
    assert changed.depth <= 6


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_a_child_is_sound_and_made_of_its_parents(seed):
    rng = rng_of(seed)
    one, other = (random_expr(rng, FIELDS, GROUPS, max_depth=6) for _ in range(2))
    child = crossover(one, other, rng)
    assert check(child) is child
    assert child.depth <= 8
    assert {node.op for node in child.walk()} <= {node.op for parent in (one, other) for node in parent.walk()}


def test_every_operator_is_drawn_sooner_or_later():
    rng = rng_of(0)
    drawn = {node.op for _ in range(1000) for node in random_expr(rng, FIELDS, GROUPS, max_depth=6).walk()}
    assert drawn - {""} == {row.name for row in OPERATORS.values() if not row.expands}


def test_options_and_constants_are_drawn_too():
    rng = rng_of(0)
    nodes = [node for _ in range(500) for node in random_expr(rng, FIELDS).walk()]
    assert any(node.options for node in nodes)
    assert any(node.kind == "number" and node.value != int(node.value) for node in nodes)


def test_mutation_reaches_every_kind_of_change():
    rng = rng_of(1)
    expr = parse("cs_rank(ts_mean(close, 20) + 0.5) * group_rank(open, sector)")
    mutants = [mutate(expr, rng, FIELDS, ("sector", "industry")) for _ in range(1500)]
    depths = {mutant.depth for mutant in mutants}
    assert min(depths) < expr.depth < max(depths)
    texts = {str(mutant) for mutant in mutants}
    assert any("ts_mean(close, 40)" in text for text in texts)
    assert any("ts_mean(volume, 20)" in text for text in texts)
    assert any("+ 0.25" in text for text in texts)
    assert any("industry" in text for text in texts)
    assert any("group_mean(open, sector)" in text for text in texts)
    assert len(texts) > 150


def mutants_of(text, seed=0, draws=300, **more):
    rng = rng_of(seed)
    return {str(mutate(parse(text), rng, FIELDS, GROUPS, **more)) for _ in range(draws)}


def test_options_are_set_changed_and_dropped():
    texts = mutants_of("ts_mean(close, 20, min_obs=10)")
    assert "ts_mean(close, 20)" in texts
    assert len({text for text in texts if text.startswith("ts_mean(close, 20, min_obs=")}) > 3
    assert any("min_obs" in text for text in mutants_of("ts_mean(close, 20)"))
    assert {"cs_scale(close)", "cs_scale(close, a=3)"} <= mutants_of("cs_scale(close, a=2)")


def test_arguments_come_and_go_where_any_number_is_taken():
    texts = mutants_of("cs_resid(returns, close, volume)")
    assert {"cs_resid(returns, volume)", "cs_resid(returns, close)"} <= texts
    assert any(len(parse(text).args) == 4 for text in texts if text.startswith("cs_resid("))
    assert all(len(parse(text).args) >= 2 for text in texts if text.startswith("cs_resid("))
    assert any(text.startswith("max(close, open, ") for text in mutants_of("max(close, open)"))


def test_a_condition_is_followed_by_conditions():
    texts = mutants_of("ts_count(close > open, 20)", draws=600)
    assert "ts_count(not close > open, 20)" in texts
    assert "ts_count(close <= open, 20)" in texts
    inside = [expr.args[0] for expr in map(parse, texts) if expr.op == "ts_count"]
    assert all(part.condition for part in inside)
    assert {"and", "or", "not", "delay"} <= {part.op for part in inside}


def test_children_put_conditions_where_conditions_stand():
    one, other = parse("ts_count(close > open, 20)"), parse("if_else(volume > 5 and open < 3, returns, close)")
    children = {str(crossover(one, other, rng_of(seed))) for seed in range(80)}
    assert "ts_count(volume > 5 and open < 3, 20)" in children
    assert "ts_count(volume > 5, 20)" in children


def test_groups_of_a_mutant_are_those_it_may_use():
    rng = rng_of(3)
    expr = parse("group_mean(close, industry)")
    assert any("sector" in mutate(expr, rng, FIELDS, GROUPS).groups for _ in range(100))
    assert not any("sector" in mutate(expr, rng, FIELDS).groups for _ in range(100))


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_long_walks_stay_sound(seed):
    rng = rng_of(seed)
    expr = random_expr(rng, FIELDS, GROUPS)
    for _ in range(15):
        expr = mutate(expr, rng, FIELDS, GROUPS, max_depth=6)
        assert check(expr) is expr
        assert parse(str(expr)) is expr


def test_whole_numbers_move_by_one():
    rng = rng_of(2)
    texts = {str(mutate(parse("ts_moment(close, 20, 3)"), rng, FIELDS)) for _ in range(60)}
    assert {"ts_moment(close, 20, 2)", "ts_moment(close, 20, 4)"} <= texts


def test_an_operator_without_a_likeness_stays():
    texts = {str(mutate(parse("ts_beta(close, open, 20)"), rng_of(seed), FIELDS, operators=[])) for seed in range(30)}
    assert all(text in FIELDS or text.startswith("ts_beta(") for text in texts)


def test_one_allowed_operator_is_enough():
    for seed in range(20):
        expr = random_expr(rng_of(seed), ["close"], operators=["ts_mean"], max_depth=4)
        assert {node.op for node in expr.walk()} - {""} == {"ts_mean"}


@pytest.mark.parametrize("operators", [["and"], ["not"], ["group_mean"], []])
def test_where_nothing_can_be_called_a_field_is_left(operators):
    assert str(random_expr(rng_of(0), ["close"], operators=operators)) == "close"


def test_logic_needs_comparisons_to_stand_on():
    drawn = {str(random_expr(rng_of(seed), ["close"], operators=["and", "gt"], max_depth=4)) for seed in range(60)}
    assert any(" and " in text for text in drawn)


def test_a_fresh_draw_where_no_change_is_to_be_found():
    assert mutate(parse("close"), rng_of(0), ["close"], operators=[]) is parse("close")
    assert mutate(parse("close"), rng_of(0), ["open"], operators=[]) is parse("open")


def test_parents_that_do_not_fit_leave_the_first():
    assert crossover(parse("close"), parse("open"), rng_of(0)) is parse("close")
    deep = parse("abs(" * (MAX_DEPTH - 1) + "close" + ")" * (MAX_DEPTH - 1))
    assert crossover(deep, deep, rng_of(0)).depth <= MAX_DEPTH


def test_names_are_checked():
    with pytest.raises(ValueError, match="at least one field"):
        random_expr(rng_of(0), [])
    with pytest.raises(UnknownName, match="ts_mean"):
        random_expr(rng_of(0), ["close"], operators=["ts_maen"])
    with pytest.raises(ExpressionError):
        random_expr(rng_of(0), ["fwd_ret"])
    with pytest.raises(ExpressionError):
        random_expr(rng_of(0), ["Close"])


def test_the_order_of_names_does_not_matter():
    one = [str(random_expr(rng_of(seed), FIELDS, GROUPS)) for seed in range(20)]
    assert one == [str(random_expr(rng_of(seed), list(reversed(FIELDS)), set(GROUPS))) for seed in range(20)]


SCRIPT = """
import numpy as np
from alphaswarm.dsl import crossover, mutate, random_expr
rng = np.random.default_rng(7)
fields, groups = {"close", "open", "returns", "volume"}, {"sector", "industry"}
pool = [random_expr(rng, fields, groups, max_depth=6) for _ in range(40)]
for _ in range(40):
    one, other = pool[int(rng.integers(40))], pool[int(rng.integers(40))]
    print(mutate(one, rng, fields, groups), crossover(one, other, rng), one.digest)
"""


def test_the_hash_seed_of_the_process_does_not_matter():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (0, 1)
    }
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) == 40
