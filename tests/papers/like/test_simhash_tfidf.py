import math
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise import notation
from likewise.collection.build import Resources
from likewise.collection.creating import create
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import UsageError
from likewise.records import Document
from likewise.retrieve.documents import Whole
from likewise.retrieve.models import TFIDF
from likewise.retrieve.question import Question, of_doc, of_text
from likewise.retrieve.search import Retriever
from likewise.text.analysis import Analysis
from likewise_papers.like.simhash_tfidf import (
    Buckets,
    Hashed,
    HashedRanker,
    codes_of,
    collect,
    fill_buckets,
    make_planes,
)

PLAIN = Analysis(language="none", stemmer="none", stop="none", min_length=1)
GOLDEN = 0x9E3779B97F4A7C15


@contextmanager
def stored(texts, *, pieces=1, deleted=(), reverse=False):
    """A collection of lists of words, in several segments, while a block lasts."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "c"
        create(folder, PLAIN)
        documents = [Document(f"d{i}", "", " ".join(words)) for i, words in enumerate(texts)]
        documents = documents[::-1] if reverse else documents
        step = -(-len(texts) // pieces) or 1
        with Writer(folder) as writer:
            writer._merge = lambda *_: None
            for first in range(0, len(texts), step):
                writer.add(documents[first : first + step], resources=Resources(threads=1))
            if deleted:
                writer.delete([f"d{i}" for i in deleted])
        yield open_snapshot(folder)


def texts_of(seed, n_docs=60, *, n_words=80, longest=30):
    generator = np.random.default_rng(seed)
    words = np.array([f"w{i:02}" for i in range(n_words)])
    return [generator.choice(words, generator.integers(0, longest)).tolist() for _ in range(n_docs)]


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


def plain_codes(planes, counts):
    """What `code_counts` says that it equals."""
    n_planes = planes.tables * planes.bits
    signs = np.empty((len(planes.hashes), n_planes), np.int64)
    for term, h in enumerate(planes.hashes.tolist()):
        for p in range(n_planes):
            word = mix((h + (p // 64 + 1) * GOLDEN) % 2**64)
            signs[term, p] = 1 if word >> (p % 64) & 1 else -1
    out = np.zeros((len(counts.bounds) - 1, planes.tables), np.int64)
    for i, (a, b) in enumerate(zip(counts.bounds[:-1], counts.bounds[1:], strict=True)):
        terms = counts.terms[a:b]
        w = np.floor((1 + np.log(counts.counts[a:b])) * planes.idfs[terms] * 1024 + 0.5)
        bits = (w.astype(np.int64) @ signs[terms] > 0).reshape(planes.tables, planes.bits)
        out[i] = (bits << np.arange(planes.bits)).sum(axis=1)
    return out


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    tables=st.integers(1, 40),
    bits=st.integers(1, 8),
)
def test_codes_are_sides_of_planes(seed, tables, bits):
    with stored(texts_of(seed, 12), pieces=2) as collection:
        planes = make_planes(collection, Hashed(tables=tables, bits=bits, seed=seed))
        counts = collection.term_counts(np.arange(12))
        assert codes_of(planes, counts).tolist() == plain_codes(planes, counts).tolist()


def test_bits_are_shared_as_often_as_the_angle_says():
    texts = texts_of(1, 30)
    with stored(texts) as collection:
        planes = make_planes(collection, Hashed(tables=1024, bits=16))
        codes = codes_of(planes, collection.term_counts(np.arange(30)))
        bits = (codes[:, :, None] >> np.arange(16)) & 1
        whole = Whole(Retriever(collection, TFIDF()))
        # Signs are as good as normal deviates where no few words make up a document.
        docs = np.array([i for i in range(30) if len(texts[i]) > 12])
        assert len(docs) > 10
        for i in docs[:8].tolist():
            cosines = whole.score(whole.take(of_doc(collection, i)), docs)
            shared = (bits[docs] == bits[i]).mean(axis=(1, 2))
            angles = np.arccos(np.clip(cosines, -1, 1))
            assert shared == pytest.approx(1 - angles / math.pi, abs=0.02)


@given(
    seed=st.integers(0, 10**6),
    n_docs=st.integers(0, 60),
    bits=st.integers(1, 3),
    depth=st.integers(0, 30),
    masked=st.booleans(),
)
def test_the_documents_that_share_the_most_codes_are_found(seed, n_docs, bits, depth, masked):
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 1 << bits, (n_docs, 5)).astype(np.uint16)
    n_slots = n_docs + 10
    docs = np.sort(generator.choice(n_slots, n_docs, replace=False)).astype(np.int32)
    starts, rows = np.zeros((5, (1 << bits) + 1), np.int64), np.empty(5 * n_docs, np.int32)
    fill_buckets(codes, docs, starts, rows)
    for t in range(5):
        order = np.argsort(codes[:, t], kind="stable")
        assert rows[t * n_docs : (t + 1) * n_docs].tolist() == docs[order].tolist()
    mask = generator.random(n_slots) < 0.5 if masked else np.empty(0, np.bool_)
    query = generator.integers(0, 1 << bits, 5).astype(np.uint16)
    found = collect(query, Buckets(starts, rows), n_slots, mask, depth)
    shared = dict(zip(docs.tolist(), (codes == query).sum(axis=1).tolist(), strict=True))
    shared = {doc: n for doc, n in shared.items() if n and (not masked or mask[doc])}
    ranked = sorted(shared.values(), reverse=True)
    least = ranked[min(depth, len(ranked)) - 1] if depth and ranked else 1
    assert found.tolist() == sorted(doc for doc, n in shared.items() if n >= least)


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    pieces=st.integers(1, 3),
    depth=st.sampled_from([0, 4]),
    masked=st.booleans(),
    deletes=st.booleans(),
)
def test_candidates_are_ranked_by_the_exact_cosine(seed, pieces, depth, masked, deletes):
    generator = np.random.default_rng(seed)
    deleted = generator.choice(60, 9, replace=False).tolist() if deletes else []
    with stored(texts_of(seed), pieces=pieces, deleted=deleted) as collection:
        config = Hashed(tables=4, bits=3, candidates=depth, seed=seed)
        ranker = HashedRanker(collection, config)
        exact = Whole(Retriever(collection, TFIDF()))
        allowed = None
        if masked:
            allowed = [generator.random(segment.n_docs) < 0.5 for segment in collection.segments]
        live = collection.live_docs()
        codes = codes_of(ranker.planes, collection.term_counts(np.arange(60)))
        mask = np.concatenate(allowed) if masked else np.ones(60, bool)
        for doc in live[:6].tolist():
            question = Question("q", (of_doc(collection, doc),))
            found, scorer = ranker.rank(question, k=5, allowed=allowed)
            truth, _ = exact.rank(question, k=1000, allowed=allowed)
            shared = (codes == codes[doc]).sum(axis=1)
            shared[~mask | np.isin(np.arange(60), deleted)] = 0
            shared[np.diff(collection.term_counts(np.arange(60)).bounds) == 0] = 0
            least = 1
            if depth:
                least = max(1, np.sort(shared)[::-1][5])
            kept = shared[truth.docs] >= least
            assert found.docs.tolist() == truth.docs[kept][:5].tolist()
            assert found.scores.tolist() == truth.scores[kept][:5].tolist()
            for told, score in zip(scorer.explain(found.docs), found.scores, strict=True):
                assert told.score == score
                assert sum(part.score for part in told.parts) == pytest.approx(score, abs=1e-6)


def test_short_codes_in_many_tables_find_all():
    with stored(texts_of(5)) as collection:
        ranker = HashedRanker(collection, Hashed(tables=60, bits=1, candidates=0))
        exact = Whole(Retriever(collection, TFIDF()))
        questions = [Question("q", (of_doc(collection, i),)) for i in range(20)]
        for question in questions:
            (a, _), (b, _) = ranker.rank(question, k=60), exact.rank(question, k=60)
            assert a.docs.tolist() == b.docs.tolist()
            assert a.scores.tolist() == b.scores.tolist()


def test_answers_do_not_depend_on_how_a_collection_was_built():
    texts = texts_of(7)
    answers = []
    for pieces, reverse in ((1, False), (3, False), (2, True)):
        with stored(texts, pieces=pieces, reverse=reverse, deleted=[2, 30]) as collection:
            ranker = HashedRanker(collection, Hashed(tables=5, bits=4, candidates=6))
            questions = [
                Question("q", (of_doc(collection, collection.find_doc(f"d{i}")),))
                for i in range(10, 20)
            ]
            found = [ranker.rank(question, k=6)[0] for question in questions]
            answers.append(
                [dict(zip(collection.doc_ids(r.docs), r.scores, strict=True)) for r in found]
            )
    assert any(answers[0])
    assert answers[0] == answers[1] == answers[2]


def test_threads_change_no_bit_and_seeds_do(monkeypatch):
    monkeypatch.setattr("likewise_papers.like.simhash_tfidf._DOCS_AT_ONCE", 7)
    with stored(texts_of(9)) as collection:
        one = HashedRanker(collection, Hashed())
        many = HashedRanker(collection, Hashed(), threads=3)
        other = HashedRanker(collection, Hashed(seed=1))
        assert one.buckets.docs.tolist() == many.buckets.docs.tolist()
        assert one.buckets.starts.tolist() == many.buckets.starts.tolist()
        assert one.buckets.docs.tolist() != other.buckets.docs.tolist()
        assert one.n_bytes > one.buckets.docs.nbytes
        questions = [
            Question(
                "q",
                (of_doc(collection, i), of_doc(collection, i + 1)),
                (of_doc(collection, i + 2),),
            )
            for i in range(20)
        ]
        for question in questions:
            (a, _), (b, _) = one.rank(question, k=5), many.rank(question, k=5)
            assert a.docs.tolist() == b.docs.tolist()
            assert a.scores.tolist() == b.scores.tolist()


def test_nothing_known_finds_nothing():
    for texts in ([["a", "b"], ["a"], []], [[]]):
        with stored(texts) as collection:
            ranker = HashedRanker(collection, Hashed())
            for example in (of_doc(collection, len(texts) - 1), of_text(collection, "zzz")):
                assert len(ranker.rank(Question("q", (example,)), k=3)[0].docs) == 0


def test_configurations_are_checked_and_written():
    for config in (Hashed(), Hashed(tables=3, bits=16, candidates=0, seed=4)):
        assert notation.read(str(config), {"lsh-tfidf": Hashed}, what="method") == config
    assert str(Hashed(candidates=0)) == "lsh-tfidf(candidates=0)"
    for wrong in ({"tables": 0}, {"bits": 0}, {"bits": 17}, {"candidates": -1}, {"seed": -1}):
        with pytest.raises(UsageError, match="lsh-tfidf"):
            Hashed(**wrong)
