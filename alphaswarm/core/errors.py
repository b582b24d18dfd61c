"""Every error that the package raises on purpose.

::

    AlphaSwarmError
    ├── ExpressionError (ValueError)      text or tree that is not a valid expression
    │   └── ProgramError                  a factor program that builds no valid expression
    ├── FieldNotFound (KeyError)          a panel has no such field or group
    │   └── UnknownField (ExpressionError)  an expression names it
    ├── UnknownName (KeyError)            no such panel, run, operator, engine, ...
    ├── DataInvalid (ValueError)          a table that breaks a rule; nothing was loaded
    ├── WeightsInvalid (ValueError)       weights that no portfolio may hold
    ├── SpecInvalid (ValueError)          a specification that is refused or malformed
    ├── UnsafeArtifact (ValueError)       a file that only unsafe code could read
    ├── EvidenceInvalid (ValueError)      a statistic asked of data that can't carry it
    ├── StoreError (RuntimeError)         the store can't do what was asked
    │   └── StoreBusy                     another process holds what is needed
    ├── ProviderError (RuntimeError)      an outside service or file is not to be had
    └── BudgetExceeded (RuntimeError)     a limit of time, memory, tokens or money was met

Each message says what must hold, what was got and what is valid. Refusals that a
program reads carry a `Reason`.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum

__all__ = [
    "AlphaSwarmError",
    "BudgetExceeded",
    "DataInvalid",
    "EvidenceInvalid",
    "ExpressionError",
    "FieldNotFound",
    "ProgramError",
    "ProviderError",
    "Reason",
    "SpecInvalid",
    "StoreBusy",
    "StoreError",
    "UnknownField",
    "UnknownName",
    "UnsafeArtifact",
    "WeightsInvalid",
    "near",
]


class Reason(StrEnum):
    """Why something was refused, for programs; people read the message."""

    DSL_SYNTAX = "DSL_SYNTAX"
    """The text is no expression."""
    DSL_NON_ASCII = "DSL_NON_ASCII"
    """A character that is not printable ASCII."""
    DSL_TOO_LARGE = "DSL_TOO_LARGE"
    """A cap on bytes, tokens, names, brackets, levels, nodes or lookback."""
    DSL_WINDOW = "DSL_WINDOW"
    """A window or lag that is no whole number in its range."""
    DSL_NAME = "DSL_NAME"
    """No such operator or option."""
    DSL_ARITY = "DSL_ARITY"
    """A wrong count of arguments."""
    DSL_KIND = "DSL_KIND"
    """An argument of another kind than its slot takes: series, condition, group or literal."""
    DSL_CONSTANT = "DSL_CONSTANT"
    """A number out of range or without a finite value, or no field where one is needed."""
    DSL_FIELD = "DSL_FIELD"
    """The panel has no such field or group."""
    DSL_PROGRAM = "DSL_PROGRAM"
    """A factor program that failed, or was stopped for trying what is forbidden."""
    LOOKAHEAD = "LOOKAHEAD"
    """A lag of 0 or less, or a field named like a label."""
    DATA_INVALID = "DATA_INVALID"
    """A table, panel or document that breaks a rule."""
    WEIGHTS_INVALID = "WEIGHTS_INVALID"
    """Weights that no portfolio may hold, or that a date does not have."""
    SPEC_NOT_ALLOWED = "SPEC_NOT_ALLOWED"
    """A specification that names code outside the package, or is too large or deep."""
    SPEC_INVALID = "SPEC_INVALID"
    """A specification or setting that is malformed."""
    UNSAFE_ARTIFACT = "UNSAFE_ARTIFACT"
    """A file that could only be read by running code from it."""
    EVIDENCE_INVALID = "EVIDENCE_INVALID"
    """Data, window or horizon that can't carry the statistic."""
    STORE = "STORE"
    """The database, the index or a run's files refused, or the run has finished."""
    STORE_BUSY = "STORE_BUSY"
    """Another process holds the lock or the run."""
    UNKNOWN_NAME = "UNKNOWN_NAME"
    """No such panel, run, trial, operator, corpus, engine, client and so on."""
    PROVIDER = "PROVIDER"
    """A model endpoint, a download or a package can't be had."""
    BUDGET = "BUDGET"
    """A limit of time, memory, calls or tokens was met."""
    ARGUMENT_INVALID = "ARGUMENT_INVALID"
    """An argument outside its range, or one that the tool does not have."""
    INTERRUPTED = "INTERRUPTED"
    """A person stopped it; what was kept stays, and a run can be resumed."""
    INTERNAL = "INTERNAL"
    """A fault of this program; the server's log says more."""


def near(name: str, valid: Iterable[str]) -> str:
    """The hint ``did you mean 'x'?``, or an empty string when nothing is near."""
    found = get_close_matches(name, list(valid), n=1, cutoff=0.6)
    return f"did you mean {found[0]!r}?" if found else ""


class AlphaSwarmError(Exception):
    """Root of the tree; `reason` is the code for programs."""

    reason: Reason = Reason.INTERNAL

    def __init__(self, message: str, reason: Reason | None = None) -> None:
        super().__init__(message)
        self.message = message
        if reason is not None:
            self.reason = reason

    def __str__(self) -> str:  # KeyError would print the repr
        return self.message


class ExpressionError(AlphaSwarmError, ValueError):
    """Text that is not a valid expression.

    Attributes: `column` (1-based place of the fault), `reason`, `text` (the whole
    input), `hint` (what would be valid, may be empty).
    """

    reason = Reason.DSL_SYNTAX

    def __init__(self, message: str, *, text: str, column: int, reason: Reason, hint: str = "") -> None:
        super().__init__(message, reason)
        self.text = text
        self.column = column
        self.hint = hint

    def __str__(self) -> str:
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.reason} at column {self.column}: {self.message}{hint}"

    def pointed(self, width: int = 100) -> str:
        """The message above the offending line with a caret under the column."""
        start = max(0, self.column - 1 - width // 2)
        shown = self.text[start : start + width].encode("ascii", "backslashreplace").decode("ascii")
        before = self.text[start : self.column - 1].encode("ascii", "backslashreplace")
        flat = shown.replace("\n", " ").replace("\r", " ").replace("\t", " ").replace("\x00", " ")
        return f"{self}\n  {flat}\n  {' ' * len(before)}^"


class ProgramError(ExpressionError):
    """A factor program that builds no valid expression.

    Attributes: `line` (1-based, 0 where unknown), `text` (the whole program), `column` within that line.
    """

    def __init__(self, message: str, *, text: str, line: int, column: int, reason: Reason, hint: str = "") -> None:
        super().__init__(message, text=text, column=column, reason=reason, hint=hint)
        self.line = line

    def __str__(self) -> str:
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.reason} in line {self.line}: {self.message}{hint}"

    def pointed(self, width: int = 100) -> str:
        """The message above the line it speaks of."""
        lines = self.text.split("\n")
        if not 1 <= self.line <= len(lines):
            return str(self)
        start = max(0, self.column - 1 - width // 2)
        shown = lines[self.line - 1][start : start + width].encode("ascii", "backslashreplace").decode("ascii")
        flat = "".join(sign if sign.isprintable() else " " for sign in shown)
        return f"{self}\n  {flat}\n  {' ' * (self.column - 1 - start)}^"


class FieldNotFound(AlphaSwarmError, KeyError):
    """A panel does not hold the field or group that was named."""

    reason = Reason.DSL_FIELD


class UnknownField(ExpressionError, FieldNotFound):
    """An expression names a field or group that the panel does not hold."""


class UnknownName(AlphaSwarmError, KeyError):
    """A name that stands for nothing; the message lists what exists."""

    reason = Reason.UNKNOWN_NAME

    @classmethod
    def of(cls, kind: str, name: str, valid: Iterable[str]) -> UnknownName:
        """Say that `name` is no `kind`, list the valid ones and point at the nearest."""
        names = sorted(valid)
        hint = near(name, names)
        listed = ", ".join(names) if names else "none yet"
        return cls(f"unknown {kind} {name!r}; valid: {listed}{'; ' + hint if hint else ''}")


class DataInvalid(AlphaSwarmError, ValueError):
    """A table that breaks a rule; the message names file, row, column and rule."""

    reason = Reason.DATA_INVALID


class WeightsInvalid(AlphaSwarmError, ValueError):
    """Weights that no portfolio may hold; the caller holds what it has, never flattens."""

    reason = Reason.WEIGHTS_INVALID


class SpecInvalid(AlphaSwarmError, ValueError):
    """A specification that is malformed, or names code outside the allowed packages."""

    reason = Reason.SPEC_INVALID


class UnsafeArtifact(AlphaSwarmError, ValueError):
    """A file that could only be read by running code from it."""

    reason = Reason.UNSAFE_ARTIFACT


class EvidenceInvalid(AlphaSwarmError, ValueError):
    """A statistic that the given data, window or horizon can't carry."""

    reason = Reason.EVIDENCE_INVALID


class StoreError(AlphaSwarmError, RuntimeError):
    """The store can't do what was asked; nothing acknowledged is lost."""

    reason = Reason.STORE


class StoreBusy(StoreError):
    """Another process holds the lock or the lease that is needed."""

    reason = Reason.STORE_BUSY


class ProviderError(AlphaSwarmError, RuntimeError):
    """A model endpoint, download or file that is needed can't be had."""

    reason = Reason.PROVIDER


class BudgetExceeded(AlphaSwarmError, RuntimeError):
    """A limit of time, memory, tokens or money was met."""

    reason = Reason.BUDGET
