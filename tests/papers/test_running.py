from dataclasses import replace

import pytest

from likewise.errors import MissingExtra, StorageError, UsageError
from likewise_papers import running
from likewise_papers.data import ALIKE, DOCSTRINGS, JUDGED, Data
from likewise_papers.experiment import HOLDS, UNTESTABLE, Claim, Experiment, Paper, Result
from likewise_papers.running import choose, run_one, run_papers

from .made_up import PAPER, write_collection

RESULT = Result((Claim("a", HOLDS, "b"),))


@pytest.fixture
def data(tmp_path):
    write_collection(tmp_path / "data" / "notes")
    return Data([tmp_path / "data"], tmp_path / "work")


@pytest.fixture
def again(tmp_path, data):
    """Run an experiment and say whether it was run or taken from an earlier run."""
    times = []

    def counted(bench):
        times.append(bench.setting)
        return RESULT

    def again(experiment=None, *, source=None, **options):
        asked = experiment or Experiment("one", "Table 1", "title", counted, on=(JUDGED,))
        before = len(times)
        done = run_one(
            PAPER,
            replace(asked, run=counted),
            source or Data([tmp_path / "data"], tmp_path / "work"),
            kept=tmp_path / "kept",
            **options,
        )
        assert done.kept is (len(times) == before)
        assert done.result == RESULT
        return not done.kept

    return again


@pytest.mark.parametrize(
    "changed", [{"setting": {"a": 2}}, {"seed": 1}, {"version": 2}, {"setting": {"a": [1]}}]
)
def test_a_result_is_kept_until_something_changes(again, changed):
    one = Experiment("one", "Table 1", "title", lambda _: RESULT, on=(JUDGED,), setting={"a": 1})
    assert again(one)
    assert not again(one)
    assert not again(replace(one, title="another", where="Table 9", in_place_of="x"))
    assert again(replace(one, **changed))
    assert not again(replace(one, **changed))
    assert not again(one)


def test_a_result_hangs_on_the_data_and_on_what_of_it_is_there(again, tmp_path):
    one = Experiment("one", "Table 1", "title", lambda _: RESULT, on=(JUDGED,))
    assert again(one)
    write_collection(tmp_path / "data" / "more")
    assert again(one)
    assert not again(one)
    (tmp_path / "data" / "more" / "corpus.jsonl").write_text('{"id": "1", "text": "new"}\n')
    assert again(one)
    write_collection(tmp_path / "data" / "unused", judged=False)
    assert not again(one)


def test_a_quick_run_and_another_likewise_have_results_of_their_own(again, monkeypatch):
    assert again()
    assert again(quick=True)
    assert not again(threads=1)
    monkeypatch.setattr(running, "__version__", "99")
    assert again()


def test_a_result_hangs_on_the_packages_that_it_can_do_without(again, monkeypatch):
    one = Experiment("one", "Table 1", "title", lambda _: RESULT, packages=("faiss-cpu",))
    assert again(one)
    monkeypatch.setattr(running, "package_version", lambda name: f"{name} of another version")
    assert again(one)
    assert not again(one)


def test_a_quick_run_takes_its_own_setting(tmp_path, data):
    one = PAPER.experiments[0]
    full, quick = (run_one(PAPER, one, data, kept=tmp_path, quick=quick) for quick in (False, True))
    assert full.setting == {"methods": ["bm25", "ql"], "share": 0.5}
    assert quick.setting == {"methods": ["bm25"], "share": 0.5}
    assert [len(done.result.tables[0].rows) for done in (full, quick)] == [2, 1]
    assert full.collections == ("notes",)


def test_a_damaged_result_is_worked_out_again(again, tmp_path):
    assert again()
    (path,) = (tmp_path / "kept").iterdir()
    for rubbish in (b"", b"{}", b'{"result": 1}', path.read_bytes()[:-9], b"\xff"):
        path.write_bytes(rubbish)
        assert again()
        assert not again()
    assert [file.name for file in (tmp_path / "kept").iterdir()] == [path.name]


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, data):
    ran, broken = [], [True]

    def experiment(name):
        def run(bench):
            ran.append(name)
            if name == "second" and broken:
                raise KeyboardInterrupt
            return RESULT

        return Experiment(name, "Table 1", name, run)

    paper = Paper("p", "P", "", tuple(map(experiment, ("first", "second", "third"))))
    kept = tmp_path / "kept"
    with pytest.raises(KeyboardInterrupt):
        list(run_papers([paper], data, kept=kept))
    assert ran == ["first", "second"]
    broken.clear()
    done = list(run_papers([paper], data, kept=kept))
    assert ran == ["first", "second", "second", "third"]
    assert [one.kept for one in done] == [True, False, False]


def test_a_first_run_gives_what_a_later_one_reads(tmp_path, data):
    first, later = (list(run_papers([PAPER], data, kept=tmp_path / "kept")) for _ in range(2))
    assert [one.kept for one in later] == [True, False, True, False]
    for one, other in zip(first, later, strict=True):
        # NaN is in there, so by what is written rather than by ==.
        assert repr(one.result) == repr(other.result)


def test_missing_collections_and_extras_are_told(tmp_path, data):
    done = {one.experiment.name: one for one in run_papers([PAPER], data, kept=tmp_path / "kept")}
    (claim,) = done["table-2"].result.claims
    assert (claim.text, claim.verdict) == ("of what is not there", UNTESTABLE)
    assert "elsewhere" in claim.reason
    (claim,) = done["figure-2"].result.claims
    assert claim.verdict == UNTESTABLE
    assert "pip install 'likewise[vectors]'" in claim.reason


def test_an_experiment_is_done_on_its_kind_and_on_what_it_names(tmp_path, data):
    write_collection(tmp_path / "data" / "more")
    write_collection(tmp_path / "data" / "labelled", judged=False, category="c")
    seen = []

    def run(bench):
        seen.append((bench.sets, bench.beside))
        return RESULT

    def used(data=None, **declared):
        one = Experiment("one", "Table 1", "title", run, **declared)
        source = data or Data([tmp_path / "data"], tmp_path / "work")
        done = run_one(PAPER, one, source, kept=tmp_path / "kept")
        sets, beside = seen.pop()
        assert done.collections == (*sets, *beside)
        return sets, beside

    assert used() == ((), ())
    assert used(on=(JUDGED,)) == (("more", "notes"), ())
    assert used(on=(JUDGED, ALIKE)) == (("labelled", "more", "notes"), ())
    assert used(on=(JUDGED,), setting={"sets": 1}) == (("more",), ())
    assert used(on=(ALIKE,), beside=("notes", "labelled", "away")) == (("labelled",), ("notes",))
    assert used(Data([], tmp_path), on=(ALIKE,), beside=(DOCSTRINGS,)) == ((DOCSTRINGS,), ())


@pytest.mark.parametrize("error", [UsageError("no such thing"), MissingExtra("it", extra="ir")])
def test_what_failed_is_not_kept(tmp_path, data, error):
    def run(bench):
        if fails:
            raise error
        return RESULT

    fails = [True]
    one = Experiment("one", "Table 1", "title", run)
    done = run_one(PAPER, one, data, kept=tmp_path / "kept")
    assert done.result.claims == (Claim("title", UNTESTABLE, str(error)),)
    ours = run_one(PAPER, replace(one, ours=True), data, kept=tmp_path / "kept")
    assert ours.result.claims == (Claim("title", UNTESTABLE, str(error), ours=True),)
    fails.clear()
    assert run_one(PAPER, one, data, kept=tmp_path / "kept").result == RESULT


def test_a_disk_that_fails_is_not_a_finding(tmp_path, data):
    def run(bench):
        raise StorageError("the disk is full")

    with pytest.raises(StorageError):
        run_one(PAPER, Experiment("one", "Table 1", "title", run), data, kept=tmp_path)


def test_papers_are_chosen_by_name():
    other = replace(PAPER, name="other")
    assert choose([PAPER, other], []) == choose([PAPER, other], ["all"]) == [PAPER, other]
    assert choose([PAPER, other], ["other", "made-up"]) == [PAPER, other]
    assert choose([PAPER, other], ["other"]) == [other]
    with pytest.raises(UsageError, match="unknown paper 'x': it is all or one of made-up, other"):
        choose([PAPER, other], ["x"])
