"""A small collection about flow, and what the graphs of its terms hold."""

import numpy as np

import likewise as lw
from likewise.terms.nodes import Filters

NOTES = [
    "Wing flutter. Flutter of a wing in supersonic flow; wings and tails flutter.",
    "Tail flutter. The tail and its hinge: oscillation of a tail in flow.",
    "Panel oscillation. Oscillation of thin panels in supersonic flow, and their hinge.",
    "Heat transfer. Heat transfer to a blunt body in supersonic flow.",
    "Cooling. Transfer of heat from a hot wing to cool air by a film.",
    "Boundary layers. The boundary layer on a wing, and where it separates.",
    "Separation. Separated flow behind a blunt body, with a wake and a layer.",
    "Wakes. The wake behind a body and its oscillation in slow flow.",
    "Gnu and zebra. Herds",
    "Okapi",
]
ALL = Filters(min_df=1, max_df=1)
NAMES = ["boundary layer", "Blunt Body", "heat transfer", "layer", "wing", "hinge", "okapi", "yeti"]


def make_notes():
    documents = [{"id": str(i), "text": text} for i, text in enumerate(NOTES)]
    return lw.index(documents, to="notes.lw", model=None)


def as_plain(counted):
    """Counts as a dictionary of pairs, and lists."""
    bounds, columns, counts = (array.tolist() for array in counted.pairs)
    rows = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds)).tolist()
    pairs = dict(zip(zip(rows, columns, strict=True), counts, strict=True))
    return pairs, counted.doc_freqs.tolist(), counted.n_docs


def names_of(graph):
    return graph.names(range(len(graph)))


def pair(graph, a, b):
    """How many documents have both."""
    names = names_of(graph)
    i, j = sorted((names.index(a), names.index(b)))
    return as_plain(graph.stored.counted)[0].get((i, j), 0)
