"""Hostile formulas without end: the hand-written ones, and a seeded generator of more.

Eight kinds, drawn at random: Python that is no formula, formulas that were damaged, soup of tokens, repetitions, odd
characters, odd numbers, two hand-written texts spliced, and windows and lags that must not be.
"""

import json
from pathlib import Path

import numpy as np

from alphaswarm.core import Reason
from alphaswarm.dsl import operators, random_expr

NAMES = ["close", "open", "volume", "returns", "sector", "fwd_x", "label", "x", "__class__", "os", "True", "lambda"]
PIECES = [
    *operators(),
    *NAMES,
    "min_obs",
    "not",
    "and",
    "or",
    "0",
    "1",
    "5",
    "1e9",
    "504",
    "505",
    "-1",
    "1e999",
    "0x1F",
]
PIECES += ["(", ")", ",", "+", "-", "*", "/", "**", "<", "<=", "==", "!=", "=", " ", "\n", "\t", "\r\n", "'", '"', "."]
PIECES += [
    "[",
    "]",
    "{",
    "}",
    ":",
    ";",
    "@",
    "%",
    "&",
    "|",
    "~",
    "^",
    "\\",
    "`",
    "$",
    "?",
    "!",
    "#",
    "__x",
    "1_0",
    "3j",
]
PIECES += ["\u0430", "\uff43lose", "\u200d", "\u202e", "\x00", "\ud800", "\u0665", "\u00a0", "\U0001d41c", "\x1b["]
DIGITS = ["0", "1", "9", "00", ".", "e", "E", "-", "+", "_", "x", "j", "99999999", "5e-324", "1.7976931348623157e308"]

# Python that is no formula: each {} is replaced by another template or a name.
PYTHON = [
    "{}.{}",
    "{}[{}]",
    "{}[{}:{}]",
    "{}({})",
    "{}(*{})",
    "{}(**{})",
    "{}({}={})",
    "({} for x in {})",
    "[{} for x in {} if {}]",
    "{{{}: {}}}",
    "lambda x: {}",
    "({} := {})",
    "{} if {} else {}",
    "await {}",
    "yield {}",
    "f'{{{}}}'",
    "'{}'.format({})",
    "'{}' % {}",
    "{} and {}",
    "not {}",
    "{} is {}",
    "{} in {}",
    "{} << {}",
    "{} // {}",
    "{} @ {}",
    "~{}",
    "-{}",
    "{} ** {}",
    "{} < {} < {}",
    "({})",
    "({}, {})",
    "...",
    "import {}",
    "{} = {}",
    "{}; {}",
    "__import__('{}').{}()",
    "().__class__.__mro__[{}]",
    "cs_rank({})",
    "ts_mean({}, {})",
    "delay({}, -{})",
    "{} + {}",
]


def expand(text):
    """A text, or the pieces and counts that make one."""
    return text if isinstance(text, str) else "".join(piece * times for piece, times in text)


def refused():
    """The hand-written texts: kind to (text, reason, column)."""
    rows = json.loads(Path(__file__).with_name("refused.json").read_text("ascii"))
    return {kind: (expand(text), Reason(reason), column) for kind, text, reason, column in rows}


class Fuzzer:
    """Texts for one seed; the same ones in every process."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.written = [text for text, _, _ in refused().values() if len(text) < 5000]
        self.examples = [row.example for row in operators().values()]
        self.kinds = [
            self.python,
            self.damaged,
            self.soup,
            self.repeated,
            self.characters,
            self.numbers,
            self.spliced,
            self.windows,
        ]

    def text(self):
        """The next one."""
        return self.one(self.kinds)()

    def one(self, items):
        return items[int(self.rng.integers(len(items)))]

    def up_to(self, count):
        return int(self.rng.integers(1, count + 1))

    def python(self, depth=4):
        if depth == 0 or self.rng.random() < 0.2:
            return self.one(NAMES)
        template = self.one(PYTHON)
        holes = template.replace("{{", "").replace("}}", "").count("{}")
        return template.format(*(self.python(depth - 1) for _ in range(holes)))

    def sound(self):
        if self.rng.random() < 0.5:
            return self.one(self.examples)
        return str(random_expr(self.rng, ["close", "open", "volume"], ["sector"], max_depth=5))

    def damaged(self):
        text = self.sound()
        for _ in range(self.up_to(3)):
            start, stop = sorted(int(place) for place in self.rng.integers(len(text) + 1, size=2))
            stop = min(stop, start + 6)
            text = text[:start] + self.one(["", text[start:stop] * 2, self.one(PIECES)]) + text[stop:]
        return text

    def soup(self):
        return "".join(self.one(PIECES) for _ in range(self.up_to(40)))

    def repeated(self):
        unit = "".join(self.one(PIECES) for _ in range(self.up_to(3)))
        return unit * self.up_to(5000 // len(unit) + 2) + self.one(["", "close", ")" * 40])

    def characters(self):
        spans = [(0, 128), (32, 127), (0, 256), (0, 0x3000), (0xD7F0, 0xE010), (0x1D400, 0x1D7FF), (0, 0x110000)]
        low, high = self.one(spans)
        body = "".join(map(chr, self.rng.integers(low, high, size=self.up_to(60)).tolist()))
        return self.one([body, f"close{body}", f"cs_rank({body})", f"{body}close + 1"])

    def numbers(self):
        number = "".join(self.one(DIGITS) for _ in range(self.up_to(8)))
        return self.one(
            ["close * {}", "{}", "ts_mean(close, {})", "delay(close, {})", "{} ** {}", "close ** {}"]
        ).format(number, number)

    def spliced(self):
        first, second = self.one(self.written), self.one([*self.written, *self.examples])
        return first[: self.up_to(len(first) + 1)] + second[self.up_to(len(second) + 1) - 1 :]

    def windows(self):
        odd = self.one(["-1", "0", "505", "1e3", "2.5", "close", "-504", "5 - 6", "(1)", "10**9", "-0", "1e-9", "True"])
        return self.sound().replace("5", odd).replace("20", odd)
