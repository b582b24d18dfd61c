"""Everything that the grammar of replies allows is an expression of the language."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from alphaswarm.agents.gbnf import reply_grammar, words_grammar
from alphaswarm.agents.proposers.prompt import REPLY_SCHEMA
from alphaswarm.core import make_rng
from alphaswarm.dsl import operators, parse

FIELDS = ("close", "dollar_volume", "returns")


def rules_of(grammar: str) -> dict[str, str]:
    return dict(line.split(" ::= ", 1) for line in grammar.splitlines())


def split(text: str) -> list[str]:
    """Tokens of a right-hand side: literals, ranges with counts, names, signs."""
    return re.findall(r'"(?:\\.|[^"\\])*"|\[[^\]]*\]\{\d+,\d+\}|[a-z][a-z0-9-]*|[()|]', text)


def generate(rules: dict[str, str], rng: np.random.Generator, name: str = "root") -> str:
    """A random word of the grammar: a plain reading of GBNF, apart from any server's."""

    def choice(tokens: list[str]) -> tuple[list[list[str]], list[str]]:
        options: list[list[str]] = [[]]
        while tokens and tokens[0] != ")":
            sign, tokens = tokens[0], tokens[1:]
            if sign == "|":
                options.append([])
            elif sign == "(":
                inner, rest = choice(tokens)
                tokens = rest[1:]
                options[-1].append("\0".join(inner[int(rng.integers(len(inner)))]))
            else:
                options[-1].append(sign)
        return options, tokens

    options, _ = choice(split(rules[name]))
    made = []
    for token in [part for item in options[int(rng.integers(len(options)))] for part in item.split("\0")]:
        if token.startswith('"'):
            made.append(json.loads(token))
        elif token.startswith("["):
            made.append("some words, as they come")
        else:
            made.append(generate(rules, rng, token))
    return "".join(made)


@pytest.mark.parametrize("groups", [(), ("sector",)])
def test_whatever_it_allows_parses(groups: tuple[str, ...]) -> None:
    rules = rules_of(reply_grammar(FIELDS, groups, refines=["ab12", "cd34"]))
    rng = make_rng(5, "grammar")
    used: set[str] = set()
    said: dict[str, set[object]] = {name: set() for name in ("sign", "horizon", "refines")}
    for _ in range(1500):
        reply = json.loads(generate(rules, rng))
        assert list(reply) == list(REPLY_SCHEMA["properties"])
        assert (type(reply["horizon"]), reply["program"]) == (int, "")
        for name, values in said.items():
            values.add(reply[name])
        expression = parse(reply["expression"])
        assert set(expression.fields) <= set(FIELDS)
        assert set(expression.groups) <= set(groups)
        assert expression.kind == "call"
        used |= {node.op for node in expression.walk() if node.kind == "call"}
    assert len(used) >= 50
    assert ("group_neutralize" in used) == bool(groups)
    assert said["sign"] == set(REPLY_SCHEMA["properties"]["sign"]["enum"])
    assert said["refines"] == {"", "ab12", "cd34"}
    assert len(said["horizon"]) > 3


def test_words_are_an_object_of_texts() -> None:
    rules = rules_of(words_grammar(["critique", "advice"]))
    made = json.loads(generate(rules, make_rng(5, "grammar")))
    assert list(made) == ["critique", "advice"]


def test_every_rule_is_there_and_used() -> None:
    rules = rules_of(reply_grammar(FIELDS, ("sector",)))
    named = {name for text in rules.values() for name in re.findall(r"[a-z][a-z0-9-]*", "".join(split_names(text)))}
    assert named == set(rules) - {"root"}


def split_names(text: str) -> list[str]:
    return [f" {token} " for token in split(text) if token[0].isalpha()]


def test_the_outermost_operator_can_be_chosen() -> None:
    rng = make_rng(6, "grammar")
    rules = rules_of(reply_grammar(FIELDS, first=["ts_std", "ceil", "decay_linear", "no_such"]))
    made = [parse(json.loads(generate(rules, rng))["expression"]) for _ in range(200)]
    assert {expression.op for expression in made} == {"ts_std", "decay_linear"}
    assert len({node.op for expression in made for node in expression.walk()}) > 30
    assert reply_grammar(FIELDS, first=["ceil"]) == reply_grammar(FIELDS)


def test_it_speaks_of_the_table_and_the_panel_only() -> None:
    grammar = reply_grammar(("x",))
    words = set(re.findall(r'"([a-z_][a-z0-9_]*)"', grammar))
    assert words - set(operators()) == {"x"}
    assert len(grammar) < 10_000
