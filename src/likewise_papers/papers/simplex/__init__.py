"""Efficient nearest-neighbor search in the probability simplex (ICTIR 2013)."""

from __future__ import annotations

from likewise_papers.data import ALIKE, JUDGED
from likewise_papers.experiment import Experiment, Paper
from likewise_papers.papers.simplex.draws import figure_1, figure_2
from likewise_papers.papers.simplex.retrieval import table_2, table_3, table_5
from likewise_papers.papers.simplex.searching import (
    CERTIFIED,
    LSH,
    TOPICS,
    TREE,
    table_1,
    table_4,
)

_DRAWS = {
    "draws": 100,
    "dimensions": [50, 100, 200, 500],
    "alphas": [0.001, 0.01, 0.1, 1.0, 10.0, 100.0],
}
_PUBLISHED = {name: ["hellinger", f"lsh(radius={radius})"] for radius, name in LSH.items()} | {
    TREE: ["hellinger", "tree"]
}
_SMALL = "70,000 patents, and patents as queries for prior art"

PAPER = Paper(
    "simplex",
    "Efficient Nearest-Neighbor Search in the Probability Simplex",
    "Krstovski, Smith, Wallach, McGregor, ICTIR 2013",
    (
        Experiment(
            "figure-1",
            "Figure 1",
            "how Hellinger distance bounds Jensen-Shannon divergence",
            figure_1,
            in_place_of="the paper's own draws from the same distributions",
            setting=_DRAWS,
        ),
        Experiment(
            "figure-2",
            "Figure 2",
            "what LSH and a k-d tree find of the ten nearest",
            figure_2,
            in_place_of="the paper's own draws from the same distributions",
            setting={**_DRAWS, "queries": 100},
        ),
        Experiment(
            "table-1",
            "Table 1",
            "search by Hellinger distance against exhaustive Jensen-Shannon search",
            table_1,
            on=(ALIKE,),
            in_place_of="350,000 NIH grants and articles with 550 topics",
            setting={
                "sets": 1,
                "topics": 250,
                "sweeps": 150,
                "queries": 1000,
                "methods": {
                    **_PUBLISHED,
                    "He, scan": ["hellinger", "scan"],
                    f"{LSH[0.8]}, 16 probes": ["hellinger", "lsh(radius=0.8,probes=16)"],
                    "He LSH, 30 × 6 codes": ["hellinger", "codes"],
                    f"{TREE}, ε = 1": ["hellinger", "tree(epsilon=1)"],
                    f"{TREE}, ε = 3": ["hellinger", "tree(epsilon=3)"],
                    "He, lists of pairs": ["hellinger", "lists"],
                    "He, IVF": ["hellinger", "ivf"],
                    "He, HNSW": ["hellinger", "hnsw"],
                    "JS among 40 by IVF": ["js", "ivf"],
                    CERTIFIED: ["js", "certified"],
                },
            },
            quick={"topics": 100, "sweeps": 20, "queries": 200},
            packages=("faiss-cpu",),
            tried=(
                "Trees with ε = 1 and 3, LSH with probes, lists of pairs, IVF and HNSW. "
                "MAP by Hellinger distance ends where its scan does: that is the "
                "difference between the two divergences, not a miss of an index. The k-d "
                "tree visits most leaves at ε = 0, the default of the paper's library; "
                "our exhaustive search is compiled and vectorised, and the paper's "
                "collection has 343,000 documents, so that speed-ups are smaller here."
            ),
        ),
        Experiment(
            "table-2",
            "Table 2",
            "retrieval by topics, and fused with a search by words",
            table_2,
            on=(JUDGED,),
            in_place_of=_SMALL,
            setting={"topics": 500, "sweeps": 200, "depth": 200},
            quick={"sweeps": 50},
            tried=(
                "Fusion by score, by reciprocal rank and with weights: see Table 5. Where "
                "queries are a sentence or a few words, and not whole patents as the "
                "paper's, their topics are little more than a guess, and an equal share "
                "of these costs what words had found. LSH promises what is within R; of "
                "few documents and many topics fewer than ten are as near as .8 to most "
                "queries."
            ),
        ),
        Experiment(
            "table-3",
            "Table 3",
            "P@10 by the number of topics",
            table_3,
            on=(JUDGED,),
            in_place_of=_SMALL,
            setting={"topics": list(TOPICS), "sweeps": 200},
            quick={"sweeps": 50},
            tried=(
                "Gibbs sampling instead of online variational Bayes. Small collections "
                "have fewer topics to tell apart than the paper's 70,000 patents."
            ),
        ),
        Experiment(
            "table-4",
            "Table 4",
            "speed by the number of topics",
            table_4,
            on=(ALIKE,),
            in_place_of="70,000 patents",
            setting={
                "sets": 1,
                "topics": list(TOPICS),
                "sweeps": 100,
                "queries": 300,
                "methods": {**_PUBLISHED, "He, scan": ["hellinger", "scan"]},
            },
            quick={"topics": [50, 100], "sweeps": 20, "queries": 50},
            tried=(
                "Small collections leave less to skip than 70,000 patents. A scan by "
                "Hellinger distance is a product of matrices, and faster than the tree."
            ),
        ),
        Experiment(
            "table-5",
            "Table 5",
            "ways to fuse a run by words with one by topics",
            table_5,
            on=(JUDGED,),
            in_place_of=_SMALL,
            setting={"topics": 500, "sweeps": 200},
            quick={"sweeps": 50},
            tried=(
                "Both normalisations, reciprocal ranks and weights. The weights 1 and .3 "
                "were set once, before looking, and are not tuned."
            ),
        ),
    ),
)
