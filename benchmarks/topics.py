"""How fast are topics fitted and inferred, and how good are they?

    python benchmarks/topics.py [--only fit,threads,infer,growth,counts,coherence,large] [--quick]
        [--topics 20,50,100,250,500,1000] [--corpora 20newsgroups,arxiv]

Peers are tomotopy, gensim and scikit-learn. All are fitted on the same bags of words in one run, on
one core (but for the rows on threads); times are CPU time. Perplexity is that of held-out
documents, half of each seen and half predicted, with every fitter's topics put through the same
inference. A ratio is theirs over ours: above 1 we are ahead. `counts` goes from 20 to 1,000 topics,
ours and tomotopy taking turns, sweep by sweep. Corpora: 20 Newsgroups, Wikipedia for Schools and
abstracts of arXiv where a folder of LIKEWISE_DATA has them, else the docstrings; drawn documents
where the size is the question.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import logging
import resource
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

import likewise as lw
from likewise.collection.records import TermCounts
from likewise.models.bags import Bags, Sample, gather
from likewise.models.coherence import mean_npmi
from likewise.models.ddm import DDM, LDA, Sampler, fit
from likewise.models.heldout import perplexity, split
from likewise.models.sklearn_models import sparse
from likewise.text.analysis import Analysis
from likewise_papers.folders import find_collection

ALPHA, BETA = 0.2, 0.01
SPEED_SWEEPS = 4

# Titles count once, as for the peers.
PLAIN = Analysis(title_weight=1)


def corpus(name: str, folder: Path) -> lw.Collection:
    there = find_collection(name)
    source = there / "corpus.jsonl.gz" if there else "docstrings:"
    return lw.index(source, to=folder / f"{name}.lw", analysis=PLAIN, model=None, overwrite=True)


def tokens_of(bags: Bags, doc: int) -> list[str]:
    at = slice(bags.bounds[doc], bags.bounds[doc + 1])
    return [str(row) for row in np.repeat(bags.rows[at], bags.counts[at])]


def timed(function):
    start = time.process_time()
    value = function()
    return value, time.process_time() - start


def with_topics(model, word_topics):
    """Put another fitter's topics into a model of ours, for the same yardstick."""
    out = np.zeros_like(model.word_topics)
    out[:, : word_topics.shape[1]] = word_topics
    return replace(model, name="peer", word_topics=out)


def tomotopy_model(bags, n_topics, *, seed=1):
    import tomotopy

    peer = tomotopy.LDAModel(k=n_topics, alpha=ALPHA, eta=BETA, seed=seed)
    peer.optim_interval = 0
    for doc in range(bags.n_docs):
        peer.add_doc(tokens_of(bags, doc))
    peer.train(0, workers=1)
    return peer


def tomotopy_topics(peer, n_rows, n_topics):
    rows = np.array([int(word) for word in peer.used_vocabs])
    # A word that it did not see has no probability there: give it a topic's smallest.
    out = np.empty((n_rows, n_topics))
    for k in range(n_topics):
        distribution = peer.get_topic_word_dist(k)
        out[:, k] = distribution.min()
        out[rows, k] = distribution
    return out / out.sum(axis=0)


def fit_rows(vocabulary, bags, n_topics, sweeps):
    """Tokens a second and perplexity after the same work."""
    n_rows, n_test = len(vocabulary), min(bags.n_docs // 10, 1000)
    order = np.random.default_rng(0).permutation(bags.n_docs)
    train, test = bags.take(np.sort(order[n_test:])), bags.take(np.sort(order[:n_test]))
    seen, predicted = split(test, seed=1)
    print(
        f"\nfitting {n_topics} topics: {train.n_docs:,} documents, {train.n_tokens:,} tokens, "
        f"{n_rows:,} words; {sweeps} sweeps, one core"
    )
    print(f"{'':22}{'tokens/s':>12}{'CPU s':>9}{'perplexity':>12}{'time ratio':>12}")
    results = {}
    models = {}
    for config in (LDA, DDM):
        sampler = Sampler(
            vocabulary,
            train,
            config(topics=n_topics, sweeps=sweeps, alpha=ALPHA, beta=BETA, learn=0, samples=1),
            threads=1,
        )
        sampler.run(1)
        _, seconds = timed(lambda s=sampler: s.run(sweeps - 1))
        model = sampler.model(latest=True)
        models[config.notation] = model
        results[f"likewise {config.notation}"] = (seconds * sweeps / (sweeps - 1), model, sweeps)
    peer, _ = timed(lambda: tomotopy_model(train, n_topics))
    _, seconds = timed(lambda: peer.train(sweeps, workers=1))
    topics = with_topics(models["lda"], tomotopy_topics(peer, n_rows, n_topics))
    results["tomotopy lda"] = (seconds, topics, sweeps)
    passes = 2
    for name, fitter in (("gensim online", gensim_topics), ("scikit-learn online", sklearn_topics)):
        found, seconds = timed(lambda f=fitter: f(train, n_rows, n_topics, passes))
        results[name] = (seconds, with_topics(models["lda"], found), passes)
    for name, (seconds, model, n) in results.items():
        ours = results["likewise ddm" if name.endswith("ddm") else "likewise lda"][0]
        value = perplexity(model, seen, predicted)
        print(
            f"{name:22}{train.n_tokens * n / seconds:12,.0f}{seconds:9.1f}{value:12.1f}"
            f"{seconds / ours:12.2f}{'' if n == sweeps else f'   ({n} passes)'}",
            flush=True,
        )
    speed = {k: train.n_tokens * v[2] / v[0] for k, v in results.items()}
    print(
        f"tokens/s over tomotopy's: lda {speed['likewise lda'] / speed['tomotopy lda']:.2f}×, "
        f"ddm {speed['likewise ddm'] / speed['tomotopy lda']:.2f}×"
    )
    return models, peer, test


def gensim_topics(bags, n_rows, n_topics, passes):
    from gensim.models import LdaModel

    documents = [
        list(zip(bags.rows[a:b].tolist(), bags.counts[a:b].tolist(), strict=True))
        for a, b in zip(bags.bounds, bags.bounds[1:], strict=False)
    ]
    model = LdaModel(
        documents,
        num_topics=n_topics,
        id2word={i: str(i) for i in range(n_rows)},
        passes=passes,
        alpha=[ALPHA] * n_topics,
        eta=BETA,
        random_state=1,
        chunksize=2000,
        eval_every=None,
    )
    gensim_topics.model = model
    return model.get_topics().T


def sklearn_topics(bags, n_rows, n_topics, passes):
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        n_topics,
        doc_topic_prior=ALPHA,
        topic_word_prior=BETA,
        learning_method="online",
        batch_size=1024,
        learning_offset=64.0,
        max_iter=passes,
        random_state=1,
    ).fit(sparse(bags, n_rows))
    sklearn_topics.model = model
    return (model.components_ / model.components_.sum(axis=1, keepdims=True)).T


def infer_rows(vocabulary, models, peer, test):
    """Milliseconds a document of about 200 tokens, and how far from the converged answer."""
    sizes = np.add.reduceat(test.counts, test.bounds[:-1])
    docs = np.flatnonzero((sizes > 120) & (sizes < 300))[:200]
    bags = test.take(docs)
    counts = TermCounts(bags.bounds, vocabulary.terms[bags.rows].astype(np.int32), bags.counts)
    print(f"\ninference, {len(docs)} documents of {bags.n_tokens / len(docs):.0f} tokens, one core")
    print(f"{'':22}{'ms/document':>12}{'He to converged':>17}{'time ratio':>12}")
    rows = {}
    for name, model in models.items():
        model.transform(counts)
        found, seconds = timed(lambda m=model: m.transform(counts))
        exact = model.transform(counts, tolerance=1e-8)
        rows[f"likewise {name}"] = (seconds, hellinger(found.topics, exact.topics))
    made = [peer.make_doc(tokens_of(bags, doc)) for doc in range(bags.n_docs)]
    again = [peer.make_doc(tokens_of(bags, doc)) for doc in range(bags.n_docs)]
    (found, _), seconds = timed(lambda: peer.infer(made, iterations=100, workers=1))
    longer, _ = peer.infer(again, iterations=1000, workers=1)
    rows["tomotopy, 100 sweeps"] = (seconds, hellinger(np.array(found), np.array(longer)))
    model = gensim_topics.model
    listed = [
        list(zip(bags.rows[a:b].tolist(), bags.counts[a:b].tolist(), strict=True))
        for a, b in zip(bags.bounds, bags.bounds[1:], strict=False)
    ]
    (gamma, _), seconds = timed(lambda: model.inference(listed))
    model.gamma_threshold, model.iterations = 1e-9, 2000
    exact, _ = model.inference(listed)
    rows["gensim"] = (seconds, hellinger(shares(gamma), shares(exact)))
    model, matrix = sklearn_topics.model, sparse(bags, len(vocabulary))
    found, seconds = timed(lambda: model.transform(matrix))
    model.set_params(max_doc_update_iter=5000, mean_change_tol=1e-9)
    rows["scikit-learn"] = (seconds, hellinger(found, model.transform(matrix)))
    for name, (seconds, apart) in rows.items():
        print(
            f"{name:22}{1000 * seconds / len(docs):12.3f}{apart:17.4f}"
            f"{seconds / rows['likewise lda'][0]:12.1f}",
            flush=True,
        )


def shares(values):
    return values / values.sum(axis=1, keepdims=True)


def hellinger(one, other):
    return float(((np.sqrt(one) - np.sqrt(other)) ** 2).sum(axis=1).mean())


def thread_rows(vocabulary, bags, n_topics):
    print(f"\nthreads, {n_topics} topics, wall time of {SPEED_SWEEPS} sweeps (best of 3)")
    for config in (LDA, DDM):
        seconds = {}
        for threads in (1, 2, 1, 2, 1, 2):
            sampler = Sampler(
                vocabulary, bags, config(topics=n_topics, learn=0, samples=1), threads=threads
            )
            sampler.run(12)
            start = time.perf_counter()
            sampler.run(SPEED_SWEEPS)
            took = time.perf_counter() - start
            seconds[threads] = min(took, seconds.get(threads, took))
        print(
            f"{config.notation:6} one {seconds[1]:.2f} s, two {seconds[2]:.2f} s: "
            f"{seconds[1] / seconds[2]:.2f}×",
            flush=True,
        )


def growth_rows(vocabulary, bags, *, quick):
    print("\ngrowth: CPU seconds of a sweep")
    for n_topics in (50, 100, 250) if quick else (50, 100, 250, 500, 1000):
        row = []
        for config in (LDA, DDM):
            sampler = Sampler(
                vocabulary, bags, config(topics=n_topics, learn=0, samples=1), threads=1
            )
            sampler.run(11)
            _, seconds = timed(lambda s=sampler: s.run(2))
            speed = bags.n_tokens / seconds * 2 / 1e6
            row.append(f"{config.notation} {seconds / 2:.2f} ({speed:.2f} M tokens/s)")
        print(f"  {n_topics:5} topics: {', '.join(row)}", flush=True)
    for share in (10, 1):
        part = bags.take(np.arange(0, bags.n_docs, share))
        sampler = Sampler(vocabulary, part, DDM(topics=250, learn=0, samples=1), threads=1)
        sampler.run(11)
        _, seconds = timed(lambda s=sampler: s.run(2))
        print(f"  {part.n_docs:7,} documents: ddm {seconds / 2:.2f}", flush=True)


def count_rows(name, vocabulary, bags, *, numbers, quick):
    """Processor time of a sweep from few topics to many, in turns with tomotopy."""
    n_test = min(bags.n_docs // 10, 1000)
    order = np.random.default_rng(0).permutation(bags.n_docs)
    train, test = bags.take(np.sort(order[n_test:])), bags.take(np.sort(order[:n_test]))
    halves = split(test, seed=1)
    sweeps, turns = (12, 2) if quick else (40, 5)
    print(
        f"\nfew topics and many: {name}, {train.n_docs:,} documents, {train.n_tokens:,} tokens, "
        f"{len(vocabulary):,} words; one worker each, alpha {ALPHA}, beta {BETA}, none learnt; the "
        f"best of {turns} turns of 2 sweeps after {sweeps}; perplexity after {sweeps + 2 * turns}"
    )
    print(f"{'topics':>8}{'':4}{'ns a token: lda, ddm, tomotopy':34}{'ratios':>12}  perplexity")
    for n_topics in numbers:
        settings = {"topics": n_topics, "alpha": ALPHA, "beta": BETA, "learn": 0, "samples": 1}
        ours = [Sampler(vocabulary, train, kind(**settings), threads=1) for kind in (LDA, DDM)]
        peer = tomotopy_model(train, n_topics)
        runs = [*(one.run for one in ours), lambda n, peer=peer: peer.train(n, workers=1)]
        for run in runs:
            run(sweeps)
        spent = np.array([[timed(lambda r=run: r(2))[1] for run in runs] for _ in range(turns)])
        best = spent.min(axis=0) / 2 / train.n_tokens * 1e9
        models = [one.model(latest=True) for one in ours]
        models.append(with_topics(models[0], tomotopy_topics(peer, len(vocabulary), n_topics)))
        values = [perplexity(model, *halves) for model in models]
        print(
            f"{n_topics:8}    {best[0]:8.1f}{best[1]:8.1f}{best[2]:8.1f}{'':10}"
            f"{best[2] / best[0]:6.2f}{best[2] / best[1]:6.2f}  "
            + ", ".join(f"{value:,.1f}" for value in values),
            flush=True,
        )


def coherence_rows(folder, name, n_topics, sweeps):
    collection = corpus(name, folder)
    vocabulary, bags = gather(collection.snapshot, Sample())
    words = np.array(collection.snapshot.terms(vocabulary.terms))
    print(f"\ncoherence: mean NPMI of the ten likeliest words, {n_topics} topics, {name}")
    for config in (DDM, LDA):
        model = fit(vocabulary, bags, config(topics=n_topics, sweeps=sweeps))
        report(f"likewise {config.notation}", model.word_topics[:, :n_topics], words, collection)
    peer = tomotopy_model(bags, n_topics)
    peer.optim_interval = 10
    peer.train(sweeps, workers=1)
    report("tomotopy lda", tomotopy_topics(peer, len(vocabulary), n_topics), words, collection)
    report(
        "scikit-learn online", sklearn_topics(bags, len(vocabulary), n_topics, 2), words, collection
    )


def report(name, topics, words, collection):
    sets = [words[np.argsort(-topics[:, k])[:10]].tolist() for k in range(topics.shape[1])]
    print(f"{name:22}{np.mean(mean_npmi(sets, collection.snapshot)):8.4f}", flush=True)


def large_rows(folder, n_docs, n_topics, sweeps):
    import corpora

    start = time.perf_counter()
    collection = lw.index(corpora.drawn(n_docs), to=folder / "drawn.lw", analysis=PLAIN, model=None)
    built = time.perf_counter() - start
    start = time.perf_counter()
    vocabulary, bags = gather(collection.snapshot, Sample())
    sampler = Sampler(vocabulary, bags, DDM(topics=n_topics, sweeps=sweeps))
    sampler.run(sweeps)
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"\n{n_docs:,} drawn documents ({bags.n_tokens:,} tokens, {len(vocabulary):,} words) "
        f"indexed in {built:.0f} s; ddm of {n_topics} topics, {sweeps} sweeps, all cores: "
        f"{took / 60:.1f} minutes "
        f"(published: 50 hours); peak memory {peak:,.0f} MB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="fit,infer,threads,growth,counts,coherence,large")
    parser.add_argument(
        "--topics", default="20,50,100,250,500,1000", help="how many topics `counts` goes through"
    )
    parser.add_argument("--corpora", default="20newsgroups,arxiv", help="those of `counts`")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    wanted = options.only.split(",")
    n_topics, sweeps = (50, 20) if options.quick else (250, 50)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if set(wanted) & {"fit", "infer", "threads", "growth"}:
            collection = corpus("20newsgroups", folder)
            vocabulary, bags = gather(
                collection.snapshot, Sample(docs=2000 if options.quick else 0)
            )
            if set(wanted) & {"fit", "infer"}:
                models, peer, test = fit_rows(vocabulary, bags, n_topics, sweeps)
                if "infer" in wanted:
                    infer_rows(vocabulary, models, peer, test)
            if "threads" in wanted:
                thread_rows(vocabulary, bags, n_topics)
            if "growth" in wanted:
                growth_rows(vocabulary, bags, quick=options.quick)
        if "counts" in wanted:
            numbers = [int(n) for n in options.topics.split(",")]
            for name in options.corpora.split(","):
                few = Sample(docs=1000 if options.quick else 20_000 if name == "arxiv" else 0)
                gathered = gather(corpus(name, folder).snapshot, few)
                count_rows(name, *gathered, numbers=numbers, quick=options.quick)
        if "coherence" in wanted:
            for name in ("20newsgroups", "wikipedia-schools")[: 1 if options.quick else 2]:
                coherence_rows(folder, name, n_topics, 20 if options.quick else 100)
        if "large" in wanted:
            large_rows(
                folder, 5_000 if options.quick else 100_000, n_topics, 20 if options.quick else 200
            )


if __name__ == "__main__":
    main()
