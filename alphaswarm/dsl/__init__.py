"""The expression language: text to checked expression to values.

Parsing, checking and rewriting are cheap to import; `evaluate` brings the compiled kernels at its first use.
"""

from alphaswarm.dsl.build import build
from alphaswarm.dsl.canonical import canonical
from alphaswarm.dsl.check import bind, check
from alphaswarm.dsl.cost import cost
from alphaswarm.dsl.dialects import DIALECTS
from alphaswarm.dsl.evaluate import evaluate
from alphaswarm.dsl.explain import Explanation, Suggestion, explain
from alphaswarm.dsl.expr import Expr, call, field, group, number
from alphaswarm.dsl.fingerprint import Fingerprint, Relation, equivalent, fingerprint
from alphaswarm.dsl.formulas import Formula, library
from alphaswarm.dsl.mutate import crossover, mutate, random_expr
from alphaswarm.dsl.operators import operators
from alphaswarm.dsl.parser import Translation, parse, translate
from alphaswarm.dsl.signature import Operator
from alphaswarm.dsl.stepper import Stepper
from alphaswarm.dsl.units import ExprWarning, warnings_of

__all__ = [
    "DIALECTS",
    "Explanation",
    "Expr",
    "ExprWarning",
    "Fingerprint",
    "Formula",
    "Operator",
    "Relation",
    "Stepper",
    "Suggestion",
    "Translation",
    "bind",
    "build",
    "call",
    "canonical",
    "check",
    "cost",
    "crossover",
    "equivalent",
    "evaluate",
    "explain",
    "field",
    "fingerprint",
    "group",
    "library",
    "mutate",
    "number",
    "operators",
    "parse",
    "random_expr",
    "translate",
    "warnings_of",
]
