"""The entry a client needs, and the merge into its config file."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from alphaswarm.core import SpecInvalid, UnknownName
from alphaswarm.mcp_server import client_config, clients, config_path, install


@pytest.mark.parametrize("client", ["claude-desktop", "cursor", "vscode"])
def test_the_entry_has_absolute_paths_only(client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = client_config(client, "ws")
    (section,) = config
    entry = config[section]["alphaswarm"]
    assert section == ("servers" if client == "vscode" else "mcpServers")
    assert entry.get("type") == ("stdio" if client == "vscode" else None)
    assert Path(entry["command"]).is_absolute()
    assert entry["command"] == sys.executable
    assert entry["args"] == ["-m", "alphaswarm", "mcp", "serve", "--workspace", str(tmp_path / "ws")]


def test_an_unknown_client_is_told_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="claude-desktop, cursor, vscode; did you mean 'cursor'"):
        client_config("curser", "ws")
    assert clients() == ("claude-desktop", "cursor", "vscode")


@pytest.mark.parametrize(
    ("platform", "client", "end"),
    [
        ("linux", "claude-desktop", ".config/Claude/claude_desktop_config.json"),
        ("darwin", "claude-desktop", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", "claude-desktop", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("freebsd14", "vscode", ".config/Code/User/mcp.json"),
        ("darwin", "cursor", ".cursor/mcp.json"),
    ],
)
def test_the_file_of_each_client(platform: str, client: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert config_path(client) == Path.home() / end


def test_a_new_file_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    path = install("cursor", tmp_path / "ws", tmp_path / "new" / "mcp.json")
    assert json.loads(path.read_text("utf-8")) == client_config("cursor", tmp_path / "ws")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_foreign_entries_order_and_permissions_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    before = {
        "theme": "dünkel",
        "mcpServers": {"zeta": {"command": "z", "env": {"KEY": "secret"}}, "alphaswarm": {"command": "old"}, "b": 1},
        "last": [1, 2],
    }
    path.write_text("\ufeff" + json.dumps(before, ensure_ascii=False), "utf-8")
    path.chmod(0o640)
    mask = os.umask(0o022)
    try:
        install("claude-desktop", tmp_path / "ws", path)
        assert os.umask(0o022) == 0o022, "the process's mask is as it was"
    finally:
        os.umask(mask)
    after = json.loads(path.read_text("utf-8"))
    new = client_config("claude-desktop", tmp_path / "ws")["mcpServers"]["alphaswarm"]
    assert after == {**before, "mcpServers": {**before["mcpServers"], "alphaswarm": new}}
    assert list(after) == list(before)
    assert list(after["mcpServers"]) == ["zeta", "alphaswarm", "b"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    once = path.read_bytes()
    install("claude-desktop", tmp_path / "ws", path)
    assert path.read_bytes() == once
    assert list(tmp_path.iterdir()) == [path], "nothing temporary stays"


@pytest.mark.parametrize(
    "text",
    ['{"mcpServers": {', "// a comment\n{}", "[]", '"x"', '{"mcpServers": []}', "\x00", "[" * 100_000, '{"a": NaN'],
    ids=["truncated", "comment", "list", "text", "section", "nul", "deep", "nan"],
)
def test_a_file_that_is_not_understood_is_left_as_it_was(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text, "utf-8")
    with pytest.raises(SpecInvalid, match="left as it was"):
        install("claude-desktop", tmp_path / "ws", path)
    assert path.read_text("utf-8") == text


def test_an_empty_file_is_as_good_as_none(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(" \n", "utf-8")
    install("vscode", tmp_path / "ws", path)
    assert "alphaswarm" in json.loads(path.read_text("utf-8"))["servers"]


def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}", "utf-8")
    link = tmp_path / "mcp.json"
    link.symlink_to(real)
    install("cursor", tmp_path / "ws", link)
    assert link.is_symlink()
    assert "mcpServers" in json.loads(real.read_text("utf-8"))
