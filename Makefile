# Every target sets up what it needs in .venv; nothing but Python 3.11+ and make is required.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
SERIAL := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: help setup demo test test-slow mutants test-lowest fuzz test-pandas check format picture bench bench-quality docs dist wheel-check model-fixture clean
.DEFAULT_GOAL := help

help:            ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(addprefix $(VENV)/.has-,test check docs)   ## create .venv with the package and all tools

$(VENV)/pyvenv.cfg:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kernelweave needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": run make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

# .has-core is the package alone, .has-NAME the package with the extra NAME
$(VENV)/.has-%: pyproject.toml | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --editable '.$(patsubst [core],,[$*])'
	@touch $@

demo: $(VENV)/.has-core      ## cluster and classify the digits with 12 kernels; writes demo/report.html
	$(BIN)/kernelweave demo --out demo --force

test: $(VENV)/.has-test      ## run the tests
	$(SERIAL) $(BIN)/python -m pytest -n auto

test-slow: $(VENV)/.has-test ## run the long tests as well, and print the coverage of lines and branches
	$(SERIAL) $(BIN)/python -m pytest -n auto -m "slow or not slow" --cov=src/kernelweave --cov-branch --cov-report=term:skip-covered

mutants: $(VENV)/.has-test   ## change the code at 300 random places and see whether the tests notice; takes an hour or two
	$(SERIAL) $(BIN)/python -m tools.mutants reach -n auto
	$(SERIAL) $(BIN)/python -m tools.mutants try --number 300

# anndata brings array-api-compat, with which the checks of scikit-learn 1.6 need SCIPY_ARRAY_API
test-lowest:     ## run the tests with the lowest versions of all packages, in .venv-lowest
	$(PYTHON) -m venv .venv-lowest
	$(subst $(VENV),.venv-lowest,$(BIN))/python -m pip install --quiet --constraint tools/lowest.txt --editable '.[test]'
	SCIPY_ARRAY_API=1 $(SERIAL) $(subst $(VENV),.venv-lowest,$(BIN))/python -m pytest -n auto --ignore tests/zoo

test-pandas:     ## run the tests with the newest pandas, which anndata does not accept yet, in .venv-pandas
	$(PYTHON) -m venv .venv-pandas
	$(subst $(VENV),.venv-pandas,$(BIN))/python -m pip install --quiet --editable '.[test]'
	$(subst $(VENV),.venv-pandas,$(BIN))/python -m pip uninstall --quiet --yes anndata mudata
	$(subst $(VENV),.venv-pandas,$(BIN))/python -m pip install --quiet --upgrade pandas
	$(SERIAL) $(subst $(VENV),.venv-pandas,$(BIN))/python -m pytest -n auto --ignore tests/zoo

CASES ?= 100000
FILES ?= 2000
SEED  ?= 0
fuzz: $(VENV)/.has-test      ## random calls and hostile files for hours: make fuzz CASES=100000 FILES=2000 SEED=0
	$(SERIAL) $(BIN)/python -m tests.fuzz --seed $(SEED) --cases $(CASES) --files $(FILES)

check: $(VENV)/.has-check     ## lint, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.has-check    ## let ruff format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

picture: $(VENV)/.has-cli   ## draw the picture of the README
	$(SERIAL) $(BIN)/python tools/picture.py

bench: $(VENV)/.has-test     ## time the solver against its ideal and its peers
	$(BIN)/python -m benchmarks

bench-quality: $(VENV)/.has-test  ## print the quality tables without labels and store them in benchmarks/results
	$(SERIAL) $(BIN)/python -m benchmarks.quality
	$(SERIAL) $(BIN)/python -m benchmarks.zoo
	$(SERIAL) $(BIN)/python -m benchmarks.slices
	$(SERIAL) $(BIN)/python -m benchmarks.calibration
	$(SERIAL) $(BIN)/python -m benchmarks.noise_view
	$(SERIAL) $(BIN)/python -m benchmarks.mixed_tables
	$(SERIAL) $(BIN)/python -m benchmarks.label_draws

docs: $(VENV)/.has-docs      ## check the figures of the documentation, and build it into docs/_build
	$(BIN)/python -m benchmarks.docs_figures
	$(SERIAL) $(BIN)/sphinx-build --fail-on-warning --keep-going --color docs docs/_build
	$(BIN)/python tools/check_links.py docs/_build

dist: $(VENV)/.has-core      ## build the wheel and the source archive into dist, and check that they agree
	$(BIN)/python tools/check_wheel.py --build-only

wheel-check: $(VENV)/.has-core  ## build, and try the wheel in fresh environments: core, cli, large, all
	$(BIN)/python tools/check_wheel.py

model-fixture: $(VENV)/.has-core  ## store models of this version in tests/files/data; last thing before a release
	$(BIN)/python tools/model_fixture.py

clean:           ## remove what the other targets made
	rm -rf $(VENV) .venv-lowest .venv-pandas demo dist docs/_build docs/api docs/tutorials docs/explained docs/gen_modules .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
