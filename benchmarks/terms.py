"""Which terms are related? What a graph of terms foretells, how near its short cuts are, its cost.

    python benchmarks/terms.py [--only prediction,misplaced,scale,expansion] [--quick]
        [--sets cran,cisi,cacm,med] [--docs 500000] [--terms 10000,30000,100000,1000000]
        [--seconds 600] [--seed 0] [--cache DIR]

`prediction`: the terms of eLife papers' bodies, told from their abstracts. AUC for each paper, mean
and 95% interval, p by a paired randomisation test; parameters are chosen on training abstracts.

`misplaced`: the paper's Table 1, pairs the wrong way round in the orders of 100 test terms, and the
processor time, by eigenvectors of a part of the terms and by solving.

`scale`: graphs of up to a million terms of drawn documents: counting, preparation, queries, bytes,
memory; against a dense decomposition and SciPy's solvers as long as these are possible.

`expansion`: queries expanded along the graph, against none, Bo1 and RM3, one setting for all sets.

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

import term_lexicon
import term_misplaced
import term_prediction
import term_scale
from expand import hold_against, open_judged, table

SECTIONS = ("prediction", "misplaced", "scale", "expansion")
EXPANDERS = ("rm3", "bo1", "graph")


def expansion(data: Path, cache: Path, *, names: list[str]) -> None:
    """Print the table of expanders at their defaults, with the tests of AP against no expansion."""
    print("## Expansion, the defaults\n")
    sets = [open_judged(data, name, cache) for name in names]
    # In the order of the rows; each is written as the command line takes it.
    runs = {
        how: [judged.collection.run(judged.queries, expand=how) for judged in sets]
        for how in EXPANDERS
    }
    table(sets, {"none": [judged.plain for judged in sets]} | runs)
    print()
    hold_against(sets, runs, "graph")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sets", default="cran,cisi,cacm,med")
    parser.add_argument("--docs", type=int, help="drawn documents of `scale`")
    parser.add_argument("--terms", help="sizes of the graphs of `scale`")
    parser.add_argument("--seconds", type=int, help="what a peer may take for one size of `scale`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    only = options.only.split(",")
    if unknown := {*only} - {*SECTIONS}:
        parser.error(f"sections are {', '.join(SECTIONS)}, not {', '.join(sorted(unknown))}")
    data = Path(os.environ.get("LIKEWISE_DATA", ""))
    if {*only} - {"scale"} and not os.environ.get("LIKEWISE_DATA"):
        print("LIKEWISE_DATA does not name the folder of test collections: only scale is left\n")
        only = [name for name in only if name == "scale"]
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        cache = options.cache or scratch
        cache.mkdir(parents=True, exist_ok=True)
        if "prediction" in only:
            size = term_lexicon.QUICK if options.quick else term_lexicon.Size()
            term_prediction.prediction(data, scratch, size=size, seed=options.seed)
        if "misplaced" in only:
            size = term_misplaced.QUICK if options.quick else term_misplaced.Size()
            term_misplaced.misplaced(data, scratch, size=size, seed=options.seed)
        if "scale" in only:
            size = term_scale.QUICK if options.quick else term_scale.Size()
            if options.terms:
                size = replace(size, terms=tuple(map(int, options.terms.split(","))))
            size = replace(
                size, docs=options.docs or size.docs, seconds=options.seconds or size.seconds
            )
            term_scale.scale(cache, size=size)
        if "expansion" in only:
            names = options.sets.split(",")
            expansion(data, cache, names=names[-1:] if options.quick else names)


if __name__ == "__main__":
    main()
