"""A collection with topics, and documents that have none."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

import likewise as lw
from likewise.like.near import read_near, space_of
from likewise.models.stored_vectors import vectors_of
from term_lists import dense, draw, kinds, made_for_a_while, make  # noqa: F401

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


def likeness_by(c, method):
    """What a method compares halves by."""
    how = lw.stage(method)
    return how.ranker(vectors_of(c.snapshot, how.model)).likeness


def space_by(c, near="near"):
    """The documents as vectors: `near(model=lda,metric=js)`."""
    return space_of(c.snapshot, read_near(near))


@pytest.fixture(scope="session")
def themes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("like") / "themes.lw"
    c = lw.index(documents(), to=folder, model="lsi(topics=4)")
    c.models.fit("lda(topics=3,sweeps=60)")
    return c
