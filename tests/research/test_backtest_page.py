"""The page of a backtest: whole, escaped, the same every time."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from alphaswarm.backtest import EventEngine, VectorEngine
from alphaswarm.research import BacktestRecord, Workspace
from alphaswarm.research.backtest_page import render_backtest, write_page
from alphaswarm.research.backtest_setup import BacktestRequest
from alphaswarm.research.backtest_words import METRICS, shown

REVERSAL = "cs_rank(-ts_sum(returns, 5))"
HOSTILE = "<script>alert('x')</script>\u202e\"&"


class Tags(HTMLParser):
    """What a browser would see: tags, links, ids."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attributes)
        self.ids |= {given["id"] or ""} if "id" in given else set()
        self.links += [value or "" for name, value in attributes if name in ("href", "src")]


@pytest.fixture
def record(workspace: Workspace) -> BacktestRecord:
    return workspace.backtest(REVERSAL, panel="small")


def test_the_page_stands_alone_and_links_to_itself(record: BacktestRecord) -> None:
    page = render_backtest(record)
    seen = Tags(page)
    assert "script" not in seen.tags
    assert all(link.startswith(("#", "data:")) for link in seen.links)
    assert {link[1:] for link in seen.links if link.startswith("#")} <= seen.ids
    assert not re.search(r"https?://", page)
    assert len(page) < 200_000


def test_equal_records_give_equal_bytes_in_one_file(record: BacktestRecord, workspace: Workspace) -> None:
    path = write_page(workspace.path, record)
    first = path.read_bytes()
    assert path == workspace.path / "reports" / f"backtest-{record.id[:16]}.html"
    assert write_page(workspace.path, workspace.backtest_record(record.id)).read_bytes() == first


def test_every_figure_has_its_meaning(record: BacktestRecord) -> None:
    assert set(record.metrics) == {metric.name for metric in METRICS}, "a figure without words, or words without one"
    page = render_backtest(record)
    for metric in METRICS:
        value = shown(metric, record.metrics[metric.name]).replace("-", "\N{MINUS SIGN}")
        assert f'<td class="expr">{metric.title}</td><td class="t">{value}</td>' in page
    for title in ("Equity", "Drawdown", "Turnover", "Exposure", "Costs", "Month by month", "Largest positions"):
        assert title in page
    for hashed in (record.id, record.decisions_digest, record.result_digest, record.panel_digest):
        assert hashed in page


def test_whatever_text_it_is_given_is_escaped(record: BacktestRecord) -> None:
    changed = dict.fromkeys(("name", "panel", "words", "engine"), HOSTILE)
    positions = [one.model_copy(update={"symbol": HOSTILE}) for one in record.positions]
    page = render_backtest(record.model_copy(update={**changed, "positions": positions, "warnings": [HOSTILE]}))
    assert "script" not in Tags(page).tags
    assert "&lt;script&gt;" in page


def test_what_never_traded_has_a_page_too(workspace: Workspace) -> None:
    for engine in (VectorEngine(), EventEngine()):
        held = BacktestRequest("baseline", "minimum_variance", "small", engine)  # the window is too short for it
        record = workspace.run_backtest(held)
        assert record.warnings[-1] == "nothing was ever traded"
        assert "Nothing was ever held" in render_backtest(record)


def test_orders_are_counted(workspace: Workspace) -> None:
    record = workspace.backtest(REVERSAL, panel="small", engine="event")
    assert f"{record.fills:,} orders filled" in render_backtest(record)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("sharpe", 1.234, "1.23"),
        ("sharpe", None, "-"),
        ("ann_return", -0.1234, "-12.34%"),
        ("ann_return", -1e-9, "0.00%"),
        ("days", 1234.0, "1,234 days"),
        ("untraded", 1234.0, "1,234"),
    ],
)
def test_figures_are_shown_with_their_unit(name: str, value: float | None, text: str) -> None:
    (metric,) = [metric for metric in METRICS if metric.name == name]
    assert shown(metric, value) == text
