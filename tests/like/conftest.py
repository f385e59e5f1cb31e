"""A collection with topics, and documents that have none."""

import numpy as np
import pytest

import likewise as lw

THEMES = {
    "flow": "boundary layer flow laminar viscous plate",
    "wing": "wing flutter aileron span lift tail",
    "heat": "heat transfer temperature conduction thermal radiation",
}


def documents(n=60, seed=0):
    """Documents of thirty words of a theme, and a few of another."""
    generator = np.random.default_rng(seed)
    names = sorted(THEMES)
    for i in range(n):
        own, other = names[i % 3], names[(i + 1) % 3]
        words = [
            *generator.choice(THEMES[own].split(), 25),
            *generator.choice(THEMES[other].split(), 5),
        ]
        yield {"id": f"{own}-{i}", "text": " ".join(words), "theme": own}
    yield {"id": "empty", "text": "", "theme": "none"}


@pytest.fixture(scope="session")
def themes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("like") / "themes.lw"
    c = lw.index(documents(), to=folder, model="lsi(topics=4)")
    c.fit("lda(topics=3,sweeps=60)")
    return c
