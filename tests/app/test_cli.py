import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import likewise as lw
from likewise.app.cli import main

ROOT = Path(__file__).parent.parent.parent
PAPERS = """\
{"id": "1999-17", "title": "Wing flutter", "text": "Flutter of wings. Oh.", "year": 1999, \
"cites": ["2"]}
{"id": "2", "title": "Boundary layer", "text": "Transition of the boundary layer.", "year": 1961}
{"id": "3", "title": "Heat", "text": "Heat transfer to a body.", "year": 1950}
"""
MORE = 'key,title,abstract,body\n7,Shocks,"A bow shock","before, a body"\n8,Jets,A jet,noise\n'
PATENTS = """\
id,title,text,Filing Date,status,zip
1,A deep pump,A pump for wells,25/03/2015,granted,02139
2,A damper,A damper of wings,04/03/2014,pending,10001
"""
QUERIES = '{"id": "a", "text": "flutter of wings"}\n{"id": "b", "text": "boundary layer"}\n'
QRELS = "a 0 1999-17 1\nb 0 2 1\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "papers.jsonl").write_text(PAPERS)
    (tmp_path / "more.csv").write_text(MORE)
    (tmp_path / "patents.csv").write_text(PATENTS)
    (tmp_path / "queries.jsonl").write_text(QUERIES)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "ids.txt").write_text("1999-17\n2\n")
    return tmp_path


@pytest.fixture
def call(here, capsys):
    def call(*arguments):
        code = main(arguments)
        done = capsys.readouterr()
        return code, done.out, done.err

    return call


@pytest.fixture
def made(call):
    assert call("index", "papers.jsonl", "--to", "papers.lw")[0] == 0
    return call


def run(*arguments, **options):
    command = [sys.executable, "-m", "likewise", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_index_reports_what_it_did(call):
    code, out, err = call("index", "papers.jsonl", "--to", "papers.lw")
    language = "language: English (100% of a sample of 3)\n"
    assert (code, err) == (0, f"{language}fields: cites is a number, year a number\n")
    assert out.startswith("papers.lw: 3 documents added\nnow 3 documents, ")
    code, out, _ = call("index", "papers.jsonl", "--to", "other.lw", "--json")
    assert json.loads(out) | {"bytes": 0, "tokens": 0, "terms": 0} == {
        "folder": "other.lw",
        "added": 3,
        "replaced": 0,
        "skipped": 0,
        "skipped_by_reason": {},
        "documents": 3,
        "terms": 0,
        "tokens": 0,
        "bytes": 0,
        "language": "english",
        "languages": {"english": 3},
    }


def test_accents_and_positions_are_as_told(call):
    """They are kept with the collection, and `info` says what the fields of words take."""
    text = '{"id": "a", "title": "The school of Velázquez", "text": "A painter in Seville."}'
    Path("one.jsonl").write_text(text)
    for options in ([], ["--no-fold", "--no-positions"]):
        made = ("index", "one.jsonl", "--to", "one.lw", "--overwrite", "--model", "none")
        code, _, _ = call(*made, *options)
        assert code == 0
        info = json.loads(call("info", "one.lw", "--json", "--check")[1])
        assert (info["analysis"]["fold"], info["analysis"]["positions"]) == (not options,) * 2
        kinds = ["documents", "index", "titles", "exact", *([] if options else ["positions"])]
        assert sorted(info["bytes_by_kind"]) == sorted(kinds)
        assert sum(info["bytes_by_kind"].values()) == info["bytes"]
        ranked = json.loads(
            call("search", "one.lw", "velazquez", "--method", "bm25", "--json", "--plain")[1]
        )
        assert bool(ranked["answers"]) == (not options)
    shown = call("info", "one.lw")[1]
    assert "fold False, positions False" in shown


def test_search_prints_a_table_or_json(made):
    code, out, err = made("search", "papers.lw", "wing", "flutter", "--explain", "--method", "bm25")
    assert (code, err) == (0, "")
    assert re.search(r"1 +\d+\.\d{4}  1999-17  Wing flutter\n +=", out)
    values = json.loads(made("search", "papers.lw", "wing flutter", "--json")[1])
    assert values["query"] == "wing flutter"
    assert values["answers"][0]["doc_id"] == "1999-17"
    assert values["answers"][0]["rank"] == 1


def test_search_with_filters_and_methods(made):
    out = made("search", "papers.lw", "wing heat layer", "--filter", "year>=1960", "--json")[1]
    assert {a["doc_id"] for a in json.loads(out)["answers"]} == {"1999-17", "2"}
    for method in ("bm25(k1=2.0)", "ql", "ql-jm(lam=0.3)", "tfidf"):
        out = made("search", "papers.lw", "wing", "--method", method, "--json")[1]
        assert json.loads(out)["answers"][0]["doc_id"] == "1999-17"


def test_a_query_of_stop_words_is_searched_for_as_it_is_spelt(made):
    code, out, err = made("search", "papers.lw", "of a")
    assert code == 0
    assert "Wing flutter" in out
    assert "searched for as it is spelled" in err


def test_a_query_without_words_says_so(made):
    code, out, err = made("search", "papers.lw", "?!")
    assert code == 0
    assert out == "no document matches\n"
    assert "no word that is searched for" in err


def found(out):
    return [answer["doc_id"] for answer in json.loads(out)["answers"]]


@pytest.mark.parametrize(
    "arguments",
    [
        ["wing", "flutter", "-wing", "--json"],
        ["wing", "-wing", "flutter", "-k", "5", "--json"],
        ["--json", "-k5", "flutter", "-wing"],
        ["flutter", "-k", "5", "-wing", "--json"],
        ["wing flutter -wing", "--json"],
        ["--json", "--", "flutter", "-wing"],
    ],
)
def test_a_word_is_left_out_wherever_it_stands(made, arguments):
    code, out, _ = made("search", "papers.lw", *arguments)
    assert code == 0
    assert "1999-17" not in found(out)
    assert json.loads(out)["query"].split()[-1] in ("-wing", "flutter")


def test_plain_words_are_searched_for_without_operators(made):
    assert "1999-17" in found(
        made("search", "papers.lw", "flutter", "-wing", "--plain", "--json")[1]
    )


@pytest.mark.parametrize(
    ("typo", "told"),
    [
        (
            "--explian",
            "likewise search: error: unrecognized arguments: --explian; did you mean --ex",
        ),
        ("-explain", "did you mean --explain?"),
        ("-json", "did you mean --json?"),
        ("-k=x", "argument -k"),
    ],
)
def test_a_slip_in_an_option_is_told(made, capsys, typo, told):
    with pytest.raises(SystemExit) as done:
        main(["search", "papers.lw", "wing", typo])
    assert done.value.code == 2
    assert told in capsys.readouterr().err


def test_an_interrupt_within_compiled_code_is_told_as_one(made, monkeypatch):
    def interrupted(*_, **__):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise SystemError("returned a result with an exception set") from error

    monkeypatch.setattr("likewise.engine.collection.Collection.search", interrupted)
    code, out, err = made("search", "papers.lw", "wing")
    assert (code, out) == (130, "")
    assert err == "likewise: interrupted; nothing was changed by what was under way\n"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemError])
def test_an_interrupt_of_a_fit_says_that_the_documents_are_in(made, monkeypatch, kind):
    from likewise.models.fitting import fit_model

    def interrupted(snapshot, config, job):
        if str(config) == stopped_at:
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt as error:
                raise kind from error
        return fit_model(snapshot, config, job)

    monkeypatch.setattr("likewise.models.fitting.fit_model", interrupted)
    n_docs = json.loads(made("info", "papers.lw", "--json")[1])["documents"]
    stopped_at = "lsi"
    code, out, err = made("index", "papers.jsonl", "--to", "new.lw")
    assert (code, out) == (130, "")
    assert err.endswith(
        f"likewise: interrupted: {n_docs:,} documents are in new.lw, lsi and klsa are not fitted; "
        "go on with: likewise fit new.lw --model lsi && likewise fit new.lw --model klsa\n"
    )
    assert json.loads(made("info", "new.lw", "--json")[1])["documents"] == n_docs
    stopped_at = "klsa"
    code, _, err = made("index", "papers.jsonl", "--to", "new.lw", "--overwrite")
    assert code == 130
    assert "klsa is not fitted; go on with: likewise fit new.lw --model klsa" in err


def test_a_slip_in_a_command_is_told(capsys):
    with pytest.raises(SystemExit) as done:
        main(["serach", "papers.lw", "wing"])
    assert done.value.code == 2
    told = capsys.readouterr().err
    assert "unknown command 'serach'" in told
    assert "did you mean search?" in told


def test_a_filter_that_nothing_meets_is_not_blamed_on_expansion(made):
    assert made("search", "papers.lw", "wing", "--filter", "year>=3000")[1:] == (
        "no document matches\n",
        "",
    )


def test_what_was_not_understood_and_what_was_meant_are_told_beside_the_answer(made):
    code, out, err = made("search", "papers.lw", '"wing')
    assert (code, err) == (
        0,
        "likewise: a quotation mark is not closed: searched as plain words\n",
    )
    assert "Wing flutter" in out
    code, out, err = made("search", "papers.lw", "fluttter")
    assert err == "likewise: nothing for fluttter; showing flutter\n"
    assert "Wing flutter" in out
    values = json.loads(made("search", "papers.lw", "fluttter", "--json")[1])
    assert (values["suggestion"], values["applied"]) == ("flutter", True)
    assert made("search", "papers.lw", "wing xyzzyx")[2] == "likewise: no document has: xyzzyx\n"


def test_add_delete_merge_info_show(made):
    code, out, _ = made("add", "papers.lw", "more.csv", "--id", "key", "--text", "abstract,body")
    assert code == 0
    assert "2 documents added" in out
    assert made("delete", "papers.lw", "7")[1] == "1 document deleted from papers.lw\n"
    info = json.loads(made("info", "papers.lw", "--json")[1])
    assert (info["documents"], info["deleted"], info["segments"]) == (4, 1, 2)
    assert "1 (their room is freed by merge)" in made("info", "papers.lw")[1]
    assert made("merge", "papers.lw")[1] == "papers.lw: 2 segments became 1\n"
    info = made("info", "papers.lw", "--check")[1]
    assert "every file is as it was written" in info
    assert not any(line.split()[:1] == ["deleted"] for line in info.splitlines())
    shown = made("show", "papers.lw", "8")[1]
    assert shown.startswith("Jets\n  id: 8\n  read from: more.csv:3\n\nA jet\n\nnoise")
    assert made("show", "papers.lw", "1999-17", "--sentences")[1].splitlines() == [
        "Wing flutter",
        "Flutter of wings.",
        "Oh.",
    ]
    assert made("show", "papers.lw", "1999-17", "--terms")[1].splitlines()[0].split() == [
        "4",
        "flutter",
    ]
    assert json.loads(made("show", "papers.lw", "8", "--json")[1])["terms"]["jet"] == 4


def test_info_tells_what_is_still_there(made, here, monkeypatch):
    with lw.open(here / "papers.lw"):
        made("delete", "papers.lw", "2")
        assert re.search(
            r"generation \d+ is still being read \(pid \d+\)", made("info", "papers.lw")[1]
        )
    assert re.search(r"generation \d+ is no longer needed", made("info", "papers.lw")[1])
    assert json.loads(made("info", "papers.lw", "--json")[1])["leases"]
    # As on a network file system.
    monkeypatch.setattr("likewise.collection.locks._LOCAL", set())
    made("delete", "papers.lw", "1999-17")
    told = made("info", "papers.lw")[1]
    assert not json.loads(made("info", "papers.lw", "--json")[1])["leases"]
    assert "still being read" not in told
    assert "until `likewise clean` removes them" in told
    assert " freed" in made("clean", "papers.lw")[1]
    assert not json.loads(made("info", "papers.lw", "--json")[1])["older_generations"]


def test_delete_by_file_and_missing_ids(made, here):
    (here / "gone.txt").write_text("2\nnowhere\n")
    code, _, err = made("delete", "papers.lw", "--from", "gone.txt")
    assert code == 2
    assert "'nowhere'; nothing was deleted" in err
    code, out, _ = made("delete", "papers.lw", "--from", "gone.txt", "--missing-ok", "--json")
    assert json.loads(out) == {"deleted": 1}
    assert made("delete", "papers.lw")[0] == 2


def test_run_then_eval(made, here):
    code, out, _ = made("run", "papers.lw", "--queries", "queries.jsonl", "--method", "bm25")
    assert code == 0
    assert out.splitlines()[0].split()[:4] == ["a", "Q0", "1999-17", "1"]
    (here / "bm25.run").write_text(out)
    (here / "ql.run").write_text(
        made("run", "papers.lw", "--queries", "queries.jsonl", "--method", "ql")[1]
    )
    code, out, _ = made("eval", "--qrels", "qrels.txt", "bm25.run", "ql.run")
    assert code == 0
    assert "bm25" in out
    values = json.loads(
        made("eval", "--qrels", "qrels.txt", "bm25.run", "--measures", "AP RR", "--json")[1]
    )
    assert values["measures"] == ["AP", "RR"]
    assert made("eval", "--qrels", "qrels.txt", "bm25.run", "--csv")[1].count("\n") >= 2
    per_query = made("eval", "--qrels", "qrels.txt", "bm25.run", "--measures", "AP", "--per-query")[
        1
    ]
    assert per_query == "a\tbm25\tAP\t1.000000\nb\tbm25\tAP\t1.000000\n"
    values = json.loads(
        made("run", "papers.lw", "--queries", "queries.jsonl", "--json", "-k", "1")[1]
    )
    assert [len(ranking) for ranking in values["queries"].values()] == [1, 1]


def test_bad_lines_stop_or_are_skipped_and_counted(call, here):
    (here / "bad.jsonl").write_text('{"id": "1", "text": "x"}\nnonsense\n')
    code, out, err = call("index", "bad.jsonl", "--to", "bad.lw")
    assert (code, out) == (1, "")
    assert err.startswith("likewise: bad.jsonl:2: ")
    assert not (here / "bad.lw").exists()
    code, out, err = call("index", "bad.jsonl", "--to", "bad.lw", "--skip-bad")
    assert code == 0
    assert "1 document added, 1 skipped" in out
    assert "skipped: bad.jsonl:2: " in err
    assert "likewise: skipped 1 not readable (bad.jsonl:2)\n" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search", "nowhere.lw", "x"], "nowhere.lw does not exist; make one with: likewise index"),
        (
            ["search", "papers.jsonl", "x"],
            "papers.jsonl is not a collection; make one with: likewise index papers.jsonl "
            "--to papers.lw",
        ),
        (["index", "nowhere.jsonl", "--to", "x.lw"], "there is no file or folder 'nowhere.jsonl'"),
        (["index", "papers.jsonl", "--to", "papers.jsonl"], "is a file"),
        (["index", "papers.jsonl", "--to", "x.lw", "--language", "klingon"], "unknown language"),
        (["index", "papers.jsonl", "--to", "x.lw", "--stop-file", "nowhere"], "words of nowhere"),
        (["index", "papers.jsonl", "--to", "x.lw", "--max-df", "7"], "max_df is a share"),
        (["index", "papers.jsonl", "--to", "x.lw", "--id", "key"], "papers.jsonl:1: "),
        (["index", "papers.jsonl", "--to", "x.lw", "--id", "key"], "with --id, or take places"),
        (["eval", "--qrels", "nowhere.txt", "x.run"], "nowhere.txt"),
        (["eval", "--qrels", "qrels.txt", "x.run", "--measures", "XP"], "XP"),
        (["eval", "--qrels", "qrels.txt", "papers.jsonl"], "papers.jsonl:1"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_said_in_a_line(call, arguments, message):
    code, out, err = call(*arguments)
    assert code in (1, 2)
    assert out == ""
    assert err.startswith("likewise: ")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    "arguments",
    [[], ["nonsense"], ["search"], ["index", "x"], ["search", "x", "y", "-k", "0"],
     ["index", "x", "--to", "y", "--memory", "lots"],
     ["index", "x", "--to", "y", "--threads", "-1"]],
)  # fmt: skip
def test_usage_errors_exit_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: likewise" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "index",
        "add",
        "delete",
        "merge",
        "info",
        "show",
        "search",
        "run",
        "fit",
        "topics",
        "decompose",
        "neighbours",
        "fuse",
        "eval",
        "demo",
    ],
)
def test_every_command_has_a_manual(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith(f"usage: likewise {command}")
    assert len(out.splitlines()) > 10


def test_standard_input_and_a_closed_pipe(here):
    done = run("index", "-", "--to", "stdin.lw", input=PAPERS, cwd=here)
    assert done.returncode == 0, done.stderr
    assert "3 documents added" in done.stdout
    command = f"{sys.executable} -m likewise run stdin.lw --quiet --queries queries.jsonl | head -1"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, check=False, cwd=here
    )
    assert done.returncode == 0
    assert done.stderr == ""


def test_an_interrupt_is_clean(here):
    """Ctrl-C while documents are still coming in."""
    command = [sys.executable, "-m", "likewise", "index", "-", "--to", "slow.lw"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    # A shell's background job is started deaf to interrupts, and so would be what it starts.
    deaf = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, **pipes, cwd=here)
    finally:
        signal.signal(signal.SIGINT, deaf)
    # More than a pipe holds: when all is written, documents are being read.
    record = json.dumps({"text": "word " * 2000})
    for i in range(200):
        process.stdin.write(f'{{"id": "{i}", {record[1:]}\n'.encode())
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert err.decode().startswith("likewise: interrupted")
    assert not (here / "slow.lw").exists()


def test_the_commands_of_the_readme_work_as_written(here):
    text = (ROOT / "README.md").read_text("utf-8")
    block = text.partition("## On the command line")[2].partition("```sh\n")[2].partition("```")[0]
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    }
    for line in block.strip().splitlines():
        assert line.startswith("likewise ")
        done = subprocess.run(
            line, shell=True, capture_output=True, text=True, check=False, cwd=here, env=environment
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert done.stdout or ">" in line


def test_the_python_of_the_readme_works_as_written(here, capsys):
    text = (ROOT / "README.md").read_text("utf-8")
    code = text.partition("```python\n")[2].partition("```")[0]
    assert len(code.strip().splitlines()) <= 20
    exec(compile(code, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "Boundary layer" in out
    assert "fused" in out


def test_the_demo_builds_searches_and_measures(here, capsys):
    assert main(["demo", "--to", "demo.lw", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "scipy.signal.butter" in out
    assert re.search(r"^robust\(adapt=10\.0\): .*\n\+ ", out, re.MULTILINE)
    assert "words of its own" in out
    assert re.search(r"^bm25 +0\.4", out, re.MULTILINE)
    assert main(["demo", "--to", "demo.lw", "--quiet"]) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_output_that_cannot_be_written_is_a_message(made, here):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "likewise", "search", "papers.lw", "flutter"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "standard output: No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_any_bytes_and_any_terminal(made, here):
    query = b"flutter \xff".decode("utf-8", "surrogateescape")
    done = run("search", "papers.lw", query, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["query"] == "flutter �"
    plain = {**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "likewise", "eval", "--help"]
    done = subprocess.run(command, capture_output=True, env=plain, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"randomisation test (?)" in done.stdout


def test_what_a_collection_was_made_without_is_said(made):
    assert "without" not in made("info", "papers.lw")[1]
    assert json.loads(made("merge", "papers.lw", "--json")[1])["not_stored"] == []
    new = ["index", "papers.jsonl", "--to", "new.lw", "--model", "none", "--no-positions"]
    assert made(*new)[0] == 0
    said = "where words stand: phrases take longer, and nearness does not count (index again"
    assert f"without    {said}" in made("info", "new.lw")[1]
    assert json.loads(made("info", "new.lw", "--json")[1])["not_stored"] == ["positions"]
    _, _, err = made("merge", "new.lw")
    assert f"without {said}" in err
