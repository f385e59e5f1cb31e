"""A language for each document: decided, stored, kept by every change, filtered by."""

import numpy as np
import pytest

import likewise as lw
from likewise.collection.arrays import Memory
from likewise.collection.creating import build, create
from likewise.collection.deciding import Deciding
from likewise.collection.languages import Languages, LanguagesWriter, read_languages
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import DamagedError, UsageError
from likewise.records import Document
from likewise.text.analysis import Analysis, Analyzer

TEXTS = {
    "english": "The committee will discuss new sources of energy at its meeting on Tuesday.",
    "german": "Der Ausschuss wird neue Quellen der Energien in seiner Sitzung am Dienstag beraten.",
    "french": "Le comité examinera les énergies nouvelles lors de sa réunion de mardi prochain.",
    "russian": "Комитет обсудит новые источники энергии на своём заседании во вторник.",
}


def documents(*languages, first=0):
    return [Document(str(i), "", TEXTS[one]) for i, one in enumerate(languages, first)]


def made(folder, *languages, analysis=Analysis(language="auto")):
    added = build(folder, documents(*languages), analysis=analysis)
    return added, open_snapshot(folder)


def stored(snapshot):
    return {
        doc_id: segment.languages.names[segment.languages.codes[i]]
        for segment in snapshot.segments
        for i, doc_id in enumerate(map(bytes.decode, segment.ids.all()))
        if segment.live[i]
    }


def terms(snapshot, doc_id):
    counts = snapshot.term_counts(np.array([snapshot.find_doc(doc_id)]))
    return {*snapshot.terms(counts.terms)}


@pytest.mark.parametrize("language", TEXTS)
def test_one_language_is_detected_and_kept(tmp_path, language):
    added, snapshot = made(tmp_path / "x.lw", *[language] * 5)
    assert snapshot.analysis == Analysis(language=language)
    assert snapshot.languages == (language,)
    assert snapshot.language_counts() == {language: 5}
    assert snapshot.segments[0].languages is None
    assert added.languages.decision.language == language


def test_a_named_language_is_not_looked_at(tmp_path):
    added, snapshot = made(tmp_path / "x.lw", "french", analysis=Analysis(language="german"))
    assert added.languages is None
    assert snapshot.analysis.language == "german"


def test_each_document_of_a_mixed_collection_is_analysed_in_its_own(tmp_path):
    _, snapshot = made(tmp_path / "x.lw", "english", "german", "french", "english")
    assert snapshot.analysis.language == "english"
    assert {*snapshot.analysis.languages} == {"english", "german", "french"}
    assert snapshot.language_counts() == {"english": 2, "french": 1, "german": 1}
    assert stored(snapshot) == {"0": "english", "1": "german", "2": "french", "3": "english"}
    for doc_id, language in stored(snapshot).items():
        own = Analyzer(Analysis(language=language))
        assert terms(snapshot, doc_id) == {*own.terms(TEXTS[language])}


def test_mixed_can_be_asked_for(tmp_path):
    _, snapshot = made(tmp_path / "x.lw", "english", analysis=Analysis(language="mixed"))
    assert snapshot.analysis.languages == ("english",)
    with Writer(tmp_path / "x.lw") as writer:
        writer.add(documents("russian", first=1))
    assert open_snapshot(tmp_path / "x.lw").language_counts() == {"english": 1, "russian": 1}


def test_additions_deletions_merges_and_copies_keep_languages(tmp_path):
    made(tmp_path / "x.lw", "english", "german", "french")
    with Writer(tmp_path / "x.lw") as writer:
        writer.add(documents("russian", "german", first=3))
        writer.delete(["0", "3"])
        before = stored(open_snapshot(tmp_path / "x.lw"))
        assert before == {"1": "german", "2": "french", "4": "german"}
        writer.merge()
    after = open_snapshot(tmp_path / "x.lw")
    assert stored(after) == before
    assert len(after.segments) == 1
    assert after.language_counts() == {"german": 2, "french": 1}
    assert terms(after, "2") == {*Analyzer(Analysis(language="french")).terms(TEXTS["french"])}
    lw.open(tmp_path / "x.lw").copy(tmp_path / "y.lw")
    assert stored(open_snapshot(tmp_path / "y.lw")) == before


def test_positions_that_are_not_stored_are_those_of_the_document_s_language(tmp_path):
    for name, positions in (("a", True), ("b", False)):
        made(tmp_path / name, *TEXTS, analysis=Analysis(positions=positions))
    a, b = open_snapshot(tmp_path / "a"), open_snapshot(tmp_path / "b")
    docs, every = np.arange(4), np.arange(a.n_terms)
    for one, other in zip(a.positions(docs, every), b.positions(docs, every), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("energie", "12"),
        ("énergies", "12"),
        ("Энергия", "3"),
        ("sitzungen", "1"),
        ("meetings", "0"),
    ],
)
def test_queries_are_analysed_in_their_language_or_in_each(tmp_path, query, found):
    made(tmp_path / "x.lw", *TEXTS)
    answers = lw.open(tmp_path / "x.lw").search(query, method="bm25")
    assert {answer.doc_id for answer in answers} >= {*found}


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ("language=fr", "2"),
        ("language=French|ru", "23"),
        ("language!=de", "023"),
        ("language=*", "0123"),
        ("language=thai", ""),
    ],
)
def test_the_language_is_a_filter(tmp_path, filter, found):
    made(tmp_path / "x.lw", *TEXTS)
    answers = lw.open(tmp_path / "x.lw").search(
        "energy energie énergies энергии", method="bm25", filter=filter
    )
    assert {answer.doc_id for answer in answers} == {*found}


def test_the_language_of_a_collection_of_one_is_a_filter(tmp_path):
    made(tmp_path / "x.lw", "german")
    collection = lw.open(tmp_path / "x.lw")
    assert len(collection.search("Sitzung", method="bm25", filter="language=de")) == 1
    assert len(collection.search("Sitzung", method="bm25", filter="language=en")) == 0


def test_a_field_of_that_name_is_the_user_s(tmp_path):
    told = [one._replace(fields={"language": "x"}) for one in documents("german", "french")]
    build(tmp_path / "x.lw", told, analysis=Analysis())
    collection = lw.open(tmp_path / "x.lw")
    assert len(collection.search("Energie", method="bm25", filter="language=x")) == 2
    assert len(collection.search("Energie", method="bm25", filter="language=de")) == 0


@pytest.mark.parametrize(
    ("filter", "says"), [("language>de", "by = and !="), ("language=klingon", "unknown language")]
)
def test_bad_filters_by_language(tmp_path, filter, says):
    made(tmp_path / "x.lw", "german")
    with pytest.raises(UsageError, match=says):
        lw.open(tmp_path / "x.lw").search("Energie", filter=filter)


def test_info_has_the_languages(tmp_path):
    made(tmp_path / "x.lw", *TEXTS)
    assert lw.open(tmp_path / "x.lw").info()["languages"] == dict.fromkeys(sorted(TEXTS), 1)


def test_later_documents_in_another_language_are_seen():
    deciding = Deciding(documents(*["english"] * 500, *["french"] * 200))
    assert len([*deciding.documents]) == 700
    assert not deciding.decision.mixed
    assert deciding.later.language == "french"


def test_deciding_looks_at_a_part_of_many():
    deciding = Deciding(Document(str(i), "", "the house of the town") for i in range(120_000))
    assert sum(1 for _ in deciding.documents) == 120_000
    assert 500 <= deciding.later.n_docs <= 1000
    assert deciding.later.language == "english"


def test_nothing_to_decide_by(tmp_path):
    create(tmp_path / "x.lw")
    assert open_snapshot(tmp_path / "x.lw").analysis.language == "english"
    build(tmp_path / "y.lw", [])
    assert open_snapshot(tmp_path / "y.lw").analysis.language == "english"


def test_languages_are_written_where_there_are_any():
    out = Memory()
    LanguagesWriter().write(out, 3)
    assert "language" not in out
    assert read_languages(out, 3) is None
    writer = LanguagesWriter()
    writer.add(["german", "french"])
    writer.add(["german"])
    writer.write(out, 3)
    names, codes = read_languages(out, 3)
    assert (names, codes.tolist()) == (("german", "french"), [0, 1, 0])
    assert isinstance(read_languages(out, 3), Languages)


@pytest.mark.parametrize(("names", "n_docs"), [(["german"], 3), (["german", "french"], 2)])
def test_damaged_languages(names, n_docs):
    out = Memory()
    out.put("language", np.array([0, 1, 0], np.uint8))
    out.note(languages=names)
    out.path = "x"
    with pytest.raises(DamagedError, match="languages"):
        read_languages(out, n_docs)
