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
from alphaswarm.mcp_server.tools.base import NUMBER, tool

if TYPE_CHECKING:
    from alphaswarm.data import PanelInfo
    from alphaswarm.research import Workspace

__all__ = ["CatalogPage", "PanelLine", "PanelName", "known_panel"]

PanelName = Annotated[str | None, Field(description="panel name; the default panel if absent", max_length=1024)]
# Bytes of a panel's field names, and of each other list and text about it.
MAX_FIELDS = 3_000
MAX_WORDS = 1_000
Section = Literal["overview", "panels", "panel", "operators", "grammar", "limits"]


class PanelLine(BaseModel):
    """One panel: what it holds and what is wrong with it."""

    name: str
    available: bool = Field(description="false: fetch it first with `alphaswarm data fetch`")
    rows: int = Field(description="dates")
    symbols: int
    start: str
    end: str
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
    total: int = Field(description="entries of this section in all; of one panel, its fields")
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
    section: Annotated[Section, Field(description="what to describe")] = "overview",
    limit: Annotated[int, Field(ge=1, le=500, description="most entries on a page"), NUMBER] = 200,
    offset: Annotated[int, Field(ge=0, description="entries to skip"), NUMBER] = 0,
) -> CatalogPage:
    """One page of the catalog."""
    return await desk.run(lambda workspace: _page(workspace, panel, section, limit, offset), context, lane="read")


def known_panel(workspace: Workspace, name: str | None) -> str:
    """`name` if it is in the catalog, the default for None.

    Only such names: a client must not make the server read files of its choice.

    Raises:
        UnknownName: it is not there.
    """
    if name is None:
        return workspace.catalog.default()
    names = workspace.catalog.names()
    if name not in names:
        raise UnknownName.of("panel", name[:64], names)
    return name


def _page(workspace: Workspace, panel: str | None, section: Section, limit: int, offset: int) -> CatalogPage:
    catalog = workspace.catalog
    chosen = known_panel(workspace, panel)
    panels: list[PanelLine] = []
    lines: list[str] = []
    note, total = "", 1
    if section in {"overview", "panel"}:
        info = catalog.describe(chosen)
        panels, note = _one(info, limit, offset)
        total = len(info.fields)
    if section == "overview":
        lines = sorted(operators())
        others = ", ".join(name for name in catalog.names() if name != chosen) or "none"
        more = f"other panels: {others}; section='operators' says what operators mean, 'grammar' how to write them"
        note = f"{note}; {more}" if note else more
    elif section == "panels":
        every = catalog.names()
        panels, note = cut([_line(catalog.describe(name)) for name in every], limit, offset)
        total = len(every)
    elif section == "operators":
        lines, note = cut(operator_lines(), limit, offset)
        total = len(operators())
    return CatalogPage(
        section=section,
        default_panel=catalog.default(),
        panels=panels,
        operators=lines,
        grammar=syntax_text() if section == "grammar" else "",
        limits=language_limits() if section in {"overview", "limits"} else {},
        total=total,
        offset=offset,
        note=note,
    )


def _one(info: PanelInfo, limit: int, offset: int) -> tuple[list[PanelLine], str]:
    fields, note = cut(info.fields, limit, offset, MAX_FIELDS)
    line = _line(info).model_copy(update={"fields": fields})
    return [line], f"fields {note}; section='panel' lists them" if note else ""


def _line(info: PanelInfo) -> PanelLine:
    """A panel with the first of its fields, groups and caveats, cut to what one answer can bear."""
    return PanelLine(
        name=info.name,
        available=info.available,
        rows=info.rows,
        symbols=info.symbols,
        start=str(info.start)[:10],
        end=str(info.end)[:10],
        fields=cut(info.fields, len(info.fields), 0, MAX_WORDS)[0],
        groups=cut(info.groups, len(info.groups), 0, MAX_WORDS)[0],
        source=info.source[:MAX_WORDS],
        licence=info.licence[:MAX_WORDS],
        caveats=cut([caveat[:MAX_WORDS] for caveat in info.caveats], len(info.caveats), 0, MAX_WORDS)[0],
    )
