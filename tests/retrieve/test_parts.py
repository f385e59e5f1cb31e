"""Parts of a query by the best documents of the whole: what is told is what a search finds."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.retrieve.models import BM25
from likewise.retrieve.parts import rank_parts
from likewise.retrieve.search import Retriever


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    pieces=st.integers(1, 2),
    k=st.sampled_from([1, 5, 20]),
    k1=st.sampled_from([0.0, 1.2, 50.0]),
)
def test_what_is_told_is_what_a_search_finds(made_for_a_while, seed, pieces, k, k1):
    generator = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(12)]
    texts = [generator.choice(words, generator.integers(0, 9)).tolist() for _ in range(150)]
    weights = {word: float(generator.choice([0.1, 1.0, 3.0])) for word in (*words[:6], "none")}
    parts = [{word: weight for word, weight in weights.items() if word != left} for left in weights]
    parts += [{"w0": weights["w0"]}, {"none": 1.0}, {}]
    with made_for_a_while(texts, pieces=pieces, deleted=range(0, 150, 7)) as collection:
        retriever = Retriever(collection, BM25(k1=k1))
        expected = retriever.rank(parts, k=k)
        for depth in (k, 3 * k, 1000):
            [first] = retriever.rank([weights], k=depth)
            if len(first.docs) < k:
                continue
            found = rank_parts(retriever, weights, parts, first, k=k)
            for one, right in zip(found, expected, strict=True):
                if one is not None:
                    assert one.docs.tolist() == right.docs.tolist()
                    assert one.scores.tolist() == right.scores.tolist()


def test_deep_rankings_tell_of_most_parts(make):
    generator = np.random.default_rng(2)
    words = np.array([f"w{i}" for i in range(300)])
    texts = [generator.choice(words, 30).tolist() for _ in range(3000)]
    retriever = Retriever(make(texts), BM25())
    told = {20: 0, 60: 0}
    for start in range(0, 250, 10):
        weights = dict.fromkeys(words[start : start + 7].tolist(), 1.0)
        parts = [{word: 1.0 for word in weights if word != left} for left in weights]
        for depth in told:
            [first] = retriever.rank([weights], k=depth)
            found = rank_parts(retriever, weights, parts, first, k=20)
            told[depth] += sum(one is not None for one in found)
    assert told[20] < 0.5 * 25 * 7
    assert told[60] > 0.9 * 25 * 7
