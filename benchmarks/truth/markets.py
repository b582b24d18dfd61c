"""The markets of the truth suite, in memory, and a catalog that hands them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from alphaswarm.core import Panel, UnknownName, make_rng
from alphaswarm.data import Catalog, PanelInfo
from alphaswarm.data.synthetic import synthetic_dates

VOLATILITY, LARGEST = 0.02, 0.2
OVERNIGHT = 0.35


class MemoryCatalog(Catalog):
    """Panels that exist in this process only."""

    def __init__(self, panels: Mapping[str, Panel], home: Path) -> None:
        super().__init__(home)
        self._panels = {name: named(panel, name) for name, panel in panels.items()}

    def names(self) -> list[str]:
        """Every panel."""
        return sorted(self._panels)

    def describe(self, name: str | Path) -> PanelInfo:
        """What the panel is."""
        panel = self.open(name)
        start, end = (str(date.astype("datetime64[D]")) for date in panel.dates[[0, -1]])
        return PanelInfo(
            name=str(name),
            available=True,
            source=str(panel.meta.get("source", "")),
            licence="",
            caveats=tuple(panel.meta.get("caveats", ())),
            rows=panel.shape[0],
            symbols=panel.shape[1],
            start=start,
            end=end,
            fields=tuple(panel.fields),
            groups=tuple(panel.groups),
            adjusted=panel.meta.get("adjusted"),
            survivorship_biased=panel.meta.get("survivorship_biased"),
            periods_per_year=panel.meta.get("periods_per_year"),
            digest=panel.digest,
        )

    def open(self, name: str | Path) -> Panel:
        """The panel of this name."""
        if str(name) not in self._panels:
            raise UnknownName.of("panel", str(name), self._panels)
        return self._panels[str(name)]

    def adopt(self, name: str | Path) -> str:
        """The name itself."""
        return str(name)


def named(panel: Panel, name: str) -> Panel:
    """The same data under another name."""
    return replace(panel, meta=MappingProxyType({**panel.meta, "name": name}))


def white_noise(seed: int, *, days: int, names: int) -> Panel:
    """Independent Gaussian returns of the same variance; bars and volumes are drawn around them."""
    rng = make_rng(seed, "white noise")
    shape = (days, names)
    returns = np.clip(VOLATILITY * rng.standard_normal(shape), -LARGEST, LARGEST)
    returns[0] = 0.0
    close = 40 * np.exp(0.6 * rng.standard_normal(names)) * np.cumprod(1 + returns, axis=0)
    before = np.vstack([close[:1], close[:-1]])
    start = before * np.exp(OVERNIGHT * np.log1p(returns) + 0.5 * VOLATILITY * rng.standard_normal(shape))
    up, down = np.exp(0.4 * VOLATILITY * np.abs(rng.standard_normal((2, *shape))))
    volume = np.rint(np.exp(13.5 + 1.2 * rng.standard_normal(names) + 0.35 * rng.standard_normal(shape)))
    returns[0] = np.nan
    fields = {
        "open": start,
        "high": np.maximum(start, close) * up,
        "low": np.minimum(start, close) / down,
        "close": close,
        "volume": volume,
        "returns": returns,
        "dollar_volume": close * volume,
    }
    symbols = [f"S{number:04d}" for number in range(names)]
    groups = {
        name: [f"{name} {number % count}" for number in range(names)]
        for name, count in (("sector", 10), ("industry", 40))
    }
    meta = {"source": "synthetic: white noise", "periods_per_year": 252, "survivorship_biased": False}
    return Panel.from_arrays(fields, synthetic_dates(days), symbols, groups=groups, meta=meta)
