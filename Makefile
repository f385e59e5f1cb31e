# Everything installs into .venv; a fresh machine needs git, make and Python 3.11 or later only.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-long bench reproduce kernels clean

demo: .venv/demo
	$(BIN)/likewise demo --to demo/docstrings.lw

test: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Changes of a collection cut off at every call that alters a file, every byte of one changed, every
# kernel compiled and loaded, hundreds of changes beside readers; `make test` tries some of each.
test-long: .venv/dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m long

bench: .venv/bench
	$(BIN)/python benchmarks/search.py

# All experiments of the papers (about an hour), and what the documentation says of them.
reproduce: .venv/all
	test -n "$$LIKEWISE_DATA" # the folders of collections, as PATH lists folders
	$(BIN)/likewise reproduce all --out reproduction
	cp reproduction/summary.json docs/reproduction.json
	$(BIN)/python -m likewise_papers.markdown docs/reproduction.json README.md

# What the first commands call, for the process that compiles it beside `index`.
kernels: .venv/dev
	$(BIN)/python -m likewise.app.first_use record

.venv/%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	touch $@

clean:
	rm -rf .venv demo build .mypy_cache .ruff_cache .pytest_cache .hypothesis
