import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

import generative
from plain_axes import collection_of

from likewise.models.ddm import DDM, fit
from term_lists import dense, draw, kinds, made_for_a_while, make  # noqa: F401


@pytest.fixture(scope="session")
def drawn():
    return generative.draw()


@pytest.fixture(scope="session")
def fitted(drawn):
    return fit(drawn.vocabulary, drawn.bags, DDM(topics=12, sweeps=150, alpha=0.13))


@pytest.fixture(scope="session")
def topical(tmp_path_factory):
    """Four hundred documents, each of two of twelve topics, and a word of its own."""
    random = np.random.default_rng(0)
    texts = []
    for i in range(400):
        words = [f"topic{t}word{w}" for t in random.integers(0, 12, 2) for w in range(25)]
        usual = [f"usual{w}" for w in random.geometric(0.2, 12)]
        texts.append(" ".join([*random.choice(words, 25), *usual, f"own{i}", f"own{i}"]))
    return collection_of(texts, tmp_path_factory.mktemp("topical") / "lw")
