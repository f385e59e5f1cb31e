"""Words that must occur, as masks: against reading every text."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likewise as lw
import likewise.stages.match
from likewise.records import Match, Query, match_all, match_any, match_none
from likewise.stages.masks import mask_of
from likewise.stages.match import leaves_of, match_masks, prefix_terms, spellings
from likewise.stages.phrases import find_phrases
from likewise.text.query_syntax import parse_query

WORDS = ["red", "blue", "green", "redden", "sea"]


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """Three segments of short texts of few words, two documents deleted."""
    random = np.random.default_rng(1)
    documents = [
        {
            "id": f"{i}",
            "title": " ".join(random.choice(WORDS, random.integers(0, 4))),
            "text": " ".join(random.choice(WORDS, random.integers(0, 7))),
        }
        for i in range(120)
    ]
    folder = tmp_path_factory.mktemp("match") / "c.lw"
    c = lw.index(documents[:50], to=folder, analysis=lw.Analysis(stemmer="none"), model="none")
    c.add(documents[50:90])
    c.add(documents[90:])
    c.delete(["3", "95"])
    assert len(c.snapshot.segments) == 3
    return c


leaves = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)
    .map(" ".join)
    .map(lambda text: Match("words", text)),
    st.sampled_from(["re", "red", "gr", "x"]).map(lambda text: Match("prefix", text)),
)
fielded = st.tuples(leaves, st.sampled_from(["", "", "title"])).map(
    lambda pair: Match(pair[0].kind, pair[0].text, pair[1])
)
trees = st.recursive(
    fielded,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(match_all),
        st.lists(inner, min_size=2, max_size=3).map(match_any),
        inner.map(match_none),
    ),
    max_leaves=5,
)


def matches(match, document):
    """Tell whether a document matches, by its text."""
    if match.kind in ("all", "any"):
        met = (matches(part, document) for part in match.parts)
        return all(met) if match.kind == "all" else any(met)
    if match.kind == "not":
        return not matches(match.parts[0], document)
    end = r"\w*" if match.kind == "prefix" else r"\b"
    texts = [document.title] if match.field else [document.title, document.text]
    return any(re.search(rf"\b{match.text}{end}", text) for text in texts)


@given(trees)
def test_a_mask_is_what_reading_every_text_gives(c, match):
    mask = mask_of(c.snapshot, match=match)
    docs = c.snapshot.live_docs()
    expected = [matches(match, c.snapshot.document(doc)) for doc in docs.tolist()]
    assert mask.holds(docs, c.snapshot).tolist() == expected
    assert mask.n == sum(expected)


def test_deleted_documents_do_not_match(c):
    mask = mask_of(c.snapshot, match=match_none(Match("words", "unheard")))
    gone = np.setdiff1d(np.arange(c.snapshot.n_slots), c.snapshot.live_docs())
    assert len(gone) == 2
    assert not mask.holds(gone, c.snapshot).any()


def test_no_phrase_goes_from_a_title_into_the_text(tmp_path):
    c = lw.index(
        [{"id": "1", "title": "black", "text": "holes"}], to=tmp_path / "c.lw", model="none"
    )
    black, holes = Match("words", "black"), Match("words", "holes")
    [both] = match_masks(c.snapshot, match_all([black, holes])).masks
    [phrase] = match_masks(c.snapshot, Match("words", "black holes")).masks
    assert (both.tolist(), phrase.tolist()) == ([True], [False])


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ('"the who"', ["1"]),
        ('"who the"', []),
        ("+who", ["1", "2"]),
        ("title:who", ["1"]),
        ("+the -who", ["3"]),
        ('"king of spain"', ["3"]),
        ("+c++", ["2"]),
        ("title:wing*", []),
        ("+spanish*", ["3"]),
        ("+(spain OR who)", ["1", "2", "3"]),
    ],
)
def test_words_that_the_analysis_drops_are_looked_for_as_they_are_spelt(tmp_path, typed, found):
    documents = [
        {"id": "1", "title": "The Who", "text": "A band from London."},
        {"id": "2", "title": "C", "text": "Those who write C++, the best."},
        {"id": "3", "title": "A Spanish reign", "text": "The king of Spain."},
    ]
    c = lw.index(documents, to=tmp_path / "c.lw", model="none")
    [mask] = match_masks(c.snapshot, parse_query(typed, ("title",)).match).masks
    assert c.snapshot.doc_ids(np.flatnonzero(mask)) == found


def test_a_part_without_any_word_says_nothing(c):
    nothing = Match("words", "…")
    red = Match("words", "red")
    alone = mask_of(c.snapshot, match=red)
    for match in (match_all([nothing, red]), match_any([nothing, red])):
        assert mask_of(c.snapshot, match=match).n == alone.n
    assert mask_of(c.snapshot, match=nothing).n == c.snapshot.n_docs
    assert mask_of(c.snapshot, match=match_none(nothing)).n == c.snapshot.n_docs


def test_a_prefix_finds_a_stem_that_is_shorter_than_it(tmp_path):
    c = lw.index([{"id": "1", "text": "computing machines"}], to=tmp_path / "c.lw", model="none")
    assert c.snapshot.terms(prefix_terms(c.snapshot, "computing")) == ["comput"]
    assert c.snapshot.terms(prefix_terms(c.snapshot, "Mach")) == ["machin"]


def test_leaves_are_named_once():
    red, sea = Match("words", "red"), Match("words", "sea")
    tree = match_all([match_any([red, sea]), match_none(match_all([sea, red]))])
    assert leaves_of(tree) == [red, sea]


def test_what_must_match_is_found_at_any_depth(c):
    """The mask goes into the search: k are found however few match."""
    match = Match("words", "redden sea")
    [free] = c.pipeline("bm25", k=120)(Query("1", "red sea redden"))
    [bound] = c.pipeline("bm25", k=3)(Query("1", "red sea redden", match=match))
    inside = mask_of(c.snapshot, match=match).holds(free.ranking.docs, c.snapshot)
    assert bound.ranking.docs.tolist() == free.ranking.docs[inside][:3].tolist()
    assert len(bound.ranking.docs) == 3


@given(
    st.lists(st.tuples(*[st.sets(st.integers(0, 9), max_size=6).map(sorted)] * 2), max_size=4),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=3),
)
def test_phrases_are_found_by_their_offsets(documents, phrase):
    flat = [places for both in documents for places in both]
    bounds = np.cumsum([0, *map(len, flat)])
    values = np.array([*itertools.chain(*flat)], np.int64)
    columns, offsets = (np.array(side, np.int64) for side in zip(*phrase, strict=True))
    docs, starts = find_phrases(bounds, values, columns, offsets, 2)
    assert [*zip(docs.tolist(), starts.tolist(), strict=True)] == [
        (i, start)
        for i, both in enumerate(documents)
        for start in range(-3, 10)
        if all(start + offset in both[column] for column, offset in phrase)
    ]


PHRASES = [
    {"id": "c", "title": "Vitamin C", "text": "Oranges have much of it."},
    {"id": "d", "title": "Vitamin D", "text": "A cup of it; the letter c."},
    {"id": "of", "text": "Philip, King of Spain, was the king."},
    {"id": "in", "text": "There was a king in Spain, of course. Kings of Spain ride."},
    {"id": "and", "title": "The king", "text": "and of Spain."},
    {"id": "the", "text": "They say that they are Rock. The band was good."},
]


@pytest.fixture(scope="module", params=[True, False], ids=["positions", "no positions"])
def phrases(request, tmp_path_factory):
    """Texts that differ by words which the analysis drops, in three segments."""
    analysis = lw.Analysis(language="en", positions=request.param)
    folder = tmp_path_factory.mktemp("phrases") / "c.lw"
    c = lw.index(PHRASES[:2], to=folder, analysis=analysis, model="none")
    c.add(PHRASES[2:4])
    c.add(PHRASES[4:])
    return c


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ('"vitamin c"', {"c"}),
        ('"vitamin d"', {"d"}),
        ('"Vitamin C" OR "vitamin d"', {"c", "d"}),
        ("+vitamin", {"c", "d"}),
        ('vitamin -"vitamin c"', {"d"}),
        ('title:"vitamin c"', {"c"}),
        ('title:"vitamin of"', set()),
        ('"king of spain"', {"of", "in"}),
        ('"king in spain"', {"in"}),
        ('"a king in"', {"in"}),
        ('"the king"', {"of", "and"}),
        ('title:"the king"', {"and"}),
        ('"king and"', set()),
        ('"and of spain"', {"and"}),
        ('"the band"', {"the"}),
        ('"that the band"', set()),
        ("+king's", {"of", "in", "and"}),
    ],
)
def test_a_phrase_has_the_words_that_the_analysis_drops(phrases, typed, expected):
    match = parse_query(typed, ("title",)).match
    mask = mask_of(phrases.snapshot, match=match)
    docs = np.flatnonzero(mask.holds(np.arange(len(PHRASES)), phrases.snapshot))
    found = {*phrases.snapshot.doc_ids(docs)}
    if typed.startswith("vitamin "):
        found &= {"c", "d"}
    assert found == expected
    assert mask.notes == ()


LIMITS = pytest.mark.parametrize("limit", ["MOST_READ", "MOST_WORDS"])


@LIMITS
@pytest.mark.parametrize(
    ("typed", "expected", "loose"),
    [
        ('"king of spain"', {"of", "in"}, ("king of spain",)),
        ('"of spain"', {"of", "in", "and"}, ("of spain",)),
        ('"a king"', {"in"}, ()),
        ('"of the"', {"of", "and", "d"}, ("of the",)),
        ('"king of spain" philip', {"of", "in"}, ("king of spain",)),
        ('"king of spain" +philip', {"of"}, ()),
        ('+king -"king of spain"', {"and", "of", "in"}, ("king of spain",)),
    ],
)
def test_of_too_many_documents_no_text_is_read(phrases, typed, expected, loose, limit, monkeypatch):
    """One segment or several, it is the same: what counts is how many are in question."""
    # The longest of them has 12 words.
    monkeypatch.setattr(likewise.stages.match, limit, {"MOST_READ": 1, "MOST_WORDS": 12}[limit])
    found = match_masks(phrases.snapshot, parse_query(typed, ("title",)).match)
    docs = np.flatnonzero(np.concatenate(found.masks))
    assert {*phrases.snapshot.doc_ids(docs)} == expected
    assert [note.split('"')[1] for note in found.notes] == [*loose]


def test_dropped_words_may_be_typed_without_their_accents(tmp_path):
    documents = [
        {"id": "a", "text": "Nous allons à Paris."},
        {"id": "de", "text": "allons de Paris"},
    ]
    c = lw.index(documents, to=tmp_path / "c.lw", model="none", analysis=lw.Analysis(language="fr"))
    for typed in ("allons à paris", "allons a paris"):
        [mask] = match_masks(c.snapshot, Match("words", typed)).masks
        assert mask.tolist() == [True, False]


ENGLISH = "The committee will discuss new sources of energy at its meetings on Tuesday."
GERMAN = "Der Ausschuss wird neue Quellen der Energien in den Sitzungen am Dienstag beraten."
STREET = "Die Müllabfuhr kommt am Montag in unsere Straße, und der Lärm weckt alle Nachbarn."


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """An English and two German documents, each analysed in its language."""
    documents = [
        {"id": "en", "title": "New energies", "text": ENGLISH},
        {"id": "de", "title": "Neue Energien", "text": GERMAN},
        {"id": "street", "text": STREET},
    ]
    folder = tmp_path_factory.mktemp("match") / "mixed.lw"
    return lw.index(documents, to=folder, analysis=lw.Analysis(language="mixed"), model="none")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ('"new sources"', {"en"}),
        ("+meetings", {"en"}),
        ("+meeting", {"en"}),
        ('"sources of energy"', {"en"}),
        ('"neue quellen"', {"de"}),
        ("+sitzung", {"de"}),
        ('title:"new energies"', {"en"}),
        ('title:"neue energien"', {"de"}),
        ("-meetings quellen committee", {"de"}),
        ("+der", {"de", "street"}),
        ("+müll*", {"street"}),
        ("+mull*", {"street"}),
    ],
)
def test_in_several_languages_a_word_matches_in_any(mixed, typed, expected):
    assert mixed.snapshot.languages == ("german", "english")
    assert {answer.doc_id for answer in mixed.search(typed)} == expected


def test_a_prefix_is_folded_as_terms_are(tmp_path):
    texts = [{"id": "1", "text": "die müllabfuhr"}, {"id": "2", "text": "mullah"}]
    for fold, typed, expected in ((True, "MÜLLA*", {"1", "2"}), (False, "MÜLLA*", {"1"})):
        analysis = lw.Analysis(language="none", fold=fold)
        c = lw.index(texts, to=tmp_path / f"{fold}.lw", analysis=analysis, model="none")
        assert {answer.doc_id for answer in c.search(f"+{typed}")} == expected


def test_a_character_matches_in_the_pairs_that_hold_it(tmp_path):
    texts = ["今天的水很冷", "北京大学的学生", "水"]
    documents = [{"id": f"{i}", "title": "喝水" * (i == 0), "text": t} for i, t in enumerate(texts)]
    c = lw.index(documents, to=tmp_path / "c.lw", analysis=lw.Analysis(language="zh"), model="none")
    for typed, expected in (("+水", {"0", "2"}), ("学 -水", {"1"}), ("title:水", {"0"})):
        assert {answer.doc_id for answer in c.search(typed)} == expected


@pytest.mark.parametrize("sizes", [(1,), (2, 3), (1, 4, 2), (3, 3, 3)])
def test_spellings_of_fewest_other_accents_come_first(sizes):
    either = [[f"{i}{j}" for j in range(size)] for i, size in enumerate(sizes)]
    found = [*spellings(either)]
    assert len(found) == len({*found}) == len([*itertools.product(*either)])
    others = [sum(not one.endswith("0") for one in ways) for ways in found]
    assert others == sorted(others)
    assert others[0] == 0


def test_more_spellings_than_are_looked_for_are_said(tmp_path, monkeypatch):
    texts = ["les données résumées", "les donnees resumees", "les données resumees"]
    french = lw.Analysis(language="fr")
    c = lw.index(texts, to=tmp_path / "c.lw", model="none", analysis=french)
    match = Match("words", "donnees resumees")
    whole = match_masks(c.snapshot, match)
    assert (whole.masks[0].tolist(), whole.notes) == ([True] * 3, ())
    monkeypatch.setattr(likewise.stages.match, "MOST_SPELLINGS", 3)
    fewer = match_masks(c.snapshot, match)
    assert fewer.masks[0].tolist() == [False, True, True]
    [note] = fewer.notes
    assert '"donnees resumees" may have other accents in more than 3 ways' in note
