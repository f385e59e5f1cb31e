"""Do bounds hold, whatever became of lengths and averages since they were written?"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.collection.postings import BLOCK, PAIRS_FROM, block_of, start_of
from likewise.retrieve.impacts import add_impacts, best_impact
from likewise.retrieve.models import BM25, TFIDF, InnerProduct, JelinekMercer, QueryLikelihood
from likewise.retrieve.search import Retriever

MODELS = st.one_of(
    st.builds(BM25, k1=st.floats(0, 3), b=st.floats(0, 1)),
    st.builds(QueryLikelihood, mu=st.floats(1, 3000)),
    st.builds(JelinekMercer, lam=st.floats(0.05, 0.95)),
    st.sampled_from([TFIDF(), InnerProduct(), BM25(), BM25(0.0, 0.0), BM25(2.0, 1.0)]),
)
EVERY_MODEL = [BM25(), BM25(3.0, 1.0), QueryLikelihood(50), JelinekMercer(), TFIDF()]
EVERY_MODEL.append(InnerProduct())


def uneven_texts(seed, n_docs):
    """Documents of a few words, some of them hundreds of times; later ones are much longer."""
    generator = np.random.default_rng(seed)
    texts = []
    for i in range(n_docs):
        longest = 4 if i < n_docs // 2 else 60
        words = [f"w{w}" for w in generator.integers(0, 9, generator.integers(0, longest))]
        if generator.random() < 0.05:
            words += [f"w{generator.integers(0, 9)}"] * int(generator.integers(200, 700))
        texts.append(words)
    return texts


def bounds_and_impacts(retriever):
    """For each entry of each segment: its bound, and the impacts of its postings."""
    collection, model = retriever.collection, retriever.model
    terms = [f"w{w}" for w in range(9)]
    known = [term for term in terms if retriever.known([term])[0][0] >= 0]
    for segment in collection.segments:
        postings = segment.postings
        bounding = retriever._segment_bounds(segment)
        norms = retriever._segment_norms(segment)
        for term in known:
            _, [number], _, [factor], _ = retriever.weigh([{term: 1.0}])
            row = int(np.searchsorted(postings.terms, number))
            if row == len(postings.terms) or postings.terms[row] != number:
                continue
            for entry in range(int(postings.heads[row, 0]), int(postings.heads[row + 1, 0])):
                block = block_of(postings.entries, entry) * BLOCK
                span = (start_of(postings.entries, entry), start_of(postings.entries, entry + 1))
                mine = norms[block : block + BLOCK]
                kind = (model.impact, norms)
                bound = best_impact(postings, entry, mine, kind, factor, bounding)
                scores = np.zeros(BLOCK, np.float32)
                add_impacts(postings, span, mine, kind, (np.float32(1), factor), scores)
                yield bound, scores[postings.docs[span[0] : span[1]]]


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n_docs=st.integers(1, 4 * PAIRS_FROM),
    pieces=st.integers(1, 3),
    deleting=st.booleans(),
    model=MODELS,
)
def test_no_impact_exceeds_its_bound(made_for_a_while, seed, n_docs, pieces, deleting, model):
    deleted = range(0, n_docs, 3) if deleting else ()
    with made_for_a_while(uneven_texts(seed, n_docs), pieces=pieces, deleted=deleted) as collection:
        for bound, impacts in bounds_and_impacts(Retriever(collection, model)):
            assert (impacts <= bound).all()


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n_docs=st.integers(PAIRS_FROM, 8 * PAIRS_FROM),
    pieces=st.integers(1, 3),
    k=st.sampled_from([1, 3, 10, 100]),
    model=MODELS,
)
def test_pruned_is_exhaustive_after_drift(made_for_a_while, seed, n_docs, pieces, k, model):
    """Deleted and barred documents, and counts that do not fit a byte, among documents."""
    generator = np.random.default_rng(seed)
    deleted = [i for i in range(n_docs) if generator.random() < 0.2]
    with made_for_a_while(uneven_texts(seed, n_docs), pieces=pieces, deleted=deleted) as collection:
        retriever = Retriever(collection, model)
        weights = generator.choice([1, 1, 2.5, 0.1], 9).tolist()
        queries = [
            {f"w{w}": weights[w] for w in generator.permutation(9)[:n].tolist()}
            for n in (1, 2, 3, 9)
        ]
        barred = [generator.random(segment.n_docs) < 0.5 for segment in collection.segments]
        for allowed in (None, barred):
            pruned = retriever.rank(queries, k=k, allowed=allowed)
            plain = retriever.rank(queries, k=k, allowed=allowed, prune=False)
            for left, right in zip(pruned, plain, strict=True):
                assert left.docs.tolist() == right.docs.tolist()
                assert left.scores.tolist() == right.scores.tolist()
                assert not set(left.docs.tolist()) & set(deleted)


@pytest.fixture(scope="module")
def many_texts():
    """More documents than a block holds, tiny ones, and then some long ones."""
    generator = np.random.default_rng(5)
    drawn = (9 * generator.random((BLOCK + 3000, 3)) ** 2).astype(int).tolist()
    lengths = generator.integers(1, 4, len(drawn)).tolist()
    texts = [[f"w{w}" for w in row[:n]] for row, n in zip(drawn, lengths, strict=True)]
    return [*texts, *uneven_texts(6, 400)]


@pytest.fixture
def beyond(make, many_texts):
    """Two segments, the first of two blocks, with deleted documents in all of them."""
    deleted = [*range(0, 200), *range(BLOCK, BLOCK + 200), *range(BLOCK + 3000, BLOCK + 3100)]
    collection = make(many_texts, deleted=deleted, cuts=[BLOCK + 3000])
    assert [segment.n_docs for segment in collection.segments] == [BLOCK + 3000, 400]
    return collection


@pytest.mark.parametrize("model", EVERY_MODEL, ids=str)
def test_bounds_beyond_a_block(beyond, model):
    retriever = Retriever(beyond, model)
    n_entries = 0
    for bound, impacts in bounds_and_impacts(retriever):
        assert (impacts <= bound).all()
        n_entries += 1
    assert n_entries >= 2 * 9
    generator = np.random.default_rng(1)
    queries = [{f"w{w}": 1.0 for w in generator.permutation(9)[:n]} for n in (1, 2, 3, 9)]
    barred = [generator.random(segment.n_docs) < 0.1 for segment in beyond.segments]
    for k in (1, 10, 1000):
        for allowed in (None, barred):
            pruned = retriever.rank(queries, k=k, allowed=allowed)
            plain = retriever.rank(queries, k=k, allowed=allowed, prune=False)
            for left, right in zip(pruned, plain, strict=True):
                assert left.docs.tolist() == right.docs.tolist()
                assert left.scores.tolist() == right.scores.tolist()


# Damage


BULKY = ["postings.docs", "postings.counts", "postings.impacts", "columns.codes", "records"]


def damage(segment, array, generator, share):
    """Put random bytes into what is mapped, as if the file had been damaged; tell whether it is."""
    if array not in segment.packs[0]:
        return False
    values = segment.packs[0].unchecked(array).view(np.uint8)
    hit = generator.random(len(values)) < share
    values[hit] = generator.integers(0, 256, np.count_nonzero(hit))
    return True


def search_all(collection):
    """Search by every model in every way; answers are live documents that are allowed."""
    live = np.zeros(collection.n_slots, np.bool_)
    live[collection.live_docs()] = True
    generator = np.random.default_rng(2)
    barred = [generator.random(segment.n_docs) < 0.3 for segment in collection.segments]
    queries = [{f"w{w}": 1.0 for w in generator.permutation(9)[:n]} for n in (1, 2, 9)]
    signed = [{"w0": 1.0, "w1": -1.0}, {"w2": -1.0}]
    for model in EVERY_MODEL:
        retriever = Retriever(collection, model)
        for allowed in (None, barred):
            mask = live if allowed is None else live & np.concatenate(allowed)
            for prune in (True, False):
                for k in (1, 10, 10**6):
                    for found in retriever.rank(
                        [*queries, *signed, *queries], k=k, allowed=allowed, prune=prune
                    ):
                        docs = found.docs.tolist()
                        assert len(docs) == len(set(docs)) <= k
                        assert mask[found.docs].all()


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    n_docs=st.integers(1, 4 * PAIRS_FROM),
    array=st.sampled_from(BULKY),
    share=st.sampled_from([0.01, 0.3, 1.0]),
)
def test_damaged_postings_lead_nowhere_else(made_for_a_while, seed, n_docs, array, share):
    texts = uneven_texts(seed, n_docs)
    with made_for_a_while(texts, pieces=2, deleted=range(0, n_docs, 3)) as collection:
        generator = np.random.default_rng(seed)
        for segment in collection.segments:
            damage(segment, array, generator, share)
        search_all(collection)


@pytest.mark.parametrize("array", BULKY)
def test_damaged_postings_beyond_a_block(beyond, array):
    generator = np.random.default_rng(3)
    damaged = [damage(segment, array, generator, 0.5) for segment in beyond.segments]
    assert any(damaged)
    search_all(beyond)


def test_records_that_say_they_are_endless(make):
    """The number of terms may be anything; no document has more of them than bytes."""
    collection = make([["a", "b"], ["a"]])
    records = collection.segments[0].records
    records.stream[:] = 255
    [found] = Retriever(collection, TFIDF()).rank([{"a": 1.0}])
    assert set(found.docs.tolist()) <= {0, 1}
