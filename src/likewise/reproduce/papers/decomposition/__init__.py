"""Query by document via a decomposition-based two-level retrieval approach (SIGIR 2011)."""

from __future__ import annotations

from likewise.reproduce.data import DOCSTRINGS
from likewise.reproduce.experiment import Experiment, Paper
from likewise.reproduce.papers.decomposition.cost import measure_cost
from likewise.reproduce.papers.decomposition.figures import over_topics, over_words
from likewise.reproduce.papers.decomposition.methods import compare_methods
from likewise.reproduce.papers.decomposition.tasks import LINKED, LINKS, SAME

_NEWS, _SCHOOLS = "20newsgroups", "wikipedia-schools"
_SETS = (_NEWS, _SCHOOLS, DOCSTRINGS)
_STAND_IN = (
    "20 Newsgroups is the paper's; Wikipedia for Schools (4,652 articles: a category in common, "
    "or linked) stands in for Wikipedia, and docstrings (See Also, both ways) for its part; titles "
    "count three times"
)
_TASKS = {
    "20 Newsgroups": [_NEWS, SAME, "category"],
    "Schools, category": [_SCHOOLS, SAME, "categories"],
    "Schools, links": [_SCHOOLS, LINKS, "links"],
    "docstrings": [DOCSTRINGS, LINKED, "see_also"],
}
# Queries, and how models are fitted: on so many tokens (0: all), with so many sweeps.
_SETTING = {"queries": 1000, "topics": 250, "words": 15, "sweeps": 100, "tokens": 0, "depth": 50}
_QUICK = {
    "queries": 200,
    "topics": 100,
    "sweeps": 40,
    "tokens": 400_000,
    "tasks": {name: _TASKS[name] for name in ("20 Newsgroups", "docstrings")},
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
            uses=_SETS,
            stand_in=_STAND_IN,
            setting={**_SETTING, "tasks": _TASKS},
            quick=_QUICK,
        ),
        Experiment(
            "topics",
            "Figures 4 and 6",
            "over the number of topics, accurate and in two levels",
            over_topics,
            uses=_SETS,
            stand_in=_STAND_IN,
            setting={
                **_SETTING,
                "queries": 500,
                "tasks": _TASKS,
                "over": [50, 100, 250, 500],
                "published": 250,
            },
            quick={**_QUICK, "over": [25, 100]},
        ),
        Experiment(
            "words",
            "Figures 5 and 7",
            "over the number of own words, accurate and in two levels",
            over_words,
            uses=_SETS,
            stand_in=_STAND_IN,
            setting={
                **_SETTING,
                "queries": 500,
                "tasks": _TASKS,
                "over": [5, 10, 15, 30, 75],
            },
            quick={**_QUICK, "over": [5, 15, 50]},
        ),
        Experiment(
            "cost",
            "Table 2 and Figure 8",
            "the cost of fitting, of taking documents apart and of answers",
            measure_cost,
            uses=_SETS,
            stand_in="collections of 5,000 to 19,000 documents stand in for 5 million pages",
            setting={
                **_SETTING,
                "sets": list(_SETS),
                "answers": [10, 20, 50, 100],
                "top": 50,
                "asked": 100,
            },
            quick={**_QUICK, "sets": [_NEWS, DOCSTRINGS], "asked": 30, "answers": [10, 50]},
        ),
    ),
)
