# One word starts each habit. `make demo` and `make test` work from a fresh clone with Python (3.11 to 3.13) alone:
# they make .venv, install, and fetch Kafka and Redis the first time.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/pytest
# Made anew when the dependencies change; an editable install sees every other change by itself.
STAMP := .venv/.installed

.PHONY: setup demo test test-long check unit integration bench chaos clean
.DEFAULT_GOAL := test

setup: $(STAMP)

$(STAMP): pyproject.toml
	test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/eunoe demo

# Everything that takes seconds to a few minutes, on real Kafkas and Redises: three processes with one of each, for a
# test mostly waits. A test that fails is run once more and reported as such: on two busy cores a client library now and
# then hangs.
test: setup
	$(PYTEST) -m 'not long' --reruns 1 --numprocesses 3 --dist worksteal

# What takes long: soaks, and crashes in the middle of many commands.
test-long: setup
	$(PYTEST) -m long

unit: setup
	$(PYTEST) tests/unit

integration: setup
	$(PYTEST) -m 'not long' tests/integration tests/contract

check: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# make bench NAME=decide
NAME ?= all
bench: setup
	$(BIN)/eunoe bench $(NAME)

# Does to a stack of its own what production does, and checks what must hold (docs/chaos.md): under five minutes, or with
# LONG=1 about an hour. make chaos SEED=7
chaos: setup
	$(BIN)/python -m eunoe.testing.chaos $(if $(SEED),--seed $(SEED)) $(if $(LONG),--long)

# Stops the stack started from here, then removes what was made here. Downloads in the user's cache stay.
clean:
	if test -x $(BIN)/eunoe && test -d .eunoe; then $(BIN)/eunoe down; fi
	rm -rf .venv .eunoe build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
