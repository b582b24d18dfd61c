"""What the shell gets back."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ExitCode"]


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    USAGE = 2
    PROVIDER = 3
    LIMIT = 4
    PARTIAL = 5
