"""Qlib's expressions: ``$close``, ``Ref(x, d)``, ``Mean(x, d)``, ``If(c, x, y)``, ...

Meanings are those of Qlib's own operators (Yang et al. 2020, Qlib: An AI-oriented Quantitative Investment Platform).
Signs bind as in Python, which evaluates these texts there: ``&`` and ``|`` bind tighter than comparisons.
"""

from __future__ import annotations

from alphaswarm.dsl.dialects.dialect import Dialect, Infix, Leaf, native_infix
from alphaswarm.dsl.dialects.word import Word, table_of
from alphaswarm.dsl.lexer import WHY, Lexicon
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Family

__all__ = ["QLIB"]

_SINCE = "Qlib counts from the oldest row, 1 to d, the native operator from today back; on ties the native one takes "
_SINCE += "the most recent, Qlib the oldest"

_WORDS = (
    Word("Abs(x)", "abs(x)"),
    Word("Sign(x)", "sign(x)"),
    Word("Log(x)", "log(x)"),
    Word("Power(x, y)", "x ** y"),
    Word("Add(x, y)", "x + y"),
    Word("Sub(x, y)", "x - y"),
    Word("Mul(x, y)", "x * y"),
    Word("Div(x, y)", "x / y"),
    Word("Greater(x, y)", "max(x, y)"),
    Word("Less(x, y)", "min(x, y)"),
    Word("Gt(x, y)", "x > y"),
    Word("Ge(x, y)", "x >= y"),
    Word("Lt(x, y)", "x < y"),
    Word("Le(x, y)", "x <= y"),
    Word("Eq(x, y)", "x == y"),
    Word("Ne(x, y)", "x != y"),
    Word("And(a, b)", "a and b"),
    Word("Or(a, b)", "a or b"),
    Word("Not(c)", "not c"),
    Word("If(c, x, y)", "if_else(c, x, y)", "where c is NaN the result is NaN; Qlib takes y"),
    Word("Ref(x, d)", "delay(x, d)"),
    Word("Delta(x, d)", "delta(x, d)"),
    Word("Mean(x, d)", "ts_mean(x, d)"),
    Word("Sum(x, d)", "ts_sum(x, d)"),
    Word("Std(x, d)", "ts_std(x, d)"),
    Word("Var(x, d)", "ts_var(x, d)"),
    Word("Skew(x, d)", "ts_skew(x, d)"),
    Word("Kurt(x, d)", "ts_kurt(x, d)"),
    Word("Max(x, d)", "ts_max(x, d)"),
    Word("Min(x, d)", "ts_min(x, d)"),
    Word("IdxMax(x, d)", "d - ts_argmax(x, d)", _SINCE),
    Word("IdxMin(x, d)", "d - ts_argmin(x, d)", _SINCE),
    Word("Quantile(x, d, q)", "ts_quantile(x, d, q)"),
    Word("Med(x, d)", "ts_median(x, d)"),
    Word("Mad(x, d)", "ts_mad(x, d)"),
    Word("Rank(x, d)", "ts_rank(x, d)"),
    Word("Count(x, d)", "ts_count(not is_nan(x), d)"),
    Word("Slope(x, d)", "ts_slope(x, d)"),
    Word(
        "Rsquare(x, d)",
        "ts_slope(x, d) ** 2 * (d * (d + 1) / 12) / ts_var(x, d)",
        "the share of the variance that a straight line in time explains; NaN only where x is constant, in Qlib "
        "wherever its deviation is under 2e-5",
    ),
    Word("Resi(x, d)", "x - ts_mean(x, d) - ts_slope(x, d) * ((d - 1) / 2)", "today's distance from a line in time"),
    Word(
        "WMA(x, d)",
        "decay_linear(x, d)",
        "Qlib divides by the number of rows once more, so its values are d times smaller: not a weighted mean",
    ),
    Word(
        "EMA(x, d)",
        "ema(x, d)",
        "Qlib divides by the weights that exist so far; the native mean starts at the first value, and the two "
        "agree after a warm-up",
    ),
    Word(
        "Corr(x, y, d)",
        "ts_corr(x, y, d)",
        "NaN only where x or y is constant, in Qlib wherever one deviates under 2e-5",
    ),
    Word("Cov(x, y, d)", "ts_cov(x, y, d)"),
)

_WINDOWED = frozenset(row.name for row in OPERATORS.values() if row.option("min_obs"))
_COMPARED = frozenset(row.name for row in OPERATORS.values() if row.family is Family.COMPARISON)


def _leaf(name: str) -> Leaf:
    return Leaf("field", name[1:] if name.startswith("$") else "")


QLIB = Dialect(
    "qlib",
    infix={
        **native_infix("and", "or"),
        "|": Infix(OPERATORS["or"], 4.4),
        "&": Infix(OPERATORS["and"], 4.6),
    },
    prefix={"-": (OPERATORS["neg"], OPERATORS["neg"].precedence)},
    lexicon=Lexicon(
        symbols=("**", "<=", ">=", "==", "!=", *"+-*/<>=(),&|"),
        name=r"\$?[A-Za-z_][A-Za-z0-9_]*",
        cased=True,
        why={**WHY, "$": "a field is written $close", "!": "write Not(c)", "~": "write Not(c)"},
    ),
    words=table_of(_WORDS),
    leaf=_leaf,
    bare="as in $close",
    remarks=(
        (
            _WINDOWED,
            "a window of d rows needs d valid ones here; Qlib gives values from the first row on (min_periods=1), "
            "natively that is min_obs=1",
        ),
        (_COMPARED, "a comparison with NaN is NaN here, false in Qlib"),
        (
            frozenset({"div", "log", "pow"}),
            "a division by 0, the logarithm of 0 and overflow are NaN here, infinite in Qlib",
        ),
    ),
)
"""Qlib's expression engine. Windows of 0 (all history) and below 1 are refused, ``Ref`` into the future too."""
