import re
from pathlib import Path

import orjson
import pytest

from likewise.errors import UsageError
from likewise_papers.markdown import END, START, main, markdown, update
from likewise_papers.quality import MAIN, quality_table
from likewise_papers.summary import to_bytes

from .made_up import everything
from .results import done, searched, values

ROOT = Path(__file__).parent.parent.parent
STORED = ROOT / "docs" / "reproduction.json"


@pytest.fixture
def readme(tmp_path):
    path = tmp_path / "README.md"
    path.write_text(f"before\n\n{START}\nold\n{END}\n\nafter “…”\n", "utf-8")
    return path


@pytest.fixture
def stored(tmp_path):
    path = tmp_path / "docs.json"
    path.write_bytes(to_bytes(values()))
    return path


def test_all_claims_and_tables_are_there():
    text = markdown(values(done(everything()), done(searched(), "two")))
    assert "Claims, published: 1 hold, 1 do not hold, 1 not testable here; ours: 1 hold, " in text
    assert "- **✓ holds** (ours): plain is ours. (plain seen too)" in text
    assert "- **✓ holds**: plain holds. (plain seen)" in text
    assert "- **✗ does not hold**: plain fails. (plain not seen)" in text
    assert "- **○ not testable here**: plain is open. (plain not there)" in text
    assert "| plain base | .3123 [.2800 .3410] *.5000* | .3123 [.2800 .3410] |" in text
    assert "| plain new |  | – |" in text
    assert "That. And this." in text
    assert "Data: notes; seed 7; 2.2 s." in text
    assert text.count("\n### ") == 2


def test_tables_are_whole_whatever_they_hold():
    hostile = "a|b <b> *c* _d_ \n e"
    text = markdown(values(done(everything(text=hostile))))
    for block in re.findall(r"(?m)(?:^\|.*\n)+", text):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1
    assert "<b>" not in text.replace("\\<b>", "")


def test_a_readme_is_brought_up_to_date(readme, stored):
    update(stored, readme)
    text = readme.read_text("utf-8")
    assert text == f"before\n\n{START}\n{quality_table(values())}{END}\n\nafter “…”\n"
    assert stored.with_suffix(".md").read_text("utf-8") == markdown(values())
    update(stored, readme)
    assert readme.read_text("utf-8") == text


def test_files_are_left_alone_where_there_is_no_place_or_no_full_run(readme, stored):
    before = readme.read_text("utf-8")
    stored.write_bytes(to_bytes(values(quick=True)))
    with pytest.raises(UsageError, match="quick run"):
        update(stored, readme)
    assert readme.read_text("utf-8") == before
    stored.write_bytes(to_bytes(values()))
    for text in ("none", START, END, f"{END} {START}"):
        readme.write_text(text)
        with pytest.raises(UsageError, match="nowhere to put the table"):
            update(stored, readme)
        assert readme.read_text() == text
    with pytest.raises(UsageError, match="cannot be read"):
        update(stored, readme.with_name("away"))
    assert not stored.with_suffix(".md").exists()


def test_it_can_be_run_by_itself(stored, readme, capsys):
    assert main([str(stored), str(readme)]) == 0
    assert "| measure |" in readme.read_text("utf-8")
    assert main([str(stored)]) == 2
    assert "two files" in capsys.readouterr().err
    assert main([str(stored.with_name("away")), str(readme)]) == 2
    for rubbish in ("{}", "[]", "nonsense"):
        stored.write_text(rubbish)
        assert main([str(stored), str(readme)]) == 2
        assert "not a summary" in capsys.readouterr().err.splitlines()[-1]


def test_the_project_has_the_figures_of_the_last_full_run():
    told = orjson.loads(STORED.read_bytes())
    assert not told["quick"]
    text = (ROOT / "README.md").read_text("utf-8")
    assert text.partition(START)[2].partition(END)[0].strip() == quality_table(told).strip()
    assert STORED.with_suffix(".md").read_text("utf-8") == markdown(told)
    for one in MAIN:
        lines = quality_table(told, main=[one]).splitlines()[2:]
        assert lines, f"{one.task} is nowhere"
        for name in one.against:
            assert any(f"{name} " in line for line in lines), f"{one.task}: {name} is nowhere"
