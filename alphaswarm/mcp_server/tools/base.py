"""`tool`: how a function becomes a tool, and the one table of all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import MethodType
from typing import Any

from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations
from pydantic import BeforeValidator

from alphaswarm.core.registry import Registry
from alphaswarm.mcp_server.desk import Desk

__all__ = ["NUMBER", "TOOLS", "ToolSpec", "flat_schema", "tool"]

ID_KEY = "alphaswarm/id"


def _number(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError("must be a JSON number")
    return value


# Behind the field of every number: true is not 1 and "5" is not 5; 5.0 is whole, as JSON Schema has it.
NUMBER = BeforeValidator(_number)


@dataclass(frozen=True)
class ToolSpec:
    """A tool as this package knows it; `function` takes the desk first, then its arguments."""

    id: str
    function: Callable[..., Awaitable[Any]]
    description: str
    read_only: bool

    @property
    def name(self) -> str:
        """The id with underscores: some clients hide a whole server for one dot in a name."""
        return self.id.replace(".", "_")

    @property
    def toolset(self) -> str:
        """The middle part of the id."""
        return self.id.split(".")[1]

    def bind(self, desk: Desk, *, dotted: bool = False) -> Tool:
        """The tool as the protocol sees it, at work on `desk`."""
        made = Tool.from_function(
            MethodType(self.function, desk),
            name=self.id if dotted else self.name,
            title=self.id,
            description=self.description,
            annotations=ToolAnnotations(
                read_only_hint=self.read_only,
                destructive_hint=False,
                idempotent_hint=True,  # content keys: the same call twice leaves what it left once
                open_world_hint=False,
            ),
            meta={ID_KEY: self.id},
        )
        made.parameters = flat_schema(made.parameters)
        made.parameters["additionalProperties"] = False
        if made.fn_metadata.output_schema is not None:
            made.fn_metadata.output_schema = flat_schema(made.fn_metadata.output_schema, output=True)
        return made


TOOLS: Registry[ToolSpec] = Registry("tool")


def tool(identity: str, description: str, *, read_only: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: put the function in `TOOLS` under its dotted id."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        TOOLS.register(identity)(ToolSpec(identity, function, description, read_only))
        return function

    return add


def flat_schema(schema: dict[str, Any], *, output: bool = False) -> dict[str, Any]:
    """`schema` as the plainest clients read it, in half the bytes.

    References are written out, pydantic's titles are gone. An argument that may be absent has the
    schema of its value; of a result that may be null, "null" is one of its types, and defaults are gone.

    Raises:
        KeyError: a reference that leads nowhere.
        RecursionError: a model that holds itself has no flat schema.
    """
    # what a class says of itself is for programmers, and each tool says what it returns
    definitions = {name: _undescribed(definition) for name, definition in schema.get("$defs", {}).items()}
    noise = {"$defs", "title", "default"} if output else {"$defs", "title"}

    def flatten(node: Any, *, names: bool = False) -> Any:
        if isinstance(node, list):
            return [flatten(item) for item in node]
        if not isinstance(node, dict):
            return node
        if names:  # below "properties" the keys are names of the caller's, not words of the schema language
            return {key: flatten(value) for key, value in node.items()}
        if "$ref" in node:
            target = definitions[node["$ref"].rsplit("/", 1)[-1]]
            return flatten({**target, **{key: value for key, value in node.items() if key != "$ref"}})
        kept = {key: value for key, value in node.items() if key not in noise}
        plain = {key: flatten(value, names=key == "properties") for key, value in kept.items()}
        return _optional(plain, output=output)

    flattened: dict[str, Any] = flatten(_undescribed(schema))
    return flattened


def _undescribed(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "description"}


def _optional(node: dict[str, Any], *, output: bool) -> dict[str, Any]:
    choices = node.get("anyOf", [])
    values = [choice for choice in choices if choice != {"type": "null"}]
    if len(choices) != 2 or len(values) != 1 or "type" not in values[0]:
        return node
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    if output:
        return {**values[0], **rest, "type": [values[0]["type"], "null"]}
    if rest.get("default", 0) is None:
        del rest["default"]
    return {**values[0], **rest}
