# Sets up its own virtual environment in .venv; needs nothing but Python 3.11+ and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
EXTRAS := test,check,docs

.PHONY: help setup demo test test-slow check format bench bench-quality docs clean
.DEFAULT_GOAL := help

help:            ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(VENV)/.ready   ## create .venv with the package and its tools

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kernelweave needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": run make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	@touch $@

demo: setup      ## cluster and classify the digits with 12 kernels; writes demo/report.html
	$(BIN)/kernelweave demo --out demo --force

test: setup      ## run the tests
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

test-slow: setup ## run the long tests as well
	$(BIN)/python -m pytest -m "slow or not slow"

check: setup     ## lint, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup    ## let ruff format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup     ## time the solver against its ideal and its peers
	$(BIN)/python -m benchmarks

bench-quality: setup  ## print the quality tables without labels and store them in benchmarks/results
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.zoo
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.slices
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.calibration
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.noise_view

docs: setup      ## check the figures of the documentation, and build it into docs/_build
	$(BIN)/python -m benchmarks.docs_figures
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/sphinx-build --fail-on-warning --keep-going --color docs docs/_build

clean:           ## remove what the other targets made
	rm -rf $(VENV) demo docs/_build docs/api docs/tutorials .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
