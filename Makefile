# Two commands: `make book` and `make test`. Each makes the environment first if it is missing or out of date.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help book test golden faults bench baselines lab serve lint environment clean
help:
	@echo "make book    run every notebook and build the book (build/html/index.html)"
	@echo "make test    run the tests"
	@echo "make golden  write anew what chapters say (tests/golden), to read as a diff"
	@echo "make faults  kill everything everywhere, and rehearse the published run (an hour)"
	@echo "make bench   measure how fast this machine encodes (idle, for two minutes)"
	@echo "make baselines  score random, BM25, TF-IDF and MiniLM on the open literature; rows go to results/real/suite/open.jsonl"
	@echo "make lab     open the notebooks in JupyterLab, widgets live"
	@echo "make serve   serve the built book on http://localhost:8000"
	@echo "make lint    style, types and import rules"
	@echo "make clean   remove what can be made again, but the environment"

environment:
	@$(PYTHON) .ci/environment.py

book: environment
	@$(BIN)/scirep book

test:
	@$(PYTHON) .ci/environment.py --browser
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations 40 --durations-min 5

# pages first: what a changed number changes is written against them
golden: environment
	@for part in stands_open 'not stands_open'; do SCIREP_GOLDEN=write \
	$(BIN)/python -m pytest -n 2 --dist load tests/test_golden_pages.py -k "$$part" || exit; done
	@git diff --stat -- tests/golden

faults: environment
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m faults

bench: environment
	@$(BIN)/scirep bench

baselines: environment
	@for protocol in paper sound; do \
	for system in '--vectors random' '--encoder bm25' '--encoder tfidf' '--encoder minilm'; do \
	$(BIN)/scirep score open $$system --protocol $$protocol --partial --rows results/real/suite/open.jsonl || exit; done; done

lint: environment
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

lab: environment
	@$(BIN)/jupyter lab notebooks/start.ipynb

serve:
	@test -f build/html/index.html || { echo "no book yet: run make book" >&2; exit 2; }
	@echo "The book: http://localhost:8000 (Ctrl-C stops)"
	@$(BIN)/python -m http.server 8000 --bind 127.0.0.1 --directory build/html

clean:
	rm -rf build book/_run .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
