import numpy as np
import pytest

from likewise.draw import curves, draw_risk, style
from likewise.draw.style import STROKES
from likewise.errors import UsageError

ALPHAS = np.arange(11) / 10


def curve(peak, loss):
    return [(loss * a, peak * (1 - (2 * a - 1) ** 2)) for a in ALPHAS]


TWO = {"perturbation": curve(14.5, 262), "Jaccard": curve(8.7, 307)}


def test_names_and_marks_are_in_the_figure(tmp_path, seen):
    svg, png = draw_risk(TWO, title="TREC 8 (50 queries)", to=tmp_path / "risk")
    texts = seen.texts(svg)
    assert {"perturbation", "Jaccard", "TREC 8 (50 queries)", "gain in MAP (%)"} <= set(texts)
    assert "R-Loss: relevant documents lost by the queries made worse" in texts
    assert "higher and further left is better" in texts
    # All begin at the origin, which is marked once.
    assert [texts.count(f"α = {alpha}") for alpha in ("0", ".5", "1")] == [1, 2, 2]
    assert seen.size(png)[0] > 1000


def test_the_same_curves_give_the_same_bytes(tmp_path):
    first = draw_risk(TWO, title="t", to=tmp_path / "first")
    again = draw_risk(TWO, title="t", to=tmp_path / "again")
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in again]


@pytest.mark.parametrize(
    "curves",
    [
        {"alone": curve(3, 10)},
        {"one": curve(3, 10), "the same": curve(3, 10)},
        {"nothing": [(0, 0)] * 11, "again nothing": [(0, 0)] * 11},
        {"no risk": [(0, a) for a in ALPHAS], "no reward": [(a, 0) for a in ALPHAS]},
        {"a point": [(5, -3)]},
        {f"curve {n}": curve(n + 1, 10 * n) for n in range(len(STROKES))},
    ],
)
def test_whatever_the_curves_all_names_are_shown(tmp_path, seen, curves):
    (svg,) = draw_risk(curves, title="t", to=tmp_path / "risk.svg")
    assert set(curves) <= set(seen.texts(svg))


def test_marks_may_be_given(tmp_path, seen):
    curves = {"a": [(0, 0), (1, 5), (2, 3)]}
    marks = ["k = 1", "", "k = 100"]
    (svg,) = draw_risk(
        curves, title="t", x_label="risk", y_label="gain", to=tmp_path / "k.svg", marks=marks
    )
    texts = seen.texts(svg)
    assert {"k = 1", "k = 100", "risk", "gain"} <= set(texts)
    assert not any("α" in text for text in texts)


def test_what_cannot_be_drawn_is_refused(tmp_path):
    to = tmp_path / "risk"
    with pytest.raises(UsageError, match="1 to 6 curves that can be told apart, not 0"):
        draw_risk({}, title="t", to=to)
    with pytest.raises(UsageError, match="not 7"):
        draw_risk({str(n): [(0, 0)] for n in range(7)}, title="t", to=to)
    with pytest.raises(UsageError, match="'empty' needs points"):
        draw_risk({"empty": []}, title="t", to=to)
    with pytest.raises(UsageError, match=r"'broken' cannot be drawn through \(1, nan\)"):
        draw_risk({"broken": [(0, 0), (1, np.nan)]}, title="t", to=to)
    with pytest.raises(UsageError, match="has 11 points, and there are 2 marks"):
        draw_risk(TWO, title="t", to=to, marks=["a", "b"])
    assert not list(tmp_path.iterdir())


def test_points_alone_fill_the_figure():
    with style.house():
        fig = curves._drawn(
            {"a": np.array([[0.0, 5.0]]), "b": np.array([[8.0, 4.0]])}, [""], "x", "y", "t"
        )
    [ax] = fig.axes
    assert ax.get_position().x0 < 0.12
    assert ax.get_position().y0 < 0.2
    assert max(line.get_markersize() for line in ax.lines if line.get_marker() != "None") == 7
