"""Panels: the named ones, files, synthetic markets, and the checks of what is in them."""

from alphaswarm.data.catalog import Catalog, PanelInfo
from alphaswarm.data.check import CheckReport, Finding, FindingKind, check_panel
from alphaswarm.data.load import load_table
from alphaswarm.data.panel_file import load_panel, save_panel
from alphaswarm.data.synthetic import synthetic_market

__all__ = [
    "Catalog",
    "CheckReport",
    "Finding",
    "FindingKind",
    "PanelInfo",
    "check_panel",
    "load_panel",
    "load_table",
    "save_panel",
    "synthetic_market",
]
