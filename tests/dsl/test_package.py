"""What importing the language brings, and what it does not."""

import subprocess
import sys

import pytest

import alphaswarm.dsl

SCRIPT = """
import sys
import alphaswarm.dsl
alphaswarm.dsl.parse("cs_rank(-ts_sum(returns, 5))").digest
print(sorted({"numba", "torch", "pandas", "scipy"} & set(sys.modules)))
from alphaswarm.dsl.evaluate import warm_up
print(callable(alphaswarm.dsl.evaluate), callable(warm_up))
"""


def test_reading_brings_no_compiler():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "True True"]


def test_every_public_name_is_there():
    assert all(getattr(alphaswarm.dsl, name) is not None for name in alphaswarm.dsl.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = alphaswarm.dsl.nothing
