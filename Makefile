# taskq: make run, make test, make check. Needs Python 3.11 or newer with pip, and make; nothing else.

# A Python that was compiled without optimisations, as pyenv builds it unless told otherwise, takes up to a
# fifth longer for everything. The system's of the same version takes its place, if there is one.
INSTEAD := import sys, sysconfig; \
	built = sysconfig.get_config_var("CONFIG_ARGS"); \
	is_slow = sys.base_prefix != "/usr" and built and "--enable-optimizations" not in built; \
	print("/usr/bin/python%d.%d" % sys.version_info[:2] if is_slow else "python3")
DEFAULT_PYTHON := $(shell instead=$$(python3 -c '$(INSTEAD)') && "$$instead" -c 'import ensurepip' 2>/dev/null && echo "$$instead" || echo python3)
PYTHON ?= $(DEFAULT_PYTHON)
ARGS ?=

# Each process of tests has its own Redis, database and data directory. With two, a third of two processors was idle.
TEST_PROCESSES ?= 4
# Tests that start no processes wait for less, and each process more takes seconds to begin.
FAST_PROCESSES = $(if $(filter file,$(origin TEST_PROCESSES)),3,$(TEST_PROCESSES))

# One virtual environment per Python version, so that `make test PYTHON=python3.13` leaves the usual one alone.
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
DEFAULT_VERSION := $(shell $(DEFAULT_PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
ifeq ($(VERSION),)
$(error $(PYTHON) does not run; choose another Python, 3.11 or newer: make PYTHON=python3.12 ...)
endif
VENV ?= $(if $(filter $(VERSION),$(DEFAULT_VERSION)),.venv,.venv-$(VERSION))
BIN := $(VENV)/bin
STAMP := $(VENV)/.made-from-lock

# Tests start hundreds of processes; each would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test test-fast test-clusters screenshots check format static messages scripts bench bench-worker bench-reports bench-anomalies lock clean venv

help: ## This list
	@sed -n 's/^\([a-z-]*\):[^#]*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

run: $(STAMP) ## The whole service with a demo load at http://127.0.0.1:7777 (ARGS="--port 8000 --no-demo")
	@$(BIN)/python manage.py up --demo $(ARGS)

test: $(STAMP) ## All tests (ARGS="tests/engine -k pump"; TEST_PROCESSES=0: one after the other)
	$(BIN)/python -m pytest --numprocesses=$(TEST_PROCESSES) $(ARGS)

test-fast: $(STAMP) ## Engine, services, operations of the API, pages without a browser: a minute and a half
	$(BIN)/python -m pytest --numprocesses=$(FAST_PROCESSES) -m "not processes and not exhaustive" \
		tests/engine tests/metadata tests/http tests/dashboard $(ARGS)

test-clusters: $(STAMP) ## Reports on Spark clusters, in S3 and HDFS, whose servers Maven brings, and more examples (TASKQ_TESTS_OFFLINE=1: nothing that is downloaded)
	TASKQ_TEST_CLUSTERS=1 $(BIN)/python -m pytest --numprocesses=2 -m thorough tests/reports $(ARGS)

screenshots: $(STAMP) ## A picture of every page in var/screenshots/
	TASKQ_SCREENSHOTS=1 $(BIN)/python -m pytest --numprocesses=$(TEST_PROCESSES) tests/browser $(ARGS)

check: static test ## Format, lint, types, imports, tests

static: $(STAMP) ## All of check but the tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.lua --check

format: $(STAMP) ## Format the code and mend what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

messages: $(STAMP) ## Bring new texts into the Chinese catalogue (taskq_site/locale) and compile it
	$(BIN)/python -m tests.translations

scripts: $(STAMP) ## Build the Lua scripts of queues/engine/lua after a change
	$(BIN)/python -m tools.lua

bench: $(STAMP) ## Benchmarks (ARGS="...")
	$(BIN)/python -m bench $(ARGS)

PEERS := .venv-peers
bench-worker: $(STAMP) ## Workers beside Celery, Dramatiq, RQ, Huey, arq, taskiq and BullMQ (ARGS="--quick"; PEERS= leaves them out)
	$(if $(PEERS),test -d $(PEERS) || { $(PYTHON) -m venv $(PEERS) && \
	  $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1' && \
	  $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --group peers; })
	TASKQ_BENCH_PEERS=$(if $(PEERS),$(CURDIR)/$(PEERS)/bin/python) $(BIN)/python -m bench workers $(ARGS)

bench-reports: $(STAMP) ## Reports of days of five shapes, DuckDB beside them (ARGS="--only 0 4 --cluster")
	$(BIN)/python -m bench.reporting $(ARGS)

bench-anomalies: $(STAMP) ## Which share of seeded incidents reports flag, and which share of flags is false (ARGS="--each")
	$(BIN)/python -m bench.anomalies $(ARGS)

# Apart from `make test`: it installs a few hundred megabytes, and makes a report with Spark.
.PHONY: wheel wheel-test test-newest
wheel: $(STAMP) ## Build the wheel and the source distribution in dist/
	$(BIN)/python -m hatchling build

wheel-test: $(STAMP) ## Install the wheel in an empty environment outside the checkout, and use it
	$(BIN)/python -m tests.package.try_wheel

# Beside the lock: the newest versions that pyproject.toml allows. BEYOND="redis uvicorn" installs the newest of these
# whatever it allows, to find out whether a cap can be raised.
NEWEST := .venv-newest-$(VERSION)
test-newest: ## All tests with the newest versions that pyproject.toml allows (BEYOND="redis": newer than its cap)
	rm -rf $(NEWEST)
	$(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(NEWEST)/bin/python -m pip install --quiet --editable '.[embedded,reports,iceberg]' --group dev
	$(if $(BEYOND),$(NEWEST)/bin/python -m pip install --quiet --upgrade $(BEYOND))
	$(NEWEST)/bin/python -m pip list
	$(NEWEST)/bin/python -m pytest --numprocesses=$(TEST_PROCESSES) $(ARGS)

lock: ## Resolve the dependencies of pyproject.toml into requirements.lock (needs uv)
	uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --all-extras --group dev \
		--no-annotate --no-header --upgrade --output-file requirements.lock

clean: ## Delete the virtual environments and caches; var/, which holds your data, stays
	rm -rf .venv .venv-* dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

venv: $(STAMP) ## The virtual environment alone

# Made anew whenever the lock changes.
$(STAMP): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "taskq needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Choose another: make PYTHON=python3.12 ...")'
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement requirements.lock
	@touch $@
