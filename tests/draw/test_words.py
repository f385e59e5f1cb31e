import numpy as np
import pytest

from likewise.draw import draw_words
from likewise.draw.words import threshold
from likewise.errors import UsageError

WORDS = {
    "japanese": (-8, 0.9),
    "wave": (1.1, -9),
    "tsunami": (-1.5, -2.2),
    "tidal": (-1.2, -2.5),
    "quake": (-1.1, -1.6),
    "asian": (12, -3),
    "prefecture": (14, -3.4),
    "pearl": (35, 28),
    "harbor": (36, 29),
    "1941": (36, 29),
    "said": (0, 0.02),
}
POINTS = np.array(list(WORDS.values()), np.float64)
TEXTS = {"x_label": "without japanese", "y_label": "without wave", "title": "japanese wave"}


def draw(points, words, to, **more):
    return draw_words(
        np.array(points, np.float64).reshape(-1, 2),
        words,
        [word in ("japanese", "wave") for word in words],
        to=to,
        **TEXTS | more,
    )


def test_every_word_and_text_is_in_the_figure(tmp_path, seen):
    svg, png = draw(POINTS, list(WORDS), tmp_path / "words")
    texts = seen.texts(svg)
    assert set(WORDS) <= set(texts)
    assert {*TEXTS.values(), "term of the query", "other word"} <= set(texts)
    assert not any("not shown" in text for text in texts)
    assert "signed-log axes  ·  words at one place are set apart" in texts
    width, height = seen.size(png)
    assert width > height > 1000
    bold = [line for line in svg.read_text("utf-8").splitlines() if " 700" in line]
    assert [word for word in WORDS if any(f">{word}<" in line for line in bold)] == [
        "japanese",
        "wave",
    ]


def test_the_same_words_give_the_same_bytes(tmp_path):
    first = draw(POINTS, list(WORDS), tmp_path / "first")
    again = draw(POINTS, list(WORDS), tmp_path / "again")
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in again]


@pytest.mark.parametrize(
    "points",
    [
        [(3.0, -2.0)],
        [(0.0, 0.0)],
        [(4.0, 4.0)] * 12,
        [(0.0, 0.0)] * 12,
        [(0.0, 5.0), (0.0, -5.0)],
        [(1e-300, 9e99), (-1e-12, 3.0), (5e-324, 0.0)],
    ],
)
def test_whatever_the_points_all_words_are_shown(tmp_path, seen, points):
    words = [f"word{number}" for number in range(len(points))]
    (svg,) = draw(points, words, tmp_path / "words.svg")
    assert set(words) <= set(seen.texts(svg))


def test_long_and_strange_words_are_drawn(tmp_path, seen):
    words = ["long" * 50, "a$b$c", "x<y&z", "日本", "nul\0l"]
    svg, png = draw(POINTS[: len(words)], words, tmp_path / "words", title="€" * 300)
    texts = seen.texts(svg)
    assert {"a$b$c", "x<y&z", "日本", "nul l"} <= set(texts)
    assert any(text.startswith("longlong") and text.endswith("…") for text in texts)
    assert png.stat().st_size > 5000


def test_words_without_room_are_counted(tmp_path, seen):
    words = [f"rather long word {number}" for number in range(130)]
    (svg,) = draw(np.full((130, 2), 3.0), words, tmp_path / "words.svg")
    texts = set(seen.texts(svg))
    absent = [word for word in words if word not in texts]
    assert absent
    assert words[0] in texts
    assert any(f"{len(absent)} words not shown by name" in text for text in texts)


def test_what_cannot_be_drawn_is_refused_and_nothing_is_written(tmp_path):
    to = tmp_path / "words"
    with pytest.raises(UsageError, match="no words to draw"):
        draw([], [], to)
    with pytest.raises(UsageError, match=r"'wave' cannot be drawn at \(nan, 1\): leave it out"):
        draw([(0, 0), (np.nan, 1)], ["japanese", "wave"], to)
    with pytest.raises(UsageError, match=r"\(inf, 0\)"):
        draw([(np.inf, 0)], ["wave"], to)
    with pytest.raises(UsageError, match="2 words need an array of 2 × 2 co-ordinates"):
        draw([(0, 0)], ["a", "b"], to)
    with pytest.raises(UsageError, match=r"not as \.jpg"):
        draw(POINTS, list(WORDS), tmp_path / "words.jpg")
    assert not list(tmp_path.iterdir())


def test_an_axis_is_linear_below_the_smallest_tenth():
    assert threshold(np.zeros(5)) == 1.0
    assert threshold(np.array([0.0, -3.0])) == 2.0
    assert threshold(np.array([0.07, *[5.0] * 8, -900.0, 0.0])) == 2.0
    assert threshold(np.array([1e-9] * 5 + [40.0])) == pytest.approx(0.002)
