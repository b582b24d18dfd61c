"""The tools of this package, served over the Model Context Protocol.

`install` and `client_config` need nothing else; the server loads when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alphaswarm.mcp_server.install import client_config, clients, config_path, install

if TYPE_CHECKING:
    from alphaswarm.mcp_server.server import create_server, serve

__all__ = ["client_config", "clients", "config_path", "create_server", "install", "serve"]


def __getattr__(name: str) -> Any:
    if name in {"create_server", "serve"}:
        from alphaswarm.mcp_server import server

        return getattr(server, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
