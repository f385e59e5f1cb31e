from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.text.folding import fold


@pytest.mark.parametrize(
    ("word", "folded"),
    [
        ("plain", "plain"),
        ("velázquez", "velazquez"),
        ("cafe\u0301", "cafe"),
        ("naïve", "naive"),
        ("ångström", "angstrom"),
        ("ñandú", "nandu"),
        ("việt", "viet"),
        ("straße", "strasse"),
        ("smørrebrød", "smorrebrod"),
        ("łódź", "lodz"),
        ("đặng", "dang"),
        ("æsir", "aesir"),
        ("œuvre", "oeuvre"),
        ("þórður", "thordur"),
        ("ħaġar", "hagar"),
        ("kitapları", "kitaplari"),
        ("οδός", "οδος"),
        ("ϊΰ", "ιυ"),
        ("ёлка", "елка"),
        # Letters of their own, not letters with marks.
        ("йод", "йод"),
        ("їжак", "їжак"),
        ("हिन्दी", "हिन्दी"),
        ("ภาษาไทย", "ภาษาไทย"),
        ("がぎ", "がぎ"),
        ("한국어", "한국어"),
        ("مُحَمَّد", "محمد"),
        ("كتـاب", "كتاب"),
        ("أحمد", "أحمد"),
        ("שָׁלוֹם", "שלום"),
        # Nothing but marks.
        ("\u0301", "\u0301"),
        ("\u064b", "\u064b"),
        ("", ""),
    ],
)
def test_table(word, folded):
    assert fold(unicodedata.normalize("NFC", word)) == folded


@given(st.text(max_size=12))
def test_folding_once_is_enough(word):
    folded = fold(word)
    assert fold(folded) == folded
    assert bool(folded) == bool(word)
    folded.encode("utf-8", "replace")
