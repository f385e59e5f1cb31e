"""Query by document via a decomposition-based two-level retrieval approach (SIGIR 2011)."""

from __future__ import annotations

from likewise_papers.data import ALIKE, DOCSTRINGS
from likewise_papers.experiment import Experiment, Paper
from likewise_papers.papers.decomposition.cost import measure_cost
from likewise_papers.papers.decomposition.figures import over_topics, over_words
from likewise_papers.papers.decomposition.methods import compare_methods

_IN_PLACE_OF = (
    "categories and See also of Wikipedia (20 Newsgroups is the paper's own); of linked documents "
    "those count that a document links to, of See Also sections both ways; titles count three times"
)
# Queries, and how models are fitted: on so many tokens (0: all), with so many sweeps.
_SETTING = {
    "sets": 0,
    "queries": 1000,
    "topics": 250,
    "words": 15,
    "sweeps": 100,
    "tokens": 0,
    "depth": 50,
}
_QUICK = {
    "queries": 200,
    "topics": 100,
    "sweeps": 40,
    "tokens": 400_000,
    "sets": 1,
}

PAPER = Paper(
    "decomposition",
    "Query by document via a decomposition-based two-level retrieval approach",
    "Weng, Li, Cai, Zhang, Zhou, Yang, Zhang, SIGIR 2011",
    (
        Experiment(
            "methods",
            "Section 5.3",
            "every method, at the published numbers of topics and words",
            compare_methods,
            version=2,
            on=(ALIKE,),
            beside=(DOCSTRINGS,),
            in_place_of=_IN_PLACE_OF,
            setting=_SETTING,
            quick=_QUICK,
            tried=(
                "DDM by collapsed Gibbs with learnt priors; topics from LDA and axes from "
                "LSI with the same specific words. What makes the idea work here is to "
                "compare axes, not distributions, and dense and sparse vectors at length one "
                "with a weight between them (hybrid, the last rows). The paper's topics "
                "from ODP cannot be had: labels of our collections are what relevance is "
                "judged by."
            ),
        ),
        Experiment(
            "topics",
            "Figures 4 and 6",
            "over the number of topics, accurate and in two levels",
            over_topics,
            version=2,
            on=(ALIKE,),
            beside=(DOCSTRINGS,),
            in_place_of=_IN_PLACE_OF,
            setting={
                **_SETTING,
                "queries": 500,
                "over": [50, 100, 250, 500],
                "published": 250,
            },
            quick={**_QUICK, "over": [25, 100]},
            tried=(
                "Two levels take as many candidates by dense vectors as published "
                "(depth), and as many by specific words, which the published index does not "
                "look up."
            ),
        ),
        Experiment(
            "words",
            "Figures 5 and 7",
            "over the number of specific words, accurate and in two levels",
            over_words,
            version=2,
            on=(ALIKE,),
            beside=(DOCSTRINGS,),
            in_place_of=_IN_PLACE_OF,
            setting={
                **_SETTING,
                "queries": 500,
                "over": [5, 10, 15, 30, 75],
            },
            quick={**_QUICK, "over": [5, 15, 50]},
            tried=(
                "Specific words of DDM by p(x = 2|w, d), as published, and of LSI by the "
                "residual. A document has few words that are truly its own, so that more "
                "of them change little in DDM; residuals of LSI go on giving. Where "
                "relevant is what a page links to, words are what counts, and whole "
                "documents by TF-IDF are hard to beat."
            ),
        ),
        Experiment(
            "cost",
            "Table 2 and Figure 8",
            "the cost of fitting, of taking documents apart and of answers",
            measure_cost,
            version=2,
            on=(ALIKE,),
            beside=(DOCSTRINGS,),
            in_place_of="5 million pages of Wikipedia",
            setting={
                **_SETTING,
                "answers": [10, 20, 50, 100],
                "top": 50,
                "asked": 100,
            },
            quick={**_QUICK, "asked": 30, "answers": [10, 50]},
            tried=(
                "Two levels here look for candidates by bytes of dense vectors and by "
                "postings of specific words, and the accurate ranking reads bytes as well, so "
                "that a scan is not slow: benchmarks/like_scale.py follows both to 2 "
                "million documents, where two levels are tens of times as fast, not the "
                "published hundreds."
            ),
        ),
    ),
)
