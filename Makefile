# Two commands matter: `make demo` and `make test`. Both do all the set-up that they need.
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
SETUP_INPUTS := setup.py pyproject.toml constraints.txt MANIFEST.in scripts/setup.sh $(wildcard csrc/*.*)
FUZZED = tests/operators $(shell grep -rl --include='test_*.py' fuzz tests/oop_)

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint slow sanitize counts bench dist clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' Makefile
	@echo "PYTHON=/path/to/python3.11 chooses the interpreter for a new $(VENV)."

setup: $(STAMP)  ## create .venv and install everything into it

$(STAMP): $(SETUP_INPUTS)
	PYTHON="$(PYTHON)" VENV="$(VENV)" scripts/setup.sh
	@touch $@

demo: $(STAMP)  ## run the demo
	$(VENV)/bin/oop demo

test: $(STAMP)  ## run every check: format, types, layers, tests, wheel and sdist
	scripts/check.sh format lint types layers tests dist

lint: $(STAMP)  ## run the checks that execute nothing: format, types, layers
	scripts/check.sh format lint types layers

slow: $(STAMP)  ## run the tests marked slow, new examples of others, and the laws with ten times the seeds
	$(PY) -m pytest -m slow
	OOP_NEW_EXAMPLES=1 $(PY) -m pytest -q -n auto --dist worksteal tests/punctuation tests/kernels
	OOP_FUZZ_CASES=1000 $(PY) -m pytest -q -n auto --dist worksteal $(FUZZED)

sanitize: $(STAMP)  ## run the C kernels under AddressSanitizer and UndefinedBehaviorSanitizer
	$(PY) -m pytest -m "slow or not slow" tests/kernels/test_sanitizers.py

counts: $(STAMP)  ## count instructions of the C kernels and Python calls of a batch, and store them to compare with
	$(PY) -m tests.kernels.callgrind.measure --store
	$(PY) -m tests.calls.measure --store

bench: $(STAMP)  ## run the benchmarks
	$(VENV)/bin/oop bench

dist: $(STAMP)  ## build wheel and sdist, and try each in a new environment
	scripts/check.sh dist

clean:  ## remove what builds and tests leave behind, and .venv
	rm -rf $(VENV) build dist ./*.egg-info .benchmarks .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf artifacts spark-warehouse metastore_db derby.log
	rm -f kernels/_native*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
