"""The default search: what is read of rankings and vectors in part changes no answer."""

import numpy as np
import pytest

import likewise as lw
from likewise.expand import perturb
from likewise.like import smooth
from likewise.like.smooth import Smoothing
from likewise.neighbours.vectors import VectorSearch
from likewise.retrieve.words import WordScorer

N = 600
WORDS = [f"{word}{i}" for word in ("wing", "shock", "lift", "Mach", "café") for i in range(12)]


def drawn(seed, first, n):
    """Documents of a few subjects; some have no title, some nothing but one."""
    random = np.random.default_rng(seed)
    documents = []
    for i in range(first, first + n):
        subject = random.permutation(len(WORDS))
        words = [WORDS[j] for j in subject[random.zipf(1.4, random.integers(2, 30)) % len(WORDS)]]
        cut = int(random.integers(0, 7))
        documents.append(
            {
                "id": str(i),
                "title": " ".join(words[:cut]),
                "text": " ".join(words[cut:]),
                "even": i % 2 == 0,
                "rare": i % 40 == 0,
            }
        )
    return documents


@pytest.fixture(scope="module", params=["whole", "deleted", "pieces", "without positions"])
def collection(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("default") / "c.lw"
    in_pieces = request.param == "pieces"
    c = lw.index(
        drawn(1, 0, N // 2 if in_pieces else N),
        to=folder,
        analysis=lw.Analysis(positions=request.param != "without positions"),
        model=None,
        smooth="klsa(axes=24)",
    )
    assert "klsa" in str(c.pipeline())
    if in_pieces:
        c.add(drawn(1, N // 2, N // 2))
    if request.param != "whole":
        c.delete([str(i) for i in range(0, N, 7)])
    return c


def queries():
    random = np.random.default_rng(3)
    for n in (1, 2, 4, 9, 14):
        for _ in range(3):
            yield " ".join(random.choice(WORDS, n).tolist())
    yield from ("wing1 nothing of it", "nothing", "", "the wing1", "+shock2 wing1", '"wing1 wing2"')


def answers(c, how):
    found = []
    for text in queries():
        try:
            asked = c.search(text, **how)
            found.append([(one.doc_id, one.score.hex(), one.explanation) for one in asked])
        except lw.LikewiseError as error:
            found.append(str(error))
    return found


ASKED = [
    {"k": 10},
    {"k": 1},
    {"k": 1000},
    {"k": 10, "filter": "even=True"},
    {"k": 10, "filter": "rare=True"},
    {"k": 5, "explain": True},
]


@pytest.mark.parametrize("how", ASKED, ids=str)
def test_what_is_read_in_part_gives_the_answers_of_the_whole(collection, monkeypatch, how):
    whole = monkeypatch.context()
    with whole as patched:
        patched.setattr(Smoothing, "enough", lambda *_: 0)
        patched.setattr(VectorSearch, "_proposed", lambda *_: None)
        patched.setattr(perturb, "_MANY_DOCS", 1 << 40)
        expected = answers(collection, how)
    assert sum(map(len, expected)) > 10
    # Pipelines and their plans are kept with the snapshot.
    collection.snapshot.forget()
    # Small numbers for a small collection, so that less than the whole is read.
    monkeypatch.setattr(perturb, "_MANY_DOCS", 0)
    monkeypatch.setattr(smooth, "_FIRST_READ", 31)
    monkeypatch.setattr(smooth, "_TIMES", 1)
    monkeypatch.setattr(smooth, "_NEVER_MISSED", 4)
    read, find_left = [], WordScorer.find_left
    monkeypatch.setattr(
        WordScorer, "find_left", lambda self, n=0: read.append(n) or find_left(self, n)
    )
    n_told, take_parts = [], perturb.rank_parts
    monkeypatch.setattr(
        perturb, "rank_parts", lambda *a, **b: n_told.append(1) or take_parts(*a, **b)
    )
    assert answers(collection, how) == expected
    if how == ASKED[0] and collection.snapshot.has_positions:
        # Of some queries what is read first is enough, of others it is not.
        assert n_told
        assert 0 < len(read) < 30
