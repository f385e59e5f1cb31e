"""Figure 2: do words that answer alike to changes of a query stand together?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from likewise.compiled import Bools, Doubles
from likewise.evaluate.significance import randomisation_test
from likewise.expand.expansion import Feedback, WordSearch
from likewise.expand.perturb import Perturbed, perturb
from likewise.models.surface_forms import readable_terms, surface_words
from likewise.records import EMPTY
from likewise.retrieve.models import read_model
from likewise.retrieve.search import Retriever
from likewise_papers.bench import Bench
from likewise_papers.comparing import told_p
from likewise_papers.data import Ready
from likewise_papers.experiment import (
    UNTESTABLE,
    Claim,
    Drawing,
    Result,
    Row,
    Table,
    estimate,
    verdict,
)

_TEXT = "Words of noise stand apart from words of sense in perturbation co-ordinates."
# So many of the first documents on both sides tell which words are those of relevant ones.
_FEWEST = 3


def draw_picture(bench: Bench) -> Result:
    """Draw the words of some queries, and tell sense from noise by judgements over all queries."""
    drawings = [
        drawn(bench.open(name), query, words=bench["words"], docs=bench["docs"])
        for name, query in bench["queries"].items()
        if name in (*bench.sets, *bench.beside)
    ]
    by_kernel: dict[str, Doubles] = {}
    by_documents: dict[str, Doubles] = {}
    for name in bench.sets:
        bench.say(name)
        ready = bench.open(name)
        both = [separations(*one, bench["words"]) for one in perturbed(bench, ready)]
        values = np.array([pair for pair in both if pair is not None]).reshape(-1, 2)
        by_kernel[name], by_documents[name] = values.T
    rows = {"perturbation, LOO": by_kernel, "Jaccard, by the same documents": by_documents}
    table = Table(
        "How often two words, one of sense and one of noise, are farther apart than two of a kind",
        tuple(by_kernel),
        tuple(
            Row(row, {name: estimate(of[name], seed=bench.seed) for name in of if len(of[name])})
            for row, of in rows.items()
        ),
        note="Chance is .5. Of sense are words that more of the relevant than of the other first "
        "documents have.",
    )
    return Result(
        claims=(judge(by_kernel),),
        tables=(table,) if by_kernel else (),
        drawings=tuple(one for one in drawings if one is not None),
    )


def judge(by_kernel: dict[str, Doubles]) -> Claim:
    """Tell whether noise stands apart: more often than chance, over all queries."""
    values = np.concatenate([*by_kernel.values(), np.empty(0)])
    if len(values) < 2:
        return Claim(_TEXT, UNTESTABLE, "no collection has judged queries to tell noise by")
    found = estimate(values)
    assert found.low is not None
    p = told_p(randomisation_test(values - 0.5))
    return Claim(
        _TEXT,
        verdict(found.low > 0.5),
        f"two words of different kinds are farther apart than two of a kind in {found.mean:.3f} "
        f"[{found.low:.3f} {found.high:.3f}] of the cases over {len(values)} queries, where chance "
        f"is .5 (p {p})",
    )


def perturbed(bench: Bench, ready: Ready) -> list[tuple[Perturbed, set[int]]]:
    """Perturb the judged queries of a collection; each with the documents relevant to it."""
    snapshot = ready.snapshot
    asked = [Feedback(snapshot.analyzer.counts(query.text), EMPTY) for query in ready.queries]
    found = perturb(asked, _search(ready, bench.threads), docs=bench["docs"])
    relevant = [snapshot.find_docs(sorted(ready.qrels.relevant(q.qid))) for q in ready.queries]
    return [(one, set(docs.tolist())) for one, docs in zip(found, relevant, strict=True)]


def separations(one: Perturbed, relevant: set[int], words: int) -> tuple[float, float] | None:
    """Give how well sense and noise are apart for a query, by the kernel and by Jaccard.

    None where that cannot be told: too few documents on one side, or words of one kind only.
    """
    if len(one.weights) < 2:
        return None
    columns = one.strongest(words)
    own = np.flatnonzero(one.shares[0] > 0)
    has = one.pool.occurs(columns)[own]
    is_relevant = np.array([doc in relevant for doc in one.pool.docs[own].tolist()], np.bool_)
    if min(is_relevant.sum(), (~is_relevant).sum()) < _FEWEST:
        return None
    sense = has[is_relevant].mean(axis=0) > has[~is_relevant].mean(axis=0)
    if min(sense.sum(), (~sense).sum()) < 2:
        return None
    return apart(one.distances(columns), sense), apart(1 - _jaccard(has), sense)


def apart(distances: Doubles, kinds: Bools) -> float:
    """Give how often a pair of two kinds is farther apart than one of a kind; a tie is half."""
    i, j = np.triu_indices(len(kinds), 1)
    mixed = kinds[i] != kinds[j]
    far, near = np.sort(distances[i, j][mixed]), np.sort(distances[i, j][~mixed])
    below = np.searchsorted(near, far, "left") + np.searchsorted(near, far, "right")
    return float(below.sum() / (2 * len(far) * len(near)))


def drawn(ready: Ready, query: str, *, words: int, docs: int) -> Drawing | None:
    """Give the words of a query in its first two perturbation co-ordinates, as a figure."""
    snapshot = ready.snapshot
    asked = Feedback(snapshot.analyzer.counts(query), EMPTY)
    [found] = perturb([asked], _search(ready, 1), docs=docs)
    if len(found.weights) < 2:
        return None
    own = [column for column in found.terms.tolist() if found.pool.query[column] > 0]
    columns = np.array([*own, *found.strongest(words).tolist()])
    names = found.pool.names(columns)
    shown = readable_terms(snapshot, names) | surface_words([query], snapshot.analyzer)
    labels, points = [shown[name] for name in names], found.features(columns)
    moved = [shown[name] for name in found.pool.names(found.terms)]
    return Drawing(
        "words",
        f"Words in the context of “{query}”, {ready.name}",
        x_label=f"without ‘{moved[0]}’: less (−) or more (+) likely",
        y_label=f"without ‘{moved[1]}’: less (−) or more (+) likely",
        note=quadrants(points[len(own) :], labels[len(own) :], moved),
        extra={
            "points": points[:, :2].tolist(),
            "labels": labels,
            "marked": [*[True] * len(own), *[False] * (len(columns) - len(own))],
        },
    )


def quadrants(points: Doubles, names: Sequence[str], terms: Sequence[str]) -> str:
    """Say which words become less likely without which of the first two terms."""
    less = points[:, :2] < 0
    one, other = terms[:2]
    kinds: dict[str, Bools] = {
        f"less likely without each of {one} and {other}": less[:, 0] & less[:, 1],
        f"without {one} only": less[:, 0] & ~less[:, 1],
        f"without {other} only": less[:, 1] & ~less[:, 0],
        "without none of them": ~less[:, 0] & ~less[:, 1],
    }
    told = {
        kind: ", ".join(name for name, here in zip(names, which, strict=True) if here)
        for kind, which in kinds.items()
    }
    return "; ".join(f"{kind}: {words}" for kind, words in told.items() if words)


def _search(ready: Ready, threads: int) -> WordSearch:
    return WordSearch(Retriever(ready.snapshot, read_model("bm25")), None, threads)


def _jaccard(has: Bools) -> Doubles:
    given = has.astype(np.float64)
    both = np.einsum("ki,kj->ij", given, given)
    counts = given.sum(axis=0)
    alike: Doubles = both / np.maximum(counts[:, None] + counts - both, 1)
    return alike
