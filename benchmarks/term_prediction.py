"""Which terms does a paper's body have, told from its abstract? (A section of terms.py.)

Trained on abstracts only: those of four fifths of the papers and the further ones. Parameters are
chosen on training abstracts that are left out of the counts meanwhile: the terms of the second half
of their sentences are told from the first half.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from likewise.evaluate.prediction import difference, summarise
from likewise.terms.baselines import PHITS, fit_phits, popularity, shortest_paths, tfidf_ranking
from likewise.terms.extracting import extract_nodes
from likewise.terms.laplacian import Laplacian
from likewise.terms.learning import learn_transform, learnt, line_search
from likewise.terms.nearness import Nearness
from likewise.terms.nodes import DOCUMENT, SENTENCE, Filters, choose_nodes
from likewise.terms.predict import STEPPED, predict
from likewise.terms.related import TermGraph
from likewise.terms.sets import SetMetric
from likewise.terms.spectrum import SpectralKernel, Spectrum, full_spectrum
from likewise.terms.store import GraphSettings, Stored
from likewise.terms.transforms import Diffusion, Resistance, Transform
from likewise.terms.weights import weigh
from term_lexicon import Lexicon, Questions, Size, names_of, read_papers

PUBLISHED = {
    "TF-IDF": 0.782,
    "PHITS": 0.781,
    "shortest path": 0.745,
    "diffusion": 0.878,
    "resistance": 0.883,
    "non-parametric": 0.870,
}
OURS = "documents vote, votes take a step, by document (ours)"
OWN_FIRST = ", the abstract's own first"

# Bounds of the line search: the eigenvalues of one Laplacian are degrees, of the other below 2.
_BOUNDS = {
    ("combinatorial", Resistance): (1e-3, 1e3),
    ("combinatorial", Diffusion): (1e-3, 1e1),
    ("normalised", Resistance): (1e-2, 1e2),
    ("normalised", Diffusion): (5e-2, 5e1),
}
# What is tried of votes: the power of scores, the graph, and the share that takes a step.
_SHARES = (0.0, 0.1, STEPPED, 0.5)
_VARIANTS = (
    *((power, DOCUMENT, "idf") for power in (1.0, 2.0, 3.0)),
    *((2.0, DOCUMENT, weights) for weights in ("counts", "cosine", "ppmi")),
    (2.0, SENTENCE, "idf"),
)


class Rows:
    """What is printed: scores of a method, turned into AUCs at once."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.others: dict[str, np.ndarray] = {}
        self.every: dict[str, np.ndarray] = {}
        self.chosen: dict[str, str] = {}

    def add(self, name: str, scores: np.ndarray, chosen: str = "") -> None:
        """Take a row; the abstract's own terms stand where the scores put them."""
        asked = self.lexicon.test
        self.others[name] = asked.aucs(scores)
        self.every[name] = asked.aucs(scores, every=True)
        self.chosen[name] = chosen

    def add_own_first(self, name: str, scores: np.ndarray) -> None:
        """Take a row for all candidates, the abstract's own terms before the others."""
        asked = self.lexicon.test
        columns = np.array(np.broadcast_to(scores.reshape(len(scores), -1), asked.labels.T.shape))
        columns[~asked.others.T] += 1 + columns.max() - columns.min()
        self.every[name + OWN_FIRST] = asked.aucs(columns, every=True)

    def print(self) -> None:
        asked = self.lexicon.test
        sizes = [len(nodes) for nodes in asked.sets]
        said = asked.labels.sum(axis=1)
        print(
            f"### {self.lexicon.name}: {len(self.lexicon):,} terms, {len(sizes)} papers, "
            f"{np.mean(sizes):.1f} terms in an abstract and {np.mean(said):.1f} in a body\n"
        )
        print("Candidates without the abstract's own terms:\n")
        self._table(self.others, OURS)
        print("\nAll candidates, as in the paper:\n")
        self._table(self.every, OURS + OWN_FIRST)
        print()

    def _table(self, rows: dict[str, np.ndarray], ours: str) -> None:
        print("| | AUC, 95% | ours over it, p | over TF-IDF, p | published | chosen in training |")
        print("|---|---|---|---|---|---|")
        for name, aucs in rows.items():
            mean, (low, high), _ = summarise(aucs)
            by_ours = "" if name == ours else _signed(rows[ours], aucs)
            by_tfidf = "" if name == "TF-IDF" else _signed(aucs, rows["TF-IDF"])
            kind = name.partition(",")[0]
            as_published = "as published" in name or kind in ("TF-IDF", "PHITS", "shortest path")
            told = f"{PUBLISHED[kind]:.3f}" if as_published and "own first" not in name else ""
            print(
                f"| {name} | {mean:.4f} ({low:.3f}-{high:.3f}) | {by_ours} | {by_tfidf} "
                f"| {told} | {self.chosen.get(name, '')} |"
            )


def _signed(a: np.ndarray, b: np.ndarray) -> str:
    found = difference(a, b)
    return f"{found.mean:+.3f}, {f'{found.p:.4f}' if found.p >= 1e-4 else '<.0001'}"


def simple(rows: Rows) -> None:
    """What knows no kernel: popularity, TF-IDF, PHITS and shortest paths."""
    lexicon, asked = rows.lexicon, rows.lexicon.test
    counted = lexicon.all[SENTENCE]
    popular = popularity(counted.doc_freqs)
    rows.add("popularity", popular)
    rows.add_own_first("popularity", popular)
    rows.add("TF-IDF", tfidf_ranking(counted.doc_freqs, lexicon.term_freqs, counted.n_docs))
    graph, part = weigh(counted, "counts"), weigh(lexicon.rest[SENTENCE], "counts")

    def by_phits(graph: object, asked: Questions, topics: int) -> np.ndarray:
        aspects = fit_phits(graph, PHITS(topics=topics))
        return np.column_stack([aspects.scores(nodes) for nodes in asked.sets])

    sizes = lexicon.size.topics
    scored = [lexicon.train.mean(by_phits(part, lexicon.train, topics)) for topics in sizes]
    topics = sizes[int(np.argmax(scored))]
    rows.add("PHITS", by_phits(graph, asked, topics), f"{topics} topics")
    rows.add("shortest path", -np.column_stack([shortest_paths(graph, s) for s in asked.sets]))


@dataclass(frozen=True)
class Setting:
    """What a kernel is of, and how terms are ranked by it."""

    name: str
    within: str
    laplacian: str
    weights: str
    sets: str
    by: str


SETTINGS = (
    Setting("as published", SENTENCE, "combinatorial", "counts", "nystrom", "distance"),
    Setting("by sentence", SENTENCE, "normalised", "counts", "mean", "similarity"),
    Setting("by document", DOCUMENT, "normalised", "counts", "mean", "similarity"),
)


class Kernels:
    """Kernels of a setting: of the training abstracts that are not held out, and of all."""

    def __init__(self, lexicon: Lexicon, setting: Setting) -> None:
        self.lexicon, self.setting = lexicon, setting
        self.laplacians, self.spectra = [], []
        for counted in (lexicon.rest[setting.within], lexicon.all[setting.within]):
            laplacian = Laplacian(weigh(counted, setting.weights), setting.laplacian)
            self.laplacians.append(laplacian)
            self.spectra.append(full_spectrum(laplacian))

    @property
    def part(self) -> Spectrum:
        return self.spectra[0]

    def scores(self, transform: Transform, asked: Questions) -> np.ndarray:
        """The scores of all terms; of questions from training abstracts by the others only."""
        which = 0 if len(asked.hidden) else 1
        spectrum = self.spectra[which]
        kernel = SpectralKernel(self.laplacians[which], transform, spectrum=spectrum)
        metric = SetMetric(kernel, self.setting.sets)
        if self.setting.by == "distance":
            return -metric.distances_of(asked.sets)
        return metric.similarities_of(asked.sets)

    def choose(self, family: Callable[[float], Transform], low: float, high: float) -> float:
        size = self.lexicon.size
        found = line_search(
            lambda value: self.lexicon.train.mean(self.scores(family(value), self.lexicon.train)),
            low,
            high,
            points=size.points,
            steps=size.steps,
        )
        return found.parameter


def by_kernels(rows: Rows) -> None:
    """Kernels as the paper has them, and as they are meant here."""
    lexicon, asked = rows.lexicon, rows.lexicon.test
    for setting in SETTINGS:
        kernels = Kernels(lexicon, setting)
        for family in (Diffusion, Resistance):
            value = kernels.choose(family, *_BOUNDS[setting.laplacian, family])
            chosen = family(float(f"{value:.3g}"))
            rows.add(
                f"{family.notation}, {setting.name}", kernels.scores(chosen, asked), str(chosen)
            )
        step, b = learn_step(kernels)
        cut = f"b={b:.3g}, θ = 2 up to λ = {step.knots[max(len(step.knots) - 2, 0)]:.3g}"
        rows.add(f"non-parametric, {setting.name}", kernels.scores(step, asked), cut)
        if setting.by == "similarity":
            near = kernels.scores(Resistance(1.0), asked)
            degrees = kernels.laplacians[1].graph.degrees
            popular = lexicon.all[setting.within].doc_freqs
            rows.add(f"log df + ½ log lift, {setting.name}", lifted(near, degrees, popular))


def learn_step(kernels: Kernels) -> tuple[Transform, float]:
    """The paper's linear programme; its penalty b is chosen by what it foretells."""
    spectrum, pairs = kernels.part, kernels.lexicon.pairs

    # Knots ascend, and there are as many eigenvalues 0 as components.
    _, first = np.unique(spectrum.values, return_index=True)
    distinct = Spectrum(spectrum.values[first], spectrum.vectors[:, :0])

    def solve(b: float) -> Transform:
        return learnt(distinct, learn_transform(spectrum, pairs, b)[first])

    # What a pair adds by an eigenvector, over the eigenvalue: about the scale of b.
    scale = len(pairs) / max(float(spectrum.values.sum()), 1e-300)
    b = kernels.choose(solve, 1e-3 * scale, 1e2 * scale)
    return solve(b), b


def lifted(near: np.ndarray, degrees: np.ndarray, popular: np.ndarray) -> np.ndarray:
    """log df + ½ log(K_st / √d_t): what is nowhere near stands as low as the least that is."""
    lift = near / np.sqrt(np.where(degrees > 0, degrees, np.inf))[:, None]
    least = np.where(lift > 0, lift, np.inf).min(axis=0)
    lift = np.maximum(lift, np.where(np.isfinite(least), least, 1.0))
    return np.log(popular)[:, None] + 0.5 * np.log(lift)


def by_votes(rows: Rows) -> None:
    """Documents alike vote for their terms, and votes take one step along the graph."""
    lexicon, asked = rows.lexicon, rows.lexicon.test
    alike = lexicon.alike(asked)
    for within in (SENTENCE, DOCUMENT):
        stored = Stored(lexicon.papers.snapshot, None, lexicon.nodes, GraphSettings(within=within))
        graph = TermGraph(stored, Nearness())
        sets = [graph.mentioned(text).members for text in asked.texts]
        rows.add(f"likewise terms by default, by {within}", graph.metric.similarities_of(sets))
        told = [predict(graph, docs, scores) for docs, scores in alike]
        found = np.column_stack([one.scores for one in told])
        if within == SENTENCE:
            rows.add("documents vote", np.column_stack([one.voted for one in told]))
            rows.add("documents vote, votes take a step, by sentence", found)
        else:
            rows.add(OURS, found)
            rows.add_own_first(OURS, found)


def grid(lexicon: Lexicon) -> None:
    """What training abstracts say of the power of scores, of the graph and of the step's share."""
    train, n = lexicon.train, len(lexicon)
    alike = lexicon.alike(train)
    print(f"{lexicon.name}: AUC of {len(alike)} training abstracts by the power of scores and how")
    print("much of the votes takes a step, on which graph\n")
    print("| | " + " | ".join(f"{share:g}" for share in _SHARES) + " |")
    print("|---" * (len(_SHARES) + 1) + "|")
    for power, within, weights in _VARIANTS:
        votes = np.column_stack(
            [lexicon.mentioned[docs].T @ scores**power for docs, scores in alike]
        )
        graph = weigh(lexicon.rest[within], weights)
        edges = csr_array((graph.weights, graph.columns, graph.bounds), shape=(n, n))
        degrees = np.where(graph.degrees > 0, graph.degrees, np.inf)[:, None]
        steps = edges @ (votes / degrees)
        votes, steps = (part / np.maximum(part.sum(axis=0), 1e-300) for part in (votes, steps))
        means = [train.mean((1 - share) * votes + share * steps) for share in _SHARES]
        cells = " | ".join(f"{mean:.4f}" for mean in means)
        print(f"| power {power:g}, by {within}, {weights} | {cells} |")
    print(flush=True)


def prediction(data: Path, cache: Path, *, size: Size, seed: int) -> None:
    """Print the tables of both lexicons."""
    papers = read_papers(data, cache / "abstracts.lw", size, seed)
    snapshot = papers.snapshot
    print(f"## Prediction: {snapshot.n_docs:,} training abstracts of eLife\n")
    lexicons = {
        "names": lambda: extract_nodes(snapshot, names_of, min_df=3),
        "words": lambda: choose_nodes(snapshot, Filters(min_df=5, max_df=0.3, size=size.terms)),
    }
    for name, make in lexicons.items():
        start = time.process_time()
        lexicon = Lexicon(name, papers, make(), size, seed)
        rows = Rows(lexicon)
        simple(rows)
        by_kernels(rows)
        by_votes(rows)
        grid(lexicon)
        rows.print()
        print(f"{time.process_time() - start:.0f} s of processor time\n", flush=True)
