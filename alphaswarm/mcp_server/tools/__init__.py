"""The tools, one module for each toolset; importing this package fills the table."""

from __future__ import annotations

from alphaswarm.mcp_server.tools import alphas, backtests, catalog
from alphaswarm.mcp_server.tools.base import TOOLS, ToolSpec

__all__ = ["TOOLS", "ToolSpec", "alphas", "backtests", "catalog"]
