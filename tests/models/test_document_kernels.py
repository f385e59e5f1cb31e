"""Kernels between documents against their definitions."""

import numpy as np
import pytest

from likewise.errors import UsageError
from likewise.models.document_kernels import (
    KERNELS,
    BM25Kernel,
    Corpus,
    Cosine,
    Entries,
    Inner,
    Likelihood,
    read_kernel,
)
from likewise.models.klsa import KLSA, fit_space, weigh

WRITTEN = ["bm25", "bm25(k1=2,power=0.5,idf=rsj)", "inner", "inner(power=1)", "cosine", "ql"]


def as_matrix(weighted, n_rows):
    out = np.zeros((len(weighted.bounds) - 1, n_rows))
    owners = np.repeat(np.arange(len(out)), np.diff(weighted.bounds))
    out[owners, weighted.rows] = weighted.weights
    return out


@pytest.mark.parametrize("kernel", WRITTEN)
def test_features_are_those_of_the_definition(make, dense, draw, kernel):
    texts = [*draw(30), [], ["once"], *draw(3)]
    collection, plain = make(texts, pieces=2), dense(texts)
    space = fit_space(collection, KLSA(kernel=kernel, axes=3), threads=1)
    counts = collection.term_counts(np.arange(len(texts)))
    weighted = weigh(space.kernel, space.vocabulary, space.corpus, counts)
    columns = np.searchsorted(plain.terms, collection.terms(space.vocabulary.terms))
    expected = plain.features(kernel)
    found = as_matrix(weighted, len(plain.terms))
    np.testing.assert_allclose(found, expected[:, columns], rtol=1e-5, atol=1e-6)
    gram = found @ found.T
    values = np.linalg.eigvalsh(gram)
    assert values[0] > -1e-6 * values[-1]
    # Documents of the same words are alike as each is to itself.
    for i in range(3):
        assert gram[i, 32 + i] == pytest.approx(gram[i, i], rel=1e-6)


def test_golden_values_by_hand():
    # Two documents of four: "a" in one of them, "b" in three; "a" is a tenth of all words.
    corpus = Corpus(np.array([1, 3]), np.array([0.1, 0.4]), 4, 5.0)
    entries = Entries(np.array([0, 1]), np.array([2.0, 1.0]), np.array([10.0, 5.0]))

    def features(kernel):
        return read_kernel(kernel).features(entries, corpus)

    rarity = np.log(1 + np.array([3.5 / 1.5, 1.5 / 3.5]))
    # K = 1.2 (¼ + ¾·2) = 2.1 and 1.2.
    assert features("bm25") == pytest.approx(rarity * 2.2 * np.array([2 / 4.1, 1 / 2.2]))
    # K = 2 (¼ + ¾·2) = 3.5; "b" is in more than half of the documents.
    assert features("bm25(k1=2,power=0.5,idf=rsj)") == pytest.approx(
        [np.sqrt(np.log(3.5 / 1.5)) * 3 * 2 / 5.5, 0]
    )
    assert features("inner").tolist() == [2, 1]
    assert features("inner(power=1)") == pytest.approx([2 * np.log(4), np.log(4 / 3)])
    assert features("cosine") == pytest.approx([(1 + np.log(2)) * np.log(4), np.log(4 / 3)])
    assert features("ql(mu=10)") == pytest.approx([np.log(1 + 2), np.log(1 + 1 / 4)])


def test_a_word_of_every_document_counts_where_rarity_does_not():
    corpus = Corpus(np.array([4]), np.array([0.1]), 4, 5.0)
    entries = Entries(np.array([0]), np.array([3.0]), np.array([5.0]))
    assert Inner().features(entries, corpus).tolist() == [3]
    assert Inner(1).features(entries, corpus).tolist() == [0]
    assert Cosine().features(entries, corpus).tolist() == [0]
    assert BM25Kernel(k1=0, power=0).features(entries, corpus).tolist() == [1]


@pytest.mark.parametrize("text", [*WRITTEN, "ql(mu=10.0)", "cosine(power=2.0)", "bm25(b=0.1)"])
def test_kernels_print_as_they_are_read(text):
    kernel = read_kernel(text)
    assert read_kernel(str(kernel)) == kernel
    assert read_kernel(kernel) is kernel
    assert KLSA(kernel=text).kernel == text


def test_names_of_kernels_are_their_notation():
    assert {kind.notation for kind in (BM25Kernel, Inner, Cosine, Likelihood)} == set(KERNELS)


@pytest.mark.parametrize(
    "text",
    [
        *("bm25(k1=-1)", "bm25(b=2)", "bm25(power=-1)", "bm25(idf=none)", "bm25(k1=nan)"),
        *("inner(power=-1)", "inner(power=inf)", "cosine(power=nan)", "ql(mu=0)", "ql(mu=inf)"),
        *("rbf", "", "bm25(x=1)"),
    ],
)
def test_kernels_that_make_no_sense_are_refused(text):
    with pytest.raises(UsageError):
        read_kernel(text)
    with pytest.raises(UsageError):
        KLSA(kernel=text)
