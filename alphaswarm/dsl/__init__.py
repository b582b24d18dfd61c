"""The expression language: text to checked expression to values.

Parsing, checking and rewriting need no numerical library beyond numpy; `evaluate` is loaded at its first use.
"""

from alphaswarm.dsl.expr import Expr, call, field, group, number
from alphaswarm.dsl.operators import operators
from alphaswarm.dsl.signature import Operator

__all__ = ["Expr", "Operator", "call", "field", "group", "number", "operators"]
