.DEFAULT_GOAL := help
.PHONY: audit test bench lint compare nightly environment compiler help

PINNED_MLX := 0.32.4
MLX ?= 0.32.4
PYTHON ?= python3
ARGS ?=

# Each MLX version has an environment of its own, so that going from one to another and back installs nothing.
VENV := $(if $(filter $(PINNED_MLX),$(MLX)),.venv,.venv-$(MLX))
READY := $(VENV)/.ready-$(MLX)
BIN := $(VENV)/bin
MLX_PACKAGE := $(if $(filter Darwin,$(shell uname -s)),mlx,mlx[cpu])

# The audit is one thread by design; idle pools of threads only disturb its figures.
export OMP_NUM_THREADS := 1

# Evaluated while a recipe is expanded: make then stops with the one line and nothing else.
yes_if = $(shell $(1) >/dev/null 2>&1 && echo yes)
define need_python
$(if $(call yes_if,$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))'),,$(error '$(PYTHON)' is not Python 3.11 or newer: install that (Debian and Ubuntu: apt install python3 python3-venv), or name one: make PYTHON=python3.12))
$(if $(call yes_if,$(PYTHON) -c 'import ensurepip; import venv'),,$(error '$(PYTHON)' has no venv module: install it (Debian and Ubuntu: apt install python3-venv)))
endef

# Division's reports and then the catalogue: what is wrong with one does not keep the other from being audited, unless
# it was refused or interrupted. A version of MLX without a baseline is audited all the same.
KNOWN = $(if $(wildcard reports/baselines/$(MLX)-cpu.json),--baseline auto)

audit: $(READY) compiler ## division on stock and patched MLX, then every operation against what is known of it
	@$(BIN)/gradaudit audit $(ARGS); division=$$?; [ $$division -le 1 ] || exit $$division; \
	$(BIN)/gradaudit run $(KNOWN) $(ARGS) && exit $$division

test: $(READY) compiler ## the audit's own tests
	@$(BIN)/python -m pytest $(ARGS)

bench: $(READY) compiler ## speed and memory, measured, never asserted
	@$(BIN)/python -m pytest benchmarks --benchmark-only -o python_files='bench_*.py' $(ARGS)

lint: $(READY) ## style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright --pythonpath $(BIN)/python

compare: $(READY) ## the committed reports: what the patched rule fixes
	@$(BIN)/gradaudit compare reports/divide-before.json reports/divide-after.json $(ARGS)

nightly: $(READY) compiler ## the audit over dense grids in every format and mode, and the long Hypothesis profile
	@$(BIN)/gradaudit audit --nightly $(ARGS); division=$$?; [ $$division -le 1 ] || exit $$division; \
	$(BIN)/gradaudit run --nightly $(ARGS) && exit $$division
	@HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -k 'divide and families'

environment: $(READY) ## only create and fill the environment

compiler:
	@$(if $(call yes_if,command -v g++),:,echo "g++ is missing, so MLX cannot be patched and the Python rule is used instead: install it (Debian and Ubuntu: apt install g++)." >&2)

$(READY): pyproject.toml constraints.txt
	$(need_python)@test -x $(BIN)/python && $(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@rm -f $(VENV)/.ready-*
	@echo "Filling $(VENV) with MLX $(MLX) (a few hundred megabytes, once)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[dev]' '$(MLX_PACKAGE)==$(MLX)'
	@touch $@

help: ## this list
	@echo "make TARGET [MLX=$(PINNED_MLX)] [PYTHON=python3] [ARGS='...']"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '  %-12s %s\n' "$$name" "$$text"; done
