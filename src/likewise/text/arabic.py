"""Arabic words without their articles and endings: light10 (Larkey, Ballesteros, Connell 2007).

Snowball's stemmer takes the ending off a noun only where the article tells that it is one, so that
ملفات and الملفات come to different stems. After light10 they are the same word.
"""

from __future__ import annotations

_LETTERS = str.maketrans({"أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "ة": "ه"})
_ARTICLES = ("وال", "بال", "كال", "فال", "ال", "لل")
_AND = "و"
_ENDINGS = ("ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي")
# Letters that are left of a word at least; without "and", one more.
_LEAST = 2


def light10(word: str) -> str:
    """Unify letters and take off the article, "and" and endings, where enough is left."""
    word = word.translate(_LETTERS)
    article = next((one for one in _ARTICLES if word.startswith(one)), "")
    if article and len(word) >= len(article) + _LEAST:
        word = word[len(article) :]
    # After the article too: else a word that begins with this letter is another one with it.
    if word.startswith(_AND) and len(word) > _LEAST + 1:
        word = word[1:]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + _LEAST:
            word = word[: -len(ending)]
    return word
