"""Other systems' names lead to ours."""

import pytest

from alphaswarm.dsl import hints
from alphaswarm.dsl.hints import instead_of
from alphaswarm.dsl.operators import OPERATORS


@pytest.mark.parametrize("name", sorted(hints._SPELLED))
def test_other_spellings_name_operators(name):
    assert name not in OPERATORS
    written = hints._SPELLED[name]
    assert "**" in written or written.split("(")[0] in OPERATORS


def test_hints():
    assert instead_of("rank") == "write cs_rank(x) or ts_rank(x, d)"
    assert instead_of("cs_rnk") == "did you mean 'cs_rank'?"
    assert instead_of("qqqqqq") == "alphaswarm alpha operators lists them"
