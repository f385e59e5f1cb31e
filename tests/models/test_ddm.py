import warnings
from dataclasses import replace

import numpy as np
import pytest
from generative import draw, term_counts
from scipy.optimize import linear_sum_assignment

from likewise.errors import UsageError
from likewise.models.bags import Bags
from likewise.models.ddm import DDM, LDA, Sampler, fit
from likewise.models.fitting import read_config
from likewise.models.heldout import perplexity, split
from likewise.models.priors import LEAST_PRIOR, MOST_PRIOR, Priors
from likewise.models.topics import TopicModel, distributions


def variation(p, q):
    """Half the summed difference of two distributions: 0 for the same, 1 for disjoint ones."""
    return 0.5 * np.abs(p - q).sum(axis=-1)


def match(found, truth):
    """Pair found topics with true ones; give the order and the variation of each pair."""
    costs = np.array([[variation(f, t) for f in found] for t in truth])
    _, order = linear_sum_assignment(costs)
    return order, costs[np.arange(len(truth)), order]


def test_topics_background_and_shares_are_recovered(drawn, fitted):
    topics = fitted.word_topics[:, : fitted.width].T
    order, apart = match(topics, drawn.topics)
    assert apart.mean() < 0.12
    assert apart.max() < 0.25
    assert variation(fitted.background, drawn.background) < 0.15
    triples = fitted.transform(term_counts(drawn, np.arange(drawn.bags.n_docs)))
    assert np.abs(triples.shares - drawn.shares).mean(axis=0).max() < 0.08
    assert np.corrcoef(triples.shares[:, 1], drawn.shares[:, 1])[0, 1] > 0.7
    # A few topics more than the truth has: some of a document may lie on their fragments.
    assert variation(triples.topics[:, order], drawn.thetas).mean() < 0.2


def test_own_words_are_found(drawn, fitted):
    triples = fitted.transform(term_counts(drawn, np.arange(200)), words=5)
    found = []
    for doc in range(200):
        truth = set(np.flatnonzero(drawn.own[doc]).tolist())
        top = triples.terms[triples.bounds[doc] : triples.bounds[doc + 1]][:3]
        found.append(len(truth & set(top.tolist())) / 3)
    assert np.mean(found) > 0.7


def truth_as_model(drawn, *, switch=True):
    n_topics = len(drawn.topics)
    gamma = np.array([6.0, 2.0, 3.0])
    priors = Priors(np.full(n_topics, 0.2), gamma, 1e-6, 1e-4, 1e-6)
    word_topics, background = distributions(drawn.topics.T * 1e6, drawn.background * 1e6, priors)
    return TopicModel("truth", drawn.vocabulary, word_topics, background, priors, switch)


def test_the_fit_foresees_text_nearly_as_well_as_the_truth(drawn, fitted):
    """A start over all three routes, or none for the background, ends well above this."""
    unseen = draw(seed=0, n_docs=900)
    seen, predicted = split(unseen.bags.take(np.arange(600, 900)), seed=1)
    ours = perplexity(fitted, seen, predicted)
    best = perplexity(truth_as_model(drawn), seen, predicted)
    assert ours < 1.06 * best


def test_a_bad_start_would_be_seen(drawn):
    """Of random starts over all three routes some stay clearly worse, whatever the chain does."""
    unseen = draw(seed=0, n_docs=900)
    seen, predicted = split(unseen.bags.take(np.arange(600, 900)), seed=1)
    good, bad = [], []
    for seed in range(10):
        config = DDM(topics=12, sweeps=100, alpha=0.13, samples=1, learn=0, seed=seed)
        for results in (good, bad):
            sampler = Sampler(drawn.vocabulary, drawn.bags, config)
            if results is bad:
                _scatter_over_all_routes(sampler)
            sampler.run(100)
            results.append(perplexity(sampler.model(), seen, predicted))
    assert max(good) < 0.99 * max(bad)


def _scatter_over_all_routes(sampler):
    cells, state = sampler._cells, sampler._state
    rng = np.random.default_rng(0)
    n_topics = sampler.config.topics
    for counts in (state.doc_topics, state.word_topics, state.topic_totals, state.own):
        counts[:] = 0
    routes = rng.integers(0, 3, len(state.topics))
    z = np.where(routes == 0, rng.integers(0, n_topics, len(routes)), n_topics + routes - 1)
    state.topics[:] = z
    pairs = np.repeat(np.arange(len(cells.docs)), np.diff(cells.first))
    docs, rows = cells.docs[pairs], cells.rows[pairs]
    np.add.at(state.doc_topics, (docs, z), 1)
    np.add.at(state.word_topics, (rows, z), 1)
    np.add.at(state.topic_totals, z, 1)
    np.add.at(state.own, pairs[routes == 1], 1)
    sampler._warm = 0


def test_without_the_switch_it_is_lda_as_tomotopy_has_it():
    """Held-out perplexity within 1% at the same sweeps and priors, on the same evaluator."""
    with warnings.catch_warnings():
        # Importing it warns of how its own modules are loaded.
        warnings.simplefilter("ignore")
        import tomotopy

    corpus = draw(n_docs=1200, n_words=800, n_topics=12, switch=False, seed=5)
    train, test = corpus.bags.take(np.arange(1000)), corpus.bags.take(np.arange(1000, 1200))
    # The peer has no probability for a word that it was not trained on: those are left out.
    known = np.isin(test.rows, train.rows)
    kept = np.concatenate([[0], np.cumsum(known)])
    test = Bags(kept[test.bounds], test.rows[known], test.counts[known])
    seen, predicted = split(test, seed=1)
    n_topics, sweeps, seeds = 20, 150, range(1, 4)
    config = LDA(topics=n_topics, sweeps=sweeps, alpha=0.1, learn=0, samples=1)
    ours = [fit(corpus.vocabulary, train, replace(config, seed=seed)) for seed in seeds]
    theirs = [_tomotopy(tomotopy, train, ours[0], sweeps=sweeps, seed=seed) for seed in seeds]
    a, b = (np.mean([perplexity(m, seen, predicted) for m in models]) for models in (ours, theirs))
    assert a == pytest.approx(b, rel=0.01)


def _tomotopy(tomotopy, bags, like, *, sweeps, seed):
    peer = tomotopy.LDAModel(k=like.width, alpha=0.1, eta=0.01, seed=seed)
    peer.optim_interval = 0
    for doc in range(bags.n_docs):
        at = slice(bags.bounds[doc], bags.bounds[doc + 1])
        peer.add_doc([str(w) for w in np.repeat(bags.rows[at], bags.counts[at])])
    peer.train(sweeps, workers=1)
    word_topics = np.zeros_like(like.word_topics)
    rows = np.array([int(w) for w in peer.used_vocabs])
    for k in range(like.width):
        word_topics[rows, k] = peer.get_topic_word_dist(k)
    return replace(like, name="peer", word_topics=word_topics)


def test_the_same_seed_gives_the_same_model_on_one_thread_and_two(drawn):
    config = DDM(topics=6, sweeps=25, samples=2, learn=5, check=5)
    one = fit(drawn.vocabulary, drawn.bags, config, threads=1)
    for threads in (2, 2):
        again = fit(drawn.vocabulary, drawn.bags, config, threads=threads)
        assert np.array_equal(one.word_topics, again.word_topics)
        assert np.array_equal(one.background, again.background)
        assert all(np.array_equal(a, b) for a, b in zip(one.priors, again.priors, strict=True))
        assert one.history == again.history


def test_the_fit_reports_and_stops_when_it_stands_still(drawn):
    notes = []
    config = DDM(topics=8, sweeps=400, alpha=0.13, check=10, stop=0.002)
    model = fit(drawn.vocabulary, drawn.bags, config, watch=notes.append)
    perplexities = [note["perplexity"] for note in model.history]
    assert len(notes) < 400
    assert perplexities[-1] < perplexities[0]
    assert [note["sweep"] for note in notes] == list(range(1, len(notes) + 1))


def test_training_goes_on_from_a_model(drawn, fitted):
    unseen = draw(seed=0, n_docs=900)
    seen, predicted = split(unseen.bags.take(np.arange(600, 900)), seed=1)
    short = DDM(topics=12, sweeps=3, samples=1, learn=0, alpha=0.13)
    afresh = fit(drawn.vocabulary, drawn.bags, short)
    further = fit(drawn.vocabulary, drawn.bags, short, origin=fitted)
    assert perplexity(further, seen, predicted) < 0.9 * perplexity(afresh, seen, predicted)
    with pytest.raises(UsageError, match="cannot go on"):
        fit(drawn.vocabulary, drawn.bags, DDM(topics=9, sweeps=1), origin=fitted)


@pytest.mark.parametrize(
    "values",
    [{"topics": 0}, {"sweeps": 0}, {"samples": 0}, {"alpha": 0.0}, {"beta": -1.0}, {"seed": -1}],
)
def test_bad_settings_are_named(values):
    with pytest.raises(UsageError, match="ddm"):
        DDM(**values)


@pytest.mark.parametrize("config", ["ddm", "lda"])
@pytest.mark.parametrize("prior", ["alpha", "beta"])
@pytest.mark.parametrize("value", ["1e39", "inf", "nan", "1e-46", "9e-7", "1000001"])
def test_priors_that_cannot_be_sampled_with_are_refused(config, prior, value):
    with pytest.raises(UsageError) as refused:
        read_config(f"{config}({prior}={value})")
    assert f"{prior}={float(value)!r}" in str(refused.value)
    assert "alpha and beta must be from 1e-06 to 1e+06" in str(refused.value)


@pytest.mark.parametrize("config", [DDM, LDA])
@pytest.mark.parametrize("alpha", [LEAST_PRIOR, MOST_PRIOR])
@pytest.mark.parametrize("beta", [LEAST_PRIOR, MOST_PRIOR])
def test_the_least_and_the_greatest_priors_can_be_sampled_with(config, alpha, beta):
    short = draw(n_docs=200, n_words=50, n_topics=2, length=1)
    model = fit(short.vocabulary, short.bags, config(topics=10, sweeps=30, alpha=alpha, beta=beta))
    assert model.word_topics[:, :10].sum(axis=0) == pytest.approx(np.ones(10), rel=1e-3)
    for prior in model.priors:
        assert np.all((np.asarray(prior) >= LEAST_PRIOR) & (np.asarray(prior) <= MOST_PRIOR))


def test_priors_of_a_model_to_go_on_from_are_bounded(drawn, fitted):
    wild = fitted.priors._replace(alpha=np.full(12, 1e39), beta_topic=0.0)
    short = DDM(topics=12, sweeps=1, samples=1, learn=0)
    further = fit(drawn.vocabulary, drawn.bags, short, origin=replace(fitted, priors=wild))
    assert np.array_equal(further.priors.alpha, np.full(12, MOST_PRIOR))
    assert further.priors.beta_topic == LEAST_PRIOR
    assert further.priors.beta_own == fitted.priors.beta_own


def test_configurations_print_as_they_are_written():
    assert str(DDM()) == "ddm"
    assert str(LDA(topics=50, sweeps=10)) == "lda(topics=50,sweeps=10)"
    assert read_config("lda(topics=50,sweeps=10)") == LDA(topics=50, sweeps=10)
    assert DDM() != LDA()
