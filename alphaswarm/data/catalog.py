"""The catalog: every panel that has a name, where it lies and what is wrong with it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import platformdirs
from filelock import FileLock, Timeout

from alphaswarm.core import DataInvalid, Panel, ProviderError, UnknownName
from alphaswarm.data import synthetic, us431, us500
from alphaswarm.data.append import append_bars
from alphaswarm.data.load import SUFFIXES, load_table
from alphaswarm.data.panel_file import load_panel, read_header, save_panel

__all__ = ["Catalog", "PanelInfo"]

HOME_VARIABLE = "ALPHASWARM_HOME"
# Raise the number when the build rule changes: old files are then left alone and a new one is made.
US431_FILE = "us431-1.npz"
LOCK_WAIT_SECONDS = 60.0
PANEL_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True)
class PanelInfo:
    """What can be said about a panel without its numbers.

    Attributes:
        available: it can be opened now; else it has to be fetched.
        start, end: first and last date.
        adjusted: prices are adjusted for splits and dividends; None when nobody said.
        survivorship_biased: only names that lasted are in it; None when nobody said.
        digest: content hash; None when it is known only by loading the panel.
    """

    name: str
    available: bool
    source: str
    licence: str
    caveats: tuple[str, ...]
    rows: int
    symbols: int
    start: str
    end: str
    fields: tuple[str, ...]
    groups: tuple[str, ...]
    adjusted: bool | None
    survivorship_biased: bool | None
    periods_per_year: int | None
    digest: str | None


@dataclass(frozen=True)
class _Builtin:
    open: Callable[[], Panel]
    meta: Mapping[str, Any]
    rows: int
    symbols: int
    start: str
    end: str
    fields: tuple[str, ...]
    groups: tuple[str, ...]


def _market(kind: synthetic.Kind) -> _Builtin:
    dates = synthetic.synthetic_dates().astype("datetime64[D]")
    return _Builtin(
        open=lambda: synthetic.synthetic_market(kind),
        meta=synthetic.synthetic_meta(kind),
        rows=synthetic.DAYS,
        symbols=synthetic.NAMES,
        start=str(dates[0]),
        end=str(dates[-1]),
        fields=synthetic.FIELDS,
        groups=synthetic.GROUPS,
    )


# Panels that come with the installation; us431 has to be fetched and is added by the catalog.
_EMBEDDED: Mapping[str, _Builtin] = MappingProxyType(
    {
        "us500": _Builtin(
            open=us500.load_us500,
            meta=us500.META,
            rows=245,
            symbols=524,
            start="2009-08-21",
            end="2010-08-20",
            fields=("close", "dollar_volume", "high", "low", "open", "returns", "volume"),
            groups=("industry", "sector"),
        ),
        "synthetic": _market("null"),
        "synthetic-planted": _market("planted"),
        "synthetic-regimes": _market("regimes"),
    }
)


class Catalog:
    """Panels by name: built in, fetched, or imported; and files by path.

    Args:
        home: cache of fetched panels; the environment variable ALPHASWARM_HOME, else the user's cache directory.
        imported: where imported panels lie; a directory inside `home` when absent.
    """

    def __init__(self, home: Path | None = None, imported: Path | None = None) -> None:
        chosen = os.environ.get(HOME_VARIABLE)
        self.home = home or (Path(chosen) if chosen else platformdirs.user_cache_path("alphaswarm"))
        self.imported = imported or self.home / "imported"

    def names(self) -> list[str]:
        """Every name that can be described; us431 too when it is not fetched yet."""
        found = sorted(path.stem for path in self.imported.glob("*.npz") if PANEL_NAME.fullmatch(path.stem))
        return ["us431", *_EMBEDDED, *(name for name in found if not self._reserved(name))]

    def describe(self, name: str | Path) -> PanelInfo:
        """What the panel is; builds nothing for everything that has a name.

        A damaged file of a named panel is told by `available` and a caveat, so that a list of all stays possible.

        Raises:
            UnknownName: no such panel.
            DataInvalid: a path to a file that breaks a rule.
        """
        name = str(name)
        if name in _EMBEDDED and not self._kept_file(name).exists():
            built = _EMBEDDED[name]
            return PanelInfo(
                name=name,
                available=True,
                rows=built.rows,
                symbols=built.symbols,
                start=built.start,
                end=built.end,
                fields=built.fields,
                groups=built.groups,
                digest=None,
                **_described(built.meta),
            )
        if name in self.names():
            return self._from_header(name)
        panel = self.open(name)
        start, end = (str(date.astype("datetime64[D]")) for date in panel.dates[[0, -1]])
        return PanelInfo(
            name=panel.meta["name"],
            available=True,
            rows=panel.shape[0],
            symbols=panel.shape[1],
            start=start,
            end=end,
            fields=tuple(panel.fields),
            groups=tuple(panel.groups),
            digest=panel.digest,
            **_described(panel.meta),
        )

    def open(self, name: str | Path) -> Panel:
        """The panel called so, or the CSV or Parquet file at that path.

        Raises:
            UnknownName: neither a panel nor a file; the valid names are listed.
            ProviderError: the panel has to be fetched first.
            DataInvalid: a file that breaks a rule.
        """
        text = str(name)
        if self._reserved(text):
            own = self._built_in(text)
            return self._continuing(text, own) if self._kept_file(text).exists() else own
        if PANEL_NAME.fullmatch(text) and self._kept_file(text).exists():
            return load_panel(self._kept_file(text))
        if isinstance(name, Path) or os.sep in text or text.lower().endswith(SUFFIXES) or Path(text).exists():
            return load_table(Path(text))
        raise UnknownName(f"{UnknownName.of('panel', text, self.names())}; or give a path that ends in {_listed()}")

    def adopt(self, name: str | Path) -> str:
        """The name of a panel that is named, or given as a file: a file is taken in under its stem.

        So what is researched has a name under which it is found again, and counted, from anywhere.

        Raises:
            The errors of `open` and `add`.
        """
        text = str(name)
        if self._reserved(text) or (PANEL_NAME.fullmatch(text) and self._kept_file(text).exists()):
            return text
        panel = self.open(name)
        stem = Path(text).name.split(".")[0].lower()
        self.add(stem, panel)
        return stem

    def fetch(self, name: str, progress: Callable[[str], None] | None = None) -> Path:
        """Have a panel that is not part of the installation in the cache; quick when it is there.

        Raises:
            UnknownName: nothing to fetch under that name.
            ProviderError: it can't be downloaded or kept.
            DataInvalid: what came is not what it should be.
        """
        if name != "us431":
            if name in self.names():
                raise UnknownName(f"panel {name!r} is at hand without a download; only us431 is fetched")
            raise UnknownName.of("panel to fetch", name, ["us431"])
        return us431.fetch_us431(self._us431, progress)

    def add(self, name: str, panel: Panel) -> None:
        """Keep `panel` under `name`; the same content again is no error, other content is.

        Raises:
            DataInvalid: a name that is taken or not allowed, or `meta` that is not plain JSON.
        """
        if not PANEL_NAME.fullmatch(name):
            raise DataInvalid(f"a panel's name must be a-z, 0-9, _ and - (at most 64, no leading -), got {name!r}")
        if self._reserved(name):
            raise DataInvalid(f"the name {name!r} belongs to a built-in panel; choose another")
        path = self._kept_file(name)
        if path.exists() and read_header(path)["digest"] != panel.digest:
            raise DataInvalid(
                f"there is a panel {name!r} with other content, and trials were counted on it; choose another name"
            )
        save_panel(path, replace(panel, meta=MappingProxyType({**panel.meta, "name": name})))

    def append(self, name: str, path: Path) -> Panel:
        """Continue a panel with the bars of a file, whole or not at all; its name then stands for the longer one.

        A built-in or fetched panel is continued here only: what was fetched stays as it was.

        Raises:
            UnknownName, ProviderError: no such panel, or it has to be fetched first.
            DataInvalid: the file breaks a rule, see `append_bars`; nothing has changed.
        """
        if name not in self.names():
            raise UnknownName.of("panel", name, self.names())
        target = self._kept_file(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(target.with_name(f".{name}.lock"), timeout=LOCK_WAIT_SECONDS):
                zero_is_missing = us431.ZERO_IS_MISSING if name == "us431" else frozenset()
                panel = append_bars(self.open(name), path, zero_is_missing=zero_is_missing)
                save_panel(target, panel)
        except Timeout:
            raise ProviderError(f"another process has been appending to {name} for {LOCK_WAIT_SECONDS:g} s") from None
        return panel

    def default(self) -> str:
        """The panel to research when none is named: us431 once it is fetched, else us500."""
        return "us431" if self._us431.exists() else "us500"

    def _from_header(self, name: str) -> PanelInfo:
        unknown = PanelInfo(
            name=name,
            available=False,
            rows=0,
            symbols=0,
            start="",
            end="",
            fields=(),
            groups=(),
            digest=None,
            **_described({}),
        )
        if name == "us431":
            unknown = replace(
                unknown,
                rows=2518,
                symbols=431,
                start="2007-01-03",
                end="2016-12-30",
                fields=("close", "dollar_volume", "returns", "sigma"),
                **_described(us431.META),
            )
        path = self._kept_file(name)
        fetched = name == "us431" and not path.exists()
        if fetched:
            path = self._us431
        if not path.exists():
            return unknown
        try:
            header = read_header(path, whole=fetched)  # it can be fetched again, so it must be known to be bad
        except DataInvalid as error:
            return replace(unknown, caveats=(error.message, *unknown.caveats))
        return PanelInfo(
            name=name,
            available=True,
            rows=int(header["shape"][0]),
            symbols=int(header["shape"][1]),
            start=header["start"],
            end=header["end"],
            fields=tuple(header["fields"]),
            groups=tuple(header["groups"]),
            digest=header["digest"],
            **_described(header["meta"]),
        )

    @property
    def _us431(self) -> Path:
        return self.home / "panels" / US431_FILE

    def _kept_file(self, name: str) -> Path:
        """Where a panel of this name lies that was imported, or is a built-in one with bars appended."""
        return self.imported / (f"{name}.appended.npz" if self._reserved(name) else f"{name}.npz")

    def _built_in(self, name: str) -> Panel:
        """A panel whose name is reserved, as it was made or fetched."""
        if name in _EMBEDDED:
            panel = _EMBEDDED[name].open()
            return replace(panel, meta=MappingProxyType({**panel.meta, "name": name}))
        if not self._us431.exists():
            raise ProviderError("panel us431 is not at hand yet: run `alphaswarm data fetch us431` (31 MB, once)")
        return load_panel(self._us431)

    def _continuing(self, name: str, own: Panel) -> Panel:
        """The built-in panel `own` with what was appended to it; a file that holds anything else is refused."""
        panel = load_panel(self._kept_file(name))
        if panel.head(own.shape[0]).digest != own.digest:
            raise DataInvalid(
                f"panel file {self._kept_file(name).name} must begin with all of {name} as it was made; remove it "
                "and append again"
            )
        return panel

    @staticmethod
    def _reserved(name: str) -> bool:
        return name == "us431" or name in _EMBEDDED


def _described(meta: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "source": meta.get("source", "not stated"),
        "licence": meta.get("licence", "not stated"),
        "caveats": tuple(meta.get("caveats", ())),
        "adjusted": meta.get("adjusted"),
        "survivorship_biased": meta.get("survivorship_biased"),
        "periods_per_year": meta.get("periods_per_year"),
    }


def _listed() -> str:
    return ", ".join(SUFFIXES)
