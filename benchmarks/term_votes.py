"""How should documents vote for terms? What training abstracts say. (A section of terms.py.)

The terms of the second half of their sentences are told from the first half, by the power of scores
and by how much of the votes takes a step, on which graph. The abstracts are not counted meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from likewise.terms.nodes import DOCUMENT, SENTENCE
from likewise.terms.predict import STEPPED
from likewise.terms.weights import weigh
from likewise_papers.bench import Bench
from likewise_papers.data import Data
from likewise_papers.papers.term_graph import PAPER
from likewise_papers.papers.term_graph.abstracts import split_papers
from likewise_papers.papers.term_graph.lexicon import Lexicon

_SHARES = (0.0, 0.1, STEPPED, 0.5)
_VARIANTS = (
    *((power, DOCUMENT, "idf") for power in (1.0, 2.0, 3.0)),
    *((2.0, DOCUMENT, weights) for weights in ("counts", "cosine", "ppmi")),
    (2.0, SENTENCE, "idf"),
)


def votes(data: Sequence[str], work: Path, *, quick: bool, seed: int) -> None:
    """Print the table of both lexicons of the paper's Table 2."""
    [experiment] = [one for one in PAPER.experiments if one.name == "table-2"]
    setting = {**experiment.setting, **(experiment.quick if quick else {})}
    given = Data(data, work)
    bench = Bench(given, setting, sets=given.of(experiment.on)[:1], seed=seed)
    split = split_papers(bench)
    print(f"## Votes: {split.training.snapshot.n_docs:,} training abstracts of eLife\n")
    for name in bench["lexicons"]:
        _print(Lexicon(name, split, bench))


def _print(lexicon: Lexicon) -> None:
    train, n = lexicon.train, len(lexicon)
    alike = lexicon.alike(train)
    print(f"{lexicon.name}: AUC of {len(alike)} training abstracts by the power of scores and how")
    print("much of the votes takes a step, on which graph\n")
    print("| | " + " | ".join(f"{share:g}" for share in _SHARES) + " |")
    print("|---" * (len(_SHARES) + 1) + "|")
    for power, within, weights in _VARIANTS:
        voted = np.column_stack(
            [lexicon.mentioned[docs].T @ scores**power for docs, scores in alike]
        )
        graph = weigh(lexicon.rest[within], weights)
        edges = csr_array((graph.weights, graph.columns, graph.bounds), shape=(n, n))
        degrees = np.where(graph.degrees > 0, graph.degrees, np.inf)[:, None]
        steps = edges @ (voted / degrees)
        voted, steps = (part / np.maximum(part.sum(axis=0), 1e-300) for part in (voted, steps))
        means = [train.mean((1 - share) * voted + share * steps) for share in _SHARES]
        cells = " | ".join(f"{mean:.4f}" for mean in means)
        print(f"| power {power:g}, by {within}, {weights} | {cells} |")
    print(flush=True)
