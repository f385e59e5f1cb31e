import subprocess
import sys
import threading
import xml.etree.ElementTree as ET

import matplotlib as mpl
import pytest

from likewise.draw import style
from likewise.errors import MissingExtra, StorageError, UsageError


def simple(title="A title"):
    with style.house():
        fig = style.figure(4, 3)
        ax = style.axes(fig, title=title, x_label="across", y_label="up")
        ax.plot([0, 1], [0, 2], color=style.BLUE)
        style.fix_layout(fig)
        return fig


def test_without_an_ending_both_are_written(tmp_path, seen):
    files = style.save(simple(), tmp_path / "figure")
    assert files == [tmp_path / "figure.svg", tmp_path / "figure.png"]
    assert {"A title", "across", "up"} <= set(seen.texts(files[0]))
    assert seen.size(files[1]) == (4 * style.DOTS, 3 * style.DOTS)
    assert 2_000 < files[0].stat().st_size < 50_000
    assert 5_000 < files[1].stat().st_size < 200_000


@pytest.mark.parametrize("name", ["one.svg", "one.png", "one.SVG"])
def test_with_an_ending_one_is_written(tmp_path, name):
    assert style.save(simple(), tmp_path / name) == [tmp_path / name]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_another_ending_and_a_folder_are_refused(tmp_path):
    with pytest.raises(UsageError, match=r"written as \.svg or \.png, not as \.pdf"):
        style.check(tmp_path / "figure.pdf")
    with pytest.raises(UsageError, match="a folder; name the figure in it"):
        style.check(tmp_path)


def test_a_missing_folder_is_said(tmp_path):
    with pytest.raises(StorageError, match=r"there is no folder .*nowhere; make it first"):
        style.save(simple(), tmp_path / "nowhere" / "figure")


def test_what_the_system_refuses_is_said(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match=r"figure\.svg: cannot be written \(Not a directory\)"):
        style.save(simple(), tmp_path / "file" / "figure")
    with pytest.raises(StorageError, match="cannot be written"):
        style.save(simple(), tmp_path / "\0.png")


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    file = tmp_path / "figure.svg"
    file.write_text("old")

    def refuse(self, target):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    with pytest.raises(StorageError, match="Permission denied"):
        style.save(simple(), file)
    assert [path.name for path in tmp_path.iterdir()] == ["figure.svg"]
    assert file.read_text() == "old"


def test_the_same_figure_gives_the_same_bytes_whatever_the_users_settings(tmp_path):
    first = style.save(simple(), tmp_path / "first")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}):
        again = style.save(simple(), tmp_path / "again")
        assert mpl.rcParams["font.size"] == 30
    for one, other in zip(first, again, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_threads_draw_one_at_a_time_and_leave_the_settings_alone():
    before, texts = dict(mpl.rcParams), []
    threads = [
        threading.Thread(target=lambda: texts.append(style.svg_text(simple()))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 3
    assert len(set(texts)) == 1
    assert dict(mpl.rcParams) == before


def test_svg_for_a_page_brings_no_rules_and_no_names_of_parts():
    text = style.svg_text(simple('less < more & "most"'))
    assert text.startswith('<svg role="img" aria-label="less &lt; more &amp; &quot;most&quot;"')
    root = ET.fromstring(text)
    tags = {element.tag.split("}")[1] for element in root.iter()}
    assert not tags & {"style", "metadata", "script", "image"}
    # What is left is named by what it holds, so that two figures may share a page.
    names = [element.get("id") for element in root.iter() if element.get("id")]
    assert names
    assert all(f"#{name}" in text for name in names)


def test_nothing_is_loaded_before_it_is_needed_and_never_pyplot():
    code = (
        "import sys, likewise.draw; from likewise.draw import style\n"
        "assert 'matplotlib' not in sys.modules\n"
        "style.svg_text(style.figure())\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(MissingExtra, match=r"a figure needs .*likewise\[plots\]"):
        style.figure()


def test_texts_are_made_to_fit():
    with style.house():
        assert style.shortened("short", 100) == "short"
        cut = style.shortened("a rather long text " * 10, 100)
        assert cut.startswith("a rather")
        assert cut.endswith("…")
        assert style.measure([cut])[0] <= 100
        assert style.shortened("", 100) == ""
        assert style.wrapped("one line", 100) == ["one line"]
        first, second = style.wrapped("word " * 60, 100)
        assert style.measure([first])[0] <= 100
        assert second.endswith("…")
        assert style.wrapped("unbroken" * 60, 100)[0].endswith("…")


def test_what_cannot_be_stored_is_cleaned_away():
    assert style.clean("a\x00b\n\tc\u202ed \ud800") == "a b c d ?"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (-0.05, "−0.05"),
        (2500, "2500"),
        (0.1 + 0.2, "0.3"),
        (1e6, "10⁶"),
        (-2.5e-7, "−2.5·10⁻⁷"),
    ],
)
def test_numbers_are_short(value, written):
    assert style.number(value) == written
