"""What comes in is cleaned, what goes out is masked.

A tool's answer is read by a model: an error carries a reason code, a place and a hint, so that the
model can repair its call; it never carries a traceback or a path of this machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from mcp_types import CallToolResult, TextContent
from pydantic import ValidationError

from alphaswarm.core.errors import AlphaSwarmError, ExpressionError, Reason, near

__all__ = ["argument_refusal", "clean", "crash_refusal", "refusal", "unknown_arguments", "without_paths"]

REFUSAL_KEY = "alphaswarm/refusal"
# Answers stay far below what clients cut off.
MAX_ERROR = 2000
_SURROGATE = re.compile("[\ud800-\udfff]")
# Two or more path parts after a slash or a drive: the last part is what a person needs.
_PATH = re.compile(r"(?<![\w.])(?:[A-Za-z]:\\|~?/)(?:[^\s'\"/\\:;,()]+[/\\])+([^\s'\"/\\:;,()]*)")


def clean(value: Any) -> Any:
    """`value` with each lone surrogate in any text in it replaced by U+FFFD.

    Raises:
        RecursionError: nested deeper than Python goes.
    """
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    return value


def without_paths(text: str) -> str:
    """`text` with the directories of every absolute path taken out."""
    return _PATH.sub(lambda found: f"<{found.group(1) or 'directory'}>", text)


def refusal(error: AlphaSwarmError) -> CallToolResult:
    """The answer to a call that broke a rule: the reason, the place, what is valid."""
    if isinstance(error, ExpressionError):
        about = {"reason": str(error.reason), "column": error.column, "message": error.message, "hint": error.hint}
        return _answer(error.pointed(), about)
    message = without_paths(str(error))
    return _answer(f"{error.reason}: {message}", {"reason": str(error.reason), "message": message})


def argument_refusal(tool: str, error: ValidationError) -> CallToolResult:
    """The answer to arguments that do not fit the tool's schema: one line for each problem."""
    lines = []
    for problem in error.errors(include_url=False, include_context=False, include_input=True):
        place = ".".join(str(part) for part in problem["loc"]) or "arguments"
        got = repr(problem["input"])
        shown = "" if problem["type"] == "missing" else f", got {got[:60]}{'...' if len(got) > 60 else ''}"
        lines.append(f"{place}: {problem['msg']}{shown}")
    message = f"{tool} can't take these arguments: {'; '.join(lines)}"
    return _answer(
        f"{Reason.ARGUMENT_INVALID}: {message}", {"reason": str(Reason.ARGUMENT_INVALID), "message": message}
    )


def unknown_arguments(tool: str, given: Iterable[str], valid: Iterable[str]) -> CallToolResult | None:
    """The answer to arguments that the tool does not have, or None when all are known."""
    names = list(valid)
    unknown = sorted(set(given) - set(names))
    if not unknown:
        return None
    hint = near(unknown[0], names)
    listed = ", ".join(repr(name[:60]) for name in unknown[:5])
    message = f"{tool} has no argument {listed}; valid: {', '.join(names)}{'; ' + hint if hint else ''}"
    return _answer(
        f"{Reason.ARGUMENT_INVALID}: {message}", {"reason": str(Reason.ARGUMENT_INVALID), "message": message}
    )


def crash_refusal(tool: str) -> CallToolResult:
    """The answer when the fault is ours: it says nothing about the machine."""
    message = f"{tool} failed inside the server; its log on stderr says why. Nothing that was acknowledged is lost."
    return _answer(f"{Reason.INTERNAL}: {message}", {"reason": str(Reason.INTERNAL), "message": message})


def _answer(text: str, about: dict[str, Any]) -> CallToolResult:
    shown = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")
    if len(shown) > MAX_ERROR:
        shown = shown[: MAX_ERROR - 12] + " [shortened]"
    return CallToolResult(
        content=[TextContent(type="text", text=shown)],
        is_error=True,
        _meta={REFUSAL_KEY: {key: _short(value) for key, value in about.items()}},
    )


def _short(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")[:MAX_ERROR]
