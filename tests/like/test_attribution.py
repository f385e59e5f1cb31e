import numpy as np
import pytest

from likewise.models.attribution import (
    BEHIND,
    EncodedDocument,
    WordSum,
    add_up,
    by_word,
    carry,
    choose_pairs,
)


@pytest.fixture(scope="module")
def counts(themes):
    return themes.snapshot.term_counts(np.array([4]))


def test_the_shares_of_words_in_a_topic_are_one(themes, counts):
    shares = themes.models["lda"].word_shares(counts)
    assert shares.shape == (len(counts.terms), 3)
    assert shares.min() >= 0
    assert shares.sum(axis=0) == pytest.approx(1)


def test_a_word_that_a_topic_prefers_carries_more_of_it(themes, counts):
    model = themes.models["lda"]
    shares = model.word_shares(counts)
    rows = np.searchsorted(model.vocabulary.terms, counts.terms)
    expected = np.asarray(model.word_topics)[rows, :3] * counts.counts[:, None]
    # Whatever a document's topics are, two words of it compare within a topic as p(w|k) allows.
    topic = int(expected.sum(axis=0).argmax())
    assert shares[:, topic].argmax() == expected[:, topic].argmax()


def test_words_in_several_rows_become_one():
    parts = np.array([[1.0, 0.0], [0.5, -3.0], [0.0, 4.0]])
    carried = by_word(np.array([7, 2, 7]), parts)
    assert carried.terms.tolist() == [2, 7]
    assert carried.scores.tolist() == [-2.5, 5.0]
    assert carried.topics.tolist() == [1, 1]


def test_a_projection_is_the_sum_of_its_words(themes, counts):
    model = themes.models["lsi"]
    one = model.as_sums(counts, np.array([2.0]))
    nested = model.compact(counts, model.transform(counts))[0].astype(np.float64)
    assert one.totals[0] == pytest.approx(2 * nested / np.linalg.norm(nested), abs=1e-6)


def test_sums_add_up_with_each_word_once(themes):
    model, s = themes.models["lsi"], themes.snapshot
    docs = [s.term_counts(np.array([doc])) for doc in (0, 1, 3)]
    sums = [model.as_sums(counts, np.ones(1)) for counts in docs]
    both = add_up(sums)
    assert len(np.unique(both.terms)) == len(both.terms)
    assert both.totals == pytest.approx(sum(one.totals for one in sums))


def test_no_words_are_no_vector(themes):
    s = themes.snapshot
    empty = s.term_counts(np.array([s.find_doc("empty")]))
    assert not themes.models["lsi"].as_sums(empty, np.ones(1)).totals.any()
    assert themes.models["lda"].word_shares(empty).shape == (0, 3)


@pytest.mark.parametrize("name", ["lda", "lsi"])
def test_a_batch_is_split_as_each_document_alone(themes, name):
    model, s = themes.models[name], themes.snapshot
    docs = np.array([4, s.find_doc("empty"), 1, 3])
    asked = [EncodedDocument(s.term_counts(np.array([0])), np.full(model.width, 0.3), 1.0)]
    point, rows = asked[0].point, np.random.default_rng(1).random((4, model.width))
    together = model.attribute(asked, point, s.term_counts(docs), rows)
    for i, doc in enumerate(docs):
        counts = s.term_counts(np.array([doc]))
        [alone] = model.attribute(asked, point, counts, rows[i : i + 1])
        for mine, its in zip(together[i][:2], alone[:2], strict=True):
            assert mine.terms.tolist() == its.terms.tolist()
            assert mine.scores == pytest.approx(its.scores, abs=1e-12)
            assert mine.topics.tolist() == its.topics.tolist()
        assert together[i].topics == pytest.approx(alone.topics)
        if alone.pairs:
            assert together[i].pairs.terms.tolist() == alone.pairs.terms.tolist()
            assert together[i].pairs.scores == pytest.approx(alone.pairs.scores, abs=1e-12)


def summed(random, bounds, width):
    n = bounds[-1]
    vectors = random.standard_normal((n, width)).astype(np.float32)
    return WordSum(np.array(bounds), np.arange(n), random.random(n), vectors)


def test_what_words_carry_is_their_part_of_a_product():
    random = np.random.default_rng(3)
    mine, point, out = summed(random, [0, 5, 7], 33), random.random(33), np.empty(7)
    carry(mine.weights, mine.vectors, point, out)
    assert out == pytest.approx(mine.weights * (mine.vectors @ point), abs=1e-12)


def test_the_words_behind_a_word_are_those_with_the_largest_parts_of_its_sign():
    random = np.random.default_rng(4)
    query, answers = summed(random, [0, 6], 20), summed(random, [0, 0, 2, 30], 20)
    given = random.standard_normal((3, 6))
    leading, n_leading = np.array([[0, 1, 2], [3, 4, 5], [5, 1, 0]]), np.array([3, 3, 2])
    places, scores = np.full((3, 3, BEHIND), -1), np.zeros((3, 3, BEHIND))
    choose_pairs(query, answers, given, (leading, n_leading), (places, scores))
    every = np.outer(query.weights, answers.weights) * (query.vectors @ answers.vectors.T)
    for i, (first, last) in enumerate(zip(answers.bounds, answers.bounds[1:], strict=False)):
        for p, word in enumerate(leading[i]):
            signed = every[word, first:last] * np.sign(given[i, word])
            order = [j for j in np.argsort(-signed, kind="stable")[:BEHIND] if signed[j] > 0]
            order = order if p < n_leading[i] else []
            assert [j for j in places[i, p].tolist() if j >= 0] == [first + j for j in order]
            expected = every[word, first:last][order]
            assert scores[i, p, : len(order)] == pytest.approx(expected, rel=1e-5)
            assert not scores[i, p, len(order) :].any()
