"""What a saved collection must answer, asked through the library alone, whatever its format."""

from __future__ import annotations

import json
import math
import tarfile
from hashlib import blake2b
from pathlib import Path

import likewise as lw
from likewise.like.explain import OTHERS, ROUNDING
from likewise.models.kinds import find_model
from likewise.models.model import SMOOTH
from likewise.models.stored_vectors import vectors_of

SAVED = Path(__file__).parent / "format-1-saved"
NAMES = ("full", "odd", "empty")

METHODS = ("bm25", "ql", "ql-jm", "tfidf")
# How many words format 1 named behind one.
BEHIND = 3
ALL = 10_000
DECOMPOSED, LIKE_EXPLAINED = "decomposed by ", "like, explained"
# Scores are added up in double precision; what is left of a document's words in single, where
# processors round differently.
_RELATIVE, _NONE, _SINGLE = 1e-6, 1e-9, 1e-5


def unpack(name, to):
    """Unpack a saved collection into a new folder, and give that."""
    folder = to / f"{name}.lw"
    with tarfile.open(SAVED / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def read_expected(name):
    """The questions that were asked of a saved collection, and its answers."""
    expected = json.loads((SAVED / f"{name}.json").read_text("utf-8"))
    return expected["questions"], expected["answers"]


def ask(folder, questions):
    """Ask a collection all that there is to ask: plain values, as JSON has them.

    Questions are `queries`, `ids` of documents, `texts` from outside, `filters` with a query
    that all documents match, and `terms` by the name of a term graph.
    """
    c = lw.open(folder)
    info = c.info()
    answers = {
        "documents": [_document(document) for document in c],
        "statistics": _statistics(info),
        "filters": _filters(c, questions),
        "models": {name: _model(c, name) for name in info["models"]},
        "kernels": {name: _kernel(c, name) for name in info["kernels"]},
        "graphs": {name: _graph(c, name) for name in info["graphs"]},
        "search": {query: _search(c, query, info["kernels"]) for query in questions["queries"]},
        "documents in hand": {
            doc_id: _in_hand(c, doc_id, info["models"]) for doc_id in questions["ids"]
        },
        "texts in hand": {text: _text_in_hand(c, text, info) for text in questions["texts"]},
        "terms": {
            graph: {text: _terms(c, graph, text) for text in texts}
            for graph, texts in questions["terms"].items()
        },
    }
    return json.loads(json.dumps(answers))


def differences(found, expected, at="answers"):
    """Where answers are not those that were expected; numbers may differ by rounding."""
    if isinstance(found, dict) and isinstance(expected, dict):
        if LIKE_EXPLAINED in at and all(isinstance(value, float) for value in expected.values()):
            return unexpected_parts(found, expected, at)
        missing = [f"{at} [{key!r}]: missing" for key in expected if key not in found]
        new = [f"{at} [{key!r}]: not expected" for key in found if key not in expected]
        inside = [
            line
            for key in expected
            if key in found
            for line in differences(found[key], expected[key], f"{at} [{key!r}]")
        ]
        return missing + new + inside
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        if is_ranking(expected):
            found = reordered(found, expected)
        pairs = enumerate(zip(found, expected, strict=True))
        return [line for i, (a, b) in pairs for line in differences(a, b, f"{at} [{i}]")]
    same = found == expected and type(found) is type(expected)
    if isinstance(found, float) and isinstance(expected, float):
        same = is_close(found, expected, absolute=_SINGLE if DECOMPOSED in at else _NONE)
    return [] if same else [f"{at}: {found!r}, expected {expected!r}"]


def unexpected_parts(found, expected, at):
    """The parts of a likeness whose scores were not noted.

    Format 1 noted every word, as the answer has it; now the leading ones are parts, as the query
    has them.
    """
    noted = expected.values()
    wrong = [
        name for name, score in found.items() if not any(is_close(score, one) for one in noted)
    ]
    return [f"{at} [{name!r}]: not expected" for name in wrong] + (
        [] if found or not expected else [f"{at}: nothing"]
    )


def is_close(a, b, absolute=_NONE):
    """Whether two numbers are the same but for rounding."""
    return math.isclose(a, b, rel_tol=_RELATIVE, abs_tol=absolute)


def is_ranking(values):
    """Whether values are names with scores, the best first."""
    return all(
        isinstance(value, list) and [*map(type, value[:2])] == [str, float] for value in values
    )


def reordered(found, expected):
    """A ranking in the expected order as far as rounding may have turned it."""
    places = {name: i for i, (name, *_) in enumerate(expected)}
    out = list(found)
    for i in range(len(out)):
        j = i
        while (
            j
            and is_close(out[j][1], out[j - 1][1])
            and places.get(out[j][0], len(out)) < places.get(out[j - 1][0], len(out))
        ):
            out[j - 1], out[j] = out[j], out[j - 1]
            j -= 1
    return out


# What is stored


def _document(document):
    return {
        "id": document.id,
        "title": document.title,
        "text": blake2b(document.text.encode(), digest_size=8).hexdigest(),
        "fields": dict(document.fields),
        "place": document.place,
    }


def _statistics(info):
    """All but what depends on how the same documents are laid out in files."""
    laid_out = ("folder", "format", "generation", "bytes", "bytes_by_kind", "segments", "deleted")
    laid_out += (
        "not_stored",
        "analysis_revision",
        "outdated",
        "terms",
        "defaults",
        "keeps",
        "leases",
        "older_generations",
        "unfinished",
        "derived",
        "languages",
    )
    # What was noted is called as it was then; switches that came later are off but for positions.
    called = {"drift": "ageing"}
    analysis = dict(info["analysis"])
    assert not analysis.pop("fold")
    analysis.pop("positions")
    assert not analysis.pop("languages")
    assert [*info["languages"]] in ([analysis["language"]], [])
    info = info | {"analysis": analysis, "fields": list(info["fields"])}
    return {called.get(name, name): value for name, value in info.items() if name not in laid_out}


def _filters(c, questions):
    found = {}
    for condition in questions["filters"]:
        answers = c.search(questions["everywhere"], method="bm25", filter=condition, k=ALL)
        found[condition] = sorted(answer.doc_id for answer in answers)
    return found


def _model(c, name):
    model = c.models[name]
    weights = find_model(c.snapshot, name).about["weights"]
    return {
        "name": model.name,
        "kind": model.kind,
        "topics": model.width,
        "labels": list(getattr(model, "labels", ())),
        "terms": len(model.vocabulary),
        "documents": model.vocabulary.n_docs,
        "settings": dict(model.settings),
        "history": [dict(note) for note in model.history],
        "weights": [weights["points"], weights["words"], weights["chosen"]],
    }


def _kernel(c, name):
    space = vectors_of(c.snapshot, name, SMOOTH).model
    return {
        "name": space.name,
        "kind": "kernel",  # as format 1 called it
        "axes": space.width,
        "settings": dict(space.settings),
        "history": [dict(note) for note in space.history],
    }


def _graph(c, name):
    graph = c.terms.graph(name)
    nodes, settings, counted = graph.stored.nodes, graph.stored.settings, graph.stored.counted
    freqs = dict(zip(graph.names(range(len(graph))), counted.doc_freqs.tolist(), strict=True))
    return {
        "kind": nodes.kind,
        "within": settings.within,
        "filters": str(settings.filters),
        "origin": settings.names,
        "left_out": list(nodes.left_out),
        "merged": [list(pair) for pair in nodes.merged],
        "documents": counted.n_docs,
        "document_frequencies": freqs,
        "pairs": len(counted.pairs.columns),
    }


# What is answered


def _ranked(answers):
    return [[answer.doc_id, answer.score] for answer in answers]


def _explained(answers):
    """The best answer with the parts of its score, by name: their order is that of rounding."""
    return {answer.doc_id: dict(_parts(answer.explanation.parts)) for answer in answers[:1]}


def _parts(parts):
    """Parts as format 1 had them: no groups, and the words behind a word in its name."""
    for part in parts:
        if part.name in (OTHERS, ROUNDING):
            continue
        if part.kind == "group":
            yield from _parts(part.parts)
        elif part.kind == "document":
            yield f"like {part.name}", part.score
        elif behind := [inner.name for inner in part.parts if inner.kind == "word"]:
            yield f"{part.name} ~ {', '.join(behind[:BEHIND])}", part.score
        else:
            yield part.name, part.score


def _search(c, query, kernels):
    # What was the default search when these answers were noted.
    default = "bm25 >> robust >> bm25" + (" >> klsa" if kernels else "")
    found = {"default": _ranked(c.search(query, method=default))}
    found["default, explained"] = _explained(c.search(query, method=default, explain=True))
    for method in METHODS:
        found[method] = _ranked(c.search(query, method=method))
    for kernel in kernels:
        smooth = f"klsa(model={kernel})"
        found[smooth] = _ranked(c.search(query, method="bm25", smooth=smooth))
    return found


def _in_hand(c, doc_id, models):
    found = {}
    if models:
        found["like"] = _ranked(c.like(doc_id))
        found[LIKE_EXPLAINED] = _explained(c.like(doc_id, explain=True))
        found["neighbours"] = _ranked(c.like(doc_id, method="near"))
    for model in models:
        # What was noted is called as it was then.
        for called, method in (("halves", "hybrid"), ("eq4", "eq4")):
            likely = c.like(doc_id, method=f"{method}(model={model})")
            found[f"{called}(model={model})"] = _ranked(likely)
        near = f"near(model={model})"
        found[near] = _ranked(c.like(doc_id, method=near))
        found[f"{DECOMPOSED}{model}"] = _decomposed(c, doc_id, model)
    return found


def _decomposed(c, doc_id, model):
    triples = c.models.transform(doc_id, model=model, words=ALL)
    own = zip(c.snapshot.terms(triples.terms), triples.weights.tolist(), strict=True)
    return {
        "topics": triples.topics[0].tolist(),
        "own": dict(own),
        "shares": triples.shares[0].tolist(),
    }


def _text_in_hand(c, text, info):
    found = {}
    for model in info["models"]:
        likely = c.like(text=text, method=f"hybrid(model={model})")
        found[f"halves(model={model})"] = _ranked(likely)
        made = c.models.decompose(text=text, model=model, words=ALL)
        found[f"{DECOMPOSED}{model}"] = {
            "shares": list(made.shares),
            "topics": [[part.number, part.label, part.share] for part in made.topics],
            "own": {word.word: word.weight for word in made.own},
        }
    return found


def _terms(c, graph, text):
    related = c.terms.near(text, k=8, graph=graph)
    between = c.terms.distance(text, related[0].name, graph=graph)
    return {
        "related": [[one.name, one.similarity] for one in related],
        "through": {one.name: {link.name: link.part for link in one.through} for one in related},
        "distance": [between.similarity, between.distance, between.cosine],
        "predicted": [
            [one.name, one.score, one.share] for one in c.terms.predict(text, k=8, graph=graph)
        ],
    }
