"""Docs that can't drift: what they list is made from the code, what they show runs, what they link is there.

Blocks between ``<!-- begin NAME -->`` and ``<!-- end -->`` are generated; UPDATE_DOCS=1 writes them anew.
"""

from __future__ import annotations

import ast
import asyncio
import doctest
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import alphaswarm
from alphaswarm.cli.app import app
from alphaswarm.cli.main import main
from alphaswarm.cli.output import ExitCode
from alphaswarm.core import Reason, errors
from alphaswarm.data import Catalog, FindingKind, synthetic_market
from alphaswarm.dsl import operators
from alphaswarm.rag import CORPORA

PACKAGE = Path(alphaswarm.__file__).parent
ROOT = PACKAGE.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
TEXTS = [ROOT / "README.md", *PAGES]
LINKING = [*TEXTS, *(ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"))]
WIDTH = 120

BLOCK = re.compile(r"(<!-- begin (?P<name>[^>]*?) -->\n)(?P<text>.*?)(<!-- end -->)", re.S)
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.S | re.M)
SPAN = re.compile(r"`([^`\n]+)`")
HEADING = re.compile(r"^#+ (.*)$", re.M)

name_of = {"ids": lambda path: path.name}


def prose(path: Path) -> str:
    """The page without its fenced blocks, in one line."""
    return " ".join(FENCE.sub("", path.read_text("utf-8")).split())


def table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]] | list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def code(*words: str) -> str:
    return ", ".join(f"`{word}`" for word in words)


# What is generated.


def docstrings(path: Path, owner: str | None = None) -> dict[str, str]:
    """Names assigned in a module or class to the string that stands below each."""
    body = ast.parse(path.read_text("utf-8")).body
    if owner is not None:
        body = next(node.body for node in body if isinstance(node, ast.ClassDef) and node.name == owner)
    found = {}
    for one, two in pairwise(body):
        if isinstance(one, ast.Assign) and isinstance(two, ast.Expr) and isinstance(two.value, ast.Constant):
            found[ast.unparse(one.targets[0])] = str(two.value.value)
    return found


def reason_table() -> str:
    meanings = docstrings(PACKAGE / "core" / "errors.py", "Reason")
    kinds: dict[Reason, list[str]] = {}
    for name in errors.__all__:
        kind = getattr(errors, name)
        if isinstance(kind, type) and "reason" in vars(kind) and kind is not errors.AlphaSwarmError:
            kinds.setdefault(kind.reason, []).append(name)
    kinds |= {reason: ["ExpressionError"] for reason in Reason if reason.startswith(("DSL_", "LOOK"))}
    kinds[Reason.DSL_FIELD] = ["UnknownField", "FieldNotFound"]
    kinds[Reason.SPEC_NOT_ALLOWED] = ["SpecInvalid"]
    rows = [(code(reason), code(*kinds.get(reason, ["AlphaSwarmError"])), meanings[reason]) for reason in Reason]
    return table(("reason", "raised as", "meaning"), rows)


def error_tree() -> str:
    text = str(errors.__doc__).split("::\n\n", 1)[1].split("\n\n")[0]
    return "```\n" + "\n".join(line.removeprefix("    ") for line in text.splitlines()) + "\n```\n"


def panel_table() -> str:
    catalog = Catalog(home=Path("nowhere"))
    said = {True: "yes", False: "no", None: "not stated"}
    rows = []
    for name in catalog.names():
        info = catalog.describe(name)
        size = f"{info.rows:,} x {info.symbols}"
        fields = ", ".join((*info.fields, *info.groups))
        dates = f"{info.start} to {info.end}"
        rows.append((code(name), size, dates, fields, said[info.adjusted], said[info.survivorship_biased]))
    return table(("panel", "days x names", "dates", "fields and groups", "adjusted", "survivors only"), rows)


def limit_table() -> str:
    path = PACKAGE / "dsl" / "limits.py"
    values: dict[str, Any] = {}
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            values[ast.unparse(node.targets[0])] = node.value.value
    return table(("most", "of"), [(f"{values[name]:,}", text) for name, text in docstrings(path).items()])


def operator_lists() -> str:
    families: dict[str, list[str]] = {}
    for row in operators().values():
        families.setdefault(row.family.value, []).append(row.name)
    rows = [(family, str(len(names)), code(*names)) for family, names in families.items()]
    return f"{len(operators())} operators:\n\n" + table(("family", "", "names"), rows)


def tool_table() -> str:
    rows = []
    for tool in listed_tools():
        schema = tool.input_schema
        arguments = [
            name if name in schema.get("required", ()) else f"{name}={json.dumps(about.get('default'))}"
            for name, about in schema["properties"].items()
        ]
        stores = "no" if tool.annotations.read_only_hint else "yes"
        rows.append((code(tool.name), str(tool.description), code(*arguments), stores))
    return table(("tool", "what it does", "arguments", "stores"), rows)


def listed_tools() -> list[Any]:
    from mcp import Client

    from alphaswarm.mcp_server import create_server

    def nothing() -> Any:
        raise AssertionError("the tools are listed without a workspace")

    async def listed() -> list[Any]:
        async with Client(create_server(nothing)) as client:
            return (await client.list_tools()).tools

    return asyncio.run(listed())


@cache
def root_command() -> Any:
    return typer.main.get_command(app)


@cache
def commands() -> dict[str, Any]:
    """Every command by the words that call it."""
    found: dict[str, Any] = {}
    waiting: list[tuple[str, Any]] = [("", root_command())]
    while waiting:
        words, command = waiting.pop(0)
        if hasattr(command, "commands"):
            waiting += [(f"{words} {name}".strip(), below) for name, below in command.commands.items()]
        else:
            found[words] = command
    return found


SHARED = {"--workspace", "--panel", "--json"}


def value_name(option: Any) -> str:
    if option.is_flag:
        return ""
    if isinstance(option.default, float):
        return " X"
    return " N" if isinstance(option.default, int) else " TEXT"


def command_block(words: str) -> str:
    command = commands()[words]
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    usage = " ".join(["alphaswarm", words, *(one.name.upper() for one in arguments)])
    shared = [one.opts[0] for one in options if one.opts[0] in SHARED]
    says = " ".join(str(command.help).split())
    also = f" With {code(*shared)}." if shared else ""
    lines = [f"`{usage}`: {says}{also}", ""]
    lines += [f"- `{one.name.upper()}`: {one.help}" for one in arguments]
    for one in options:
        if one.opts[0] not in SHARED:
            default = "" if one.is_flag or one.default in (None, "") else f" ({one.default})"
            required = " (required)" if one.required else ""
            lines.append(f"- `{one.opts[0]}{value_name(one)}`{default}{required}{': ' + one.help if one.help else ''}")
    return "\n".join(lines).rstrip() + "\n"


GENERATORS: dict[str, Callable[[], str]] = {
    "reasons": reason_table,
    "error tree": error_tree,
    "panels": panel_table,
    "checks": lambda: table(("kind", "meaning"), [(code(kind), kind.meaning) for kind in FindingKind]),
    "limits": limit_table,
    "operators": operator_lists,
    "corpora": lambda: table(
        ("corpus", "a document is", "`as_of` is"),
        [(code(one.name), one.holds, one.known_from) for one in CORPORA.values()],
    ),
    "tools": tool_table,
} | {f"command {words}": (lambda words=words: command_block(words)) for words in commands()}


@pytest.mark.parametrize("path", PAGES, **name_of)
def test_generated_blocks_are_current(path: Path) -> None:
    def made(block: re.Match[str]) -> str:
        return f"{block[1]}{GENERATORS[block['name']]()}{block[4]}"

    text = path.read_text("utf-8")
    current = BLOCK.sub(made, text)
    assert text.count("<!-- begin ") == len(BLOCK.findall(text))
    if os.environ.get("UPDATE_DOCS"):
        path.write_text(current, "utf-8")
    assert path.read_text("utf-8") == current


def test_every_block_stands_somewhere_once() -> None:
    placed = [block["name"] for path in PAGES for block in BLOCK.finditer(path.read_text("utf-8"))]
    assert sorted(placed) == sorted(GENERATORS)


# What is listed by hand.


def test_every_command_and_option_is_in_the_page() -> None:
    page = section_texts()
    shared = (ROOT / "docs" / "cli.md").read_text("utf-8").split("## agent")[0]
    for words, command in commands().items():
        assert f"`alphaswarm {words}" in page[words]
        for option in command.params:
            for spelling in option.opts if option.param_type_name == "option" else ():
                assert f"`{spelling}" in (shared if spelling in SHARED else page[words]), f"{words} {spelling}"


def test_exit_codes_and_environment_are_those_of_the_code() -> None:
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    told = re.search(r"\| code \|.*?\n\n", page, re.S)
    assert told is not None
    assert re.findall(r"^\| (\d) ", told[0], re.M) == [str(int(one)) for one in ExitCode]
    sources = " ".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    read = set(re.findall(r"\"(ALPHASWARM_[A-Z_]+|NUMBA_CACHE_DIR)\"", sources))
    assert set(re.findall(r"^\| `([A-Z_]+)`", page, re.M)) == read


def test_the_floors_are_those_of_the_package() -> None:
    page = (ROOT / "docs" / "index.md").read_text("utf-8")
    packages = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert set(re.findall(r"^\| \d \| `(\w+)`", page, re.M)) == packages
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", page)) >= {path.name for path in PAGES} - {"index.md"}


@pytest.mark.parametrize("path", TEXTS, **name_of)
def test_counts_of_operators_are_true(path: Path) -> None:
    for count in re.findall(r"(\d+) operators", path.read_text("utf-8")):
        assert int(count) == len(operators())


def numbers() -> list[tuple[str, str]]:
    """Sentences whose numbers are constants of the code."""
    from alphaswarm.agents import critic, lessons, researcher
    from alphaswarm.agents.llm import ATTEMPTS, LONGEST_WAIT_SECONDS, LlmConfig
    from alphaswarm.agents.proposers import search, surrogate
    from alphaswarm.backtest.ranking import MIN_NAMES, TIE_DECIMALS, TIE_DIGITS
    from alphaswarm.cli import agent_live
    from alphaswarm.core import spec, store
    from alphaswarm.data import check_days, check_names, check_values, market, table
    from alphaswarm.dsl import behaviour
    from alphaswarm.evaluation.evaluator import DECAY_HORIZONS
    from alphaswarm.mcp_server import desk, paging, server, transport
    from alphaswarm.mcp_server.tools import backtests
    from alphaswarm.rag import embed
    from alphaswarm.research import cautions, lease, report, report_data
    from alphaswarm.trading.costs import COST_CURVE_BP, DEFAULT_COST_BP

    limits = LlmConfig()
    breeding = {name: f"{100 * share:.0f} %" for name, share in search.BREEDING.items()}
    known = researcher.RECALLED_PER_TRIAL
    curve = ", ".join(f"{cost:g}" for cost in COST_CURVE_BP)
    return [
        ("core.md", f"waits up to {store.BUSY_WAIT_SECONDS:g} s for others"),
        ("core.md", f"at most {spec.MAX_BYTES >> 10} KiB, {spec.MAX_DEPTH} levels"),
        ("data.md", f"Caps: {table.MAX_BYTES >> 30} GiB, {table.MAX_CELLS // 10**6} million values"),
        ("data.md", f"{table.MAX_COLUMNS:,} columns; a gzip or Parquet file"),
        ("data.md", f"more than both {table.RATIO_FREE_BYTES >> 20} MiB and {table.MAX_RATIO} times its size"),
        ("data.md", f"beyond {check_values.LARGE_RETURN:.0%}".replace("%", " %")),
        ("data.md", f"with less than {check_values.BUSY:g} times the usual volume"),
        (
            "data.md",
            f"Twins correlate above {check_names.TWIN_CORRELATION} on at least {check_names.FEWEST_COMMON_ROWS}",
        ),
        ("data.md", f"over {100 * check_days.STALE_SHARE:g} % of the names, at least {check_days.STALE_NAMES}"),
        ("data.md", f"Student's t with {market.TAIL} degrees of freedom"),
        (
            "data.md",
            f"memory {market.VOLATILITY_MEMORY}), bounded smoothly at +-{100 * market.LARGEST_RETURN:g} % a day",
        ),
        ("backtest.md", f"fewer than {MIN_NAMES} finite values"),
        ("backtest.md", f"after rounding to {TIE_DECIMALS} decimals"),
        ("backtest.md", f"keeps {TIE_DIGITS} digits"),
        ("backtest.md", f"The default is {DEFAULT_COST_BP:g} bp"),
        ("backtest.md", f"{curve.rpartition(', ')[0]} and {curve.rpartition(', ')[2]} bp"),
        ("evidence.md", f"at least {MIN_NAMES} of them"),
        ("evidence.md", f"at horizons {', '.join(map(str, DECAY_HORIZONS))}"),
        ("evidence.md", f"at {curve} bp, annualised"),
        ("evidence.md", f"less than {100 * cautions.MIN_COVERAGE:g} % of the priced names is refused"),
        ("evidence.md", f"a mean IC above {cautions.LEAK_IC}"),
        ("evidence.md", f"fewer than {cautions.SHORT_WINDOW} days in the window"),
        ("evidence.md", f"coverage below {100 * cautions.THIN_COVERAGE:g} %"),
        ("research.md", f"gone after {lease.LEASE_SECONDS:g} s without a sign of life"),
        ("research.md", f"up to {report_data.SHEETS_SHOWN}:"),
        ("research.md", f"{report.SAME_BET} in absolute value counts as the same bet"),
        ("memory.md", f"Embedder `{embed.EMBEDDER}`: {embed.STRUCTURE_SIZE} places"),
        ("memory.md", f"and {embed.WORDS_SIZE} for words"),
        ("mcp.md", f"| one message | {transport.MAX_LINE >> 20} MiB |"),
        ("mcp.md", f"lists are cut at about {paging.MAX_ANSWER:,} bytes"),
        ("mcp.md", f"answered within {desk.DEADLINE_SECONDS:g} s"),
        ("mcp.md", f"in process {server.PATIENT_SECONDS:g} s"),
        ("mcp.md", f"every {desk.HEARTBEAT_SECONDS:g} s, for clients"),
        ("mcp.md", f"at most {backtests.MAX_WAIT:g} s; then a handle"),
        ("mcp.md", f"| jobs remembered | {desk.MAX_JOBS} |"),
        ("mcp.md", f"answered for up to {transport.GRACE_SECONDS:g} s"),
        ("mcp.md", f"thinned to {backtests.CURVE} points"),
        ("mcp.md", f"({code(*server.available_toolsets())})"),
        ("alpha-researcher-agent.md", f"memory knows: {researcher.MEMORY_HITS} documents"),
        ("alpha-researcher-agent.md", f"{researcher.PATIENCE} rounds in a row brought only repeats"),
        ("alpha-researcher-agent.md", f"{known} known trials for each of its budget"),
        ("alpha-researcher-agent.md", f"(at least {known * researcher.SMALLEST_BUDGET})"),
        ("alpha-researcher-agent.md", f"correlation {researcher.SAME_BEHAVIOUR} or more"),
        (
            "alpha-researcher-agent.md",
            f"chance gives, below {critic.FLOOR_T:g} not enough",
        ),
        ("alpha-researcher-agent.md", f"a mean daily IC above {critic.LEAK_IC}"),
        ("alpha-researcher-agent.md", f"behaves like a stored trial ({critic.CROWDED} or more)"),
        ("alpha-researcher-agent.md", f"or |z| of {lessons.WORKS_Z:g} and more where"),
        ("alpha-researcher-agent.md", f"every {agent_live.SECONDS_BETWEEN_LINES:g} s at most"),
        ("proposers.md", f"Then come batches of {search.SearchProposer.batch}."),
        ("proposers.md", f"of {search.LITTER} children: mutation {breeding['mutate']}"),
        ("proposers.md", f"so many trials ({surrogate.PROMISING_T} at least)"),
        ("proposers.md", f"A formula within {surrogate.SAME_IDEA} of one that was had"),
        ("proposers.md", f"the panel's rows, {behaviour.LONGEST} at most"),
        ("proposers.md", f"crossover {breeding['crossover']}"),
        ("proposers.md", f"a random draw {breeding['random']}"),
        ("proposers.md", f"the {search.POOL} fittest"),
        ("proposers.md", f"less {search.PARSIMONY} for each node"),
        ("proposers.md", f"{search.MAX_NODES} nodes, {search.MAX_DEPTH} levels"),
        ("alpha-researcher-agent.md", f"{limits.max_calls:,} calls, {limits.max_tokens:,} tokens"),
        ("alpha-researcher-agent.md", f"tokens, {limits.max_seconds:,.0f} s of model time"),
        ("alpha-researcher-agent.md", f"{limits.timeout:g} s a call, {limits.reply_tokens:,} tokens a reply"),
        ("alpha-researcher-agent.md", f"tried up to {ATTEMPTS} times"),
        ("alpha-researcher-agent.md", f"no more than {LONGEST_WAIT_SECONDS:g} s of patience"),
    ]


def test_numbers_in_the_text_are_those_of_the_code() -> None:
    pages = {path.name: prose(path) for path in PAGES}
    assert [(page, text) for page, text in numbers() if text not in pages[page]] == []


# What is linked.


def anchors(path: Path) -> set[str]:
    """How headings are linked: lower case, no punctuation, hyphens for spaces."""
    text = FENCE.sub("", path.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in HEADING.findall(text)}


@pytest.mark.parametrize("path", LINKING, **name_of)
def test_links_lead_somewhere(path: Path) -> None:
    text = FENCE.sub("", path.read_text("utf-8"))
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    dead = []
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        target = (path.parent / place).resolve() if place else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


# What is shown.


def shown_commands(path: Path) -> list[tuple[str, bool]]:
    """Command lines in the text, and whether each is whole: one in running text may be cut short."""
    text = path.read_text("utf-8")
    lines = [line for _, block in FENCE.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    spans = SPAN.findall(FENCE.sub("", text))
    return [(line, True) for line in lines if re.match(r"(\S*/)?alphaswarm ", line)] + [
        (span, False) for span in spans if re.match(r"(\S*/)?alphaswarm [a-z]", span)
    ]


def command_fault(line: str, whole: bool) -> str:
    """What is wrong with a command line, or nothing."""
    words = shlex.split(line, comments=True)[1:]
    command, name = root_command(), "alphaswarm"
    while hasattr(command, "commands"):
        if not words:
            return "" if not whole else "names no command"
        name = words.pop(0)
        if name not in command.commands:
            return f"there is no command {name!r}"
        command = command.commands[name]
    known = {spelling for one in command.params for spelling in one.opts}
    unknown = [word for word in words if word.startswith("--") and word.split("=")[0] not in known]
    if unknown:
        return f"{name} has no option {unknown[0]}"
    if whole:
        try:
            command.make_context(name, words)
        except Exception as error:  # noqa: BLE001 - usage errors of the parser, whatever their class
            return str(error)
    return ""


@pytest.mark.parametrize("path", TEXTS, **name_of)
def test_commands_shown_exist(path: Path) -> None:
    faults = [(line, command_fault(line, whole)) for line, whole in shown_commands(path)]
    assert [fault for fault in faults if fault[1]] == []


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        ("alphaswarm alpha evalute close", True),
        ("alphaswarm alpha evaluate close --pannel us431", True),
        ("alphaswarm agent run --budget many", True),
        ("alphaswarm alpha weights close", True),
        ("alphaswarm data fetch", True),
        ("alphaswarm agent run --depth", False),
        ("alphaswarm", True),
    ],
)
def test_faulty_commands_would_be_found(line: str, whole: bool) -> None:
    assert command_fault(line, whole)


def test_python_examples_give_what_they_say() -> None:
    runner = doctest.DocTestRunner(verbose=False)
    examples = 0
    for path in PAGES:
        test = doctest.DocTestParser().get_doctest(
            path.read_text("utf-8").replace("```\n", "\n"), {}, path.name, str(path), 0
        )
        examples += len(test.examples)
        runner.run(test)
    assert examples > 10
    assert runner.summarize(verbose=False).failed == 0


# What runs: every block marked `sh example`, in the order of the pages, in one fresh project.


@dataclass(frozen=True)
class Ran:
    """One command line and what it gave."""

    line: str
    code: int
    out: str
    err: str


ORDER = ("data.md", "backtest.md", "research.md", "memory.md")
# Commands that no example shows, for the keys of their documents.
MORE = (
    "alphaswarm agent list --json",
    'alphaswarm alpha validate "-ts_sum(returns, 5)" --json',
    "alphaswarm alpha operators --json",
    "alphaswarm alpha library wq001 --panel mine --json",
    'alphaswarm backtest run "-ts_sum(returns, 5)" --panel mine --json',
    "alphaswarm alpha show ba60fa06fde8 --json",  # the digest of that expression
    "alphaswarm data list --json",
    "alphaswarm data show mine --json",
    "alphaswarm rag reindex --json",
    "alphaswarm init --json",
)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> list[Ran]:
    examples = [
        line
        for page in ORDER
        for language, block in FENCE.findall((ROOT / "docs" / page).read_text("utf-8"))
        if language == "sh example"
        for line in block.splitlines()
    ]
    with pytest.MonkeyPatch.context() as patch:
        directory = tmp_path_factory.mktemp("docs")
        patch.chdir(directory)
        patch.setenv("ALPHASWARM_HOME", str(directory / "home"))
        write_prices(directory / "prices.csv")
        return [run(line, patch) for line in (*examples, *MORE)]


def write_prices(path: Path) -> None:
    panel = synthetic_market("null", seed=1, days=200, names=40)
    dates = np.datetime_as_string(panel.dates, "D")
    lines = ["date,symbol,close,volume,sector"]
    for (row, column), close in np.ndenumerate(panel["close"]):
        sector, volume = panel.groups["sector"][row, column], panel["volume"][row, column]
        lines.append(f"{dates[row]},{panel.symbols[column]},{close},{volume},{sector}")
    path.write_text("\n".join(lines) + "\n")


def run(line: str, patch: pytest.MonkeyPatch) -> Ran:
    """The command line in this process, with its output kept."""
    patch.setattr(sys, "argv", shlex.split(line))
    status: Any = 0
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        try:
            main()
        except SystemExit as stop:
            status = stop.code
    return Ran(line, int(status or 0), out.getvalue(), err.getvalue())


def test_examples_run(ran: list[Ran]) -> None:
    assert [(one.line, one.err) for one in ran if one.code != 0] == []
    assert len(ran) > len(MORE) + 10


def section_texts() -> dict[str, str]:
    """The text under each command's heading of the page, with that of commands whose document it refers to."""
    parts = re.split(r"^#{2,3} (.*)\n", (ROOT / "docs" / "cli.md").read_text("utf-8"), flags=re.M)
    own = {title: text for title, text in zip(parts[1::2], parts[2::2], strict=True) if title in commands()}
    names = "|".join(own)
    return {
        title: text + "".join(own[other] for other in re.findall(rf"`({names})`", BLOCK.sub("", text)))
        for title, text in own.items()
    }


# Below these keys stand names of the user's, not of the program's.
OPEN = {"decay", "net_sharpe", "missing", "weights", "config", "corpora"}


def keys(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(keys, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(keys(below) for name, below in value.items() if name not in OPEN))


def test_keys_of_documents_are_in_the_page(ran: list[Ran]) -> None:
    page = section_texts()
    seen = set()
    for one in ran:
        if "--json" not in one.line:
            continue
        words = " ".join(shlex.split(one.line)[1:3])
        title = words if words in page else words.split()[0]
        found = json.loads(one.out)
        if title == "data check":
            found["counts"] = {}  # by kind of finding, which data.md lists
        if title == "rag query":
            found["results"] = [{**hit, "summary": {}} for hit in found["results"]]
        seen.add(title)
        assert {key for key in keys(found) if f"`{key}`" not in page[title]} == set(), title
    assert seen >= {"alpha evaluate", "agent run", "agent show", "alpha weights", "backtest run", "data check"}


@pytest.mark.parametrize("title", ["alpha evaluate", "agent run"])
def test_the_page_names_no_key_that_is_not_there(ran: list[Ran], title: str) -> None:
    (found,) = [
        json.loads(one.out) for one in ran if one.line.startswith(f"alphaswarm {title}") and "--json" in one.line
    ]
    text = BLOCK.sub("", section_texts()[title])
    values = {"evaluated", "refused", "invalid", "complete", "exhausted", "stopped", "limit", "t"}
    named = set(re.findall(r"`([a-z_]+)`", text)) - values
    judged = set(re.findall(r"`([a-z_]+)`", section_texts()["alpha submit"])) | {"model", "cutoff", "flag"}
    assert named - keys(found) <= {"invalid", "refused", "evaluated"} | (judged if title == "agent run" else set())
