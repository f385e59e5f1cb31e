"""The papers, one module each."""

from __future__ import annotations

from importlib import import_module

from likewise_papers.experiment import Paper

NAMES = ("term_graph", "decomposition", "perturbation", "kernel_lsa", "simplex")


def all_papers() -> list[Paper]:
    """Give every paper, in their order."""
    return [import_module(f"{__name__}.{name}").PAPER for name in NAMES]
