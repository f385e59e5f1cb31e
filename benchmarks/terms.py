"""Which terms are related? How documents vote for terms, and what graphs cost.

    python benchmarks/terms.py [--only votes,scale] [--quick] [--docs 500000]
        [--terms 10000,30000,100000,1000000] [--seconds 600] [--seed 0] [--cache DIR]

What the paper measured (misplaced pairs, prediction, expansion) is in `likewise reproduce
term-graph`.

`votes`: what training abstracts say of how documents vote for terms: the power of scores, the graph
and the share of votes that takes a step.

`scale`: graphs of up to a million terms of drawn documents: counting, preparation, queries, bytes,
memory; against a dense decomposition and SciPy's solvers as long as these are possible.

`--quick` shrinks all of it to a minute or so a section: to see that it runs, not for figures.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import term_scale
import term_votes
from likewise_papers.folders import named_folders

SECTIONS = ("votes", "scale")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--docs", type=int, help="drawn documents of `scale`")
    parser.add_argument("--terms", help="sizes of the graphs of `scale`")
    parser.add_argument("--seconds", type=int, help="what a peer may take for one size of `scale`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    only = options.only.split(",")
    if unknown := {*only} - {*SECTIONS}:
        parser.error(f"sections are {', '.join(SECTIONS)}, not {', '.join(sorted(unknown))}")
    data = named_folders()
    if {*only} - {"scale"} and not data:
        print("LIKEWISE_DATA names no folder of test collections: only scale is left\n")
        only = [name for name in only if name == "scale"]
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        cache = options.cache or scratch
        cache.mkdir(parents=True, exist_ok=True)
        if "votes" in only:
            term_votes.votes(data, scratch, quick=options.quick, seed=options.seed)
        if "scale" in only:
            size = term_scale.QUICK if options.quick else term_scale.Size()
            if options.terms:
                size = replace(size, terms=tuple(map(int, options.terms.split(","))))
            size = replace(
                size, docs=options.docs or size.docs, seconds=options.seconds or size.seconds
            )
            term_scale.scale(cache, size=size)


if __name__ == "__main__":
    main()
