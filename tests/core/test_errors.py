"""The error tree: one root, double parents, messages that point."""

from __future__ import annotations

import alphaswarm.core.errors as errors
from alphaswarm.core import AlphaSwarmError, ExpressionError, Reason, UnknownName


def test_one_root_and_matching_builtins() -> None:
    kinds = [kind for name in errors.__all__ if isinstance(kind := getattr(errors, name), type) and kind is not Reason]
    for kind in kinds:
        assert issubclass(kind, AlphaSwarmError)
        assert kind is AlphaSwarmError or issubclass(kind, ValueError | KeyError | RuntimeError)
        assert kind.__name__ in (errors.__doc__ or ""), "the tree is drawn at the top"


def test_expression_error_points() -> None:
    error = ExpressionError("no such name", text="a + bc", column=5, reason=Reason.DSL_NAME, hint="did you mean 'b'?")
    assert str(error) == "DSL_NAME at column 5: no such name; did you mean 'b'?"
    lines = error.pointed().splitlines()
    assert lines[1].index("bc") == lines[2].index("^")


def test_pointing_escapes_what_a_terminal_would_obey() -> None:
    text = "close\u202e\x1b[31m + \n x"
    shown = ExpressionError("x", text=text, column=6, reason=Reason.DSL_NON_ASCII).pointed()
    assert "\u202e" not in shown
    assert len(shown.splitlines()) == 3


def test_unknown_name_lists_and_hints() -> None:
    error = UnknownName.of("panel", "us43", ["us431", "us500"])
    assert str(error) == "unknown panel 'us43'; valid: us431, us500; did you mean 'us431'?"
    assert isinstance(error, KeyError)
    assert "none yet" in str(UnknownName.of("run", "x", []))
