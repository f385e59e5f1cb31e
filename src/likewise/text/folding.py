"""Words without their accents: what is typed with or without them is found alike."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

# Letters that Unicode does not take apart into a letter and a mark.
_LETTERS = str.maketrans(
    {
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "ħ": "h",
        "ŧ": "t",
        "ŋ": "n",
        "ı": "i",
        "ȷ": "j",
    }
)
# Vowel signs, and in Arabic the line that only stretches a word.
_ARABIC = (0x0640, *range(0x064B, 0x0653), 0x0670)
_HEBREW = (*range(0x0591, 0x05BE), 0x05BF, 0x05C1, 0x05C2, 0x05C4, 0x05C5, 0x05C7)
_SIGNS = frozenset(map(chr, (*_ARABIC, *_HEBREW)))
_DIAERESIS = "\u0308"


@lru_cache(maxsize=1 << 14)
def fold(word: str) -> str:
    """Leave out accents and vowel signs, where a word is often written without them.

    Latin and Greek letters lose all marks, æ, ø, ł and their like get ASCII forms; Arabic and
    Hebrew lose vowel signs, and the Russian ё its dots. Other marks make other letters (й, ї, those
    of India and Thailand) and stay. A word that is nothing else stays as it is.
    """
    if word.isascii():
        return word
    out: list[str] = []
    base = ""
    for char in unicodedata.normalize("NFD", word.translate(_LETTERS)):
        if char in _SIGNS:
            continue
        if not unicodedata.combining(char):
            base = char
        elif _is_plain(base) or (base == "е" and char == _DIAERESIS):
            continue
        out.append(char)
    return unicodedata.normalize("NFC", "".join(out)) or word


@lru_cache(maxsize=1 << 12)
def _is_plain(base: str) -> bool:
    """Tell whether the marks on a letter are left out."""
    return bool(base) and unicodedata.name(base, "").startswith(("LATIN", "GREEK"))
