"""Answers to what a person typed: operators read, unknown words named, spelling looked at."""

from __future__ import annotations

from functools import partial, reduce
from operator import and_

from likewise.collection.snapshot import Snapshot
from likewise.engine.answers import Answers
from likewise.engine.pipeline import Pipeline, read_method
from likewise.engine.query_notes import QueryNotes
from likewise.engine.spelling import check_spelling
from likewise.records import ALL, Filter, Query
from likewise.retrieve.exact import CANDIDATES, ExactWords, are_common, exact_words
from likewise.retrieve.typed import read_typed
from likewise.stages.masks import mask_of
from likewise.stages.stage import Where
from likewise.text.query_syntax import TypedQuery

ONLY_UNWANTED = "there are only words to leave out, and none to look for"

AS_SPELLED = "every word is too common or too short to tell: searched for as it is spelled"
TOO_COMMON = (
    f"nearly every document has these words: of the first {CANDIDATES:,} by them, fewer where they "
    "are long, only those answer that have them one after the other, or as their title"
)


def answer_typed(pipeline: Pipeline, text: str, *, explain: bool = False) -> Answers:
    """Answer what was typed; where nothing is found, what may have been meant."""
    snapshot = pipeline.snapshot
    query, typed = read_typed(Query("1", text), snapshot)
    notes = [typed.note] if typed.note else []
    if typed.match is not None and not typed.words:
        notes.append(ONLY_UNWANTED)
    answers = pipeline.answers(query, explain=explain)
    if not len(answers) and _only_spelled(query, snapshot):
        notes.append(TOO_COMMON if are_common(query, snapshot) else AS_SPELLED)
        pipeline = _as_spelled(pipeline)
        answers = pipeline.answers(query, explain=explain)
    if typed.match is not None:
        notes += mask_of(snapshot, _filter_of(pipeline), typed.match).notes
    if len(answers):
        return answers.asked(text, partial(_notes, tuple(notes), typed, text, snapshot))
    said = _notes(tuple(notes), typed, text, snapshot)
    if not said.suggestion:
        return answers.asked(text, said)
    other, _ = read_typed(Query("1", said.suggestion), snapshot)
    found = pipeline.answers(other, explain=explain)
    applied = bool(len(found))
    return (found if applied else answers).asked(text, said._replace(applied=applied))


def _notes(notes: tuple[str, ...], typed: TypedQuery, text: str, snapshot: Snapshot) -> QueryNotes:
    """Look at the spelling of a query, which takes longer than a search where a word is rare."""
    spelling = check_spelling(typed, snapshot)
    suggestion = spelling.corrected(text, snapshot)
    return QueryNotes(notes, spelling.unknown, suggestion if suggestion != text else "")


def _only_spelled(query: Query, snapshot: Snapshot) -> bool:
    """Tell whether the analysis, or that in one of its languages, leaves nothing of a query."""
    dropped = not all(snapshot.analyzer.readings(query.text))
    return dropped and bool(exact_words(query, snapshot))


def _filter_of(pipeline: Pipeline) -> Filter:
    """Give what the filters of a search let through."""
    filters = (step.filter for step in pipeline.stage.steps if isinstance(step, Where))
    return reduce(and_, filters, ALL)


def _as_spelled(pipeline: Pipeline) -> Pipeline:
    """Give the search by words as they are spelled, under the same filters."""
    stage = read_method(ExactWords(), _filter_of(pipeline))
    return Pipeline(pipeline.snapshot, stage, k=pipeline.k, threads=pipeline.threads)
