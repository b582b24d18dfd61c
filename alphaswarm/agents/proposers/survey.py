"""Every operator on every field: the map on which a search looks where it has not been.

One operator deep, over a few windows, and over what prices and volumes did in a day where that says more than their
level. Which of these are worth a trial is for the search to say; many rank alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, permutations, product

from alphaswarm.core.errors import ExpressionError
from alphaswarm.dsl import Expr, Operator, call, field, group, number, operators, parse

__all__ = ["DULL", "survey", "useful"]

# Their values on returns or volumes say nothing, or only restate another operator.
DULL = frozenset({"adv", "ceil", "clip", "cs_bucket", "eq", "exp", "fill", "floor", "is_nan", "ne", "pow", "round"})
# They leave the order within a day as it is, or change it at its ends only.
FLAT = frozenset(
    {"cs_demean", "cs_mad_clip", "cs_quantile_clip", "cs_quantile_transform", "cs_rank", "cs_rank01", "cs_scale"}
    | {"cs_winsorize", "cs_zscore", "group_count", "group_sum", "hump", "ts_backfill", "group_backfill"}
)
# Of the operators that go cell by cell, what two fields make together.
TOGETHER = ("div", "mul")
WINDOWS, PAIR_WINDOWS, LAGS = (5, 10, 20, 60), (10, 40), (1, 5, 20)
SHARE = 0.25  # where an operator asks for a number
# What happened in a day, where the panel has the fields.
DAILY = ("abs(returns)", "close / open", "high / low", "log_return(dollar_volume, 1)", "log_return(volume, 1)")


def useful() -> list[str]:
    """The operators that a search may use, in order."""
    return sorted(set(operators()) - DULL)


@lru_cache(maxsize=8)
def survey(fields: tuple[str, ...], groups: tuple[str, ...]) -> tuple[Expr, ...]:
    """Formulas of one operator over `fields` (and what prices and volumes did in a day), each once."""
    table = operators()
    found: dict[str, Expr] = {}
    for name in useful():
        for formula in _of(table[name], fields, groups):
            found.setdefault(formula.digest, formula)
    return tuple(found.values())


def _of(operator: Operator, fields: tuple[str, ...], groups: tuple[str, ...]) -> Iterator[Expr]:
    kinds = [slot.kind.name for slot in operator.slots]
    series = kinds.count("SERIES")
    plain = [field(name) for name in sorted(fields)]
    if "CONDITION" in kinds or operator.name in FLAT or operator.result.name == "CONDITION":
        return
    if operator.family.name == "ELEMENT" and operator.name not in TOGETHER:
        if operator.name == "neg":
            yield from plain
        return
    daily = [formula for formula in map(parse, DAILY) if set(formula.fields) <= set(fields)]
    inputs = [(one,) for one in plain + daily] if series == 1 else list(permutations(plain, 2))
    if operator.commutative:
        inputs = list(combinations(plain, 2))
    if series > 2 or not series:
        return
    literals = [_literals(operator, place, groups, pairs=series > 1) for place in range(series, len(kinds))]
    for inside, rest in product(inputs, product(*literals)):
        try:
            yield call(operator.name, *inside, *rest)
        except ExpressionError:  # a window below what the operator needs
            continue


def _literals(operator: Operator, place: int, groups: tuple[str, ...], *, pairs: bool) -> list[Expr]:
    slot = operator.slots[place]
    match slot.kind.name:
        case "WINDOW":
            return [number(rows) for rows in (PAIR_WINDOWS if pairs else WINDOWS) if rows >= operator.minimum]
        case "LAG":
            return [number(rows) for rows in LAGS]
        case "GROUP":
            return [group(name) for name in sorted(groups)]
        case "INTEGER":
            return [number(max(slot.low, 3))]
        case _:
            return [number(SHARE if slot.low < SHARE < slot.high else max(slot.low, 1))]
