"""Hostile formulas: each is refused with its reason and column, quickly, and nothing else happens.

"Nothing else" is watched by an audit hook: no file, import, code object, socket or process.
"""

import sys
import threading
import tracemalloc
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.core import ExpressionError, Panel, Reason
from alphaswarm.dsl import canonical, check, evaluate, parse
from alphaswarm.dsl.operators import OPERATORS
from tests.hostile.fuzzer import PIECES, Fuzzer, refused

REFUSED = refused()

WATCHED = (
    "open",
    "import",
    "exec",
    "compile",
    "code.",
    "socket.",
    "subprocess.",
    "os.",
    "shutil.",
    "ctypes.",
    "marshal.",
)
MEMORY = 20 << 20
_watching = threading.local()
_seen: list[str] = []


def _hook(event, _args):
    if getattr(_watching, "on", False) and event.startswith(WATCHED):
        _seen.append(event)


sys.addaudithook(_hook)  # can't be removed: the flag decides


def attempt(text, dialect="native"):
    """The error of reading `text` (None if it is read), the events meanwhile, and the seconds it took."""
    error = None
    _seen.clear()
    _watching.on = True
    start = process_time()
    try:
        expr = parse(text, dialect)
        assert parse(str(expr)) is expr
    except ExpressionError as refusal:
        error = refusal
        str(refusal), refusal.pointed()
    finally:
        _watching.on = False
    return error, list(_seen), process_time() - start


def test_the_hook_sees_what_it_shall_see():
    _seen.clear()
    _watching.on = True
    try:
        compile("1", "x", "eval")
        with open(__file__):  # noqa: PTH123
            pass
    finally:
        _watching.on = False
    assert {"compile", "open"} <= set(_seen)


@pytest.mark.parametrize(("text", "reason", "column"), REFUSED.values(), ids=REFUSED)
def test_refused_and_nothing_else(text, reason, column):
    error, events, seconds = attempt(text)
    assert (error.reason, error.column) == (reason, column)
    assert error.text == text
    assert error.message
    assert events == []
    assert seconds < 1


@pytest.mark.parametrize("text", [text for text, _, _ in REFUSED.values()], ids=REFUSED)
def test_messages_are_short_and_plain(text):
    error, _, _ = attempt(text)
    assert error.hint
    assert str(error).isascii()
    assert error.pointed().isascii()
    assert len(error.pointed()) < 600
    assert str(error).isprintable()


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("cs_rank(" * 29 + "close" + ")" * 29, "cs_rank(" * 29 + "close" + ")" * 29),
        ("cs_rank(\r\n\tclose\r\n)", "cs_rank(close)"),
        ("-close", "-close"),
        ("import", "import"),  # a name like any other: no panel has such a field
        ("ts_corr(" * 25 + "close" + ", open, 20)" * 25, "ts_corr(" * 25 + "close" + ", open, 20)" * 25),
    ],
)
def test_odd_but_sound(text, printed):
    error, events, _ = attempt(text)
    assert error is None
    assert events == []
    assert str(parse(text)) == printed


@pytest.mark.parametrize("dialect", ["qlib", "worldquant"])
@pytest.mark.parametrize("text", [text for text, _, _ in REFUSED.values()], ids=REFUSED)
def test_no_dialect_lets_more_through(dialect, text):
    error, events, seconds = attempt(text, dialect)
    assert events == []
    assert seconds < 1
    if error is None:  # another language may have it: whatever came out was native, else `attempt` fails
        assert len(text) < 100
        return
    assert error.text == text
    assert error.hint
    assert error.pointed().isascii()
    assert len(error.pointed()) < 2000


def test_29_ranks_are_one():
    assert canonical(parse("cs_rank(" * 29 + "close" + ")" * 29)) is parse("cs_rank(close)")


@pytest.mark.parametrize(
    "text", ["close / 0", "1 / (close - close)", "log(-close)", "exp(exp(close))", "0 * close ** -1e300"]
)
def test_what_overflows_or_is_undefined_is_nan_never_infinite(text):
    values = np.array([[1.0, 50.0, 0.0], [2.0, np.nan, 3.0]])
    panel = Panel.from_arrays({"close": values}, np.array(["2020-01-01", "2020-01-02"], "M8[D]"), ("a", "b", "c"))
    found = evaluate(text, panel, engine="reference")
    assert not np.isinf(found).any()
    assert np.isnan(found).any()


def outcome(text):
    """Whether a text was read; anything but an `ExpressionError` escapes and fails the test."""
    error, events, seconds = attempt(text)
    assert events == []
    assert seconds < 1
    if error is None:
        assert check(parse(text)).digest
        return True
    assert 1 <= error.column <= len(text) + 1
    return False


def test_there_are_enough_by_hand_and_of_every_reason():
    assert len(REFUSED) >= 300
    language = {reason for reason in Reason if reason.startswith("DSL") or reason is Reason.LOOKAHEAD}
    seen = {reason for _, reason, _ in REFUSED.values()}
    assert seen == language - {Reason.DSL_FIELD, Reason.DSL_PROGRAM}  # need a panel, a program


def flood(seed, count):
    """How many of `count` generated texts were read, and the bytes of memory that reading one took at most."""
    fuzzer = Fuzzer(seed)
    read = most = 0
    tracemalloc.start()
    try:
        for _ in range(count):
            text = fuzzer.text()
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            read += outcome(text)
            most = max(most, tracemalloc.get_traced_memory()[1] - before)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < MEMORY
    return read, most


@pytest.mark.parametrize("seed", range(5))
def test_generated_texts_only_ever_give_the_one_error(seed):
    read, most = flood(seed, 1000)
    assert 20 < read < 500
    assert most < MEMORY


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 180))
def test_many_more_generated_texts(seed):
    Fuzzer(seed).text()  # numpy's generators are imported at their first use
    modules = set(sys.modules)
    read, most = flood(seed, 1000)
    assert 20 < read < 500
    assert most < MEMORY
    assert set(sys.modules) == modules


@pytest.mark.parametrize(
    "kind", ["python", "damaged", "soup", "repeated", "characters", "numbers", "spliced", "windows"]
)
def test_each_kind_of_generated_text_is_drawn(kind):
    fuzzer = Fuzzer(9)
    assert getattr(fuzzer, kind) in fuzzer.kinds
    texts = {getattr(fuzzer, kind)() for _ in range(50)}
    assert len(texts) > 15
    assert not all(outcome(text) for text in texts)
    assert Fuzzer(5).text() == Fuzzer(5).text()


ANY = st.text(max_size=80)
TOKENS = st.lists(st.sampled_from([*PIECES, "close", "ts_mean(", "cs_rank(", ", 5)"]), max_size=60).map("".join)
NUMBERS = st.one_of(st.integers(), st.floats()).map(str)
CALLS = st.recursive(
    st.one_of(st.sampled_from(["close", "open", "fwd_x"]), NUMBERS),
    lambda inner: st.one_of(
        st.builds("{}({})".format, st.sampled_from(list(OPERATORS)), st.lists(inner, max_size=4).map(", ".join)),
        st.builds("{} {} {}".format, inner, st.sampled_from(["+", "*", "**", "<", "==", "and", "or"]), inner),
        st.builds("-{}".format, inner),
        st.builds("({})".format, inner),
    ),
    max_leaves=30,
)


@given(st.one_of(ANY, TOKENS, CALLS))
@settings(max_examples=300, deadline=None)
def test_any_text_at_all(text):
    outcome(text)


@pytest.mark.slow
@given(st.one_of(ANY, TOKENS, CALLS))
@settings(max_examples=20_000, deadline=None)
def test_twenty_thousand_texts_at_all(text):
    outcome(text)
