"""Tell a client how to start the server: the entry for its config file, and the merge into that file."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alphaswarm.core.errors import SpecInvalid, UnknownName
from alphaswarm.core.files import atomic_write

__all__ = ["client_config", "clients", "config_path", "install"]

SERVER_NAME = "alphaswarm"


@dataclass(frozen=True)
class _Client:
    """Where a client keeps its servers: file by platform, the key in it, what an entry needs besides."""

    section: str
    files: dict[str, tuple[str, ...]]
    extra: dict[str, str]


_ROOTS = {"darwin": ("Library", "Application Support"), "win32": ("AppData", "Roaming"), "linux": (".config",)}


def _under_config(*parts: str) -> dict[str, tuple[str, ...]]:
    return {platform: (*root, *parts) for platform, root in _ROOTS.items()}


_CLIENTS = {
    "claude-desktop": _Client("mcpServers", _under_config("Claude", "claude_desktop_config.json"), {}),
    "cursor": _Client("mcpServers", dict.fromkeys(_ROOTS, (".cursor", "mcp.json")), {}),
    "vscode": _Client("servers", _under_config("Code", "User", "mcp.json"), {"type": "stdio"}),
}


def clients() -> tuple[str, ...]:
    """The clients that are known by name."""
    return tuple(sorted(_CLIENTS))


def client_config(client: str, workspace: Path | str) -> dict[str, Any]:
    """The config that makes `client` start this server on `workspace`, with absolute paths only.

    Programs started from a desktop have another search path than a shell: a bare command name
    fails there, so the entry names this very interpreter.

    Raises:
        UnknownName: no such client; the message lists the known ones.
    """
    known = _known(client)
    # not resolved: the interpreter of a virtual environment is a link that must stay one
    command = os.path.abspath(sys.executable)  # noqa: PTH100
    place = str(Path(workspace).expanduser().absolute())
    entry = {**known.extra, "command": command, "args": ["-m", "alphaswarm", "mcp", "serve", "--workspace", place]}
    return {known.section: {SERVER_NAME: entry}}


def config_path(client: str) -> Path:
    """The file in which `client` keeps its servers, on this platform, for this user."""
    files = _known(client).files
    return Path.home().joinpath(*files.get(sys.platform, files["linux"]))


def install(client: str, workspace: Path | str, path: Path | str | None = None) -> Path:
    """Put the server into the client's config file, beside what is there.

    All other entries and settings are kept, in their order; an older entry of this server is
    replaced. The file is replaced as a whole, or not at all, and keeps its permissions.

    Returns:
        The file that was written.

    Raises:
        UnknownName: no such client.
        SpecInvalid: the file is no JSON object of the expected shape; it is left as it was.
        OSError: the file can't be read or written; it is left as it was.
    """
    known = _known(client)
    target = (config_path(client) if path is None else Path(path)).expanduser().resolve()
    config = _read(target)
    servers = config.setdefault(known.section, {})
    if not isinstance(servers, dict):
        raise SpecInvalid(
            f"{known.section!r} in {target} must be an object, got {type(servers).__name__}; left as it was"
        )
    servers.update(client_config(client, workspace)[known.section])
    data = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    with _creating_as(stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600):
        atomic_write(target, data.encode("utf-8", "surrogatepass"))
    return target


def _known(client: str) -> _Client:
    if client not in _CLIENTS:
        raise UnknownName.of("client", client, _CLIENTS)
    return _CLIENTS[client]


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    advice = "it is left as it was; add the entry by hand, as printed with --print"
    try:
        text = path.read_bytes().decode("utf-8-sig")
        found = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise SpecInvalid(f"{path} must be JSON without comments: {error}; {advice}") from None
    if not isinstance(found, dict):
        raise SpecInvalid(f"{path} must hold a JSON object, got {type(found).__name__}; {advice}")
    return found


@contextmanager
def _creating_as(mode: int) -> Iterator[None]:
    # Such files hold other servers' keys: the new one must never be readable by more people than the old one.
    before = os.umask(0o777 & ~mode)
    try:
        yield
    finally:
        os.umask(before)
