# Everything installs into .venv; a fresh machine needs git, make and Python 3.11 or later only.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test bench clean

demo: .venv/demo
	$(BIN)/likewise demo --to demo/docstrings.lw

test: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist worksteal

bench: .venv/bench
	$(BIN)/python benchmarks/search.py

.venv/%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	touch $@

clean:
	rm -rf .venv demo build .mypy_cache .ruff_cache .pytest_cache .hypothesis
