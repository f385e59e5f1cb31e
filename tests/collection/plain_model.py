"""What a collection must say, worked out from its documents in plain Python."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np

from likewise.collection.build import content
from likewise.collection.cards import LEAD
from likewise.collection.manifest import manifest_path, parse_manifest, read_pointer
from likewise.collection.positions import GAP
from likewise.collection.words import FIELDS
from likewise.errors import UsageError
from likewise.records import Condition, Document
from likewise.stages.conditions import matcher_of
from likewise.text.analysis import Analysis, Analyzer, encode, split_words
from likewise.text.chunks import cut

WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "running",
    "runs",
    "jumped",
    "中文字",
    "café",
    "cafe",
    "C++",
    "the",
    "of",
    "x1",
    "2024",
]
ASKED = {"year": ["1", "2.5", "2024"], "tag": ["red", "blue", "*"], "odd": ["é"]}


def made(rng, doc_id):
    """A random document."""
    words = [rng.choice(WORDS) for _ in range(rng.randrange(30))]
    fields = {}
    if rng.random() < 0.7:
        fields["year"] = rng.choice([1, 2.5, 2024, True, "1", None])
    if rng.random() < 0.5:
        fields["tag"] = rng.choice(["red", "blue", ["red", "blue"], []])
    if rng.random() < 0.1:
        fields["odd"] = "é"
    title = rng.choice(["", "A title. Of two"])
    return Document(doc_id, title, rng.choice([" ", ". ", "\n\n"]).join(words), fields)


def expected(documents, analysis=Analysis(), *, fields=True):
    """The state of a collection of these documents, with fields of words or without."""
    analyzer = Analyzer(analysis)
    counts = {}
    for d in documents:
        again = analyzer.terms(d.title) * (analysis.title_weight - 1)
        counts[d.id] = Counter(analyzer.terms(content(d)) + again)
    doc_freqs, term_freqs = Counter(), Counter()
    for terms in counts.values():
        doc_freqs.update(terms.keys())
        term_freqs.update(terms)
    return {
        "documents": list(documents),
        "ids": [d.id for d in documents],
        "n_docs": len(documents),
        "n_tokens": sum(term_freqs.values()),
        "lengths": [sum(terms.values()) for terms in counts.values()],
        "counts": [dict(terms) for terms in counts.values()],
        "doc_freqs": dict(doc_freqs),
        "term_freqs": dict(term_freqs),
        "texts": [content(d) for d in documents],
        "title": [Counter(analyzer.terms(d.title)) for d in documents] if fields else None,
        "exact": [Counter(analyzer.exact(content(d))) for d in documents] if fields else None,
        "positions": [positions_of(d, analyzer) for d in documents],
        "cards": [(d.title, "" if d.title else d.text[:LEAD], d.fields) for d in documents],
        "having": {
            (field, value): [d.id for d in documents if has(d.fields.get(field), value)]
            for field, values in ASKED.items()
            for value in values
        },
    }


def positions_of(document, analyzer):
    """The positions of each term of a document."""
    placed = analyzer.placed(document.title)
    words = [word for chunk in chunks_of(document.title) for word in chunk]
    first = len(words) + GAP if words else 0
    placed += [(term, first + place) for term, place in analyzer.placed(document.text)]
    found = {}
    for term, place in placed:
        found.setdefault(term, []).append(place)
    return found


def chunks_of(text):
    """The words of each chunk of a text."""
    chunks = cut([encode(text)])
    spelled = [chunks.distinct.at(token).decode("utf-8", "replace") for token in chunks.tokens]
    return [split_words(chunk) for chunk in spelled]


def has(value, asked):
    """Whether metadata holds a value, or (for *) anything that can be asked for."""
    members = value if isinstance(value, list) else [value]
    texts = [m for m in members if isinstance(m, str)]
    numbers = [float(m) for m in members if isinstance(m, int | float)]
    if asked == "*":
        return bool(texts or numbers)
    try:
        return asked in texts or float(asked) in numbers
    except ValueError:
        return asked in texts


def state(snapshot):
    """The same, asked of a collection."""
    docs = snapshot.live_docs()
    every = np.arange(snapshot.n_terms)
    names = snapshot.terms(every)
    doc_freqs, term_freqs = snapshot.frequencies(every)
    # A word that no document has may have been blanked by a merge; its number stays.
    numbers = [number if name else -1 for number, name in enumerate(names)]
    assert snapshot.find_terms(names).tolist() == numbers
    assert all(names[number] for number in np.flatnonzero(doc_freqs))
    for field in FIELDS:
        assert all(
            names[number] for number in np.flatnonzero(snapshot.frequencies(every, field)[0])
        )
    bounds, terms, counts = snapshot.term_counts(docs)
    per_doc = []
    for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        per_doc.append({names[t]: c for t, c in zip(terms[a:b], counts[a:b].tolist(), strict=True)})
    ids = snapshot.doc_ids(docs)
    assert snapshot.find_docs(ids).tolist() == docs.tolist()
    assert [doc for doc, _ in snapshot.documents()] == docs.tolist()
    postings = Counter()
    for segment in snapshot.segments:
        for term, found in read_postings(segment.postings).items():
            postings[names[term]] += sum(count for doc, count in found if segment.live[doc])
    found = {
        "documents": [document for _, document in snapshot.documents()],
        "ids": ids,
        "n_docs": snapshot.n_docs,
        "n_tokens": snapshot.n_tokens,
        "lengths": snapshot.lengths(docs).tolist(),
        "counts": per_doc,
        "doc_freqs": {n: df for n, df in zip(names, doc_freqs.tolist(), strict=True) if df},
        "term_freqs": {n: tf for n, tf in zip(names, term_freqs.tolist(), strict=True) if tf},
        "texts": ["".join(snapshot.sentences(doc)) for doc in docs.tolist()],
        "title": fields_of(snapshot, "title.", names, docs),
        "exact": fields_of(snapshot, "exact.", names, docs),
        "positions": stored_positions(snapshot, names, docs, terms),
        "cards": [(card.title, card.lead, card.fields) for card in snapshot.cards(docs)],
        "having": {
            (field, value): having(snapshot, field, value)
            for field, values in ASKED.items()
            for value in values
        },
    }
    assert {term: n for term, n in postings.items() if n} == found["term_freqs"]
    assert found["documents"] == [snapshot.document(doc) for doc in docs.tolist()]
    return found


def fields_of(snapshot, field, names, docs):
    """The words of each document in a field, its statistics checked; None where it is not there."""
    if not snapshot.has_field(field):
        return None
    bounds, terms, counts = snapshot.term_counts(docs, field)
    found = [
        Counter(dict(zip([names[t] for t in terms[a:b]], counts[a:b].tolist(), strict=True)))
        for a, b in pairwise(bounds.tolist())
    ]
    total, docs_of = sum(found, Counter()), Counter(word for one in found for word in one)
    lengths = [one.total() for one in found]
    assert snapshot.lengths(docs, field).tolist() == lengths
    assert snapshot.average_length_of(field) == (sum(lengths) / len(docs) if len(docs) else 0)
    doc_freqs, term_freqs = snapshot.frequencies(np.arange(len(names)), field)
    assert {n: f for n, f in zip(names, doc_freqs.tolist(), strict=True) if f} == dict(docs_of)
    assert {n: f for n, f in zip(names, term_freqs.tolist(), strict=True) if f} == dict(total)
    postings = Counter()
    for segment in snapshot.segments:
        for term, pairs in read_postings(segment.words(field).postings).items():
            postings[names[term]] += sum(count for doc, count in pairs if segment.live[doc])
    assert +postings == total
    return found


def stored_positions(snapshot, names, docs, terms):
    """The positions of each document's terms, asked for all documents at once."""
    asked = np.unique(terms).astype(np.int64)
    again = asked[:3]
    found = snapshot.positions(docs, np.concatenate([asked, again, [-1]]))
    spans = found.bounds.tolist()
    out, width = [], len(asked) + len(again) + 1
    for row in range(len(docs)):
        mine = spans[row * width : (row + 1) * width + 1]
        places = [found.values[a:b].tolist() for a, b in pairwise(mine)]
        assert places[len(asked) :] == [*places[: len(again)], []]
        out.append({names[t]: p for t, p in zip(asked.tolist(), places, strict=False) if p})
    return out


def having(snapshot, field, value):
    """The ids of the documents with some metadata."""
    try:
        matches = matcher_of(Condition.read(f"{field}={value}"), snapshot)
    except UsageError:
        # No document has the field, or a value that is none of its type.
        return []
    masks = [matches(segment) & segment.live for segment in snapshot.segments]
    return snapshot.doc_ids(np.flatnonzero(np.concatenate([np.empty(0, np.bool_), *masks])))


def read_postings(postings):
    """Postings as a dictionary from term to its (document, count) pairs."""
    large = dict(zip(postings.large_at.tolist(), postings.large_counts.tolist(), strict=True))
    starts, blocks, best = read_entries(postings)
    heads = postings.heads.tolist()
    found = {}
    for row, term in enumerate(postings.terms.tolist()):
        pairs = found[term] = []
        first, doc_freq, term_freq, top = heads[row]
        assert top == max(best[first : heads[row + 1][0]])
        for entry in range(first, heads[row + 1][0]):
            span = slice(starts[entry], starts[entry + 1])
            assert best[entry] == max(postings.impacts[span].tolist())
            for at in range(span.start, span.stop):
                count = int(postings.counts[at])
                assert (count == 255) == (at in large)
                doc = (blocks[entry] << 16) + int(postings.docs[at])
                pairs.append((doc, large.get(at, count)))
        assert (len(pairs), sum(count for _, count in pairs)) == (doc_freq, term_freq)
    return found


def read_entries(postings):
    """The start, the block and the largest impact of each entry; starts have one more."""
    entries = postings.entries.tolist()
    assert entries[-1] == len(postings.docs) << 32
    return (
        [entry >> 32 for entry in entries],
        [entry >> 8 & 0xFFFFFF for entry in entries[:-1]],
        [entry & 255 for entry in entries[:-1]],
    )


def newest(folder):
    """The manifest that the pointer names."""
    pointer = read_pointer(folder)
    path = manifest_path(folder, pointer.generation)
    return parse_manifest(path.read_bytes(), path, crc=pointer.crc)


def contents(folder):
    """All that a collection stores, in order, but for names and ids."""
    found = []
    for entry in newest(folder).segments:
        files = [entry.documents, *entry.packs, *([entry.deleted.pack] if entry.deleted else [])]
        numbers = (entry.n_docs, entry.n_tokens, entry.first_term, entry.n_terms)
        found.append((numbers, [(folder / "data" / file.file).read_bytes() for file in files]))
    return found


def leftovers(folder, *, job=None):
    """What lies in the folder and does not belong to the collection, or to a job."""
    manifest = newest(folder)
    path = manifest_path(folder, manifest.generation)
    named = {f"data/{entry.file}" for entry in manifest.files()}
    named |= {f"manifests/{path.name}", "manifest.json", "lock", "data", "manifests", "work"}
    if job is not None:
        named |= {f"work/{job.name}", f"work/{job.name}.lock"}
    return {str(path.relative_to(folder)) for path in folder.rglob("*")} ^ named
