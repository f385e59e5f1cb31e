"""Lines in several panels."""

import math

import pytest

from likewise.errors import UsageError
from likewise_papers.panels import Panel, draw_panels, panels_figure

LINES = {"z = 1": [(0.0, 0.3), (1.0, 0.2)], "z = 5": [(0.0, 0.3), (1.0, 0.4)]}


def panels(n=4):
    return [Panel(f"set {i}", LINES, {"BM25": 0.3, "LSI": 0.25}) for i in range(n)]


def draw(made, to):
    return draw_panels(made, x_label="share", y_label="MAP", title="A figure", to=to)


def test_every_panel_line_and_level_is_drawn_and_named_once(tmp_path):
    files = draw(panels(3), tmp_path / "figure")
    assert [file.suffix for file in files] == [".svg", ".png"]
    text = files[0].read_text("utf-8")
    for name in ("A figure", "share", "MAP", "set 0", "set 1", "set 2"):
        assert name in text
    for name in ("z = 1", "z = 5", "BM25", "LSI"):
        assert text.count(f">{name}<") == 1


def test_the_same_panels_give_the_same_bytes(tmp_path):
    first, again = (draw(panels(), tmp_path / name) for name in ("a", "b"))
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in again]


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_the_legend_stays_inside_the_figure(n):
    lines = {f"a line with a long name, number {i}": [(0.0, 1.0)] for i in range(6)}
    fig = panels_figure(
        [Panel(str(i), lines) for i in range(n)], x_label="x", y_label="y", title="t"
    )
    fig.draw_without_rendering()
    [legend] = fig.legends
    box, whole = legend.get_window_extent(), fig.bbox
    assert whole.x0 <= box.x0
    assert box.x1 <= whole.x1
    assert whole.y0 <= box.y0
    titles = [ax.get_tightbbox() for ax in fig.axes if ax.get_visible()]
    assert min(title.y0 for title in titles) >= box.y1 - 1


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ([], "panels"),
        ([Panel("a", LINES)] * 13, "panels"),
        ([Panel("a", {str(i): [(0.0, 1.0)] for i in range(7)})], "told apart"),
        ([Panel("a", LINES, {str(i): 1.0 for i in range(3)})], "told apart"),
        ([Panel("a", {"line": []})], "cannot be drawn"),
        ([Panel("a", {"line": [(0.0, math.nan)]})], "cannot be drawn"),
        ([Panel("a", LINES, {"level": math.inf})], "no number"),
    ],
)
def test_what_cannot_be_drawn_is_refused(made, told, tmp_path):
    with pytest.raises(UsageError, match=told):
        draw(made, tmp_path / "figure")
    assert list(tmp_path.iterdir()) == []
