"""The report in a real browser: nothing blank, cut, overlapping, noisy or fetched from elsewhere."""

from __future__ import annotations

import html
import json
import re
import shutil
import struct
import subprocess
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from alphaswarm.core import AlphaSwarmError, FixedClock, Panel
from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.research import Workspace, write_report

pytestmark = pytest.mark.net

ALPHA = "-ts_mean(returns, 3)"
TEXTS = (
    "cs_rank(-ts_sum(returns, 5))",
    "-ts_corr(cs_rank(close), cs_rank(volume), 10)",
    "cs_zscore(-ts_std(returns, 20)) * cs_rank(ts_mean(volume, 5) / ts_mean(volume, 60)) - cs_rank(delta(close, 7))",
    "-ts_max(returns, 20)",
    "ts_rank(volume, 10)",
    "open / close",
    "close * 0",
    "delay(close, -1)",
)
HOST = "http://report.test"
# What this browser asks its maker for on its own account, whatever page it shows.
ITS_OWN = {"accounts.google.com", "clients2.google.com", "update.googleapis.com"}
# Each width in a frame of its own: what reaches past the page's edge, and labels of one picture that touch.
MEASURE = """<!doctype html><title>measure</title><body><script>
const found = {};
function touching(page) {
  const bad = [];
  for (const plot of page.querySelectorAll("svg.plot")) {
    const boxes = [...plot.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
    boxes.forEach(([one, a], place) => boxes.slice(place + 1).forEach(([other, b]) => {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 3) bad.push(`${plot.getAttribute("aria-label")}: ${one} / ${other}`);
    }));
  }
  return bad;
}
for (const width of [390, 768, 1280, 1440]) {
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:1000px;border:0`;
  frame.onload = () => {
    const page = frame.contentDocument, root = page.documentElement;
    for (const details of page.querySelectorAll("details")) details.open = true;
    const outside = [...page.querySelectorAll("body *")].filter((element) => {
      const box = element.getBoundingClientRect();
      return box.width && (box.right > width + 0.5 || box.left < -0.5);
    });
    found[width] = {
      overflow: root.scrollWidth - root.clientWidth,
      outside: outside.map((element) => element.outerHTML.slice(0, 120)),
      touching: touching(page),
      height: root.scrollHeight,
      factors: [...page.querySelectorAll("article.factor")].map((factor) => factor.getBoundingClientRect().height),
      pictures: [...page.querySelectorAll("svg.plot")].filter((plot) => plot.getBoundingClientRect().width > 20).length,
      ground: getComputedStyle(page.body).backgroundColor,
    };
    document.body.dataset.found = JSON.stringify(found);
  };
  frame.src = "/";
  document.body.append(frame);
}
</script>"""


class Site(BaseHTTPRequestHandler):
    """Serves the report as the browser's proxy for everything, so that no request goes unseen."""

    page = b""
    alone = b""
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        bodies = {f"{HOST}/": self.page, f"{HOST}/alone": self.alone, f"{HOST}/measure": MEASURE.encode()}
        body = bodies.get(self.path, b"")
        self.send_response(200 if self.path in bodies else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self) -> None:
        self.asked.append(self.path)
        self.send_error(502)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with Workspace.open(tmp_path_factory.mktemp("work") / "w", clock=FixedClock()) as workspace:
        run = workspace.start_run(panel="synthetic", proposer="search", budget=8, seed=1, intent="<b>anything</b>")
        for text in TEXTS:
            try:
                workspace.evaluate(
                    text, panel="synthetic", run=run.id, source="known:wq009", rationale="<i>why</i> not"
                )
            except AlphaSwarmError:
                continue
        workspace.finish_run(run.id, "complete")
        return write_report(workspace, run.id)


class Market(Catalog):
    """A catalog of one market, long enough for a verdict, in which `ALPHA` works and costs more than it earns."""

    def open(self, name: str | Path) -> Panel:
        return _market()


@cache
def _market() -> Panel:
    found = synthetic_market("planted", seed=5, days=1100, names=70, expression=ALPHA, ic=0.15)
    return replace(found, meta={**found.meta, "name": "market"})


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run with a confirmed factor."""
    home = tmp_path_factory.mktemp("judged")
    catalog = Market(home / "home")
    with Workspace.open(home / "w", clock=FixedClock(), catalog=catalog) as workspace:
        run = workspace.start_run(panel="market", proposer="search", budget=8, seed=1)
        why = "the plain reversal of a few days: who sold in a hurry is paid back, so the story goes, and not for ever"
        for text in (ALPHA, *TEXTS[1:5]):
            workspace.evaluate(text, panel="market", run=run.id, source="known:rev_3", rationale=why)
        workspace.finish_run(run.id, "complete")
        assert workspace.verdicts(run.id)[0].status == "confirmed"
        return write_report(workspace, run.id)


@contextmanager
def serving(page: bytes) -> Iterator[ThreadingHTTPServer]:
    asked: list[str] = []
    # what is left of the page when all but the first factor is hidden; its policy would forbid that style
    hide = b".masthead, main > :not(#factors), #factors > :not(#f1), footer { display: none !important }"
    alone = re.sub(rb"<meta http-equiv[^>]*>", b"", page).replace(
        b"</style>", hide + b" #factors, #f1 { margin: 0 !important }</style>"
    )
    handler = type("Served", (Site,), {"page": page, "alone": alone, "asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.asked = asked  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def site(report: Path) -> Iterator[ThreadingHTTPServer]:
    with serving(report.read_bytes()) as server:
        yield server


def browse(site: ThreadingHTTPServer, tmp_path: Path, url: str, *options: str) -> tuple[str, str]:
    """What Chromium prints for a page, and what it says on its console."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert chromium, "the report is looked at in Chromium: install it (apt install chromium)"
    done = subprocess.run(
        [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-extensions",
            "--disable-default-apps",
            "--disable-features=NetworkTimeServiceQuerying,OptimizationHints,MediaRouter,Translate",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--proxy-server=http://127.0.0.1:{site.server_address[1]}",
            *options,
            url,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, done.stderr


def measured(site: ThreadingHTTPServer, tmp_path: Path, *options: str) -> dict[str, Any]:
    page, _ = browse(site, tmp_path, f"{HOST}/measure", "--dump-dom", "--virtual-time-budget=8000", *options)
    told = re.search(r'data-found="([^"]*)"', page)
    assert told, page[:2000]
    found: dict[str, Any] = json.loads(html.unescape(told[1]))
    assert set(found) == {"390", "768", "1280", "1440"}
    return found


def test_nothing_is_cut_overlaps_or_leaves_the_page(site: ThreadingHTTPServer, tmp_path: Path) -> None:
    for width, found in measured(site, tmp_path).items():
        assert found["overflow"] == 0, width
        assert found["outside"] == [], width
        assert found["touching"] == [], width
        assert found["pictures"] > 20
        assert found["height"] > 3000
        assert found["ground"] == "rgb(250, 249, 246)"


@pytest.mark.parametrize("scheme", [1, 0], ids=["light", "dark"])
def test_a_factor_is_one_screen(judged: Path, tmp_path: Path, scheme: int) -> None:
    with serving(judged.read_bytes()) as site:
        found = measured(site, tmp_path, f"--blink-settings=preferredColorScheme={scheme}")
        for width, page in found.items():
            assert page["outside"] == [], width
            assert page["touching"] == [], width
        assert found["1440"]["factors"]
        assert max(found["1440"]["factors"]) <= 900
        shot = tmp_path / "factor.png"
        browse(
            site,
            tmp_path,
            f"{HOST}/alone",
            f"--screenshot={shot}",
            "--window-size=1440,900",
            f"--blink-settings=preferredColorScheme={scheme}",
        )
    shape, rows, first = read_png(shot.read_bytes())
    assert shape == (1440, 900)
    assert first == ((250, 249, 246) if scheme else (19, 21, 26))
    inked = [place for place, row in enumerate(rows) if any(row[1:])]
    assert len(inked) > 600
    assert inked[0] < 60  # it begins at the top


def test_it_follows_the_dark(site: ThreadingHTTPServer, tmp_path: Path) -> None:
    found = measured(site, tmp_path, "--blink-settings=preferredColorScheme=0")
    assert {page["ground"] for page in found.values()} == {"rgb(19, 21, 26)"}


def asked(site: ThreadingHTTPServer) -> list[str]:
    """What the page asked for."""
    places = [place if "//" in place else f"//{place}" for place in site.asked]  # type: ignore[attr-defined]
    return [place for place in places if urlsplit(place).hostname not in ITS_OWN]


def test_it_is_silent_and_asks_for_nothing(site: ThreadingHTTPServer, tmp_path: Path) -> None:
    _, console = browse(site, tmp_path, f"{HOST}/", "--dump-dom")
    assert "CONSOLE" not in console
    assert asked(site) == [f"{HOST}/"]


def test_these_checks_see_faults(report: Path, tmp_path: Path) -> None:
    page = re.sub(r"<meta http-equiv[^>]*>", "", report.read_text("utf-8"))
    fault = (
        '<p><svg class="plot" aria-label="two" width="99" height="20"><text y="15">one</text><text x="3" y="15">two'
        '</text></svg></p><svg width="2000" height="9"></svg><img alt="" src="http://elsewhere.test/x.png">'
        "<script>x()</script>"
    )
    with serving(page.replace("<footer>", f"{fault}<footer>").encode()) as site:
        found = measured(site, tmp_path)
        assert all(page["overflow"] > 0 and page["outside"] for page in found.values())
        assert {tuple(page["touching"]) for page in found.values()} == {("two: one / two",)}
        _, console = browse(site, tmp_path, f"{HOST}/", "--dump-dom")
        assert "CONSOLE" in console
        assert "http://elsewhere.test/x.png" in asked(site)


@pytest.mark.parametrize("width", [1280, 500])
def test_the_picture_is_not_blank(site: ThreadingHTTPServer, tmp_path: Path, width: int) -> None:
    shot = tmp_path / "report.png"
    browse(site, tmp_path, f"{HOST}/", f"--screenshot={shot}", f"--window-size={width},1600")
    shape, rows, first = read_png(shot.read_bytes())
    assert shape == (width, 1600)
    assert first == (250, 249, 246)
    # a row without change to the one above is all zeros behind its filter byte
    inked = sum(1 for row in rows if any(row[1:]))
    assert inked > 500


def read_png(data: bytes) -> tuple[tuple[int, int], list[bytes], tuple[int, ...]]:
    """Size, filtered rows and first pixel of a PNG."""
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    assert depth == 8
    size = {2: 3, 6: 4}[colour]
    packed, place = b"", 8
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        if kind == b"IDAT":
            packed += data[place + 8 : place + 8 + length]
        place += 12 + length
    raw = zlib.decompress(packed)
    stride = 1 + width * size
    rows = [raw[start : start + stride] for start in range(0, len(raw), stride)]
    return (width, height), rows, tuple(rows[0][1:4])
