"""The language in words is made from its table and its caps."""

from __future__ import annotations

from itertools import pairwise

from alphaswarm.dsl import check, operators, parse
from alphaswarm.mcp_server.grammar import grammar_text, language_limits, operator_lines


def test_it_names_every_operator_and_every_cap() -> None:
    text = grammar_text()
    for row in operators().values():
        assert f"- {row.signature}: {row.doc}" in text
    for name, cap in {"bytes": 4096, "depth": 32, "nodes": 256, "window": 504, "lookback": 2520}.items():
        assert language_limits()[name] == cap
        assert f"{name} {cap}" in text
    assert len(operator_lines()) == len(operators()) >= 50


def test_the_order_of_infix_signs_is_the_parser_s() -> None:
    line = next(line for line in grammar_text().splitlines() if "loosest first" in line)
    levels = [level.split() for level in line.split(":")[1].split("|")]
    assert levels[0] == ["or"]
    assert levels[1] == ["and"]
    assert levels[-1] == ["**"]
    for loose, tight in pairwise(levels[3:]):
        if "-" in loose + tight and len(loose + tight) == 2:
            continue  # the unary minus has no binary form
        text = f"close {loose[-1]} open {tight[-1]} high"
        assert str(check(parse(text))) == text
