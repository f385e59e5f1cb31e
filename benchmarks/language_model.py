"""Makes the model of language detection, `src/likewise/text/languages.npz`.

It is cut from the n-gram models of lingua 1.3.5 (Apache-2.0):

    pip download --no-deps lingua-language-detector==1.3.5 && pip install brotli
    python benchmarks/language_model.py lingua_language_detector-1.3.5-py3-none-any.whl

Lingua's models have five orders and 75 languages, 70 MB; this keeps the n-grams up to four letters
that occur most, of the languages that we know, eight bits a probability.
"""

from __future__ import annotations

import io
import json
import math
import sys
import unicodedata
import zipfile
from pathlib import Path

import numpy as np

from likewise.text.detection import MARK, MODEL, SCALE
from likewise.text.languages import known_language

ORDERS = ["unigrams", "bigrams", "trigrams", "quadrigrams"]
# The languages of a script that several share, by lingua's codes.
GROUPS = [
    "en de fr es it pt nl da sv nb fi is et lv lt pl cs sk sl hr hu ro sq ca eu ga cy af la tr az "
    "id ms vi tl sw eo st",
    "ru uk be bg mk sr kk mn",
    "ar fa ur",
    "hi mr",
]
SCRIPTS = ["LATIN", "CYRILLIC", "ARABIC", "DEVANAGARI"]
# Scripts that one language is written in.
ALONE = {
    "GREEK": "greek",
    "HEBREW": "hebrew",
    "ARMENIAN": "armenian",
    "GEORGIAN": "georgian",
    "BENGALI": "bengali",
    "GURMUKHI": "punjabi",
    "GUJARATI": "gujarati",
    "TAMIL": "tamil",
    "TELUGU": "telugu",
    "KANNADA": "kannada",
    "MALAYALAM": "malayalam",
    "THAI": "thai",
    "LAO": "lao",
    "MYANMAR": "burmese",
    "KHMER": "khmer",
    "HANGUL": "korean",
    "HIRAGANA": "japanese",
    "KATAKANA": "japanese",
    "KATAKANA-HIRAGANA": "japanese",
    "CJK": "chinese",
}
# An n-gram is kept where its probability in any language is at least this, by order.
LEAST = [0.0, 1e-6, 3e-5, 1.2e-4]
BACKOFF = 0.4
# How many bits less likely than English a language is before anything was read.
USUAL = 4
PRIORS = dict.fromkeys(
    ["is", "sq", "eu", "ga", "cy", "af", "az", "ms", "tl", "sw", "be", "mk", "kk", "mn"], 10
)
PRIORS |= {"en": 0, "eo": 16, "st": 16, "la": 24}
# No n-gram is less probable than this: a foreign name must not decide.
FLOOR = 2.0**-17


def read(wheel: zipfile.ZipFile, code: str) -> list[dict[str, float]]:
    """Give the conditional probabilities of a language's n-grams, by order."""
    import brotli

    out = []
    for order in ORDERS:
        packed = wheel.read(f"lingua/language-models/{code}/{order}.json.br")
        ngrams = json.loads(brotli.decompress(packed))["ngrams"]
        found = {}
        for fraction, grams in ngrams.items():
            top, bottom = map(int, fraction.split("/"))
            found.update(dict.fromkeys(grams.split(" "), top / bottom))
        out.append(found)
    return out


def joint(orders: list[dict[str, float]], gram: str) -> float:
    return math.prod(orders[i].get(gram[: i + 1], 0.0) for i in range(len(gram)))


def probability(orders: list[dict[str, float]], gram: str) -> float:
    """Give the probability of the last letter after the others, by fewer where they are unknown."""
    found = orders[len(gram) - 1].get(gram)
    if found is not None:
        return found
    return BACKOFF * probability(orders, gram[1:]) if len(gram) > 1 else 0.0


def kept(models: list[list[dict[str, float]]], script: str) -> list[str]:
    """List the n-grams of a group that are kept: what a longer one is without stays too."""
    chosen = set()
    for model in models:
        for n, least in enumerate(LEAST):
            for gram in model[n]:
                if joint(model, gram) >= least and all(script_of(char) == script for char in gram):
                    chosen.add(gram)
    return sorted(chosen, key=lambda gram: (len(gram), gram))


def script_of(char: str) -> str:
    if not char.isalpha():  # n-grams of lingua end at marks
        return ""
    return unicodedata.name(char, "").split(" ")[0]


def letter_tables() -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Give for each code point its group or language, the letter in lower case, and languages."""
    names = sorted(set(ALONE.values()))
    kinds = np.zeros(1 << 16, np.uint8)
    lower = np.arange(1 << 16, dtype=np.uint16)
    for code in range(1 << 16):
        char = chr(code)
        script = script_of(char)
        if script in SCRIPTS:
            kinds[code] = 1 + SCRIPTS.index(script)
        elif script in ALONE:
            kinds[code] = 1 + len(SCRIPTS) + names.index(ALONE[script])
        lower[code] = ord(char.lower()[0])
        if unicodedata.category(char)[0] == "M":
            kinds[code] = MARK
    return kinds, lower, names


def main(wheel: str) -> None:
    kinds, lower, alone = letter_tables()
    arrays: dict[str, np.ndarray] = {"kinds": kinds, "lower": lower}
    about: dict[str, object] = {"alone": alone, "groups": []}
    keys, values, priors = [], [], []
    with zipfile.ZipFile(wheel) as archive:
        for codes, script in zip(GROUPS, SCRIPTS, strict=True):
            models = [read(archive, code) for code in codes.split()]
            grams = kept(models, script)
            costs = np.array(
                [[-SCALE * math.log2(max(probability(m, g), FLOOR)) for m in models] for g in grams]
            )
            keys.append(np.array([key(gram) for gram in grams], np.uint64))
            values.append(np.rint(costs).astype(np.uint8))
            names = [known_language(code).name for code in codes.split()]
            about["groups"].append(names)
            priors += [SCALE * PRIORS.get(code, USUAL) for code in codes.split()]
            print(script, len(names), "languages", len(grams), "n-grams")
    arrays["keys"] = np.concatenate(keys)
    arrays["costs"] = np.concatenate([rows.ravel() for rows in values])
    arrays["widths"] = np.concatenate(
        [np.full(len(rows), rows.shape[1], np.uint8) for rows in values]
    )
    arrays["priors"] = np.array(priors, np.uint16)
    arrays["about"] = np.frombuffer(json.dumps(about, ensure_ascii=False).encode(), np.uint8)
    held = io.BytesIO()
    # One time for all members, so that the same model gives the same bytes.
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as out:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array)
            info = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            out.writestr(info, member.getvalue(), zipfile.ZIP_DEFLATED, 9)
    Path(MODEL).write_bytes(held.getvalue())
    print(f"{MODEL}: {len(held.getvalue()):,} bytes")


def key(gram: str) -> int:
    """Pack up to four letters into a number."""
    number = 0
    for char in gram:
        number = number << 16 | ord(char)
    return number


if __name__ == "__main__":
    main(sys.argv[1])
