"""What exists for the five papers only: their experiments, and the methods they compare with.

Its names are found like those of likewise, by entry points (pyproject.toml); nothing in likewise
knows of it. Add to it in a few lines:

- An experiment is an `Experiment` in its paper's list (`papers/`): what was published, the setting
  as plain values, the kind of collections it is done on, and a function of a `Bench` that gives a
  `Result`.
- A paper is a module in `papers/` with a `PAPER`, named in `papers/__init__.py`.
- A collection is given by `--data`, and serves for what its kind is (`data`): no code is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise_papers.report import reproduce

__all__ = ["reproduce"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'likewise_papers' has no attribute {name!r}")
    from likewise_papers import report

    return getattr(report, name)
