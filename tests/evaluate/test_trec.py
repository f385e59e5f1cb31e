import gzip
import io
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import SourceError, UsageError
from likewise.evaluate.trec import (
    Qrels,
    Run,
    encoded,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)

names = st.text(st.characters(exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=8).filter(
    lambda name: "\ufeff" not in name
)
any_names = st.text(st.characters(), min_size=1, max_size=8)
scores = st.floats(allow_nan=False, allow_infinity=True)
rankings = st.dictionaries(
    names, st.dictionaries(names, scores, min_size=1, max_size=6), max_size=4
)


def best_first(docs):
    return sorted(docs.items(), key=lambda pair: -pair[1])


def text_of(write, thing):
    stream = io.StringIO()
    write(thing, stream)
    return stream.getvalue()


@pytest.fixture(scope="module")
def file_with(tmp_path_factory):
    path = tmp_path_factory.mktemp("trec") / "file.txt"

    def made(content):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return made


@given(rankings=rankings, name=names)
def test_a_run_comes_back_as_it_was_written(file_with, rankings, name):
    run = Run(name, {qid: best_first(docs) for qid, docs in rankings.items()})
    back = read_run(file_with(text_of(write_run, run)))
    assert dict(back) == dict(run)
    if run:
        assert back.name == name


@given(st.dictionaries(names, st.dictionaries(names, st.integers(-1000, 1000), min_size=1)))
def test_judgements_come_back_as_they_were_written(file_with, judgements):
    qrels = Qrels(judgements)
    assert dict(read_qrels(file_with(text_of(write_qrels, qrels)))) == judgements


@given(qid=any_names, doc_id=any_names, tag=any_names.filter(str.strip))
def test_any_id_is_written_so_that_the_line_has_six_columns(file_with, qid, doc_id, tag):
    text = text_of(write_run, Run(tag, {qid: [(doc_id, 1.0)]}))
    assert len(text.split()) == 6
    back = read_run(file_with(text))
    assert dict(back) == {encoded(qid): [(encoded(doc_id), 1.0)]}


def test_only_ids_that_would_break_a_line_are_encoded():
    assert encoded("a b") == "a%20b"
    assert encoded("50% of\tit") == "50%25%20of%09it"
    assert encoded("http://x/a%20b") == "http://x/a%20b"
    assert encoded("Áedán") == "Áedán"
    assert encoded("a\u00a0\u00e9") == "a%C2%A0é"


def test_two_ids_that_encode_alike_are_refused():
    run = Run("r", {"1": [("a b", 2.0), ("a%20b", 1.0)]})
    with pytest.raises(UsageError, match="a%20b"):
        write_run(run, io.StringIO())
    with pytest.raises(UsageError, match="a%20b"):
        write_qrels(Qrels({"1": {"a b": 1, "a%20b": 1}}), io.StringIO())


def test_the_six_columns():
    run = Run("bm25", {"1": [("d1", np.float32(0.1)), ("d2", np.float64(0.1)), ("d3", -3)]})
    assert text_of(write_run, run) == (
        "1 Q0 d1 1 0.10000000149011612 bm25\n1 Q0 d2 2 0.1 bm25\n1 Q0 d3 3 -3.0 bm25\n"
    )


def test_neighbouring_scores_do_not_become_ties(file_with):
    high = 12.345678901234567
    low = np.nextafter(high, 0)
    back = read_run(file_with(text_of(write_run, Run("r", {"1": [("a", high), ("b", low)]}))))
    assert back["1"] == [("a", high), ("b", low)]
    assert back["1"][0][1] > back["1"][1][1]


def test_a_run_is_read_by_score_then_rank_then_line(file_with):
    path = file_with(
        "1 Q0 low 1 0.5 t\n"
        "2 Q0 other 1 1 t\n"
        "1 Q0 tie-b 3 2.0 t\n"
        "1 Q0 tie-a 2 2.0 t\n"
        "1 Q0 zz 9 2e0 t\n"
        "1 Q0 aa 9 2.00 t\n"
    )
    run = read_run(path)
    assert [doc_id for doc_id, _ in run["1"]] == ["tie-a", "tie-b", "zz", "aa", "low"]
    assert list(run) == ["1", "2"]
    assert (run.name, read_run(path, name="mine").name) == ("t", "mine")


def test_blank_lines_windows_line_ends_byte_order_mark_and_gzip(file_with):
    content = b"\xef\xbb\xbf1 0 d1 2\r\n\r\n  \n1\t0\td2\t-1"
    expected = {"1": {"d1": 2, "d2": -1}}
    assert dict(read_qrels(file_with(content))) == expected
    assert dict(read_qrels(file_with(gzip.compress(content)))) == expected


def test_empty_files(file_with):
    assert len(read_qrels(file_with(""))) == 0
    run = read_run(file_with(""))
    assert (len(run), run.name) == (0, "file")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 0 d1 x\n")))
    with pytest.raises(SourceError, match=r"^standard input:1: grade 'x' is not a whole number"):
        read_qrels("-")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1 Q0 d 1 2.0", "5 columns found, 6 expected"),
        ("1 Q0 d 1 2.0 my tag", "7 columns found"),
        ("1 Q0 d one 2.0 t", "rank 'one'"),
        ("1 Q0 d 1 nan t", "score 'nan'"),
        ("1 Q0 d 1 1_0 t", "score '1_0'"),
        ("1 Q0 d 1 0x1p3 t", "score '0x1p3'"),
        ("1 Q0 first 1 2.0 t", "'first' stands twice under query '1'"),
        ("1 Q0 d\0d 1 2.0 t", "control characters"),
        (b"1 Q0 d\xff 1 2.0 t", "byte 0xff is not UTF-8"),
    ],
)
def test_a_malformed_line_of_a_run_is_named(file_with, line, reason):
    line = line if isinstance(line, bytes) else line.encode()
    path = file_with(b"1 Q0 first 1 3.0 t\n\n" + line + b"\n")
    with pytest.raises(SourceError, match=reason) as caught:
        read_run(path)
    assert caught.value.place == f"{path}:3"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1 0 d", "3 columns found, 4 expected"),
        ("1 0 d 1.0", "grade '1.0'"),
        ("1 0 d 1001", "between -1000 and 1000"),
        ("1 0 d 99999999999999999999", "grade"),
        ("1 0 first 1", "has grade 2 already, and now 1"),
    ],
)
def test_a_malformed_line_of_judgements_is_named(file_with, line, reason):
    path = file_with(f"1 0 first 2\n1 0 first 2\n{line}\n")
    with pytest.raises(SourceError, match=reason) as caught:
        read_qrels(path)
    assert caught.value.place == f"{path}:3"


@pytest.mark.parametrize("read", [read_run, read_qrels])
def test_files_that_cannot_be_read(tmp_path, file_with, read):
    with pytest.raises(SourceError, match="No such file"):
        read(tmp_path / "missing")
    with pytest.raises(SourceError, match="cannot be read"):
        read(tmp_path)
    with pytest.raises(SourceError, match="cannot be read"):
        read("nul\0byte")
    with pytest.raises(SourceError, match="damaged"):
        read(file_with(gzip.compress(b"1 0 d 1\n" * 99)[:-12]))


@given(
    st.binary(max_size=80)
    | st.binary(max_size=60).map(lambda data: b"\x1f\x8b" + data)
    | st.lists(
        st.sampled_from([b"1", b"Q0", b"d", b"-2", b"0.5", b"\n", b"\xff", b"e9"]), max_size=20
    ).map(b" ".join)
)
def test_any_bytes_give_a_run_and_judgements_or_an_error_with_a_place(file_with, data):
    path = file_with(data)
    for read in (read_run, read_qrels):
        found, place = {}, str(path)
        try:
            found = read(path)
        except SourceError as error:
            place = error.place
        assert place.startswith(str(path))
        assert all(map(len, found.values()))


@pytest.mark.parametrize(
    ("ranking", "reason"),
    [
        ([("a", 1.0), ("b", 2.0)], "best first"),
        ([("a", float("nan"))], "best first"),
        ([("a", 1.0), ("a", 1.0)], "given twice"),
        ([("", 1.0)], "not empty"),
        ([(7, 1.0)], "not 7"),
        ([("a", None)], "a score is a number"),
    ],
)
def test_a_run_refuses_what_it_could_not_keep(ranking, reason):
    with pytest.raises(UsageError, match=reason):
        Run("r", {"1": ranking})


def test_a_run_refuses_a_query_twice_and_no_name():
    run = Run("r", {"1": []})
    assert run["1"] == []
    with pytest.raises(UsageError, match="already"):
        run.add("1", [])
    with pytest.raises(UsageError, match="needs a name"):
        Run(" ")


def test_judgements_refuse_what_is_no_grade():
    for grade in (True, 1.5, "1", 10**9):
        with pytest.raises(UsageError, match="grade"):
            Qrels({"1": {"d": grade}})
    assert Qrels({"1": {"d": np.int64(3), "e": 0}}).relevant("1") == {"d": 3}
    assert Qrels().relevant("1") == {}
