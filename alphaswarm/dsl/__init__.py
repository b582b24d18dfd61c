"""The expression language: text to checked expression to values.

Parsing, checking and rewriting are cheap to import; `evaluate` brings the compiled kernels at its first use.
"""

from typing import TYPE_CHECKING, Any

from alphaswarm.dsl.canonical import canonical
from alphaswarm.dsl.check import bind, check
from alphaswarm.dsl.expr import Expr, call, field, group, number
from alphaswarm.dsl.mutate import crossover, mutate, random_expr
from alphaswarm.dsl.operators import operators
from alphaswarm.dsl.parser import parse
from alphaswarm.dsl.signature import Operator

if TYPE_CHECKING:
    from alphaswarm.dsl.evaluate import evaluate

__all__ = [
    "Expr",
    "Operator",
    "bind",
    "call",
    "canonical",
    "check",
    "crossover",
    "evaluate",
    "field",
    "group",
    "mutate",
    "number",
    "operators",
    "parse",
    "random_expr",
]


def __getattr__(name: str) -> Any:
    if name == "evaluate":
        from alphaswarm.dsl.evaluate import evaluate

        globals()["evaluate"] = evaluate  # the function, not the module of the same name that was just loaded
        return evaluate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
