"""A small collection with plain subjects, and models of it made by hand."""

import numpy as np

import likewise as lw
from likewise.models.bags import Vocabulary
from likewise.models.priors import Priors
from likewise.models.subspace import Subspace
from likewise.models.topics import TopicModel, distributions

SPACE = "The satellites orbit the planet. A satellite launch puts rockets into orbit."
BREAD = "Baking bread needs flour and an oven. Bakers bake bread in ovens."
TEXTS = [SPACE, SPACE + " Rockets roar.", BREAD, BREAD + " Flour sticks.", "Planet of bread."]


def make_collection(folder):
    documents = [
        {"id": f"d{i}", "title": f"Note {i}", "text": text} for i, text in enumerate(TEXTS)
    ]
    return lw.index([*documents, {"id": "empty", "text": ""}], to=folder / "shelf.lw").snapshot


def make_vocabulary(snapshot, left_out=()):
    counts = snapshot.term_counts(snapshot.live_docs())
    doc_freqs = np.bincount(counts.terms, minlength=snapshot.n_terms)
    terms = np.setdiff1d(np.flatnonzero(doc_freqs), snapshot.find_terms(list(left_out)))
    return Vocabulary(terms, doc_freqs[terms], snapshot.n_docs)


def make_topics(snapshot, *, labels=(), switch=True, left_out=()):
    """Two topics, the words of SPACE and those of BREAD, counted."""
    vocabulary = make_vocabulary(snapshot, left_out)
    subjects = [vocabulary.bags(snapshot.term_counts(np.array([doc]))) for doc in (0, 2)]
    counts = np.stack(
        [np.bincount(bag.rows, bag.counts, len(vocabulary)) for bag in subjects], axis=1
    )
    priors = Priors(np.full(2, 0.5), np.full(3, 0.3), 0.01, 1e-3, 0.01)
    word_topics, background = distributions(counts, counts.sum(axis=1), priors)
    return TopicModel("hand", vocabulary, word_topics, background, priors, switch, tuple(labels))


def make_space(snapshot):
    """A plane that separates SPACE (positive) from BREAD (negative), and their common axis."""
    model = make_topics(snapshot)
    first = model.word_topics[:, 0] - model.word_topics[:, 1]
    second = model.word_topics[:, 0] + model.word_topics[:, 1]
    basis, _ = np.linalg.qr(np.stack([first, second], axis=1).astype(np.float64))
    basis = (basis * np.sign(basis.T @ first)[0]).astype(np.float32)

    return Subspace("plane", model.vocabulary, np.ascontiguousarray(basis), np.array([2.0, 1.0]))
