"""Which word a call is, and which argument each of its parameters takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from alphaswarm.core.errors import Reason
from alphaswarm.dsl.check import Fault
from alphaswarm.dsl.constants import EXACT
from alphaswarm.dsl.dialects.word import WHOLE, Word
from alphaswarm.dsl.expr import Expr, is_truth, number, number_text

__all__ = ["INTEGER", "Binding", "Operand", "bind", "shortened", "written"]

INTEGER = re.compile(r"-?[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Operand:
    """A finished part of a text: where it starts, and how it was written if it is a number written out."""

    node: Expr
    column: int
    literal: str = ""


@dataclass(frozen=True, slots=True)
class Binding:
    """A word with its arguments by parameter; `notes` on those that were changed."""

    word: Word
    arguments: Mapping[str, Operand]
    notes: tuple[str, ...]


def bind(
    words: Sequence[Word],
    column: int,
    parts: Sequence[Operand],
    options: Mapping[str, Operand],
    *,
    floors: bool,
) -> Binding | Fault:
    """The first of `words` that fits the arguments.

    Args:
        words: the rows of one name.
        column: of the call, where defaults are said to stand.
        parts: arguments by place.
        options: arguments by name.
        floors: whether a fraction means the whole number below it where a whole number is wanted.

    Returns:
        The last word that takes as many arguments where none fits: what is wrong with it is the native rules' to say.
        A fault where no word takes as many, these names, or these values.
    """
    counted = [(word, given) for word in words if (given := _given(word, column, parts, options))]
    if not counted:
        got = f"{len(parts)} argument{'' if len(parts) == 1 else 's'}"
        got += f" and {', '.join(options)}" if options else ""
        return Fault(f"{words[0].name} does not take {got}", Reason.DSL_ARITY, written(words))
    shaped = [(word, given) for word, given in counted if _meant(word, given)]
    if not shaped:
        return Fault(f"{words[0].name} does not take these values", Reason.DSL_CONSTANT, written(words))
    word, arguments = next((one for one in shaped if _fits(one[1])), shaped[-1])
    notes = []
    for name in word.parameters if floors else ():
        part = arguments[name]
        floored = _floored(part) if name in WHOLE else part
        if floored.node is not part.node:
            notes.append(f"column {part.column}: {part.literal} rows are read as {floored.literal}")
        arguments[name] = floored
    return Binding(word, arguments, tuple(notes))


def written(words: Sequence[Word]) -> str:
    """The hint how to write one of `words`."""
    return f"write {' or '.join(word.shown for word in words)}"


def shortened(part: Operand) -> Operand:
    """A part of a word's formula, with numbers folded and ``c > 0`` of a condition as the condition."""
    node = part.node
    if node.op in EXACT and all(argument.kind == "number" for argument in node.args) and node.constant is not None:
        return replace(part, node=number(node.constant), literal=number_text(node.constant))
    if node.op == "gt" and node.args[0].condition and is_truth(node.args[1]) and node.args[1].value == 0:
        return replace(part, node=node.args[0])
    return part


def _given(word: Word, column: int, parts: Sequence[Operand], options: Mapping[str, Operand]) -> dict[str, Operand]:
    """The arguments by parameter, nothing where their count or names are not those of `word`."""
    names = list(word.parameters)
    given = dict(zip(names, parts, strict=False)) | dict(options)
    if len(parts) > len(names) or len(given) < len(parts) + len(options) or not given.keys() <= set(names):
        return {}
    for name, default in word.parameters.items():
        if name not in given:
            if not default:
                return {}
            given[name] = Operand(number(float(default)), column, default)
    return given


def _fits(given: Mapping[str, Operand]) -> bool:
    """Whether whole numbers are written where they are wanted."""
    return all(INTEGER.fullmatch(given[name].literal) and given[name].node.value >= 1 for name in WHOLE & given.keys())


def _meant(word: Word, given: Mapping[str, Operand]) -> bool:
    """Whether the values are those that `word` is for."""
    return all(_is(given[name].node, value) for name, value in word.only.items())


def _is(node: Expr, value: float | str) -> bool:
    return node.name == value if isinstance(value, str) else node.kind == "number" and node.value == value


def _floored(part: Operand) -> Operand:
    """A fraction as the whole number below it, at least 1; anything else as it is."""
    if not part.literal or INTEGER.fullmatch(part.literal) or part.node.value <= 0:
        return part
    whole = max(1, int(part.node.value))
    return replace(part, node=number(whole), literal=str(whole))
