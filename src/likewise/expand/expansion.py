"""Expanders: what they are given, what they give, and how new terms join a query."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from numbers import Integral
from typing import NamedTuple, Self

import numpy as np

from likewise import notation, registry
from likewise.compiled import Bools, Doubles, Ints
from likewise.errors import UsageError, WrongType
from likewise.expand.pool import Pool
from likewise.records import EMPTY, Expansion, Filter, Match, Query, Ranking
from likewise.retrieve.models import BM25, Model
from likewise.retrieve.proximity import WithGain
from likewise.retrieve.search import Retriever
from likewise.retrieve.words import WordScorer, retriever_of, terms_of
from likewise.stages.stage import Context, Result, Scorer, Stage

EXPANDERS = registry.Table(registry.EXPANDERS, groups=("likewise.expand",))
NO_SHARE = "the share of feedback is 0"

_NORMS: dict[str, Callable[[Doubles], float]] = {
    "sum": lambda values: math.fsum(values.tolist()),
    "max": lambda values: float(values.max(initial=0)),
}


class Feedback(NamedTuple):
    """A query's own terms, and the ranking whose first documents are its feedback documents.

    `words` is what a search for the terms alone found, where that is at hand and barred the same.
    """

    terms: Mapping[str, float]
    ranking: Ranking
    words: Ranking = EMPTY


class WordSearch(NamedTuple):
    """What expanders search and read with: a retriever, and what a search may find."""

    retriever: Retriever
    allowed: Sequence[Bools | None] | None = None
    threads: int = 1

    def rank(self, queries: Sequence[Mapping[str, float]], k: int) -> list[Ranking]:
        """Search for queries of weighted terms, all in one call."""
        return self.retriever.rank(queries, k=k, allowed=self.allowed, threads=self.threads)


class ExpansionResult(NamedTuple):
    """What an expander makes of a query: weighted terms in place of it, or why there are none.

    `skipped_reason` is why, `note` what was done otherwise than asked for.
    """

    terms: Mapping[str, float]
    skipped_reason: str = ""
    note: str = ""


class Expander(Stage):
    """Gives queries other terms; rankings stay as they were.

    Small, frozen, written as `notation` writes it. Perturbed queries are searched for as the
    rankings were made, by BM25 where nothing tells, and under the queries' filters.
    """

    @property
    def feedback_docs(self) -> int:
        """How many documents of the first ranking it needs; 0 for one that searches itself."""
        raise UsageError(f"{self} does not say how many documents it reads: define feedback_docs")

    def with_share(self, share: float) -> Self:
        """Give the same with another share of the expansion in the query: 0 is none, 1 is all."""
        raise UsageError(f"{self} does not say what a share is: define with_share")

    def with_similarity(self, name: str) -> Self | None:
        """Give the same by another similarity of words; None unless it goes by one."""
        return None

    def expand(self, batch: Sequence[Feedback], search: WordSearch) -> list[ExpansionResult]:
        """Expand queries; a query that cannot be, comes back with the reason."""
        raise UsageError(f"{self} does not say what it does: define expand")

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Expand the queries, those of one search and filter together."""
        groups: dict[tuple[Model, Filter, Match | None], list[int]] = {}
        for i, result in enumerate(batch):
            query = result.query
            groups.setdefault((_searches(result), query.filter, query.match), []).append(i)
        found = [*batch]
        for (model, *_), places in groups.items():
            mask = context.mask(batch[places[0]].query)
            retriever = retriever_of(context.snapshot, model)
            search = WordSearch(retriever, mask.segments if mask.bars else None, context.threads)
            mine = [batch[i] for i in places]
            for i, query in zip(places, expand_queries(self, mine, search), strict=True):
                ranking = batch[i].ranking
                first = ranking.cut(max(context.k, self.feedback_docs))
                found[i] = batch[i]._replace(
                    query=query, ranking=ranking.cut(context.k), first=first
                )
        return found

    def depth(self, k: int, *, log: bool) -> int:
        """As much as the next stage reads, or as it reads itself."""
        return max(k, self.feedback_docs)


def _searches(result: Result) -> Model:
    searches = result.scorer.searches if result.scorer is not None else None
    return searches if isinstance(searches, Model) else BM25()


def read_expander(how: str | Expander) -> Expander:
    """Read an expander as it is written: `rm3`, `bo1(docs=5)`, `robust(similarity=jaccard)`.

    One that is an expander already stays as it is.
    """
    if isinstance(how, str):
        # Similarities stand on expanders.
        from likewise.expand.similarity import SIMILARITIES

        named = how.strip().lower()
        if named in SIMILARITIES and named not in EXPANDERS:
            raise UsageError(f"{named} is a similarity of words: write robust(similarity={named})")
        read: Expander = notation.read(how, EXPANDERS, what="expander")
        return read
    if not isinstance(how, Expander):
        raise WrongType(
            f"{how!r} is no expander: give a name ({', '.join(EXPANDERS)}), or a subclass of "
            "likewise.expand.Expander"
        )
    return how


def expand_queries(how: Expander, batch: Sequence[Result], search: WordSearch) -> list[Query]:
    """Expand queries; those that were skipped keep their terms, and say why.

    Terms of negative weight (what a document had better not say) stay as they were.
    """
    feedback = []
    for result in batch:
        terms = dict(terms_of(result.query, search.retriever.collection))
        feedback.append(Feedback(terms, result.ranking, _found_by(terms, result.scorer, search)))
    found = how.expand(feedback, search)
    if len(found) != len(feedback) or not all(isinstance(one, ExpansionResult) for one in found):
        raise UsageError(f"{how} must give one ExpansionResult for each of {len(feedback)} queries")
    if not all(math.isfinite(weight) for one in found for weight in one.terms.values()):
        raise UsageError(f"{how} gave a term a weight that is no number")
    return [
        result.query._replace(
            terms={**expanded.terms, **_unwanted(given.terms)}
            if not expanded.skipped_reason
            else given.terms,
            expansion=Expansion(str(how), given.terms, expanded.skipped_reason, expanded.note),
        )
        for result, given, expanded in zip(batch, feedback, found, strict=True)
    ]


def _found_by(terms: Mapping[str, float], scorer: Scorer | None, search: WordSearch) -> Ranking:
    """Give what a search for terms found, if it stands behind a scorer and barred the same."""
    while isinstance(scorer, WithGain):
        scorer = scorer.before
    if not isinstance(scorer, WordScorer) or scorer.allowed is not search.allowed:
        return EMPTY
    same = scorer.retriever is search.retriever and scorer.terms == terms
    return scorer.found if same else EMPTY


def mix(
    pool: Pool, chosen: Ints, weights: Doubles, share: float, *, norm: str, limit: float = 0.0
) -> ExpansionResult:
    """Join a query and weighted terms, columns of a pool (see `join`)."""
    positive = weights > 0
    asked = np.flatnonzero(pool.query)
    return join(
        dict(zip(pool.names(asked), pool.query[asked].tolist(), strict=True)),
        dict(zip(pool.names(chosen[positive]), weights[positive].tolist(), strict=True)),
        share,
        norm=norm,
        limit=limit,
    )


def join(
    asked: Mapping[str, float],
    found: Mapping[str, float],
    share: float,
    *,
    norm: str,
    limit: float = 0.0,
    where: str = "its first documents",
) -> ExpansionResult:
    """Join a query and weighted terms: `(1 - share) q + share e`.

    Both are first divided by their sum or maximum (`norm`), the terms by `limit` where one is
    given. The result has the sum of the query's own weights, so that scores stay comparable.
    """
    if share == 0:
        return ExpansionResult({}, NO_SHARE)
    if not found:
        return ExpansionResult({}, f"no term stands out in {where}")
    new, given = np.array([*found.values()]), np.array([*asked.values()])
    new = share * (new / (limit or _NORMS[norm](new)))
    final = dict(zip(found, new.tolist(), strict=True))
    if len(given):
        kept = given * ((1 - share) / _NORMS[norm](given))
        for term, weight in zip(asked, kept.tolist(), strict=True):
            final[term] = final.get(term, 0.0) + weight
    scale = (math.fsum(asked.values()) or 1.0) / math.fsum(final.values())
    ordered = sorted((-weight, term) for term, weight in final.items())
    scaled = ((term, -weight * scale) for weight, term in ordered)
    return ExpansionResult({term: weight for term, weight in scaled if weight > 0})


def doc_weights(ranking: Ranking, n: int, *, is_log: bool) -> Doubles:
    """Weigh the n best documents by their scores (by likelihood, where those are logarithms).

    Weights add up to 1. They are equal where scores are no weights: where one is negative, or all
    are 0.
    """
    scores = ranking.scores[:n].astype(np.float64)
    if is_log and math.isfinite(top := float(scores.max(initial=-np.inf))):
        scores = np.exp(scores - top)
    total = scores.sum()
    if not (0 < total < np.inf and (scores >= 0).all()):
        return np.full(len(scores), 1 / max(len(scores), 1))
    weighed: Doubles = scores / total
    return weighed


@cache
def rank_weights(n: int) -> Doubles:
    """Weigh n documents by `1/rank`; weights add up to 1, and are not to be written to.

    The scores of the first documents are often close, though the first is far likelier to be
    relevant than the twentieth.
    """
    weights = 1 / np.arange(1, n + 1)
    shares: Doubles = weights / weights.sum()
    shares.flags.writeable = False
    return shares


def check_share(kind: str, share: float) -> None:
    """Refuse a share that is none."""
    if not 0 <= share <= 1:
        raise UsageError(f"{kind} needs share from 0 (the query alone) to 1, not {share}")


def check_counts(kind: str, **numbers: int) -> None:
    """Refuse numbers of documents or terms that are no whole numbers, or below 1."""
    for name, number in numbers.items():
        if not isinstance(number, Integral) or number < 1:
            raise UsageError(f"{kind} needs {name} of at least 1, a whole number, not {number}")


def _unwanted(terms: Mapping[str, float]) -> dict[str, float]:
    return {term: weight for term, weight in terms.items() if weight < 0}
