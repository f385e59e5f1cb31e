"""Synthetic documents as many as one likes: sentences of real abstracts, recombined.

    python benchmarks/recombined.py OUT.jsonl [--docs 700000] [--seed 0] [--data FOLDER]

The first documents are the real ones (`arxiv`, in a random order), with their ids. Each of the
others starts from a real one, and takes its title and each of its sentences from documents of the
same category that share a word with that one, a sentence from each: so it has a subject, and shares
a sentence here and there with others, as `docs / 100,000` documents have each. A smaller corpus is
the start of a larger one of the same seed.

Recombining brings no new words, where real text always does: by Heaps' law, `V = K n^β` words in n
tokens. So each word is a family that splits: a document that would have it has a new word instead
with the chance `β · versions / documents so far`, and else one of its versions, in proportion to
`documents - β` (a Pitman-Yor process of discount β for each word). Over all words that is a rate of
`β V / n`, which is Heaps' law, and rare words stay as rare as they are in real text. The law is
fitted on the real documents, and while there are more words than it has, none is new: documents are
joined by rare words, which are drawn a little oftener than they were written. The growth of the
vocabulary is printed beside the law's, and the checksum.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np

from corpora import SYLLABLES
from likewise_papers.folders import find_collection

WORD = re.compile(r"[^\W\d_]+")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
# Words in more documents than this hardly ever split: they are left as they are.
COMMON = 1_000
# What joins documents: words in few of a category, but in more than one.
JOINING = (2, 50)
TRIES = 8
# How many words a piece of text has, and its parts.
Piece = tuple[int, list[str]]
Law = tuple[float, float]


class Growth:
    """The vocabulary of a stream of texts, read at sizes that double."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        self.tokens = 0
        self.read: list[tuple[int, int, int]] = []
        self._docs = 0

    def add(self, *texts: str) -> None:
        for text in texts:
            found = WORD.findall(text.lower())
            self.tokens += len(found)
            self.words.update(found)
        self._docs += 1
        if self._docs & (self._docs - 1) == 0:
            self.close()

    def close(self) -> None:
        if not self.read or self.read[-1][0] != self._docs:
            self.read.append((self._docs, self.tokens, len(self.words)))

    def law(self) -> Law:
        """Fit Heaps' law to the last five sizes."""
        _, tokens, words = np.array(self.read[-5:], np.float64).T
        beta, log_k = np.polyfit(np.log(tokens), np.log(words), 1)
        return float(np.exp(log_k)), float(beta)


class Families:
    """The versions of each word, and how many documents have each."""

    def __init__(self, doc_freqs: dict[str, int], law: Law, random: Random) -> None:
        self._k, self._beta = law
        self._random = random.random
        self._words, self._most = len(doc_freqs), 0.0
        self._docs = {word: [n] for word, n in doc_freqs.items() if n <= COMMON}
        self._totals = {word: self._docs[word][0] for word in self._docs}
        self._names: dict[str, list[str]] = {}

    def splits(self, word: str) -> bool:
        return word in self._docs

    def grow(self, tokens: int) -> None:
        """Have as many words as the law has for so many tokens."""
        self._most = self._k * tokens**self._beta

    def draw(self, word: str) -> str:
        """Draw a version of a word for a document."""
        docs, total = self._docs[word], self._totals[word]
        self._totals[word] = total + 1
        new = self._beta * len(docs)
        left = self._random() * total - new
        if left < 0:
            if self._words >= self._most:
                left = left / new * (new - total)
            else:
                docs.append(1)
                self._words += 1
                names = self._names.setdefault(word, [word])
                names.append(word + suffix(len(names) - 1))
                return names[-1]
        if len(docs) == 1:
            docs[0] += 1
            return word
        version = 0
        while version < len(docs) - 1 and left >= docs[version] - self._beta:
            left -= docs[version] - self._beta
            version += 1
        docs[version] += 1
        return self._names[word][version]


def suffix(number: int) -> str:
    """Name versions by syllables: no suffix is a start of another of the same length."""
    text = SYLLABLES[number % len(SYLLABLES)]
    return text if number < len(SYLLABLES) else text + suffix(number // len(SYLLABLES) - 1)


def real(folder: Path) -> list[dict]:
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [{name: one[name] for name in ("id", "title", "text", "category")} for one in found]


class Recombined:
    """Draws documents from the sentences of real ones."""

    def __init__(
        self, documents: list[dict], families: Families, random: Random, *, tokens: int
    ) -> None:
        self._tokens = tokens
        self._random, self._families = random, families
        self._categories = [one["category"] for one in documents]
        self._titles = [self._pieces(one["title"]) for one in documents]
        texts = [SENTENCE.split(one["text"].strip()) for one in documents]
        self._sentences = [[self._pieces(sentence) for sentence in text] for text in texts]
        self._joins = self._joined(documents)

    def _pieces(self, text: str) -> Piece:
        """Cut a text where words stand that may split: other text and words in turn."""
        pieces, done, tokens = list[str](), 0, 0
        for match in WORD.finditer(text):
            tokens += 1
            if self._families.splits(match[0].lower()):
                pieces += [text[done : match.start()], match[0]]
                done = match.end()
        return tokens, [*pieces, text[done:]]

    def _joined(self, documents: list[dict]) -> list[list[list[int]]]:
        """For each document the lists of documents of its category that have a word of it."""
        having: dict[tuple[str, str], list[int]] = {}
        for doc, one in enumerate(documents):
            words = sorted(set(WORD.findall(f"{one['title']} {one['text']}".lower())))
            for word in words:
                having.setdefault((one["category"], word), []).append(doc)
        joins: list[list[list[int]]] = [[] for _ in documents]
        fewest, most = JOINING
        for docs in having.values():
            if fewest <= len(docs) <= most:
                for doc in docs:
                    joins[doc].append(docs)
        return joins

    def draw(self, number: int) -> dict:
        """Draw a document."""
        random, versions = self._random.random, dict[str, str]()
        start = int(random() * len(self._titles))
        title = self._say(self._titles[self._near(start)], versions)
        said = []
        used = set[int]()
        for _ in self._sentences[start]:
            doc = self._near(start)
            for _ in range(TRIES):
                if doc not in used:
                    break
                doc = self._near(start)
            used.add(doc)
            mine = self._sentences[doc]
            said.append(self._say(mine[int(random() * len(mine))], versions))
        self._families.grow(self._tokens)
        text = " ".join(said)
        category = self._categories[start]
        return {"id": f"r{number:07}", "title": title, "text": text, "category": category}

    def _near(self, doc: int) -> int:
        """Draw a document that shares a word with this one, or is this one."""
        joins, random = self._joins[doc], self._random.random
        if not joins:
            return doc
        docs = joins[int(random() * len(joins))]
        return docs[int(random() * len(docs))]

    def _say(self, piece: Piece, versions: dict[str, str]) -> str:
        """Write a piece of text with the versions of words that this document has."""
        tokens, pieces = piece
        self._tokens += tokens
        out = pieces.copy()
        for i in range(1, len(pieces), 2):
            word = pieces[i].lower()
            version = versions.get(word)
            if version is None:
                version = versions[word] = self._families.draw(word)
            if version != word:
                out[i] = pieces[i] + version[len(word) :]
        return "".join(out)


def recombined(folder: Path, n_docs: int, *, seed: int = 0) -> tuple[Law, Iterator[dict]]:
    """Give Heaps' law as fitted; and real documents in a random order, then recombined ones."""
    random = Random(seed)
    documents = real(folder)
    random.shuffle(documents)
    growth, doc_freqs = Growth(), dict[str, int]()
    for one in documents:
        growth.add(one["title"], one["text"])
        for word in set(WORD.findall(f"{one['title']} {one['text']}".lower())):
            doc_freqs[word] = doc_freqs.get(word, 0) + 1
    growth.close()
    law = growth.law()

    def documents_of() -> Iterator[dict]:
        yield from documents[:n_docs]
        drawn = Recombined(
            documents, Families(doc_freqs, law, random), random, tokens=growth.tokens
        )
        for number in range(len(documents), n_docs):
            yield drawn.draw(number)

    return law, documents_of()


def write(out: Path, law: Law, documents: Iterator[dict]) -> None:
    """Write documents as JSON lines; print how the vocabulary grows, and the checksum."""
    digest, growth = hashlib.sha256(), Growth()
    with out.open("wb") as file:
        for one in documents:
            line = json.dumps(one, ensure_ascii=False).encode() + b"\n"
            digest.update(line)
            file.write(line)
            growth.add(one["title"], one["text"])
    growth.close()
    k, beta = law
    print(f"Heaps' law of the real documents: V = {k:.2f} n^{beta:.4f}")
    print(f"{'documents':>12}{'tokens':>14}{'words':>12}{'by the law':>12}")
    for n_docs, tokens, words in growth.read[-10:]:
        print(f"{n_docs:12,}{tokens:14,}{words:12,}{k * tokens**beta:12,.0f}")
    print(f"sha256 {digest.hexdigest()}  {out.name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--docs", type=int, default=700_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", metavar="FOLDER", help="that has arxiv; else LIKEWISE_DATA")
    options = parser.parse_args()
    data = find_collection("arxiv", [options.data] if options.data else None)
    if data is None:
        parser.error("no arxiv: name its folder by --data or LIKEWISE_DATA")
    write(options.out, *recombined(data, options.docs, seed=options.seed))


if __name__ == "__main__":
    main()
