"""Whether a hypothesis and its formula speak of the same thing: the data named, and the direction expected.

A plain reading of English by fixed patterns, which rather says nothing than something wrong: it judges a
direction only where the formula's slope in the data spoken of can be told from the formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from alphaswarm.dsl import Expr, operators
from alphaswarm.dsl.signature import SlotKind

__all__ = ["mismatches", "slope"]

PRICES = frozenset({"open", "high", "low", "close", "vwap", "returns"})
TRADED = frozenset({"volume", "dollar_volume"})
SPREADS = frozenset({"ts_std", "ts_var", "ts_mad", "ts_medad"})
# Of two prices of one day the later says where it went.
LATER = {"open": 0, "low": 1, "high": 1, "vwap": 2, "close": 3, "returns": 3}

# What in a text stands for a field whose name is also an everyday word, and the fields that may bear it out.
_MENTIONS: dict[str, tuple[str, frozenset[str]]] = {
    "open": (r"\bopening prices?\b|\bopen price\b|\bthe open\b", frozenset({"open"})),
    "high": (r"\b(?:daily|intraday|day's) highs?\b|\bhighs? of the day\b", frozenset({"high"})),
    "low": (r"\b(?:daily|intraday|day's) lows?\b|\blows? of the day\b", frozenset({"low"})),
    "close": (r"\bclosing prices?\b|\bclose price\b|\bthe close\b", frozenset({"close", "returns"})),
    "returns": (
        r"\b(?:past|recent|prior|previous|lagged|daily|trailing|one-day|[0-9]+[ -]day) (?:\w+ )?returns?\b",
        PRICES,
    ),
    "volume": (r"(?<!dollar )(?<!dollar_)\bvolumes?\b", TRADED),
    "dollar_volume": (r"\bdollar[ _]volumes?\b", TRADED),
}
_EXCUSED = re.compile(
    r"(?:\b(?:no|not|without|regardless of|irrespective of|independent of|ignor\w+|rather than|instead of|unlike"
    r"|controlling for)\s+(?:\w+\s+){0,2})$"
)

_REVERSAL = re.compile(
    r"(?<!volume )\b(?:revers(?:als?|es?|ing)|rever(?:ts?|ting|sion)|contrarian)\b"
    r"|\blosers?\b[^.;]{0,40}\b(?:rebound|recover|bounce|outperform|earn more|do better)"
    r"|\bwinners?\b[^.;]{0,40}\b(?:underperform|fall|earn less|do worse)"
)
_MOMENTUM = re.compile(
    r"(?<!volume )\b(?:momentum|underreact\w*)\b"
    r"|\bwinners?\b[^.;]{0,40}\b(?:outperform|keep|continue|earn more|do better)"
)

_UP = r"\b(?:high(?:er|est)?|large[rst]*|rising|increas\w+|strong(?:er)?|heavy|heavier|elevated|surging|positive)"
_DOWN = r"\b(?:low(?:er|est)?|small(?:er|est)?|falling|declin\w+|decreas\w+|weak(?:er)?|light(?:er)?|negative)"
_BETWEEN = r" (?:(?:past|recent|prior|daily|trailing|relative|average|trading) ){0,2}"
_GAIN = re.compile(
    r"\boutperform|\b(?:earn|do|perform|return)s? (?:more|better|higher)\b|\bhave higher (?:\w+ )?returns"
    r"|\b(?:rise|rebound|recover|gain)s?\b"
)
_LOSS = re.compile(
    r"\bunderperform|\b(?:earn|do|perform|return)s? (?:less|worse|lower)\b|\bhave lower (?:\w+ )?returns"
    r"|\b(?:fall|lose|lag)s?\b"
)
_SENTENCE = re.compile(r"[.;!?]\s|\b(?:while|whereas|but)\b")

# Operators that rise, or stay, with each of their series; what is not here has no sure slope.
_RISING = frozenset(
    {
        *("add", "max", "min", "fill", "sign", "log", "log1p", "slog1p", "exp", "sqrt", "floor", "ceil", "round"),
        *("clip", "sigmoid", "tanh", "delay", "delta", "last_diff", "hump", "ema", "sma_cn"),
        *("ts_backfill", "ts_sum", "ts_mean", "ts_min", "ts_max", "ts_rank", "ts_zscore", "ts_scale", "ts_quantile"),
        *("ts_median", "ts_av_diff", "ts_max_diff", "ts_min_diff", "ts_slope", "decay_linear", "decay_exp"),
        *("cs_rank", "cs_rank01", "cs_zscore", "cs_demean", "cs_scale", "cs_winsorize", "cs_mad_clip", "cs_bucket"),
        *("cs_quantile_clip", "cs_quantile_transform", "group_neutralize", "group_rank", "group_zscore", "group_scale"),
        *("group_mean", "group_sum", "group_backfill"),
    }
)
_NEVER_NEGATIVE = frozenset(
    {
        *("abs", "exp", "sigmoid", "sqrt", "cs_rank", "cs_rank01", "ts_rank", "ts_scale", "ts_count", "ts_entropy"),
        *("ts_argmax", "ts_argmin", "ts_rsq", "ts_days_since", "group_rank", "group_std", "group_count", *SPREADS),
    }
)
_SIGN_KEPT = frozenset(
    {
        *("add", "mul", "div", "inv", "max", "min", "fill", "delay", "ema", "sma_cn", "decay_linear", "decay_exp"),
        *("ts_backfill", "ts_sum", "ts_mean", "ts_min", "ts_max", "ts_quantile", "ts_median", "cs_scale"),
        *("group_mean", "group_sum", "group_backfill"),
    }
)
# A change is as new as today's value, whatever it is held against.
_CHANGES = frozenset(
    {"delta", "pct_change", "log_return", "ts_rank", "ts_zscore", "ts_scale", "ts_av_diff", "ts_backfill"}
)


def mismatches(hypothesis: str, expression: Expr, sign: int, fields: Collection[str]) -> tuple[str, ...]:
    """What the hypothesis says that the expression does not bear out, in words for whoever wrote it.

    Args:
        hypothesis: what effect is meant; any text.
        expression: the formula.
        sign: +1 where high values of it are said to earn more, -1 less, 0 where nothing was said: no direction is
            judged then.
        fields: names of the panel.
    """
    text = " ".join(hypothesis.lower().split())
    return (*_unused(text, expression, fields), *_directions(text, expression, sign, fields))


def _unused(text: str, expression: Expr, fields: Collection[str]) -> Iterator[str]:
    used = set(expression.fields) | set(expression.groups)
    for name in sorted(fields):
        pattern, borne_out = _mention(name)
        found = [match for match in re.finditer(pattern, text) if not _EXCUSED.search(text[: match.start()])]
        if found and not used & borne_out:
            yield f"The hypothesis names {name}, which the expression does not use."


def _mention(name: str) -> tuple[str, frozenset[str]]:
    quoted = rf"`{re.escape(name)}`"
    if name in _MENTIONS:
        words, borne_out = _MENTIONS[name]
        return f"{quoted}|{words}", borne_out
    if len(name) == 1:  # an article or a letter rather than a field
        return quoted, frozenset({name})
    return rf"{quoted}|\b{re.escape(name).replace('_', '[ _]')}\b", frozenset({name})


def _directions(text: str, expression: Expr, sign: int, fields: Collection[str]) -> Iterator[str]:
    if sign == 0:
        return
    of_prices = sign * (slope(expression, lambda node: node.kind == "field" and node.name in PRICES) or 0)
    reversal, momentum = (
        any(not _EXCUSED.search(text[: match.start()]) for match in pattern.finditer(text))
        for pattern in (_REVERSAL, _MOMENTUM)
    )
    if reversal and not momentum and of_prices > 0:
        yield f"The hypothesis speaks of reversal, but with sign {sign:+d} the expression favours what has risen."
    if momentum and not reversal and of_prices < 0:
        yield f"The hypothesis speaks of momentum, but with sign {sign:+d} the expression favours what has fallen."
    for sentence in _SENTENCE.split(text):
        yield from _claims(sentence, expression, sign, fields)


def _claims(sentence: str, expression: Expr, sign: int, fields: Collection[str]) -> Iterator[str]:
    """Claims such as "high volume earns less", each against the formula's slope in what it speaks of."""
    for words, subject, known in _subjects(expression, fields):
        for start, level in ((_UP, 1), (_DOWN, -1)):
            said = re.search(f"{start}{_BETWEEN}(?:{words})", sentence)
            if said is None:
                continue
            rest = sentence[said.end() :]
            gain, loss = _GAIN.search(rest), _LOSS.search(rest)
            if (gain is None) == (loss is None):
                continue
            claimed = level if gain else -level
            found = sign * (known or 0)
            if found and found != claimed:
                more = "more" if found > 0 else "less"
                meant = f"with sign {sign:+d} a high {subject} earns {more}"
                yield f'The hypothesis says of "{said[0]}" the opposite: {meant}.'


def _subjects(expression: Expr, fields: Collection[str]) -> Iterator[tuple[str, str, int | None]]:
    """What a claim can be about: a pattern, a name, and the formula's slope in it."""
    yield r"(?:factor |signal )?(?:values?|scores?|signals?|readings?)\b", "value of the expression", 1
    yield r"(?:past|recent|prior|daily|trailing) returns?\b", "past return", slope(expression, _any_of(PRICES))
    yield r"volatility\b", "volatility", slope(expression, lambda node: node.op in SPREADS)
    yield r"(?:dollar )?volumes?\b", "volume", slope(expression, _any_of(TRADED))
    for name in sorted(set(fields) - PRICES - TRADED):
        if len(name) > 1:
            words = re.escape(name).replace("_", "[ _]")
            yield rf"{words}\b", name, slope(expression, _any_of(frozenset({name})))


def _any_of(names: frozenset[str]) -> Callable[[Expr], bool]:
    return lambda node: node.kind == "field" and node.name in names


def slope(expression: Expr, of: Callable[[Expr], bool]) -> int | None:
    """Whether `expression` rises (+1) or falls (-1) with the latest of the parts that `of` picks.

    The latest, since ``close - ts_mean(close, 20)`` rises with today's close whatever the mean does. None where no
    part is picked, or the slope can't be told.
    """
    sure = [(age, later, sign) for age, later, sign in _parts(expression, of, 1, 0.0) if sign]
    if not sure:
        return None
    first = min(age for age, _, _ in sure)
    latest = max(later for age, later, _ in sure if age == first)
    signs = {sign for age, later, sign in sure if (age, later) == (first, latest)}
    return signs.pop() if len(signs) == 1 else None


def _parts(node: Expr, of: Callable[[Expr], bool], sign: int, age: float) -> Iterator[tuple[float, int, int]]:
    """Each picked part: how many days back, how late in the day, and the sign of its slope (0 unknown)."""
    if of(node):
        yield age, LATER.get(node.name, 0), sign
        return
    if node.kind != "call":
        return
    aged = age + _days_back(node)
    places = [i for i in range(len(node.args)) if node.args[i].kind in {"field", "call"}]
    for place in places:
        yield from _parts(node.args[place], of, sign * _slope_in(node, place), aged)


def _days_back(node: Expr) -> float:
    """How old, on the average, the rows are that a call looks at, beyond today's."""
    row = operators()[node.op]
    days = next(
        (
            arg.value
            for slot, arg in zip(row.slots, node.args, strict=False)
            if slot.kind in {SlotKind.WINDOW, SlotKind.LAG} and arg.kind == "number"
        ),
        0.0,
    )
    if node.op == "delay":
        return days
    if node.op in _CHANGES:
        return 0.0
    return days / 2


def _slope_in(node: Expr, place: int) -> int:
    """+1 or -1 where the call rises or falls with its argument at `place`; 0 where that can't be told."""
    op, args = node.op, node.args
    if op in _RISING:
        return 1
    if op == "neg":
        return -1
    if op == "sub":
        return 1 if place == 0 else -1
    if op in {"cs_resid", "ts_resid"}:
        return 1 if place == 0 else 0
    if op == "mul":
        return _sign_of(args[1 - place])
    if op == "div":
        return _sign_of(args[1]) if place == 0 else -_sign_of(args[0]) * abs(_sign_of(args[1]))
    if op in {"pct_change", "log_return"}:
        return _sign_of(args[0]) if place == 0 else 0
    if op == "inv":
        return -abs(_sign_of(args[0]))
    if op in {"if_else", "trade_when"}:
        return 1 if operators()[op].slots[place].kind is SlotKind.SERIES else 0
    if op in {"pow", "signed_power"} and place == 0 and args[1].kind == "number":
        odd = op == "signed_power" or _sign_of(args[0]) > 0
        return (1 if args[1].value > 0 else -1) if odd else 0
    return 0


def _sign_of(node: Expr) -> int:
    """+1 where its values are never negative, -1 where never positive, 0 where that can't be told."""
    if node.kind == "number":
        return (node.value > 0) - (node.value < 0)
    if node.kind == "field":
        return 1 if node.name in (PRICES | TRADED) - {"returns"} else 0
    if node.op in _NEVER_NEGATIVE:
        return 1
    if node.op == "neg":
        return -_sign_of(node.args[0])
    if node.op == "sub":
        return _sign_of_range(*(arg.name if arg.kind == "field" else "" for arg in node.args))
    if node.op in _SIGN_KEPT:
        signs = {
            _sign_of(arg) for arg in node.args if arg.kind in {"field", "call"} or node.op in {"add", "mul", "div"}
        }
        if node.op in {"mul", "div"} and 0 not in signs:
            return 1 if len(signs) == 1 else -1
        return signs.pop() if len(signs) == 1 else 0
    return 0


def _sign_of_range(first: str, second: str) -> int:
    """Of one price of a day less another: nothing is above the high or under the low."""
    prices = PRICES - {"returns"}
    if not {first, second} <= prices:
        return 0
    if "high" in {first, second}:
        return 1 if first == "high" else -1
    if "low" in {first, second}:
        return 1 if second == "low" else -1
    return 0
