"""Expressions as LaTeX."""

import numpy as np
import pytest

from alphaswarm.dsl import parse, random_expr
from alphaswarm.dsl.latex import latex


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("close", r"\mathrm{close}"),
        ("dollar_volume", r"\mathrm{dollar\_volume}"),
        ("close / (open + 1)", r"\frac{\mathrm{close}}{\mathrm{open} + 1}"),
        ("(close + open) * 2", r"\left(\mathrm{close} + \mathrm{open}\right) \cdot 2"),
        ("close - (open - low)", r"\mathrm{close} - \left(\mathrm{open} - \mathrm{low}\right)"),
        ("(close / open) ** 2", r"\left(\frac{\mathrm{close}}{\mathrm{open}}\right)^{2}"),
        ("(-close) ** (open + 1)", r"\left(-\mathrm{close}\right)^{\mathrm{open} + 1}"),
        ("-(close + open)", r"-\left(\mathrm{close} + \mathrm{open}\right)"),
        ("abs(close)", r"\left|\mathrm{close}\right|"),
        ("sqrt(close)", r"\sqrt{\mathrm{close}}"),
        ("close * 1e-20", r"\mathrm{close} \cdot \left(1 \cdot 10^{-20}\right)"),
        ("not close > open and low != 5", r"\lnot \mathrm{close} > \mathrm{open} \land \mathrm{low} \ne 5"),
        ("(close > open) == (low <= 5)", None),
        (
            "ts_corr(close, volume, 20)",
            r"\operatorname{ts\_corr}_{20}\left(\mathrm{close}, \mathrm{volume}\right)",
        ),
        (
            "ts_quantile(close, 20, 0.9, min_obs=5)",
            r"\operatorname{ts\_quantile}_{20}\left(\mathrm{close}, 0.9, \mathit{min\_obs} = 5\right)",
        ),
        ("ts_autocorr(close, 20, 1)", r"\operatorname{ts\_autocorr}_{20, 1}\left(\mathrm{close}\right)"),
    ],
)
def test_formula(text, formula):
    made = latex(parse(text))
    assert formula is None or made == formula


def test_brackets_and_braces_balance():
    rng = np.random.default_rng(7)
    for _ in range(300):
        made = latex(random_expr(rng, ["close", "volume"], ["sector"], max_depth=6))
        assert made.count("{") == made.count("}")
        assert made.count(r"\left") == made.count(r"\right")
