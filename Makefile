# Each target does its own set-up in .venv and is quick when nothing changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
EXAMPLES ?= 10000

.PHONY: demo test test-all lint bench bench-spark long docs clean

demo: $(VENV)/.run
	$(BIN)/acelera demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist load -m "not slow"

# Also what takes long, more random cases, and the site of the documents.
test-all: $(VENV)/.dev docs
	ACELERA_EXAMPLES=1000 $(BIN)/python -m pytest -n auto --dist load

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/parsing.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/listing.py
	$(BIN)/python benchmarks/memory.py --events 5000000
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/programs.py --events 10000000
	$(BIN)/python benchmarks/changes.py
	$(BIN)/python benchmarks/summaries.py

bench-spark: $(VENV)/.dev
	$(BIN)/python benchmarks/spark.py
	$(BIN)/python benchmarks/by_hand.py
	$(BIN)/python benchmarks/gaps_by_hand.py
	$(BIN)/python benchmarks/streaming.py
	$(BIN)/python benchmarks/several.py
	$(BIN)/python benchmarks/programs_spark.py
	$(BIN)/python benchmarks/summaries_spark.py

# The property tests with as many cases as one likes: make long EXAMPLES=100000
long: $(VENV)/.dev
	ACELERA_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -n auto --dist load -m property

# The documents as a site: open site/index.html.
docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[spark]'
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[dev,spark]'
	touch $(VENV)/.run $@

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[docs]'
	touch $(VENV)/.run $@
