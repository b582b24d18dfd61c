"""`data.catalog.describe`: what there is to work with, before any work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field

from alphaswarm.core.errors import UnknownName
from alphaswarm.dsl.operators import operators
from alphaswarm.mcp_server.desk import Desk
from alphaswarm.mcp_server.grammar import language_limits, operator_lines, syntax_text
from alphaswarm.mcp_server.paging import cut
from alphaswarm.mcp_server.tools.base import tool

if TYPE_CHECKING:
    from alphaswarm.data import PanelInfo
    from alphaswarm.research import Workspace

__all__ = ["CatalogPage", "PanelLine", "PanelName", "known_panel"]

PanelName = Annotated[str | None, Field(description="panel name; the default panel if absent", max_length=1024)]
Section = Literal["overview", "panels", "panel", "operators", "grammar", "limits"]


class PanelLine(BaseModel):
    """One panel: what it holds and what is wrong with it."""

    name: str
    available: bool = Field(description="false: fetch it first with `alphaswarm data fetch`")
    rows: int | None = Field(description="dates")
    symbols: int | None
    start: str | None
    end: str | None
    fields: list[str]
    groups: list[str]
    source: str
    licence: str
    caveats: list[str]


class CatalogPage(BaseModel):
    """One section; what belongs to others is empty."""

    section: Section
    default_panel: str
    panels: list[PanelLine]
    operators: list[str] = Field(description="signature: meaning; in the overview names only")
    grammar: str
    limits: dict[str, int]
    total: int = Field(description="entries of this section in all")
    offset: int
    note: str = Field(description="what was left out and how to get it")


@tool(
    "data.catalog.describe",
    "What can be worked with: the panels (fields, groups, dates, caveats), the operators and grammar of the "
    "expression language, and its limits. Begin here, with no arguments.",
    read_only=True,
)
async def describe(
    desk: Desk,
    context: Context,
    panel: PanelName = None,
    section: Annotated[Section, Field(description="which part")] = "overview",
    limit: Annotated[int, Field(ge=1, le=200, description="most entries")] = 100,
    offset: Annotated[int, Field(ge=0, description="entries to skip")] = 0,
) -> CatalogPage:
    """One page of the catalog."""
    return await desk.run(lambda workspace: _page(desk, workspace, panel, section, limit, offset), context, lane="read")


def known_panel(desk: Desk, workspace: Workspace, name: str | None) -> str:
    """`name` if it is in the catalog or was given by the host, the default for None.

    Only such names: a client must not make the server read files of its choice.

    Raises:
        UnknownName: neither.
    """
    if name is None:
        return workspace.catalog.default()
    valid = [*workspace.catalog.names(), *desk.panels]
    if name not in valid:
        raise UnknownName.of("panel", name[:64], valid)
    return name


def _page(
    desk: Desk, workspace: Workspace, panel: str | None, section: Section, limit: int, offset: int
) -> CatalogPage:
    chosen = known_panel(desk, workspace, panel)
    names = [chosen] if section in {"overview", "panel"} else workspace.catalog.names() if section == "panels" else []
    panels = [_line(workspace.catalog.describe(name)) for name in names]
    page = CatalogPage(
        section=section,
        default_panel=workspace.catalog.default(),
        panels=panels,
        operators=[],
        grammar=syntax_text() if section == "grammar" else "",
        limits=language_limits() if section in {"overview", "limits"} else {},
        total=len(panels) or 1,
        offset=offset,
        note="",
    )
    if section == "overview":
        others = ", ".join(name for name in workspace.catalog.names() if name != chosen)
        note = f"other panels: {others or 'none'}; section='operators' says what they mean, 'grammar' how to write them"
        return page.model_copy(update={"operators": sorted(operators()), "note": note})
    if section == "operators":
        lines, note = cut(operator_lines(), limit, offset)
        return page.model_copy(update={"operators": lines, "total": len(operators()), "note": note})
    if section == "panels":
        panels, note = cut(panels, limit, offset)
        return page.model_copy(update={"panels": panels, "note": note})
    return page


def _line(info: PanelInfo) -> PanelLine:
    return PanelLine(
        name=info.name,
        available=info.available,
        rows=info.rows,
        symbols=info.symbols,
        start=None if info.start is None else str(info.start)[:10],
        end=None if info.end is None else str(info.end)[:10],
        fields=list(info.fields),
        groups=list(info.groups),
        source=info.source,
        licence=info.licence,
        caveats=list(info.caveats),
    )
