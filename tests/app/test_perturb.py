import json
import sys

import numpy as np
import pytest

import likewise as lw
from likewise.app.cli import main
from likewise.retrieve.models import BM25
from likewise.retrieve.words import retriever_of

NOTES = [
    "Wing flutter. Flutter of a wing in supersonic flow; wings and tails flutter.",
    "Tail flutter. The tail and its hinge: oscillation of a tail in flow.",
    "Panel oscillation. Oscillation of thin panels in supersonic flow, and their hinge.",
    "Heat transfer. Heat transfer to a blunt body in supersonic flow.",
    "Cooling. Transfer of heat from a hot wing to cool air by a film.",
    "Boundary layers. The boundary layer on a wing, and where it separates.",
    "Separation. Separated flow behind a blunt body, with a wake and a layer.",
    "Wakes. The wake behind a body and its oscillation in slow flow.",
    "Zebra",
    "Gnu and okapi",
]


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lw.index([{"id": str(i), "text": text} for i, text in enumerate(NOTES)], to="notes.lw")

    def call(*arguments):
        code = main(["perturb", "notes.lw", *arguments])
        done = capsys.readouterr()
        return code, done.out, done.err

    return call


@pytest.fixture
def drawn(monkeypatch):
    """What is drawn, in place of a figure."""
    from likewise.draw import words

    calls = []

    def draw_words(points, labels, marked, **options):
        calls.append({"points": points, "labels": labels, "marked": marked} | options)
        return [options["to"].with_suffix(".svg"), options["to"].with_suffix(".png")]

    monkeypatch.setattr(words, "draw_words", draw_words)
    return calls


def test_a_table_of_words_and_a_figure(call, drawn):
    code, shown, said = call("wings", "flutter", "--docs", "3", "--words", "5")
    assert code == 0
    lines = shown.splitlines()
    assert lines[:2] == ["  1  without 'wings'", "  2  without 'flutter'"]
    assert lines[3].split() == ["word", "p", "1", "2", "distance", "to"]
    # The query's terms come first, as typed, and are next to each other.
    assert [line.split()[:2] for line in lines[4:6]] == [["*", "wings"], ["*", "flutter"]]
    assert [line.split()[-1] for line in lines[4:6]] == ["flutter", "wings"]
    assert len(lines) == 4 + 2 + 5
    assert said == "likewise: the figure is in perturb.svg and perturb.png\n"
    [figure] = drawn
    assert figure["points"].shape == (7, 2)
    assert figure["marked"] == [True, True, *[False] * 5]
    assert figure["labels"][:2] == ["wings", "flutter"]
    assert figure["x_label"] == "without 'wings': less (−) or more (+) likely"
    assert figure["y_label"].startswith("without 'flutter'")
    assert "wings flutter" in figure["title"]


def test_json_has_what_the_kernel_gives(call, drawn):
    from likewise.expand.expansion import Feedback, WordSearch
    from likewise.expand.perturb import perturb

    code, shown, said = call(
        "wings", "flutter", "--docs", "3", "--strategy", "tat", "--json", "--plot", "x", "--quiet"
    )
    assert (code, said) == (0, "")
    found = json.loads(shown)
    assert found["perturbations"] == ["only 'wings'", "only 'flutter'"]
    retriever = retriever_of(lw.open("notes.lw").snapshot, BM25())
    terms = {"wing": 1, "flutter": 1}
    asked = Feedback(terms, retriever.rank([terms], k=3)[0])
    [expected] = perturb([asked], WordSearch(retriever), "tat", docs=3)
    columns = np.array([expected.find(word["term"]) for word in found["words"]])
    assert [word["p"] for word in found["words"]] == expected.models[0, columns].tolist()
    coordinates = [word["coordinates"] for word in found["words"]]
    assert coordinates == expected.features(columns).tolist()
    assert columns[2:].tolist() == expected.strongest(20).tolist()
    distances = expected.distances(columns)
    for i, word in enumerate(found["words"][2:], 2):
        assert word["distance"] == min(distances[i, :2])
        assert word["other"] == ["wings", "flutter"][int(np.argmin(distances[i, :2]))]
    assert found["words"][0]["distance"] == found["words"][1]["distance"] == distances[0, 1]
    assert drawn[0]["points"].tolist() == coordinates
    assert str(drawn[0]["to"]) == "x"


def test_the_nearest_words(call, drawn):
    code, shown, _ = call("wing", "flutter", "--near", "Tails", "--docs", "2", "--words", "3")
    assert code == 0
    rows = [line.split() for line in shown.splitlines()[4:]]
    assert len(rows) == 4
    assert rows[0][0] == "tail"
    assert rows[0][-1] == "-"
    assert all(row[-1] == "tail" for row in rows[1:])
    distances = [float(row[-2]) for row in rows[1:]]
    assert distances == sorted(distances)
    assert drawn[0]["labels"][0] == "tail"


def test_one_word_is_asked_with_others(call, drawn):
    code, shown, said = call("flutter", "--docs", "2")
    assert code == 0
    labels = [line.split("  ")[-1] for line in shown.splitlines()[:4]]
    assert all(label.startswith("with '") for label in labels)
    assert said.startswith(
        f"likewise: one word has no perturbation: 'flutter' is asked {', '.join(labels)}, one"
    )
    assert drawn[0]["marked"].count(True) == 1


def test_one_perturbation_is_drawn_against_p(call, drawn):
    code, shown, _ = call("okapi", "--docs", "1")
    assert code == 0
    assert shown.splitlines()[0] == "  1  with 'gnu'"
    [figure] = drawn
    assert figure["y_label"] == "probability p"
    assert all(0 < p < 1 for p in figure["points"][:, 1])


def test_no_perturbation_is_no_figure(call, drawn):
    code, shown, said = call("zebra")
    assert code == 0
    assert "zebra" in shown
    assert "its documents have no other" in said
    assert "no figure: there is no perturbation" in said
    assert drawn == []


def test_a_long_query_says_what_is_perturbed(call):
    query = "wing flutter supersonic flow tail hinge oscillation panel heat transfer"
    code, shown, said = call(query, "--no-plot")
    assert code == 0
    assert "only the 8 weightiest of its 10 terms are perturbed" in said
    assert shown.count("without '") == 8
    assert shown.count("\n* ") == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "none of its words is in the collection"),
        (["the", "of"], "holds no word that is searched for"),
        (["wing", "flutter", "--near", "nonsense"], "has 'nonsense'"),
        (["wing", "flutter", "--near", "the"], "has 'the'"),
        (["wing", "--method", "nonsense"], "unknown method"),
        (["wing", "--method", "hybrid"], "unknown method"),
        (["wing", "--plot", "nowhere/x"], "there is no folder nowhere"),
        (["wing", "--plot", "x.pdf"], "not as .pdf"),
        (["wing", "--plot", "notes.lw"], "a folder"),
    ],
)
def test_what_is_wrong_is_said(call, arguments, message):
    code, shown, said = call(*arguments)
    assert (code, shown) == (2, "")
    assert message in said
    assert said.startswith("likewise: ")


@pytest.mark.parametrize("arguments", [["--strategy", "x"], ["--words", "0"], ["--docs", "none"]])
def test_options_that_are_none(call, arguments):
    with pytest.raises(SystemExit, match="2"):
        call("wing", *arguments)


def test_without_matplotlib_the_table_is_shown(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    code, shown, said = call("wing", "flutter")
    assert code == 0
    assert "without 'flutter'" in shown
    assert "likewise: no figure: " in said
    assert "pip install" in said
    code, shown, said = call("wing", "flutter", "--plot", "x")
    assert code == 1
    assert "without 'flutter'" in shown
    assert "pip install" in said


def test_the_figure_is_written(call, tmp_path):
    pytest.importorskip("matplotlib")
    code, _, said = call("wing", "flutter", "--docs", "4", "--plot", "map")
    assert code == 0
    assert said == "likewise: the figure is in map.svg and map.png\n"
    assert "flutter" in (tmp_path / "map.svg").read_text("utf-8")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_a_folder_in_the_way_of_a_figure(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "perturb.png").mkdir()
    code, shown, said = call("wing flutter")
    assert (code, "wing" in shown) == (0, True)
    assert "no figure: perturb.png: a folder stands where" in said
    assert not (tmp_path / "perturb.svg").exists()
    code, shown, said = call("wing flutter", "--plot", "perturb")
    assert (code, shown) == (2, "")
    assert "a folder stands where" in said
    assert not (tmp_path / "perturb.svg").exists()
