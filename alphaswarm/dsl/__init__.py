"""The expression language: text to checked expression to values.

Parsing, checking and rewriting are cheap to import; `evaluate` brings the compiled kernels at its first use.
"""

from alphaswarm.dsl.canonical import canonical
from alphaswarm.dsl.check import bind, check
from alphaswarm.dsl.evaluate import evaluate
from alphaswarm.dsl.expr import Expr, call, field, group, number
from alphaswarm.dsl.mutate import crossover, mutate, random_expr
from alphaswarm.dsl.operators import operators
from alphaswarm.dsl.parser import parse
from alphaswarm.dsl.signature import Operator
from alphaswarm.dsl.stepper import Stepper

__all__ = [
    "Expr",
    "Operator",
    "Stepper",
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
