"""`tool`: how a function becomes a tool, and the one table of all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import MethodType
from typing import Any

from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations

from alphaswarm.core.registry import Registry
from alphaswarm.mcp_server.desk import Desk

__all__ = ["TOOLS", "ToolSpec", "flat_schema", "tool"]

ID_KEY = "alphaswarm/id"


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
            made.fn_metadata.output_schema = flat_schema(made.fn_metadata.output_schema)
        return made


TOOLS: Registry[ToolSpec] = Registry("tool")


def tool(identity: str, description: str, *, read_only: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: put the function in `TOOLS` under its dotted id."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        TOOLS.register(identity)(ToolSpec(identity, function, description, read_only))
        return function

    return add


def flat_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` without references (some clients can't follow them) and without pydantic's titles.

    Raises:
        KeyError: a reference that leads nowhere.
        RecursionError: a model that holds itself has no flat schema.
    """
    definitions = schema.get("$defs", {})

    def flatten(node: Any, *, names: bool = False) -> Any:
        if isinstance(node, list):
            return [flatten(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            target = definitions[node["$ref"].rsplit("/", 1)[-1]]
            return flatten({**target, **{key: value for key, value in node.items() if key != "$ref"}})
        kept = {key: value for key, value in node.items() if names or key not in {"$defs", "title"}}
        # below "properties" the keys are names of the caller's, not words of the schema language
        return {key: flatten(value, names=key == "properties" and not names) for key, value in kept.items()}

    flattened: dict[str, Any] = flatten(schema)
    return flattened
