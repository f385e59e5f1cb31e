"""Does this tree answer as the pinned commit does: the same ids, and scores equal to the bit?

    python benchmarks/golden.py [--base COMMIT] [--data DIR] [--only PATTERN] [--keep DIR]

The commit is checked out aside. It and this tree, with what is not committed yet, each answer their
own `golden_cases.py` on this machine, and answers are compared by the names of cases. Those of the
commit are kept and not worked out again. Ends with 1 where anything differs that is not expected.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from hashlib import blake2b
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

# Whose answers are right. Pinned again where answers change on purpose.
PINNED = "89e927e"
# Cases that may differ from the pinned commit's: a pattern of names, and the reason.
EXPECTED: dict[str, str] = {}

ROOT = Path(__file__).resolve().parent.parent
CASES = "golden_cases.py"
KEPT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "likewise-golden"

# Of each question ids with scores, these as `float.hex` writes them.
Pairs = Sequence[Sequence[str]]
Answers = Mapping[str, Mapping[str, Pairs]]


class Compared(NamedTuple):
    """A case: how many questions it has, and how many differ in scores only, and in ids.

    `largest` is the largest relative difference of scores where ids are equal; `first` tells of the
    first question that differs.
    """

    name: str
    questions: int
    scores: int = 0
    ids: int = 0
    largest: float = 0.0
    first: str = ""

    @property
    def equal(self) -> bool:
        return not self.scores and not self.ids


class Comparison(NamedTuple):
    """Cases that both sides answer, those that only the base does, and those that are new."""

    cases: list[Compared]
    lost: list[str]
    new: list[str]

    def unexpected(self, expected: Mapping[str, str]) -> list[str]:
        """The cases that differ or are lost, and may not."""
        differing = [case.name for case in self.cases if not case.equal]
        return [name for name in [*differing, *self.lost] if not reason(name, expected)]


def compare(base: Answers, head: Answers) -> Comparison:
    """Compare answers by case."""
    return Comparison(
        [compare_case(name, base[name], head[name]) for name in base if name in head],
        [name for name in base if name not in head],
        [name for name in head if name not in base],
    )


def compare_case(name: str, base: Mapping[str, Pairs], head: Mapping[str, Pairs]) -> Compared:
    """Compare the answers to the questions of one case; a question of one side only differs."""
    questions = [*base, *(question for question in head if question not in base)]
    scores = ids = 0
    largest, first = 0.0, ""
    for question in questions:
        before, after = base.get(question), head.get(question)
        if before == after:
            continue
        if before is None or after is None:
            ids += 1
            told = f"is asked by {'the base' if after is None else 'this tree'} only"
        elif [pair[0] for pair in before] != [pair[0] for pair in after]:
            ids += 1
            told = _first_id(before, after)
        else:
            scores += 1
            apart = [_relative(a[1], b[1]) for a, b in zip(before, after, strict=True)]
            largest = max(largest, *apart)
            told = _first_score(before, after)
        first = first or f"{_shortened(question)}: {told}"
    return Compared(name, len(questions), scores, ids, largest, first)


def reason(name: str, expected: Mapping[str, str]) -> str:
    """Why a case may differ; "" where it may not."""
    return next((why for pattern, why in expected.items() if fnmatchcase(name, pattern)), "")


def report(compared: Comparison, expected: Mapping[str, str]) -> str:
    """The table of counts, and what differs, is lost or new."""
    lines = [
        "| | cases | questions | equal | differ in scores only | by at most | differ in ids |",
        "|---|---|---|---|---|---|---|",
    ]
    groups: dict[str, list[Compared]] = {}
    for case in compared.cases:
        groups.setdefault(case.name.partition("/")[0], []).append(case)
    lines += [_row(group, cases) for group, cases in groups.items()]
    lines.append(_row("all", compared.cases))
    for case in compared.cases:
        if not case.equal:
            why = _why(case.name, expected)
            counts = f"{case.ids} of {case.questions} in ids, {case.scores} in scores only"
            lines.append(f"\ndiffers: {case.name} ({counts}){why}\n    {case.first}")
    lines += [f"\nlost: {name}{_why(name, expected)}" for name in compared.lost]
    lines += [f"\nnew: {name}" for name in compared.new]
    lines += [
        f"\nexpected to differ, but equal: {pattern}" for pattern in _idle(compared, expected)
    ]
    unexpected = compared.unexpected(expected)
    lines.append(f"\n{len(unexpected)} unexpected" if unexpected else "\nnothing unexpected")
    return "\n".join(lines)


def _row(name: str, cases: Sequence[Compared]) -> str:
    questions, scores = sum(c.questions for c in cases), sum(c.scores for c in cases)
    ids, largest = sum(c.ids for c in cases), max((c.largest for c in cases), default=0.0)
    by = f"{largest:.1e}" if scores else ""
    return (
        f"| {name} | {len(cases):,} | {questions:,} | {questions - scores - ids:,} | {scores:,} "
        f"| {by} | {ids:,} |"
    )


def _why(name: str, expected: Mapping[str, str]) -> str:
    why = reason(name, expected)
    return f", expected: {why}" if why else ""


def _idle(compared: Comparison, expected: Mapping[str, str]) -> Iterator[str]:
    """Patterns under which every case that was compared is equal: they can go."""
    for pattern in expected:
        mine = [case for case in compared.cases if fnmatchcase(case.name, pattern)]
        if mine and all(case.equal for case in mine):
            yield pattern


def _first_id(before: Pairs, after: Pairs) -> str:
    if len(before) != len(after):
        return f"{len(before)} answers, now {len(after)}"
    pairs = enumerate(zip(before, after, strict=True), 1)
    rank, was, now = next((rank, a, b) for rank, (a, b) in pairs if a[0] != b[0])
    return f"at {rank} {_shown(was)}, now {_shown(now)}"


def _first_score(before: Pairs, after: Pairs) -> str:
    pairs = enumerate(zip(before, after, strict=True), 1)
    rank, was, now = next((rank, a, b) for rank, (a, b) in pairs if a[1] != b[1])
    return f"at {rank} {_shown(was)}, now {float.fromhex(now[1])!r}"


def _shown(pair: Sequence[str]) -> str:
    return f"{_shortened(pair[0])} {float.fromhex(pair[1])!r}"


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:59]}…")


def _relative(before: str, after: str) -> float:
    if before == after:
        return 0.0
    a, b = float.fromhex(before), float.fromhex(after)
    apart = abs(a - b)
    return apart / max(abs(a), abs(b), sys.float_info.min) if math.isfinite(apart) else math.inf


def pinned_answers(commit: str, data: Path, only: str, keep: Path) -> Answers:
    """The answers of a commit, kept from an earlier run if nothing that they hang on is new."""
    with checked_out(commit) as tree:
        # A commit from before there were golden answers is asked by this tree's cases.
        cases = (
            tree / "benchmarks" if (tree / "benchmarks" / CASES).exists() else ROOT / "benchmarks"
        )
        kept = keep / f"{commit[:12]}-{hash_of(cases, data)}.json"
        if not kept.exists():
            print(f"asking {commit[:12]}", file=sys.stderr)
            aside = keep / "base.json"
            if ask(tree, cases, aside, data, only):
                sys.exit(f"the base {commit[:12]} does not answer all cases: see above")
            # Answers to some cases only are not kept.
            if only != "*":
                return read(aside)
            aside.replace(kept)
    answers = read(kept)
    return {name: found for name, found in answers.items() if fnmatchcase(name, only)}


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A commit as a temporary worktree."""
    with tempfile.TemporaryDirectory(prefix="likewise-golden-") as temporary:
        tree = Path(temporary) / "tree"
        git("worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            git("worktree", "remove", "--force", str(tree))


def ask(tree: Path, cases: Path, to: Path, data: Path, only: str) -> int:
    """Have a tree answer cases; 0 if it answers all of them."""
    source = tree / "src"
    environment = os.environ | {"PYTHONPATH": str(source)}
    where = [sys.executable, "-c", "import likewise; print(likewise.__file__)"]
    found = subprocess.run(where, env=environment, capture_output=True, text=True, check=True)
    if source not in Path(found.stdout.strip()).parents:
        sys.exit(f"{source} is not what Python imports, but {found.stdout.strip()}")
    with tempfile.TemporaryDirectory(prefix="likewise-golden-") as work:
        options = {"--to": to, "--data": data, "--work": work, "--only": only}
        command = [
            sys.executable,
            cases / CASES,
            *(part for pair in options.items() for part in pair),
        ]
        return subprocess.run([*map(str, command)], env=environment, check=False).returncode


def hash_of(cases: Path, data: Path) -> str:
    """A hash of what answers hang on beside the code: cases, documents, packages, processor."""
    from llvmlite import binding

    made = blake2b(digest_size=8)
    for path in sorted(cases.glob("golden_*.py")):
        made.update(path.read_bytes())
    for path in sorted(data.glob("*/*.*")):
        stat = path.stat()
        made.update(f"{path.relative_to(data)} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    packages = sorted(f"{one.name} {one.version}" for one in distributions())
    features = sorted(binding.get_host_cpu_features().items())
    made.update(repr((sys.version, packages, binding.get_host_cpu_name(), features)).encode())
    return made.hexdigest()


def read(path: Path) -> Answers:
    answers: Answers = json.loads(path.read_text("utf-8"))
    return answers


def folder_of_cran() -> Path | None:
    """The folder of collections that LIKEWISE_DATA lists and that has cran."""
    listed = map(Path, os.environ.get("LIKEWISE_DATA", "").split(os.pathsep))
    return next((folder for folder in listed if (folder / "cran").is_dir()), None)


def git(*command: str) -> str:
    done = subprocess.run(
        ["git", "-C", ROOT, *command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"git {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", default=PINNED, metavar="COMMIT")
    parser.add_argument("--data", type=Path, default=folder_of_cran(), metavar="DIR")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="such as 'cran/search/*'")
    parser.add_argument("--keep", type=Path, default=KEPT, metavar="DIR", help="where answers stay")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder that has cran, cisi, … by --data or LIKEWISE_DATA")
    commit = git("rev-parse", "--verify", f"{options.base}^{{commit}}")
    keep, data = options.keep.resolve(), options.data.resolve()
    keep.mkdir(parents=True, exist_ok=True)
    base = pinned_answers(commit, data, options.only, keep)
    print("asking this tree", file=sys.stderr)
    head = keep / "head.json"
    head.unlink(missing_ok=True)
    # What fails here is told, and counts as lost.
    ask(ROOT, ROOT / "benchmarks", head, data, options.only)
    compared = compare(base, read(head) if head.exists() else {})
    print(report(compared, EXPECTED))
    sys.exit(bool(compared.unexpected(EXPECTED)))


if __name__ == "__main__":
    main()
