import numpy as np
import pytest

from likewise.like.carried import add, as_sum, by_word, word_shares


@pytest.fixture(scope="module")
def counts(themes):
    return themes.snapshot.term_counts(np.array([4]))


def test_the_shares_of_words_in_a_topic_are_one(themes, counts):
    shares = word_shares(themes.models["lda"], counts)
    assert shares.shape == (len(counts.terms), 3)
    assert shares.min() >= 0
    assert shares.sum(axis=0) == pytest.approx(1)


def test_a_word_that_a_topic_prefers_carries_more_of_it(themes, counts):
    model = themes.models["lda"]
    shares = word_shares(model, counts)
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
    one = as_sum(model, counts, 2.0)
    projection = model.decompose(counts).topics[0].astype(np.float64)
    assert one.vector == pytest.approx(2 * projection / np.linalg.norm(projection), abs=1e-6)


def test_sums_add_up_with_each_word_once(themes):
    model, s = themes.models["lsi"], themes.snapshot
    sums = [as_sum(model, s.term_counts(np.array([doc])), 1.0) for doc in (0, 1, 3)]
    both = add(sums)
    assert len(np.unique(both.terms)) == len(both.terms)
    assert both.vector == pytest.approx(sum(one.vector for one in sums))


def test_no_words_are_no_vector(themes):
    s = themes.snapshot
    empty = s.term_counts(np.array([s.find_doc("empty")]))
    assert not as_sum(themes.models["lsi"], empty, 1.0).vector.any()
    assert word_shares(themes.models["lda"], empty).shape == (0, 3)
