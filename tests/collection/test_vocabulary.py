from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.collection.vocabulary import (
    _distance,
    _find_accented,
    count_edits,
    terms_near,
    terms_with,
)
from likewise.collection.writer import Writer
from likewise.records import Document
from likewise.text.analysis import Analysis
from likewise.text.folding import fold
from likewise.text.table import Strings

words = st.text("abcé税", min_size=1, max_size=7)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    folder = Path(tmp_path_factory.mktemp("vocabulary")) / "c"
    analysis = Analysis(language="none", stop="none", min_length=1)
    text = "volcano volcanic Krankenversicherung versicherung sichern 税金 所得税 naïve nile"
    build(folder, [Document("1", text=text)], analysis=analysis)
    with Writer(folder) as writer:
        writer.add([Document("2", text="volcanoes antivolcano nils linen")])
    return open_snapshot(folder)


def listed(snapshot, numbers):
    return snapshot.terms(np.asarray(numbers))


def test_terms_with_a_prefix_of_every_segment(snapshot):
    found = terms_with(snapshot, "volcan", prefix=True)
    assert listed(snapshot, found) == ["volcano", "volcanic", "volcanoes"]
    assert terms_with(snapshot, "", prefix=True).size == 0
    assert terms_with(snapshot, "x" * 200).size == 0


def test_terms_that_hold_a_text_anywhere(snapshot):
    assert listed(snapshot, terms_with(snapshot, "versicherung")) == [
        "krankenversicherung",
        "versicherung",
    ]
    assert listed(snapshot, terms_with(snapshot, "税")) == ["税金", "得税"]


def test_terms_near_a_misspelled_one(snapshot):
    numbers, edits = terms_near(snapshot, "volacno")
    found = dict(zip(listed(snapshot, numbers), edits.tolist(), strict=True))
    assert found == {"volcano": 1}
    numbers, edits = terms_near(snapshot, "naive", edits=1)
    assert listed(snapshot, numbers) == ["naive", "naïve"]
    assert len(terms_near(snapshot, "x" * 500)[0]) == 0
    assert len(terms_near(snapshot, "")[0]) == 0


def reference(a: str, b: str) -> int:
    table = {(i, -1): i + 1 for i in range(-1, len(a))}
    table |= {(-1, j): j + 1 for j in range(-1, len(b))}
    for i in range(len(a)):
        for j in range(len(b)):
            table[i, j] = min(
                table[i - 1, j] + 1,
                table[i, j - 1] + 1,
                table[i - 1, j - 1] + (a[i] != b[j]),
            )
            if i and j and a[i] == b[j - 1] and a[i - 1] == b[j]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(a) - 1, len(b) - 1]


@given(words, words, st.integers(0, 4))
def test_distance_is_that_of_the_whole_table(a, b, most):
    key, other = (np.array([*map(ord, one)], np.int32) for one in (a, b))
    rows = np.empty((3, len(key) + 1), np.int64)
    assert _distance(key, other, rows, most) == min(reference(a, b), most + 1)


@pytest.mark.parametrize(
    ("a", "b", "edits"),
    [("compct", "compact", 1), ("form", "from", 1), ("", "ab", 2), ("résumé", "resume", 2)],
)
def test_edits_between_two_words_are_counted(a, b, edits):
    assert count_edits(a, b) == count_edits(b, a) == edits
    assert count_edits(a, b, most=0) == 1


@given(st.lists(st.text("aeéèß", max_size=5), max_size=8), st.text("ae", min_size=1, max_size=4))
def test_accented_terms_are_found_by_their_beginning_and_end(words, plain):
    data = [word.encode() for word in words]
    found = _find_accented(*Strings.of(data), np.frombuffer(plain.encode(), np.uint8).copy())
    expected = []
    for i, word in enumerate(data):
        high = [at for at, byte in enumerate(word) if byte >= 128]
        if high and len(plain) - 1 <= len(word) <= 3 * len(plain):
            start, end = word[: high[0]], word[high[-1] + 1 :]
            if plain.encode().startswith(start) and plain.encode().endswith(end):
                expected.append(i)
    assert found.tolist() == expected


@given(st.text("aeéèñ", min_size=1, max_size=6))
def test_a_word_with_accents_is_among_them(word):
    data = Strings.of([word.encode()])
    found = _find_accented(*data, np.frombuffer(fold(word).encode(), np.uint8).copy())
    assert found.tolist() == ([] if word.isascii() else [0])
