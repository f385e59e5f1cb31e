"""Do the published claims hold? Experiments of the five papers, declared and run by one command.

Add to it in a few lines:

- An experiment is an `Experiment` in its paper's list (`papers/`): what was published, the setting
  as plain values, the kind of collections it is done on, and a function of a `Bench` that gives a
  `Result`.
- A paper is a module in `papers/` with a `PAPER`, named in `papers/__init__.py`.
- A collection is given by `--data`, and serves for what its kind is (`data`): no code is needed.
"""
