"""Do the published claims hold? Experiments of the five papers, declared and run by one command.

Add to it in a few lines:

- An experiment is an `Experiment` in its paper's list (`papers/`): what was published, the setting
  as plain values, which collections it needs, and a function of a `Bench` that gives a `Result`.
- A paper is a module in `papers/` with a `PAPER`, named in `papers/__init__.py`.
- A collection is a folder with `corpus.jsonl[.gz]` and, if it has them, `queries.jsonl` and
  `qrels.txt`, under the folder that `--data` names; no code knows more of it than its name.
"""
