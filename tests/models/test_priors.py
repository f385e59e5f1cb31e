import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import digamma

from likewise.models.ddm import DDM, Sampler
from likewise.models.priors import LEAST_PRIOR, MOST_PRIOR, _step_vector, learn_priors, log_slope


@given(
    st.lists(st.integers(0, 500), min_size=1, max_size=20),
    st.floats(1e-3, 50),
)
def test_log_slope_equals_digammas(counts, prior):
    counts = np.array(counts, np.float64)
    expected = (digamma(counts + prior) - digamma(prior)).sum()
    assert log_slope(counts, prior) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_learning_finds_the_prior_that_drew_the_counts():
    rng = np.random.default_rng(1)
    truth = np.array([0.1, 0.5, 2.0])
    thetas = rng.dirichlet(truth, 3000)
    counts = np.array([rng.multinomial(60, theta) for theta in thetas])
    prior = np.full(3, 1.0)
    for _ in range(200):
        prior = _step_vector(counts, counts.sum(axis=1).astype(float), prior)
    assert prior == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("alpha", [1e-7, 1e7])
def test_learnt_priors_are_bounded(drawn, alpha):
    sampler = Sampler(drawn.vocabulary, drawn.bags, DDM(topics=7, learn=0, samples=1))
    sampler.run(1)
    priors = sampler._priors._replace(alpha=np.full(7, alpha), beta_topic=alpha)
    for switch in (False, True):
        learnt = learn_priors(sampler._state, priors, switch=switch)
        for values in learnt:
            assert np.all((np.asarray(values) >= LEAST_PRIOR) & (np.asarray(values) <= MOST_PRIOR))


def test_learning_raises_no_prior_to_nonsense(drawn):
    sampler = Sampler(drawn.vocabulary, drawn.bags, DDM(topics=7, learn=0, samples=1))
    sampler.run(14)
    state, priors = sampler._state, sampler._priors
    learnt = learn_priors(state, priors, switch=True)
    for values in (learnt.alpha, learnt.gamma, np.array(learnt[2:])):
        assert np.all(np.isfinite(values))
        assert np.all(values > 0)
    frozen = learn_priors(state, priors, switch=False)
    assert frozen.beta_own == priors.beta_own
    assert np.array_equal(frozen.gamma, priors.gamma)
