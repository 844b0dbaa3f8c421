# One target per habit; continuous integration calls these and nothing else.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= 2
# The front end of PyTorch is tested where it is installed: torch-mlir has wheels for CPython 3.11.
EXTRAS ?= dev,torch

.PHONY: help demo test check cosim regress bench bench-models docs clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

$(VENV)/.run: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	@touch $@ $(VENV)/.run

demo: $(VENV)/.run ## compile, generate and verify three kernels on a real matrix
	$(BIN)/python examples/karate.py --output demo_out

test: $(VENV)/.dev ## every test but the long suites
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup --durations 15 -m 'not regress'

check: $(VENV)/.dev ## lint, types, import floors, generated docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check

cosim: $(VENV)/.dev ## only the tests that run RTL
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m 'rtl and not regress'

regress: $(VENV)/.dev ## the long suites
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m regress

bench: $(VENV)/.dev ## measure, and write docs/benchmarks.md
	$(BIN)/python -m docs.benchmarks

bench-models: $(VENV)/.dev ## measure PyTorch models, and write their section of docs/benchmarks.md
	$(BIN)/python -m docs.model_benchmarks

docs: $(VENV)/.dev ## write the generated documentation
	$(BIN)/python docs/generate.py

clean: ## remove what the targets made
	rm -rf $(VENV) demo_out build *.egg-info .hypothesis .pytest_cache .ruff_cache .import_linter_cache
