"""The corpora: what Debian says of its packages, and documents drawn from topics."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from likewise.records import Document
from likewise.sources import Columns, documents_of
from likewise_papers.folders import find_collection

APT_HELPER = "/usr/lib/apt/apt-helper"
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
VOCABULARY = 200_000
TOPICS = 200
COMMON = 20_000
SUBJECTS, OF_SUBJECT = 1_000, 3_000


def debian(cache: Path, limit: int) -> tuple[str, list[Document]]:
    """The long descriptions of all packages, or where apt is missing none."""
    if not shutil.which("apt-get"):
        return "Debian packages (apt is missing)", []
    lists = cache / "apt"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    if not list(lists.glob("*Translation-en*")):
        command = ["apt-get", "update", "-o", "Acquire::Languages=en"]
        subprocess.run([*command, "-o", f"Dir::State::lists={lists}"], capture_output=True, check=0)
    seen: dict[str, Document] = {}
    for path in sorted(lists.glob("*Translation-en*")):
        done = subprocess.run([APT_HELPER, "cat-file", path], capture_output=True, check=True)
        for record in done.stdout.decode().split("\n\n"):
            name, _, description = record.partition("\nDescription-md5:")
            title, _, text = description.partition("Description-en:")[2].partition("\n")
            if text:
                package = name.removeprefix("Package: ").strip()
                plain = text.replace("\n .\n", "\n\n")
                seen.setdefault(package, Document(package, title.strip(), plain))
    documents = list(seen.values())[:limit]
    return f"{len(documents):,} descriptions of Debian packages", documents


def stored(name: str) -> Iterator[Document]:
    """The documents of a file, or of a collection of papers' data by name."""
    folder = find_collection(name)
    place = folder / "corpus.jsonl.gz" if folder else Path(name)
    return iter(documents_of([place], Columns(), None, None))


def drawn(n_docs: int, *, seed: int = 0) -> Iterator[Document]:
    """Documents of Zipf's words, a share of each from its two topics' own orders of words.

    Lengths are log-normal with a mean of about 80; a document's first words are its title.
    """
    generator = np.random.default_rng(seed)
    words = _words(generator)
    ranks = np.arange(1, VOCABULARY + 1)
    cumulative = np.cumsum(1 / (ranks + 2.7) ** 1.05)
    cumulative /= cumulative[-1]
    own = [generator.permutation(VOCABULARY)[:5000] for _ in range(TOPICS)]
    topical = np.cumsum(1 / (np.arange(5000) + 10.0))
    topical /= topical[-1]
    for first in range(0, n_docs, 10_000):
        n = min(10_000, n_docs - first)
        lengths = np.maximum(generator.lognormal(4.2, 0.6, n).astype(int), 5)
        total = int(lengths.sum())
        chosen = np.searchsorted(cumulative, generator.random(total))
        inner = np.searchsorted(topical, generator.random(total))
        topics = generator.integers(0, TOPICS, (n, 2))
        which = np.repeat(topics, lengths, axis=0)[
            np.arange(total), generator.integers(0, 2, total)
        ]
        is_topical = generator.random(total) < 0.4
        table = np.stack(own)
        chosen[is_topical] = table[which[is_topical], inner[is_topical]]
        texts = words[chosen].tolist()
        at = 0
        for i, length in enumerate(lengths.tolist()):
            mine = texts[at : at + length]
            at += length
            yield Document(f"d{first + i}", " ".join(mine[:5]), " ".join(mine[5:]) + ".")


def spoken(n_docs: int, *, seed: int = 0) -> Iterator[Document]:
    """Documents of about eight sentences of fifteen words, of 1,000 topics with words of their own.

    A document has two topics, each of its sentences one of them. Half of the words are the topic's
    (Zipf over 3,000), half are everyone's (Zipf over 20,000): a million and more of the three
    million words stand in two of half a million documents. The first sentence is the title.
    """
    generator = np.random.default_rng(seed)
    words = [_numeral(i) for i in range(COMMON + SUBJECTS * OF_SUBJECT)]
    table = np.array(words, object)
    common = _zipf(COMMON, 2.7, 1.05)
    topical = _zipf(OF_SUBJECT, 10.0, 1.0)
    popular = _zipf(SUBJECTS, 50.0, 1.0)
    for first in range(0, n_docs, 10_000):
        n = min(10_000, n_docs - first)
        sentences = 2 + generator.poisson(6, n)
        topics = np.searchsorted(popular, generator.random((n, 2)))
        owners = np.repeat(np.arange(n), sentences)
        of_sentence = topics[owners, (generator.random(len(owners)) < 0.3).astype(int)]
        lengths = 3 + generator.poisson(12, len(owners))
        total = int(lengths.sum())
        chosen = np.searchsorted(common, generator.random(total))
        is_topical = generator.random(total) < 0.5
        inner = np.searchsorted(topical, generator.random(int(is_topical.sum())))
        chosen[is_topical] = COMMON + inner * SUBJECTS + np.repeat(of_sentence, lengths)[is_topical]
        texts = table[chosen].tolist()
        ends = np.cumsum(lengths).tolist()
        starts = [0, *ends[:-1]]
        # A sentence ends where a capital letter follows the dot.
        said = [" ".join(texts[a:b]).capitalize() for a, b in zip(starts, ends, strict=True)]
        at = 0
        for i, size in enumerate(sentences.tolist()):
            title, *rest = said[at : at + size]
            at += size
            yield Document(f"d{first + i}", title, ". ".join(rest) + ".")


def _zipf(n: int, shift: float, power: float) -> np.ndarray:
    """Cumulative chances of Zipf and Mandelbrot's law."""
    cumulative = np.cumsum(1 / (np.arange(1, n + 1) + shift) ** power)
    return cumulative / cumulative[-1]


def _numeral(number: int) -> str:
    """A pronounceable word for each number, of two syllables or more."""
    number += len(SYLLABLES)
    parts = []
    while number >= 0:
        number, digit = divmod(number, len(SYLLABLES))
        parts.append(SYLLABLES[digit])
        number -= 1
    return "".join(parts)


def _words(generator: np.random.Generator) -> np.ndarray:
    """Distinct pronounceable words, the frequent ones short."""
    words: dict[str, None] = {}
    sizes = np.minimum(2 + np.log1p(np.arange(2 * VOCABULARY)) / 4, 5).astype(int)
    for size in sizes.tolist():
        picked = generator.integers(0, len(SYLLABLES), size)
        words.setdefault("".join(SYLLABLES[j] for j in picked.tolist()))
        if len(words) == VOCABULARY:
            break
    return np.array(list(words), object)
