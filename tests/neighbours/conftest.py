import gzip
import itertools
import sys
from pathlib import Path

import numpy as np
import orjson
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import likewise as lw


@pytest.fixture(scope="session")
def theta(real, tmp_path_factory):
    """Topics of 3000 real documents; one of them is empty, and its row zeros."""
    with gzip.open(real("20newsgroups") / "corpus.jsonl.gz") as file:
        documents = [orjson.loads(line) for line in itertools.islice(file, 3000)]
    folder = tmp_path_factory.mktemp("theta") / "news.lw"
    collection = lw.index(documents, to=folder, model=None)
    collection.models.fit("lda(topics=50,sweeps=30)")
    topics = collection.models.transform([document["id"] for document in documents]).topics
    assert np.flatnonzero(~topics.any(axis=1)).size == 1
    return topics
