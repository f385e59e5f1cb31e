"""How long do the first commands take, and later ones, from source and from a compiled wheel?

1,000 abstracts of arXiv (LIKEWISE_DATA names its folder) are indexed and asked, each command in a
process of its own: from source with nothing compiled, from source again, and from a wheel with
compiled kernels (--wheel FILE; without it one is built first). First commands are run once, in an
empty folder for compiled code; later ones in turns, of which the medians are shown. Seconds are on
the clock, in brackets of processor time, without that of the second process that compiles beside
the first `index`; importing NumPy is there for scale. --list also compiles what that process is
given, alone: the seconds that a line of it takes.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from likewise.app import first_use
from likewise_papers.folders import find_collection

ROOT = Path(__file__).resolve().parent.parent
N_DOCS = 1000
QUERY = ["search", "{}", "dark matter halo of a galaxy"]
LATER = {
    "`search`": QUERY,
    "`like`": ["like", "{}", "--text", "dark matter halo of a galaxy"],
    "`info`": ["info", "{}"],
    "`show`": ["show", "{}", "{id}"],
}


class Side:
    """A way to have likewise: where it is imported from, and where compiled code is kept."""

    def __init__(self, name: str, path: Path, work: Path) -> None:
        self.name = name
        self.folder = work / f"{name}.lw"
        kept = work / f"{name}-kept"
        places = {"PYTHONPATH": str(path), "NUMBA_CACHE_DIR": str(kept)}
        unset = ("LIKEWISE_AHEAD", "LIKEWISE_PROGRESS")
        self.environment = {k: v for k, v in os.environ.items() if k not in unset} | places

    def run(self, *arguments: str) -> tuple[float, float]:
        """Run Python with arguments; give seconds on the clock and of processor time."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, *arguments],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=True,
        )
        clock = time.perf_counter() - start
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        return clock, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime

    def likewise(self, arguments: list[str], doc_id: str) -> tuple[float, float]:
        """Run a command on the side's collection."""
        filled = [one.format(self.folder, id=doc_id) for one in arguments]
        return self.run("-m", "likewise", *filled)


def build_wheel(work: Path) -> Path:
    """Make a wheel with compiled kernels of this tree."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", work, ROOT]
    environment = os.environ | {"LIKEWISE_AHEAD": "1", "NUMBA_CACHE_DIR": str(work / "build-kept")}
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return next(work.glob("*.whl"))


def documents(to: Path) -> str:
    """Write the first abstracts; give the id of one."""
    corpus = find_collection("arxiv")
    if corpus is None:
        sys.exit("LIKEWISE_DATA names no folder that has arxiv")
    with gzip.open(corpus / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [next(lines) for _ in range(N_DOCS)]
    to.write_text("".join(rows), "utf-8")
    return rows[N_DOCS // 2].partition('"id": "')[2].partition('"')[0]


def shown(clock: float, processor: float) -> str:
    return f"{clock:.2f} ({processor:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--wheel", type=Path, help="a wheel with compiled kernels")
    parser.add_argument("--rounds", type=int, default=5, help="of later commands")
    parser.add_argument("--list", action="store_true", help="compile the list of the first use")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="likewise-start-") as name:
        work = Path(name)
        doc_id = documents(work / "docs.jsonl")
        wheel = options.wheel or build_wheel(work)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        subprocess.run([*pip, work / "installed", wheel], check=True)
        sides = [Side("source", ROOT / "src", work), Side("wheel", work / "installed", work)]
        index = ["index", str(work / "docs.jsonl"), "--to", "{}"]
        print(f"{N_DOCS:,} abstracts; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
        print(f"| seconds | {' | '.join(side.name for side in sides)} |\n|---|---|---|")
        firsts = [[side.likewise(one, doc_id) for one in (index, QUERY)] for side in sides]
        for i, what in enumerate(("first `index`", "first `search` after it")):
            print(f"| {what} | {' | '.join(shown(*first[i]) for first in firsts)} |")
        sums = [tuple(map(sum, zip(*first, strict=True))) for first in firsts]
        print(f"| both | {' | '.join(shown(*one) for one in sums)} |")
        # What compiles on its own is let finish.
        for side in sides:
            side.likewise(LATER["`like`"], doc_id)
        again = LATER | {"`index`": [*index, "--overwrite"]}
        for what, command in again.items():
            turns = [
                [side.likewise(command, doc_id) for side in sides] for _ in range(options.rounds)
            ]
            medians = [
                tuple(statistics.median(turn[i][j] for turn in turns) for j in (0, 1))
                for i in range(len(sides))
            ]
            print(f"| {what} again | {' | '.join(shown(*one) for one in medians)} |")
        turns = [[side.run("-c", "import numpy") for side in sides] for _ in range(options.rounds)]
        numpy = [
            tuple(statistics.median(turn[i][j] for turn in turns) for j in (0, 1))
            for i in range(len(sides))
        ]
        print(f"| `import numpy` alone | {' | '.join(shown(*one) for one in numpy)} |")
        if options.list:
            listed = sum(map(len, first_use.lines()))
            alone = Side("list", ROOT / "src", work).run("-m", "likewise.app.first_use")
            print(f"| compiling {listed} listed kernels, each | {alone[1] / listed:.2f} | |")
        print(f"\nload at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
