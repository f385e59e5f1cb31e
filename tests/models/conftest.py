import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from generative import draw

from likewise.models.ddm import DDM, fit


@pytest.fixture(scope="session")
def drawn():
    return draw()


@pytest.fixture(scope="session")
def fitted(drawn):
    return fit(drawn.vocabulary, drawn.bags, DDM(topics=12, sweeps=150, alpha=0.13))
