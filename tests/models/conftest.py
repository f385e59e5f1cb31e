import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

import generative

from likewise.models.ddm import DDM, fit
from term_lists import dense, draw, kinds, made_for_a_while, make  # noqa: F401


@pytest.fixture(scope="session")
def drawn():
    return generative.draw()


@pytest.fixture(scope="session")
def fitted(drawn):
    return fit(drawn.vocabulary, drawn.bags, DDM(topics=12, sweeps=150, alpha=0.13))
