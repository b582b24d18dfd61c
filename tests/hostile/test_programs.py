"""Hostile factor programs: each ends in the one error with its line, and nothing else happens.

First against the language (what a program may say), then against the walls behind it: `escaped.py` runs any Python.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from alphaswarm.core import ProgramError, Reason
from alphaswarm.dsl import build
from alphaswarm.dsl.boxed import Box, run_boxed
from alphaswarm.dsl.limits import MAX_PROGRAM

ESCAPED = Path(__file__).with_name("escaped.py")
SYNTAX, ASCII, LARGE, WINDOW = Reason.DSL_SYNTAX, Reason.DSL_NON_ASCII, Reason.DSL_TOO_LARGE, Reason.DSL_WINDOW
NAME, PROGRAM, AHEAD, ARITY = Reason.DSL_NAME, Reason.DSL_PROGRAM, Reason.LOOKAHEAD, Reason.DSL_ARITY
CONSTANT, KIND = Reason.DSL_CONSTANT, Reason.DSL_KIND

# kind: program, reason, line.
REFUSED = {
    # ways out of Python that have worked somewhere
    "dunder attribute": ("alpha = close.__class__.__base__.__subclasses__()", SYNTAX, 1),
    "getattr": ("alpha = getattr(close, 'name')", SYNTAX, 1),
    "getattr without text": ("alpha = getattr(close, open)", NAME, 1),
    "setattr": ("setattr(close, open, 1)\nalpha = close", NAME, 1),
    "vars": ("alpha = vars(close)", NAME, 1),
    "globals": ("alpha = globals()", NAME, 1),
    "type": ("alpha = type(close)(1)", NAME, 1),
    "object": ("alpha = object()", NAME, 1),
    "isinstance": ("alpha = isinstance(close, int)", NAME, 1),
    "format walk": ("x = 1\nalpha = '{0.__class__}'.format(close)", SYNTAX, 2),
    "format_map": ("alpha = '{a.__class__}'.format_map(close)", SYNTAX, 1),
    "format attribute of a number": ("x = 5\ny = x.format\nalpha = close", SYNTAX, 2),
    "f-string": ("alpha = f'{close.__class__}'", SYNTAX, 1),
    "f-string width": ("x = 5\nalpha = f'{x:>100000000}'", SYNTAX, 2),
    "percent format": ("alpha = '%s' % close", SYNTAX, 1),
    "string.Formatter": ("import string\nalpha = string.Formatter()", SYNTAX, 1),
    "string module through an attribute": ("alpha = close.string", SYNTAX, 1),
    "generator frame": ("g = (x for x in [1])\nf = g.gi_frame\nalpha = close", SYNTAX, 2),
    "generator back frame": ("g = (x for x in [1])\nb = g.gi_frame.f_back.f_back\nalpha = close", SYNTAX, 2),
    "generator code": ("g = (x for x in [1])\nc = g.gi_code\nalpha = close", SYNTAX, 2),
    "coroutine frame": ("async def f():\n    pass\nc = f().cr_frame\nalpha = close", SYNTAX, 1),
    "traceback frame": ("try:\n    close.x\nexcept Exception as e:\n    t = e.__traceback__\nalpha = close", SYNTAX, 1),
    "AttributeError.obj": ("try:\n    close.x\nexcept AttributeError as e:\n    o = e.obj\nalpha = close", SYNTAX, 1),
    "NameError.name": ("try:\n    Z\nexcept NameError as e:\n    alpha = e.name", SYNTAX, 1),
    "except star": ("try:\n    close\nexcept* ValueError:\n    pass\nalpha = close", SYNTAX, 1),
    "function globals": ("def f():\n    return 1\ng = f.__globals__\nalpha = close", SYNTAX, 3),
    "function code": ("def f():\n    return 1\nf.__code__ = f\nalpha = close", SYNTAX, 3),
    "function defaults": ("def f(x=1):\n    return x\nd = f.__defaults__\nalpha = close", SYNTAX, 3),
    "method self": ("x = [].append.__self__\nalpha = close", SYNTAX, 1),
    "append of an expression": ("close.append(1)\nalpha = close", PROGRAM, 1),
    "append of a number": ("x = 5\nx.append(1)\nalpha = close", PROGRAM, 2),
    "append of append": ("x = [].append.append\nalpha = close", PROGRAM, 1),
    "append set": ("x = []\nx.append = 5\nalpha = close", SYNTAX, 2),
    "positional-only parameter": ("def f(x, /):\n    return x\nalpha = f(close)", SYNTAX, 1),
    "positional-only dunder": ("def f(__import__, /):\n    return 1\nalpha = close", SYNTAX, 1),
    "keyword-only parameter": ("def f(*, x):\n    return x\nalpha = f(x=close)", SYNTAX, 1),
    "star parameter": ("def f(*x):\n    return x\nalpha = close", SYNTAX, 1),
    "double star parameter": ("def f(**x):\n    return x\nalpha = close", SYNTAX, 1),
    "default that escapes": ("def f(x=close.__class__):\n    return x\nalpha = close", SYNTAX, 1),
    "annotation": ("def f(x: int):\n    return x\nalpha = close", SYNTAX, 1),
    "annotation that escapes": ("x: (__import__) = 1\nalpha = close", SYNTAX, 1),
    "return annotation": ("def f(x) -> int:\n    return x\nalpha = close", SYNTAX, 1),
    "decorator": ("@cs_rank\ndef f(x):\n    return x\nalpha = close", SYNTAX, 2),
    "lambda": ("f = lambda: close\nalpha = f()", SYNTAX, 1),
    "walrus": ("alpha = (y := close)", SYNTAX, 1),
    "walrus in a comprehension": ("x = [y := 1 for z in [1]]\nalpha = close", SYNTAX, 1),
    "star argument": ("x = [open, close]\nalpha = max(*x)", SYNTAX, 2),
    "double star argument": ("alpha = ts_mean(close, 5, **{'min_obs': 3})", SYNTAX, 1),
    "star in an assignment": ("a, *b = [1, 2, 3]\nalpha = close", SYNTAX, 1),
    "dict": ("x = {1: 2}\nalpha = close", SYNTAX, 1),
    "set": ("x = {1, 2}\nalpha = close", SYNTAX, 1),
    "dict comprehension": ("x = {y: y for y in [1]}\nalpha = close", SYNTAX, 1),
    "class": ("class A:\n    pass\nalpha = close", SYNTAX, 1),
    "class with a metaclass": ("class A(metaclass=close):\n    pass\nalpha = close", SYNTAX, 1),
    "match class pattern": ("match close:\n    case int():\n        pass\nalpha = close", SYNTAX, 1),
    "match value": ("match 1:\n    case 1:\n        alpha = close", SYNTAX, 1),
    "while": ("while 1:\n    pass", SYNTAX, 1),
    "try finally": ("try:\n    pass\nfinally:\n    alpha = close", SYNTAX, 1),
    "with": ("with open as f:\n    pass\nalpha = close", SYNTAX, 1),
    "raise": ("raise 5", SYNTAX, 1),
    "raise SystemExit": ("raise SystemExit", SYNTAX, 1),
    "assert": ("assert 1\nalpha = close", SYNTAX, 1),
    "delete": ("del close\nalpha = close", SYNTAX, 1),
    "delete an operator": ("del cs_rank", SYNTAX, 1),
    "global": ("def f():\n    global x\n    x = 1\nalpha = close", SYNTAX, 2),
    "nonlocal": ("def f():\n    x = 1\n    def g():\n        nonlocal x\n    return g\nalpha = close", SYNTAX, 4),
    "yield": ("def f():\n    yield close\nalpha = f()", SYNTAX, 2),
    "yield from": ("def f():\n    yield from [close]\nalpha = f()", SYNTAX, 2),
    "await": ("async def f():\n    await close\nalpha = close", SYNTAX, 1),
    "async comprehension": ("x = [y async for y in close]\nalpha = close", SYNTAX, 1),
    "import": ("import os\nalpha = close", SYNTAX, 1),
    "import as": ("import os as cs_rank\nalpha = close", SYNTAX, 1),
    "from import": ("from os import system\nalpha = close", SYNTAX, 1),
    "from future import": ("from __future__ import annotations\nalpha = close", SYNTAX, 1),
    "import in a function": ("def f():\n    import os\n    return os\nalpha = close", SYNTAX, 2),
    "__import__": ("alpha = __import__('os').system('id')", SYNTAX, 1),
    "__builtins__": ("alpha = __builtins__", SYNTAX, 1),
    "__builtins__ assigned": ("__builtins__ = 1\nalpha = close", SYNTAX, 1),
    "guard called": ("alpha = _getattr_(close, open)", SYNTAX, 1),
    "guard replaced": ("_getiter_ = list\nalpha = close", SYNTAX, 1),
    "guard as a parameter": ("def f(_getattr_):\n    return 1\nalpha = close", SYNTAX, 1),
    "guard as a loop name": ("for _getiter_ in [1]:\n    pass\nalpha = close", SYNTAX, 1),
    "guard as a comprehension name": ("x = [1 for _binary_ in [1]]\nalpha = close", SYNTAX, 1),
    "guard as a function name": ("def _binary_(x):\n    return x\nalpha = close", SYNTAX, 1),
    "guard as a keyword": ("alpha = ts_mean(close, 5, _getattr_=1)", SYNTAX, 1),
    "temporary name of the transformer": ("_tmp0 = 1\nalpha = close", SYNTAX, 1),
    "roles": ("x__roles__ = 1\nalpha = close", SYNTAX, 1),
    "print": ("print(close)\nalpha = close", SYNTAX, 1),
    "printed": ("alpha = printed", SYNTAX, 1),
    "print assigned": ("print = close\nalpha = print", SYNTAX, 1),
    "eval": ("alpha = eval(close)", SYNTAX, 1),
    "exec": ("exec(close)\nalpha = close", SYNTAX, 1),
    "compile": ("alpha = compile(close, close, close)", NAME, 1),
    "open called": ("alpha = open(close)", NAME, 1),
    "input": ("alpha = input()", NAME, 1),
    "breakpoint": ("breakpoint()\nalpha = close", SYNTAX, 1),
    "exit": ("exit(0)", NAME, 1),
    "help": ("help()\nalpha = close", NAME, 1),
    "os": ("alpha = os.system", SYNTAX, 1),
    "super": ("alpha = super()", NAME, 1),
    "slice object": ("x = slice(1, 2)\nalpha = close", NAME, 1),
    "subscript of an expression": ("alpha = close[0]", PROGRAM, 1),
    "slice of an expression": ("alpha = close[1:2]", PROGRAM, 1),
    "subscript of a function": ("def f():\n    return 1\nx = f[0]\nalpha = close", PROGRAM, 3),
    "subscript assigned": ("x = [1]\nx[0] = close\nalpha = x[0]", SYNTAX, 2),
    "subscript assigned in place": ("x = [1]\nx[0] += 1\nalpha = close", SYNTAX, 2),
    "code object in a subscript": ("alpha = close['__code__']", SYNTAX, 1),
    "text": ("x = 'a'\nalpha = close", SYNTAX, 1),
    "text as an argument": ("alpha = ts_mean('close', 5)", SYNTAX, 1),
    "text times a number": ("x = 'a' * 10**9\nalpha = close", SYNTAX, 1),
    "bytes": ("x = b'close'\nalpha = close", SYNTAX, 1),
    "text joined": ("x = 'a' 'b'\nalpha = close", SYNTAX, 1),
    "ellipsis": ("alpha = close + ...", SYNTAX, 1),
    "complex": ("alpha = close * 3j", SYNTAX, 1),
    "complex from a power": ("alpha = close * (-8) ** 0.5", PROGRAM, 1),
    "matmul": ("alpha = close @ open", SYNTAX, 1),
    "shift": ("x = 1 << 1000000000\nalpha = close", SYNTAX, 1),
    "xor": ("x = 1 ^ 2\nalpha = close", SYNTAX, 1),
    "in": ("x = 1 in [1]\nalpha = close", SYNTAX, 1),
    "is": ("x = close is open\nalpha = close", SYNTAX, 1),
    "expression in an if": ("if close > open:\n    alpha = close", PROGRAM, 1),
    "expression in and": ("alpha = close > open and volume > 0", PROGRAM, 1),
    "expression in not": ("alpha = not close > open", PROGRAM, 1),
    "expressions chained": ("alpha = 1 < close < 5", PROGRAM, 1),
    "expression called": ("alpha = (close + open)(5)", PROGRAM, 1),
    "number called": ("x = 5(3)\nalpha = close", PROGRAM, 1),
    "expression gone through": ("for x in close:\n    alpha = x", PROGRAM, 1),
    "expression unpacked": ("a, b = close\nalpha = a", PROGRAM, 1),
    "number unpacked": ("a, b = 5\nalpha = close", PROGRAM, 1),
    "wrong count unpacked": ("a, b = [1, 2, 3]\nalpha = close", PROGRAM, 1),
    "expression as int": ("x = int(close)\nalpha = close", PROGRAM, 1),
    "expression to len": ("x = len(close)\nalpha = close", PROGRAM, 1),
    "list as an argument": ("alpha = cs_rank([close])", PROGRAM, 1),
    "function as an argument": ("alpha = cs_rank(cs_rank)", PROGRAM, 1),
    "truth as an argument": ("alpha = ts_mean(close, True)", PROGRAM, 1),
    "None as an argument": ("alpha = ts_mean(close, None)", PROGRAM, 1),
    "expression as an option": ("alpha = ts_mean(close, 5, min_obs=close)", PROGRAM, 1),
    "self by keyword": ("alpha = cs_rank(self=close)", PROGRAM, 1),
    # using up memory, time or space
    "power tower": ("alpha = close * 9**9**9", LARGE, 1),
    "power tower by steps": ("x = 9\nfor i in range(99):\n    x = x ** 9\nalpha = close * x", LARGE, 3),
    "power in place": ("x = 9\nx **= 99999999\nalpha = close", LARGE, 2),
    "negative power tower": ("x = 9 ** -99999999\nalpha = close", LARGE, 1),
    "product that grows": ("x = 3\nfor i in range(9999):\n    x *= x\nalpha = close", LARGE, 3),
    "float that overflows": ("x = 1e300 * 1e300\nalpha = close", PROGRAM, 1),
    "float power that overflows": ("x = 10.0 ** 400\nalpha = close", PROGRAM, 1),
    "infinite literal": ("alpha = close * 1e400", SYNTAX, 1),
    "division by zero": ("x = 1 / 0\nalpha = close", PROGRAM, 1),
    "list bomb": ("x = [0] * 10**9\nalpha = close", LARGE, 1),
    "list of lists bomb": ("x = [[[0] * 9999] * 9999] * 9999\ny = x * 2\nalpha = close", LARGE, 2),
    "list bomb from the left": ("x = 10**9 * [0]\nalpha = close", LARGE, 1),
    "tuple bomb": ("x = (0,) * 10**9\nalpha = close", LARGE, 1),
    "list that doubles": ("x = [0]\nfor i in range(99):\n    x = x + x\nalpha = close", LARGE, 3),
    "list in place": ("x = [0]\nfor i in range(99):\n    x += x\nalpha = close", LARGE, 3),
    "append without end": ("x = []\nfor i in range(9999):\n    for j in range(9999):\n        x.append(j)", LARGE, 4),
    "range without end": ("for i in range(10**12):\n    pass\nalpha = close", LARGE, 1),
    "range backwards without end": ("for i in range(0, -10**12, -1):\n    pass\nalpha = close", LARGE, 1),
    "sum of a range": ("x = sum(range(10**10))\nalpha = close", LARGE, 1),
    "range with step zero": ("x = range(1, 5, 0)\nalpha = close", PROGRAM, 1),
    "loops in loops": ("for i in range(9999):\n    for j in range(9999):\n        pass\nalpha = close", LARGE, 2),
    "comprehensions in comprehensions": (
        "x = [0 for a in range(999) for b in range(999) for c in range(999)]\nalpha = close",
        LARGE,
        1,
    ),
    "sums in sums": ("x = sum(sum(range(9999)) for i in range(9999))\nalpha = close", LARGE, 1),
    "zip of itself": ("x = [[1] * 9999] * 9999\ny = zip(*x)\nalpha = close", SYNTAX, 2),
    "self-made list": ("x = []\nx.append(x)\nalpha = x", PROGRAM, 3),
    "round to no digit": ("x = round(5, -10**9)\nalpha = close", LARGE, 1),
    "memory by lists of lists": ("x = []\nfor i in range(9999):\n    x.append([i] * 9999)\nalpha = close", LARGE, 3),
    "lists within lists compared": (
        "x = []\ny = []\nfor i in range(9999):\n    x = [x]\n    y = [y]\nz = x == y\nalpha = close",
        LARGE,
        6,
    ),
    "a list compared with itself in itself": ("x = []\ny = [x]\nx.append(y)\nz = x == y\nalpha = close", LARGE, 4),
    "a generator within itself": ("def f():\n    return sum(g)\ng = (f() for x in [1])\nalpha = sum(g)", PROGRAM, 2),
    "lists of expressions compared": ("x = max([[close]], [[open]])\nalpha = close", PROGRAM, 1),
    "an expression as a start": ("x = enumerate([1], close)\nalpha = close", PROGRAM, 1),
    "endless recursion": ("def f(x):\n    return f(x)\nalpha = f(close)", LARGE, 2),
    "doubling recursion": ("def f(n):\n    return f(n - 1) + f(n - 1) if n else 1\nalpha = close * f(99)", LARGE, 2),
    "recursion of two": ("def f(x):\n    return g(x)\ndef g(x):\n    return f(x)\nalpha = f(close)", LARGE, 4),
    "doubling expression": ("alpha = close\nfor i in range(99):\n    alpha = alpha + alpha", LARGE, 3),
    "deep expression": ("alpha = close\nfor i in range(99):\n    alpha = cs_rank(alpha)", LARGE, 3),
    "wide expression": ("alpha = max(close, close)\nfor i in range(999):\n    alpha = max(alpha, i)", LARGE, 3),
    "long text": ("\n".join([f"a{'b' * 60} = 1"] * 10) + "\nalpha = sum([" + f"c{'d' * 62}, " * 127 + "])", LARGE, 11),
    "3,000 parentheses": ("alpha = " + "(" * 3000 + "close" + ")" * 3000, SYNTAX, 1),
    "90 parentheses and lists": ("alpha = " + "[" * 90 + "close" + "]" * 90, PROGRAM, 1),
    "5,000 minuses": ("alpha = " + "-" * 5000 + "close", LARGE, 1),
    "5,000 times not": ("alpha = " + "not " * 3000 + "close", LARGE, 1),
    "3,000 terms": ("alpha = " + "+".join(["close"] * 2500), LARGE, 1),
    "101 nested functions": (
        "\n".join(f"{' ' * i}def f{i}():" for i in range(101)) + f"\n{' ' * 101}pass\nalpha = close",
        SYNTAX,
        101,
    ),
    "an integer of 4,500 digits": ("alpha = close * " + "9" * 4500, SYNTAX, 1),
    "hex of 10,000 digits": ("alpha = close * 0x" + "f" * 10_000, SYNTAX, 1),
    "integer that is not written out": ("x = 3 ** 400\nalpha = close * x ** 2", LARGE, 2),
    "a program of 20,000 bytes": ("alpha = close\n" + "#" * 20_000, LARGE, 2),
    "a program of a million lines": ("\n" * 1_000_000, LARGE, MAX_PROGRAM + 1),
    # text that is not what it seems
    "full-width name": ("alpha = \uff43lose", ASCII, 1),
    "full-width dunder": ("x = 1\nalpha = close.__\uff43lass__", ASCII, 2),
    "ligature": ("alpha = \ufb01eld", ASCII, 1),
    "bidi control": ("alpha = close \u202e# + open", ASCII, 1),
    "zero-width joiner": ("alpha = clo\u200dse", ASCII, 1),
    "Cyrillic homoglyph": ("alpha = \u0441lose", ASCII, 1),
    "lone surrogate": ("alpha = clo\ud800se", ASCII, 1),
    "Arabic digits": ("alpha = ts_mean(close, \u0665)", ASCII, 1),
    "null byte": ("alpha = close\x00 + open", SYNTAX, 1),
    "escape sequence": ("alpha = close # \x1b[2J", SYNTAX, 1),
    "form feed": ("alpha = close\x0c", SYNTAX, 1),
    "delete character": ("alpha = close\x7f", SYNTAX, 1),
    "carriage return that hides": ("alpha = open #\rimport os", SYNTAX, 1),
    "coding cookie": ("# -*- coding: utf-7 -*-\nalpha = +AGM-lose", NAME, 2),
    "coding cookie rot13": ("# coding: rot13\nvzcbeg bf", SYNTAX, 2),
    "unknown upper-case name": ("alpha = CLOSE", NAME, 1),
    "indentation": ("alpha = close\n    open", SYNTAX, 2),
    "tabs and blanks": ("if 1:\n\talpha = close\n        alpha = open", SYNTAX, 3),
    "line continuation": ("alpha = close \\ + open", SYNTAX, 1),
    "two statements": ("alpha = close; import os", SYNTAX, 1),
    "unterminated text": ("x = 1\nalpha = '''", SYNTAX, 2),
    # results that are none, or that the language refuses
    "nothing": ("", PROGRAM, 1),
    "only a comment": ("# close", PROGRAM, 1),
    "never assigned": ("beta = close", PROGRAM, 1),
    "read before it is assigned": ("alpha = alpha + 1", NAME, 1),
    "a bare expression": ("close", SYNTAX, 1),
    "return outside a function": ("return close", SYNTAX, 1),
    "break outside a loop": ("break", SYNTAX, 1),
    "a number": ("alpha = 5", PROGRAM, 1),
    "a list": ("alpha = [close]", PROGRAM, 1),
    "an operator": ("alpha = cs_rank", PROGRAM, 1),
    "a function": ("def alpha():\n    return close", PROGRAM, 1),
    "look-ahead": ("def f(d):\n    return delay(close, d)\nalpha = f(-1)", AHEAD, 2),
    "look-ahead by arithmetic": ("alpha = cs_rank(\n    delay(close,\n    2 - 3))", AHEAD, 2),
    "label": ("x = close\nalpha = x / fwd_ret", AHEAD, 2),
    "window that is no integer": ("d = 10 / 2\nalpha = ts_mean(close, d)", WINDOW, 2),
    "huge window": ("alpha = ts_mean(close, 10 ** 9)", WINDOW, 1),
    "wrong count": ("x = close\nalpha = ts_mean(x)", ARITY, 2),
    "no argument": ("x = close\nalpha = x + max()", ARITY, 2),
    "unknown option": ("alpha = ts_mean(close, 5, axis=0)", NAME, 1),
    "unknown operator": ("x = 1\nalpha = ts_meen(close, 5)", NAME, 2),
    "operator through its name": ("alpha = close.ts_mean(5)", SYNTAX, 1),
    "group as a number": ("alpha = group_rank(close, 5)", KIND, 1),
    "constants only": ("alpha = cs_rank(5)", CONSTANT, 1),
    "log of a constant": ("alpha = close * log(-1)", CONSTANT, 1),
}


def attempt(program):
    try:
        return build(program)
    except ProgramError as error:
        str(error), error.pointed()
        return error


@pytest.fixture(scope="module")
def outcomes():
    """What becomes of every program; three run at a time."""
    with ThreadPoolExecutor(3) as pool:
        return dict(zip(REFUSED, pool.map(attempt, (program for program, _, _ in REFUSED.values())), strict=True))


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_with_reason_and_line(kind, outcomes):
    _, reason, line = REFUSED[kind]
    error = outcomes[kind]
    assert isinstance(error, ProgramError), str(error)
    assert (error.reason, error.line) == (reason, line), str(error)
    assert "stopped" not in error.message  # the language itself refuses: no wall was reached
    assert str(error).isascii()
    assert str(error).isprintable()
    assert len(error.pointed()) < 800


def test_there_are_many_kinds():
    assert len(REFUSED) > 180


# -- the walls behind the language -------------------------------------------------------------------------

LINUX = sys.platform == "linux" and os.uname().machine == "x86_64"
FORBIDDEN = {
    "open": "open('/etc/passwd')",
    "open to write": "open('made', 'w')",
    "os.open": "os.open('/etc/passwd', os.O_RDONLY)",
    "a list of files": "answer['files'] = os.listdir('/')",
    "its own memory": "open('/proc/self/mem', 'rb')",
    "the parent's environment": "open(f'/proc/{os.getppid()}/environ')",
    "stat": "os.stat('/')",
    "rename": "os.rename('a', 'b')",
    "remove": "os.remove('a')",
    "mkdir": "os.mkdir('a')",
    "chdir": "os.chdir('/')",
    "link": "os.symlink('/', 'a')",
    "socket": "socket.socket()",
    "socket pair": "socket.socketpair()",
    "name lookup": "socket.getaddrinfo('localhost', 80)",
    "fork": "os.fork()",
    "fork bomb": "while True: os.fork()",
    "fork by another name": "os.forkpty()",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "exec": "os.execv('/bin/true', ['true'])",
    "system": "os.system('id')",
    "popen": "subprocess.run(['id'])",
    "thread": "threading.Thread(target=answer.clear).start()",
    "kill the parent": "os.kill(os.getppid(), 9)",
    "kill the group": "os.killpg(0, 9)",
    "import": "import json.tool",
    "import by function": "__import__('http.client')",
    "load a library": "ctypes.CDLL('libc.so.6')",
    "look up a function": "LIBC.open(b'/etc/passwd', 0)",
    "read memory": "ctypes.string_at(1)",
    "all objects": "gc.get_objects()",
    "referrers": "gc.get_referrers(answer)",
    "another frame's code": "import sys\nsys._getframe(1).f_code",
    "code of a function": "(lambda: 0).__code__",
    "another hook": "import sys\nsys.addaudithook(print)",
    "higher limits": "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))",
    "memory map": "mmap.mmap(-1, 4096)",
    "pipe": "os.pipe()",
    "duplicate": "os.dup(1)",
    "sleep": "time.sleep(1000)",
    "wait": "select.select([], [], [], 1000)",
    "memory file": "os.memfd_create('a')",
}
# Straight to the kernel, past every check of Python's.
SYSTEM_CALLS = {
    "read": (0, "0, 0, 0"),
    "open": (2, "b'/etc/passwd', 0"),
    "openat": (257, "-100, b'/etc/passwd', 0"),
    "open_by_handle_at": (304, "0, 0, 0"),
    "openat2": (437, "-100, b'/etc/passwd', 0, 0"),
    "socket": (41, "2, 1, 0"),
    "socketpair": (53, "1, 1, 0, 0"),
    "connect": (42, "3, 0, 0"),
    "clone": (56, "17, 0, 0, 0, 0"),
    "fork": (57, "0"),
    "vfork": (58, "0"),
    "clone3": (435, "0, 0"),
    "execve": (59, "b'/bin/true', 0, 0"),
    "execveat": (322, "-100, b'/bin/true', 0, 0, 0"),
    "kill": (62, "1, 0"),
    "tkill": (200, "1, 0"),
    "tgkill of another": (234, "1, 1, 0"),
    "ptrace": (101, "0, 0, 0, 0"),
    "process_vm_readv": (310, "1, 0, 0, 0, 0, 0"),
    "prctl": (157, "4, 1, 0, 0, 0"),
    "seccomp": (317, "0, 0, 0"),
    "bpf": (321, "0, 0, 0"),
    "io_uring_setup": (425, "4, 0"),
    "memfd_create": (319, "b'a', 0"),
    "shmget": (29, "0, 4096, 512"),
    "mount": (165, "0, 0, 0, 0, 0"),
    "unshare": (272, "0"),
    "setrlimit": (160, "7, 0"),
    "prlimit64": (302, "0, 7, 0, 0"),
    "pipe": (22, "0"),
    "dup": (32, "1"),
    "fcntl": (72, "1, 1, 0"),
    "ioctl": (16, "1, 21505, 0"),
    "perf_event_open": (298, "0, 0, 0, 0, 0"),
    "userfaultfd": (323, "0"),
    "32-bit numbers": (0x40000000 + 1, "1, 0, 0"),
}
BOX = Box(memory=256 << 20, cpu=1, wall=20.0, output=1 << 16)


def escaped(source):
    return run_boxed(ESCAPED, {"source": source}, BOX, [])


@pytest.mark.parametrize("kind", FORBIDDEN)
def test_an_escaped_program_reaches_nothing(kind):
    outcome = escaped(FORBIDDEN[kind])
    assert outcome.answer is None
    assert outcome.fault.startswith(("it tried what is forbidden", "it tried to reach the system")), outcome.fault
    assert not outcome.limit


@pytest.mark.skipif(not LINUX, reason="the filter is for Linux on x86-64")
@pytest.mark.parametrize("name", SYSTEM_CALLS)
def test_the_kernel_refuses(name):
    number, arguments = SYSTEM_CALLS[name]
    outcome = escaped(f"answer['got'] = SYSCALL({number}, {arguments})")
    assert outcome.answer is None
    assert outcome.fault == "it tried to reach the system"


@pytest.mark.skipif(not LINUX, reason="the filter is for Linux on x86-64")
def test_the_system_call_in_hand_works_at_all():
    assert escaped("answer['pid'] = SYSCALL(39)").answer["pid"] > 0


def test_nothing_is_inherited(monkeypatch, tmp_path):
    monkeypatch.setenv("ALPHASWARM_LLM_API_KEY", "hush")
    with (tmp_path / "secret").open("w+"):
        environment = escaped("answer['names'] = sorted(os.environ); answer['path'] = __import__('sys').path").answer
    assert set(environment["names"]) <= {"LC_CTYPE"}
    assert environment["path"] == []
    held = escaped("answer['fds'] = FDS").answer["fds"]
    assert held == [0, 1, 2]


def test_no_file_is_left(tmp_path):
    escaped("open('made', 'w')")
    assert list(tmp_path.iterdir()) == []  # the working directory of the tests


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("while True: pass", "processor time"),
        ("9 ** 9 ** 9", "processor time"),
        ("'a' * 10 ** 9", "memory"),
        ("x = []\nwhile True: x.append(' ' * 10 ** 6)", "memory"),
        ("[[]] * 10 ** 9", "memory"),
        ("while True: os.write(1, b'x' * 4096)", "bytes"),
        ("while True: os.write(2, b'x' * 4096)", "bytes"),
    ],
)
def test_limits_hold(source, fault):
    outcome = escaped(source)
    assert outcome.answer is None
    assert outcome.limit
    assert fault in outcome.fault


@pytest.mark.parametrize(
    "source",
    [
        "signal.raise_signal(9)",
        "os._exit(0)",
        "os._exit(3)",
        "os.abort()",
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): return [*map(lambda _: f(), [0])]\nf()",
        "answer['x'] = float('nan') if False else {1}",
        'os.write(1, b\'{"text": "close"\')\nos._exit(0)',
        "os.write(1, b'[1]')\nos._exit(0)",
        "os.write(1, b'\\xff\\xfe')\nos._exit(0)",
        "raise KeyboardInterrupt",
        "raise SystemExit(0)",
        "class E(Exception):\n    def __str__(self): return open('x').read()\nraise E",
        "os.close(1)\nos.close(2)",
    ],
)
def test_any_end_is_one_outcome(source):
    outcome = escaped(source)
    assert outcome.answer is None
    assert outcome.fault


@pytest.mark.parametrize(
    "forged",
    [
        "{\"text\": \"__import__('os').system('id')\"}",
        '{"text": "delay(close, -1)"}',
        '{"text": "close\\u202e"}',
        '{"text": ["close"]}',
        '{"text": 5}',
        '{"text": "close + ", "places": "x"}',
        '{"text": "close + ", "places": [[1, "x"], [true], 5, [1, 1e300], [-1, -1]]}',
        '{"error": {"a": 1}, "line": "x", "kind": [1]}',
        '{"error": "\\u001b[2J\\ud800", "line": 99999999999, "column": -5, "unknown": 7}',
        '{"error": "' + "x" * 60_000 + '"}',
        "{}",
    ],
)
def test_a_forged_answer_is_text_like_any_other(forged, monkeypatch, tmp_path):
    forger = tmp_path / "forger.py"
    body = f"import os\nos.write(1, {forged.encode()!r})\nos._exit(0)"
    forger.write_text(ESCAPED.read_text().replace('payload["source"]', repr(body)))
    monkeypatch.setattr(sys.modules["alphaswarm.dsl.build"], "_WORKER", forger)
    error = attempt("alpha = close")
    assert isinstance(error, ProgramError)
    assert len(str(error)) < 500
    assert str(error).isprintable()
    assert str(error).isascii()


def test_a_forged_expression_is_an_expression(monkeypatch, tmp_path):
    forger = tmp_path / "forger.py"
    body = 'import os\nos.write(1, b\'{"text": "cs_rank(close)"}\')\nos._exit(0)'
    forger.write_text(ESCAPED.read_text().replace('payload["source"]', repr(body)))
    monkeypatch.setattr(sys.modules["alphaswarm.dsl.build"], "_WORKER", forger)
    assert str(attempt("alpha = open")) == "cs_rank(close)"


def test_no_process_is_left():
    before = children()
    for source in ("while True: pass", "os.fork()", "answer['x'] = 1"):
        escaped(source)
    assert children() <= before


def children() -> set[str]:
    """Processes that this one started and that are still there."""
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())


def test_the_command_line_says_it_plainly():
    command = [sys.executable, "-m", "alphaswarm", "alpha", "build", "-"]
    done = subprocess.run(command, input="x = 1\nimport os", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[0].startswith("DSL_SYNTAX in line 2")
    assert "Traceback" not in done.stderr
