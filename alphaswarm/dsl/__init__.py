"""The expression language: text to checked expression to values.

Parsing, checking and rewriting are cheap to import; `evaluate` brings the compiled kernels at its first use.
"""

from alphaswarm.dsl.build import build
from alphaswarm.dsl.canonical import canonical
from alphaswarm.dsl.check import bind, check
from alphaswarm.dsl.evaluate import evaluate
from alphaswarm.dsl.explain import Explanation, Suggestion, explain
from alphaswarm.dsl.expr import Expr, call, field, group, number
from alphaswarm.dsl.fingerprint import Fingerprint, Relation, equivalent, fingerprint
from alphaswarm.dsl.mutate import crossover, mutate, random_expr
from alphaswarm.dsl.operators import operators
from alphaswarm.dsl.parser import parse
from alphaswarm.dsl.signature import Operator

__all__ = [
    "Explanation",
    "Expr",
    "Fingerprint",
    "Operator",
    "Relation",
    "Suggestion",
    "bind",
    "build",
    "call",
    "canonical",
    "check",
    "crossover",
    "equivalent",
    "evaluate",
    "explain",
    "field",
    "fingerprint",
    "group",
    "mutate",
    "number",
    "operators",
    "parse",
    "random_expr",
]
