"""How a function becomes a tool."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError

from alphaswarm.core import UnknownName
from alphaswarm.mcp_server.desk import Desk
from alphaswarm.mcp_server.tools import TOOLS
from alphaswarm.mcp_server.tools.base import flat_schema, tool


class Inner(BaseModel):
    title: str = Field(description="a field that is called as a word of the schema language")
    number: float | None = None


class Outer(BaseModel):
    first: Inner
    rest: list[Inner] = []
    by_name: dict[str, Inner] = Field({}, description="kept")


def test_a_flat_schema_has_no_references_and_accepts_the_same() -> None:
    from jsonschema import Draft202012Validator

    schema = Outer.model_json_schema()
    flat = flat_schema(schema, output=True)
    text = json.dumps(flat)
    assert "$ref" not in text
    assert "$defs" not in text
    assert flat["properties"]["first"]["properties"].keys() == {"title", "number"}
    assert flat["properties"]["by_name"]["description"] == "kept"
    assert "title" not in flat, "pydantic's own titles are gone"
    for value in (
        {"first": {"title": "x"}},
        {"first": {"title": "x", "number": None}, "rest": [{"title": 3}]},
        {"first": {}, "by_name": {"a": {"title": "x"}}},
        {},
    ):
        assert Draft202012Validator(schema).is_valid(value) == Draft202012Validator(flat).is_valid(value), value


def test_an_argument_that_may_be_absent_has_the_schema_of_its_value() -> None:
    flat = flat_schema(Inner.model_json_schema())
    assert flat["properties"]["number"] == {"type": "number"}
    assert flat["required"] == ["title"]
    assert flat_schema(Inner.model_json_schema(), output=True)["properties"]["number"] == {"type": ["number", "null"]}


def test_a_schema_that_holds_itself_is_refused() -> None:
    class Node(BaseModel):
        below: list[Node] = []

    Node.model_rebuild(_types_namespace={"Node": Node})
    with pytest.raises((RecursionError, KeyError)):
        flat_schema(Node.model_json_schema())


def test_every_tool_is_named_for_the_strictest_client() -> None:
    names = [TOOLS[identity].name for identity in TOOLS]
    assert len(set(names)) == len(names)
    for identity in TOOLS:
        spec = TOOLS[identity]
        assert re.fullmatch(r"data\.[a-z]+\.[a-z_]+", identity)
        assert re.fullmatch(r"[a-z0-9_]{1,45}", spec.name)
        assert spec.toolset == identity.split(".")[1]


def test_two_tools_can_not_have_one_id() -> None:
    with pytest.raises(ValueError, match="registered already"):
        tool("data.alphas.evaluate", "another", read_only=True)(lambda: None)
    with pytest.raises(UnknownName):
        TOOLS["data.alphas.evalute"]


def test_binding_hides_the_desk_and_forbids_what_is_not_declared() -> None:
    bound = TOOLS["data.alphas.validate"].bind(Desk(lambda: None))
    assert list(bound.parameters["properties"]) == ["expression", "panel", "dialect", "horizon", "novelty"]
    assert bound.parameters["required"] == ["expression"]
    assert bound.parameters["additionalProperties"] is False
    assert bound.title == "data.alphas.validate"
    assert bound.name == "data_alphas_validate"
    assert TOOLS["data.alphas.validate"].bind(Desk(lambda: None), dotted=True).name == "data.alphas.validate"


def test_no_number_is_read_from_text_or_from_a_truth_value() -> None:
    seen = 0
    for identity in TOOLS:
        bound = TOOLS[identity].bind(Desk(lambda: None))
        for name, schema in bound.parameters["properties"].items():
            if schema.get("type") not in {"integer", "number"}:
                continue
            seen += 1
            optional = name not in bound.parameters.get("required", ()) and schema.get("default") is None
            for value in (True, False, "5", "5.0", " 5", *(() if optional else (None,))):
                assert name in refused(bound, {name: value}), f"{identity}: {name}={value!r}"
            for value in (5, 5.0):
                assert name not in refused(bound, {name: value}), f"{identity}: {name}={value!r}"
    assert seen == 18


def refused(bound: Any, arguments: dict[str, Any]) -> set[str]:
    """The arguments that are refused."""
    try:
        bound.fn_metadata.arg_model.model_validate(arguments)
    except ValidationError as error:
        return {str(problem["loc"][0]) for problem in error.errors()}
    return set()


def test_descriptions_are_there_and_short() -> None:
    for identity in TOOLS:
        bound = TOOLS[identity].bind(Desk(lambda: None))
        assert 40 < len(bound.description) < 400
        properties: dict[str, Any] = bound.parameters["properties"]
        for name, schema in properties.items():
            assert schema.get("description"), f"{identity}: {name}"
