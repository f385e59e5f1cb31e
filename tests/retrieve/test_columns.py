"""Do columns bound scores as postings do? Kernel by kernel, on more than a block of documents."""

import numpy as np
import pytest

from likewise.byte_lanes import can_look_up
from likewise.collection.impact_columns import COLUMN_FROM
from likewise.collection.postings import BLOCK
from likewise.compiled import kernel
from likewise.retrieve.bm25_plan import plan_block, plan_search
from likewise.retrieve.bm25_state import Best, Documents, Search, make_workspace
from likewise.retrieve.columns import COLUMNS_TOGETHER, add_columns, find_in_column
from likewise.retrieve.models import BM25
from likewise.retrieve.search import Retriever
from likewise.retrieve.sums import GROUP, bound_of, quantise

N_FREQUENT, N_DOCS = 40, BLOCK + 40_000


@kernel
def looks_up():
    return can_look_up()


@pytest.fixture(scope="module", autouse=True)
def processor():
    if not looks_up():
        pytest.skip("columns are not used on this processor")


@pytest.fixture(scope="module")
def texts():
    generator = np.random.default_rng(1)
    there = generator.random((N_DOCS, N_FREQUENT)) < np.linspace(0.05, 0.6, N_FREQUENT)
    found = [[f"f{w}" for w in np.flatnonzero(row)] for row in there]
    for doc in range(0, N_DOCS, 5):
        found[doc] += [f"f{doc % N_FREQUENT}"] * int(generator.integers(1, 9)) + [f"r{doc % 900}"]
    return found


@pytest.fixture(params=[BM25(), BM25(1.25)])
def searched(request, make, texts):
    """A query of frequent words and some rare ones in the only segment, and each block of it."""
    retriever = Retriever(make(texts), request.param)
    words, scale = retriever._bm25.segment(0)
    query = {f"f{w}": 1.0 + w % 7 for w in range(N_FREQUENT)} | {"r5": 2.0, "r10": 3.0}
    _, numbers, weights, _, _ = retriever.weigh([query])
    documents = Documents(np.empty(0, np.bool_), False, 0, N_DOCS)
    best = Best(np.empty(10, np.int64), np.zeros(1, np.int64))
    quantised = quantise(numbers, weights)
    search = Search(words, scale, quantised, documents, best, make_workspace())
    plan = plan_search(search, np.searchsorted(words.postings.terms, numbers), True)
    return retriever, query, search, (plan_block(search, plan, number) for number in (0, 1))


def test_frequent_terms_of_a_block_come_last_and_by_columns(searched):
    *_, blocks = searched
    for block, size in zip(blocks, (BLOCK, N_DOCS - BLOCK), strict=True):
        sizes = block.stops - block.starts
        by_column = [i for i in block.here.tolist() if sizes[i] >= COLUMN_FROM]
        assert block.here[block.n_lists :].tolist() == by_column
        assert len(by_column) > COLUMNS_TOGETHER
        assert block.n_lists > 1
        assert (block.columns[by_column] >= 0).all()
        assert (block.columns[block.here[: block.n_lists]] == -1).all()
        assert block.n_groups == -(-size // GROUP)
        assert block.n_postings == sizes.sum()


def test_sums_bound_scores_from_both_sides(searched):
    """By lists and columns together, added to all documents or looked up for some."""
    retriever, query, search, blocks = searched
    every = retriever.rank([query], k=N_DOCS, prune=False)[0]
    scores = np.zeros(N_DOCS)
    scores[every.docs] = every.scores
    space, postings = search.space, search.words.postings
    for block, size in zip(blocks, (BLOCK, N_DOCS - BLOCK), strict=True):
        space.sums[:] = 0
        for i in block.here[: block.n_lists]:
            run = slice(block.starts[i], block.stops[i])
            impacts = search.words.table[postings.impacts[run]].tolist()
            weight = int(search.query.integers[i])
            space.sums[postings.docs[run]] += np.array(
                [bound_of(impact, weight) for impact in impacts], np.uint16
            )
        lists = space.sums.copy()
        add_columns(search, block, block.n_lists, 0)
        added = space.sums[:size].astype(np.float64)
        exact = scores[block.first : block.first + size] * search.query.scale
        assert (added >= exact - search.query.slack).all()
        assert (added - block.errors[len(block.here)] <= exact + search.query.slack).all()
        # On average sums are off by less than a twentieth of the largest.
        assert (added - exact).mean() < added.max() / 20
        space.sums[:] = lists
        some = np.random.default_rng(2).choice(size, 500, replace=False).astype(np.uint16)
        for i in block.here[block.n_lists :]:
            find_in_column(search, block, i, some)
        found = space.sums[some].astype(np.float64)
        assert (found <= added[some]).all()
        assert (found >= exact[some] - search.query.slack).all()


def test_groups_that_cannot_win_are_left_as_they_are(searched):
    _, _, search, blocks = searched
    block = next(blocks)
    space = search.space
    space.sums[:] = 0
    rest = int(block.rest[block.n_lists])
    chosen = np.array([3, GROUP * 100 + 5, BLOCK - 1])
    space.sums[chosen] = 500
    add_columns(search, block, block.n_lists, rest + 400)
    changed = np.flatnonzero(space.sums.reshape(-1, GROUP).any(axis=1))
    assert changed.tolist() == (chosen // GROUP).tolist()
    # Of these the first columns were added, and the others where they may still win by those.
    groups = space.sums.copy().reshape(-1, GROUP)[changed]
    space.sums[:] = 0
    space.sums[chosen] = 500
    add_columns(search, block, block.n_lists, 0)
    every = space.sums.reshape(-1, GROUP)
    assert (every > 0).mean() > 0.9
    assert (groups <= every[changed]).all()
    assert (groups > 0).mean() > 0.5


@pytest.mark.parametrize("k", [10, 60, 200, 1000, 20_000])
def test_answers_are_those_of_scoring_every_document(searched, k):
    retriever, query, _, _ = searched
    words = [*query]
    queries = [query, dict.fromkeys(words[:3], 1.0), dict.fromkeys(words[30:], 1.0)]
    queries += [{"f39": 1.0, "r5": 9.0, "r11": 8.0}, {"f0": 5.0, "f1": 1.0}]
    few = [np.random.default_rng(3).random(N_DOCS) < 0.01]
    for allowed in (None, few):
        found = retriever.rank(queries, k=k, allowed=allowed)
        expected = retriever.rank(queries, k=k, allowed=allowed, prune=False)
        for one, other in zip(found, expected, strict=True):
            assert one.docs.tolist() == other.docs.tolist()
            assert one.scores.tolist() == other.scores.tolist()
