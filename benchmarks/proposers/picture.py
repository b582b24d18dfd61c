"""Curves over trials, side by side, as one small SVG that follows the reader's light or dark theme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

__all__ = ["Panel", "draw"]

WIDTH, HEIGHT = 300, 220
LEFT, RIGHT, TOP, BOTTOM = 38, 12, 44, 34
COLOURS = {"search": "#1f77b4", "hybrid": "#9467bd", "llm": "#2ca02c", "random": "#8c8c8c", "gplearn": "#d97b0f"}
STYLE = (
    "text{font:11px sans-serif;fill:#333}line{stroke:#bbb}polyline{fill:none;stroke-width:1.8}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}line{stroke:#555}}"
)


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture: what it shows, and a curve (after 1, 2, ... trials) for each name."""

    title: str
    curves: Mapping[str, np.ndarray]


def draw(panels: Sequence[Panel]) -> str:
    """The text of the picture."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.curves))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * len(panels)} {HEIGHT}" role="img">',
        f"<title>{escape('; '.join(panel.title for panel in panels))}</title><style>{STYLE}</style>",
    ]
    for place, name in enumerate(names):
        x = LEFT + 90 * place
        parts.append(f'<polyline points="{x},12 {x + 18},12" stroke="{COLOURS[name]}"/>{_text(x + 23, 16, name)}')
    for place, panel in enumerate(panels):
        parts.append(f'<g transform="translate({WIDTH * place} 0)">{_panel(panel)}</g>')
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel) -> str:
    most = max(len(values) for values in panel.curves.values())
    top = _ceiling(max(float(values.max()) for values in panel.curves.values()))
    right, low = WIDTH - RIGHT, HEIGHT - BOTTOM

    def at(trial: int, value: float) -> str:
        x = LEFT + (right - LEFT) * (trial - 1) / max(most - 1, 1)
        return f"{x:.1f},{low - (low - TOP) * value / top:.1f}"

    parts = [_text(LEFT, TOP - 10, panel.title)]
    for share in (0.0, 0.5, 1.0):
        y = low - (low - TOP) * share
        parts.append(f'<line x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 5, y + 4, f"{top * share:g}", "end"))
    parts += [_text(LEFT, low + 15, "1"), _text(right, low + 15, f"{most} trials", "end")]
    for name, values in panel.curves.items():
        points = " ".join(at(trial, float(value)) for trial, value in enumerate(values, 1))
        parts.append(f'<polyline points="{points}" stroke="{COLOURS[name]}"/>')
    return "".join(parts)


def _ceiling(value: float) -> float:
    """A round number that is not below `value`."""
    power = 10.0 ** np.floor(np.log10(max(value, 1e-9)))
    return float(next(step * power for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= value - 1e-9))


def _text(x: float, y: float, said: str, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(said)}</text>'
