import numpy as np
import pytest

pytest.importorskip("matplotlib")

from likewise.draw import network as drawing
from likewise.draw import style
from likewise.draw.network import Network, draw_network, shades, strongest
from likewise.errors import UsageError

WORDS = [
    *("tsunami", "earthquake", "wave", "seismic", "coast", "warning", "magnitude", "Pacific"),
    *("richter", "epicentre", "aftershock", "tremor", "flood", "victims", "rescue", "evacuation"),
    *("Japan", "Indonesia", "fault", "plate", "ocean", "tidal", "shore", "damage", "relief"),
]
LEGEND = {
    "asked for",
    "related: the more, the larger and nearer",
    "linked: the stronger, the thicker and darker",
}


def net(asked, more, names=None, seed=0, links=None):
    """A network at random, with strengths of very different sizes."""
    rng, n = np.random.default_rng(seed), asked + more
    names = names or [WORDS[i] if i < len(WORDS) else f"term {i}" for i in range(n)]
    pairs = [(i, j) for j in range(n) for i in range(j) if rng.random() < (0.9, 0.2)[i >= asked]]
    pairs = pairs if links is None else links
    return Network(
        names,
        asked,
        np.append(np.full(asked, np.nan), np.sort(rng.random(more))[::-1]),
        np.array(pairs, np.int64).reshape(-1, 2),
        np.exp(rng.normal(0, 3, len(pairs))),
    )


@pytest.fixture
def placed(monkeypatch):
    """The frame, the boxes of what was asked for and those of names, as they are drawn."""
    seen, place = [], drawing._place

    def watch(where, sizes, radii, frame, pills, links):
        found = place(where, sizes, radii, frame, pills, links)
        seen.append((frame, pills, where, radii, found))
        return found

    monkeypatch.setattr(drawing, "_place", watch)
    return seen


def overlaps(some, others):
    return (
        (some[:, None, :2] < others[None, :, 2:]) & (others[None, :, :2] < some[:, None, 2:])
    ).all(axis=2)


def test_all_texts_are_in_the_figure(tmp_path, seen):
    svg, png = draw_network(net(3, 20), tmp_path / "net", title="Around tsunami")
    texts = seen.texts(svg)
    assert {*WORDS[:23], "Around tsunami", *LEGEND} <= set(texts)
    assert any(text.startswith("left out: ") and "weaker link" in text for text in texts)
    bold = [line for line in svg.read_text("utf-8").splitlines() if " 700" in line]
    assert [word for word in WORDS if any(f">{word}<" in line for line in bold)] == WORDS[:3]
    assert 'aria-label="Around tsunami"' in svg.read_text("utf-8")
    assert min(seen.size(png)) > 1000


def test_the_same_network_gives_the_same_bytes(tmp_path):
    first = draw_network(net(2, 12), tmp_path / "first")
    again = draw_network(net(2, 12), tmp_path / "again")
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in again]


def test_the_order_of_edges_does_not_matter(tmp_path):
    given = net(2, 12)
    turned = given._replace(edges=given.edges[::-1, ::-1], strengths=given.strengths[::-1])
    # A weaker one of the same ends is the same edge.
    turned = turned._replace(
        edges=np.vstack((given.edges[:1], turned.edges)),
        strengths=np.append(0.5 * given.strengths[0], turned.strengths),
    )
    (first,), (again,) = (draw_network(n, tmp_path / "n.svg") for n in (given, turned))
    kept = [drawing._capped(drawing._checked(n), 30)[0] for n in (given, turned)]
    np.testing.assert_array_equal(kept[0].edges, kept[1].edges)
    np.testing.assert_array_equal(kept[0].strengths, kept[1].strengths)
    assert first.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(
    ("asked", "more", "links"),
    [
        (1, 0, None),
        (2, 0, [(0, 1)]),
        (8, 0, []),
        (1, 1, [(0, 1)]),
        (1, 5, None),
        (1, 5, []),
        (3, 20, None),
        (1, 24, [(i, j) for j in range(25) for i in range(j)]),
        (2, 60, None),
    ],
)
def test_names_are_apart_in_the_frame_and_off_the_terms(tmp_path, seen, placed, asked, more, links):
    given = net(asked, more, links=links)
    (svg,) = draw_network(given, tmp_path / "net.svg")
    assert set(given.names[: asked + min(more, 30)]) <= set(seen.texts(svg))
    [(frame, pills, where, radii, found)] = placed
    assert found.left_out == 0
    discs = np.hstack((where - radii[:, None], where + radii[:, None]))
    both = np.vstack((pills, found.boxes))
    assert not np.triu(overlaps(both, both), 1).any()
    assert not overlaps(both, discs).any()
    assert not np.triu(overlaps(discs, discs), 1).any()
    assert (both >= np.tile(frame[:2], 2)).all()
    assert (both <= np.tile(frame[2:], 2)).all()


def test_long_and_strange_names_are_drawn(tmp_path, seen, placed):
    names = ["asked $a$ & <b>", "long" * 50, "the committee on fisheries and oceans of", "a$b$c"]
    names += ["x<y&z", "日本" * 30, "🙂🎉", "nul\0l", "", "\u202e", '"', "]]>"]
    svg, png = draw_network(net(1, 11, names), tmp_path / "net", title="€" * 300)
    texts = seen.texts(svg)
    assert {"asked $a$ & <b>", "a$b$c", "x<y&z", "🙂🎉", "nul l", '"', "]]>"} <= set(texts)
    assert texts.count("?") == 2
    for start in ("longlong", "the committee on", "日本日本"):
        assert any(text.startswith(start) and text.endswith("…") for text in texts)
    assert png.stat().st_size > 5000
    # What is as wide as high has room, though matplotlib's own font does not have it.
    [(_, _, _, _, found)] = placed
    [wide] = [text for text in texts if text.startswith("日本")]
    assert found.boxes[4, 2] - found.boxes[4, 0] >= style.TEXT_SIZE * (len(wide) - 1)


@pytest.mark.parametrize(("asked", "more"), [(8, 0), (8, 30), (3, 40), (2, 10)])
def test_much_and_long_names_stay_in_the_frame_and_hide_no_term(tmp_path, placed, asked, more):
    names = [f"number {i} of many long names, each of forty letters" for i in range(asked + more)]
    draw_network(net(asked, more, names), tmp_path / "net.svg", most=40)
    [(frame, pills, where, radii, found)] = placed
    discs = np.hstack((where - radii[:, None], where + radii[:, None]))
    assert not overlaps(pills, discs).any()
    assert not np.triu(overlaps(found.boxes, found.boxes), 1).any()
    assert (pills >= np.tile(frame[:2], 2)).all()
    assert (pills <= np.tile(frame[2:], 2)).all()


def test_without_a_title_the_figure_is_called_by_what_was_asked_for(tmp_path, seen):
    (svg,) = draw_network(net(2, 3, links=[]), tmp_path / "net.svg")
    assert 'aria-label="Terms related to tsunami, earthquake"' in svg.read_text("utf-8")
    assert set(seen.texts(svg)) >= LEGEND - {"linked: the stronger, the thicker and darker"}
    assert "linked: the stronger, the thicker and darker" not in seen.texts(svg)


def test_what_is_left_out_is_counted(tmp_path, seen):
    given = net(10, 60, links=[(0, 1), (0, 40), (8, 9)])
    (svg,) = draw_network(given, tmp_path / "net.svg", most=20)
    texts = set(seen.texts(svg))
    assert [given.names[i] in texts for i in (7, 8, 9, 10, 29, 30)] == [1, 0, 0, 1, 1, 0]
    assert "left out: 2 terms asked for, 40 less related terms" in texts
    (svg,) = draw_network(net(1, 69, links=[]), tmp_path / "net.svg", most=0)
    assert "left out: 69 less related terms" in seen.texts(svg)
    (svg,) = draw_network(net(9, 1, links=[]), tmp_path / "net.svg", most=0)
    assert "left out: 1 term asked for, 1 less related term" in seen.texts(svg)


def test_links_are_each_terms_strongest_and_hold_all_together():
    # A hub with ten others, two of which are linked.
    edges = np.array([(0, i) for i in range(1, 11)] + [(3, 4), (9, 10), (2, 9)])
    strengths = np.append(np.arange(10, 0, -1.0), [5.5, 0.5, 0.4])
    assert strongest(edges, strengths, 2).tolist() == [True] * 10 + [True, True, False]
    # Those of the hub that hold nothing together give way.
    edges = np.array([(0, i) for i in range(1, 5)] + [(i, i + 1) for i in range(1, 4)])
    strengths = np.append([4.0, 3.0, 2.0, 1.0], [9.0, 8.0, 7.0])
    assert strongest(edges, strengths, 1).tolist() == [True, *[False] * 3, True, True, True]
    assert strongest(edges[:0], strengths[:0], 3).tolist() == []


def test_strengths_of_any_size_can_be_told_apart():
    def look(strengths):
        return shades(net(1, 1)._replace(strengths=np.array(strengths)))

    np.testing.assert_allclose(look([8.0, 4.0, 2.0]), [1, 0.5, 0], atol=1e-9)
    np.testing.assert_allclose(look([5e-324, 1e308, 1e307]), [0, 1, 2 / 3], atol=1e-9)
    np.testing.assert_allclose(look([3.0, 3.0]), [1, 1])
    assert look([]).tolist() == []


@pytest.mark.parametrize(
    "scores", [[1, 1, 1], [0, 0, 0], [-1, -2, -3], [9e99, 1, -9e99], [1e-300, 0, 0], [5, 0.1, -1]]
)
def test_discs_are_as_large_as_terms_are_related(scores):
    radii = drawing._radii(np.array(scores, np.float64))
    assert (np.diff(radii) <= 0).all()
    assert drawing._SMALLEST <= radii[-1] <= radii[0] == drawing._LARGEST
    assert len(set(radii)) == len(set(scores))


BAD = {
    "there are no terms to draw": {"names": [], "scores": np.empty(0)},
    "of 4 terms, 1 to 4 may be asked for, not 0": {"asked": 0},
    "1 to 4 may be asked for, not 5": {"asked": 5},
    "4 terms need an array of 4 scores, not one of 3": {"scores": np.ones(3)},
    "'wave' cannot be drawn with a score of nan: leave it out": {"scores": [1, 1, np.nan, 1]},
    "'seismic' cannot be drawn with a score of -inf": {"scores": [1, 1, 1, -np.inf]},
    "'wave' scores more than the one before": {"scores": [1, 1, 2, 1]},
    r"the edge \(0, 4\) must join two different terms of the numbers 0 to 3": {"edges": [(0, 4)]},
    r"the edge \(-1, 2\)": {"edges": [(-1, 2)]},
    r"the edge \(2, 2\)": {"edges": [(2, 2)]},
    "needs a strength above 0 that is finite, not 0": {"strengths": [0.0]},
    "finite, not nan": {"strengths": [np.nan]},
    "finite, not inf": {"strengths": [np.inf]},
    "arrays of 1 × 2 and 2": {"strengths": [1.0, 2.0]},
    "arrays of 3 and 1": {"edges": [0, 1, 2]},
    "arrays of 1 × 3 and 1": {"edges": [(0, 1, 2)]},
}


@pytest.mark.parametrize("message", BAD)
def test_what_cannot_be_drawn_is_refused_and_nothing_is_written(tmp_path, message):
    given = net(1, 3, links=[(0, 1)])._replace(**BAD[message])
    with pytest.raises(UsageError, match=message):
        draw_network(given, tmp_path / "net")
    assert not list(tmp_path.iterdir())


def test_more_than_can_be_told_apart_is_refused(tmp_path):
    for most in (-1, 61):
        with pytest.raises(UsageError, match=f"0 to 60 terms may be drawn .* not {most}"):
            draw_network(net(1, 3), tmp_path / "net", most=most)
    with pytest.raises(UsageError, match=r"not as \.pdf"):
        draw_network(net(1, 3), tmp_path / "net.pdf")
