import numpy as np
import pytest

import likewise as lw
from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.records import Document, Part, Query
from likewise.retrieve.models import bm25_idf
from likewise.retrieve.typed import read_typed
from likewise.retrieve.words import terms_of
from likewise.stages.compounds import WEIGHT, part_of, sum_compounds, with_compounds
from likewise.text.analysis import Analysis

GERMAN = [
    "Die Krankenversicherungsbeiträge steigen.",
    "Eine Versicherung ist nötig.",
    "Der Versicherungsschutz der Haftpflichtversicherung.",
    "Beratung und Optimismus, artistisch am Schreibtisch.",
    "Der Tisch",
]
CHINESE = ["所得税的计算方法", "税务局", "天气很好"]


def made(folder, texts, language):
    documents = [Document(str(i), "", text) for i, text in enumerate(texts)]
    build(folder, documents, analysis=Analysis(language=language))
    return open_snapshot(folder)


def found(collection, query):
    return [answer.doc_id for answer in collection.search(query, expand="none")]


@pytest.fixture
def german(tmp_path):
    return made(tmp_path / "de.lw", GERMAN, "de")


def test_a_word_finds_its_compounds_after_itself(german):
    collection = lw.open(german.folder)
    assert found(collection, "Versicherung")[0] == "1"
    assert {*found(collection, "Versicherung")} == {"0", "1", "2"}
    assert found(collection, "Beiträge") == ["0"]
    assert found(collection, "Tisch") == ["4", "3"]


@pytest.mark.parametrize("word", ["Rat", "Stiere", "Optimum", "Rankenver"])
def test_letters_within_a_word_are_no_part(german, word):
    assert found(lw.open(german.folder), word) == []


def test_a_rare_compound_does_not_outweigh_the_word(tmp_path):
    texts = ["Eine Versicherung"] * 9 + ["Die Krankenversicherungsbeiträge"]
    terms = terms_of(Query("1", "Versicherung"), made(tmp_path / "x.lw", texts, "de"))
    common, rare = bm25_idf(10, np.array([9, 1]))
    rarity = {"versicher": common, "krankenversicherungsbeitrag": rare}
    assert terms["versicher"] == 1
    weighed = {term: weight * rarity[term] for term, weight in terms.items()}
    compound = WEIGHT * weighed["versicher"]
    assert weighed["krankenversicherungsbeitrag"] == pytest.approx(compound)


def test_terms_that_are_given_stay_alone(german):
    given = {"versicher": 1.0}
    assert terms_of(Query("1", terms=given), german) == given


def test_explained_by_the_word_that_was_typed(german):
    collection = lw.open(german.folder)
    answers = collection.search("Versicherung", expand="none", explain=True)
    table = answers.table(200)
    assert "versicherung (in krankenversicherungsbeiträge) " in table
    assert "versicherung (in haftpflichtversicherung, versicherungsschutz) " in table
    for answer in answers:
        [word] = answer.explanation.parts
        assert (word.name, word.score) == ("versicher", pytest.approx(answer.score))
        assert sum(part.score for part in word.parts) == pytest.approx(
            word.score if word.parts else 0
        )
    shown = str(collection.search("Versicherung", explain=True))
    assert "versicherung (and 3 longer words) " in shown


def test_what_compounds_give_is_summed_up_under_the_longest_word(german):
    parts = [
        Part("word", "versicher", 1.0),
        Part("word", "krankenversicher", 0.5),
        Part("word", "versicherungsschutz", 0.25),
        Part("word", "schutz", 2.0),
        Part("title", "(title)", 0.1),
    ]
    found = sum_compounds(parts, ["versicher", "schutz"], german)
    assert found == [
        parts[4],
        Part("word", "versicher", 1.75, (parts[0], parts[1], parts[2])),
        parts[3],
    ]


@pytest.mark.parametrize("language", ["english", "french", "none"])
def test_other_languages_are_left_alone(tmp_path, language):
    snapshot = made(tmp_path / "x.lw", GERMAN, language)
    terms = {"versicherung": 1}
    assert with_compounds(terms, snapshot) is terms
    assert part_of("krankenversicherung", terms, snapshot) == ""


@pytest.mark.parametrize("language", ["zh", "english"])
def test_a_single_character_finds_the_pairs_that_have_it(tmp_path, language):
    collection = lw.open(made(tmp_path / "zh.lw", CHINESE, language).folder)
    assert {*found(collection, "税")} == {"0", "1"}
    assert found(collection, "气") == ["2"]
    assert found(collection, "雨") == []


def test_what_is_kept_is_what_was_found(german):
    assert with_compounds({"versicher": 2}, german) == with_compounds({"versicher": 2}, german)
    again = with_compounds({"versicher": 2.0, "versicherungsschutz": 1.0}, german)
    assert again["versicherungsschutz"] == 1.0
    assert again["haftpflichtversicher"] == 1.0


def test_a_weight_goes_with_the_compounds(german):
    collection = lw.open(german.folder)
    [plain] = list(collection.search("Beiträge", expand="none"))
    [weighed] = list(collection.search("Beiträge^2", expand="none"))
    assert weighed.doc_id == plain.doc_id
    assert weighed.score == pytest.approx(2 * plain.score)


def test_a_word_with_a_weight_finds_its_compounds_as_well(german):
    terms, weighed = (
        terms_of(read_typed(Query("1", typed), german)[0], german)
        for typed in ("Versicherung", "Versicherung^2")
    )
    assert len(terms) > 1
    assert weighed == {term: 2 * weight for term, weight in terms.items()}
