"""Is a document known by half of it, and what follows?"""

import numpy as np
import pytest

import likewise as lw
from likewise.collection.records import TermCounts
from likewise.models.lsi import LSI, fit_lsi
from likewise.models.split_half import (
    power_of_idf,
    reciprocal_ranks,
    unrecognised,
    weight_of_words,
)


def texts(n, *, length, seed=0):
    """Documents that use sixty of 400 words, their own choice each."""
    generator = np.random.default_rng(seed)
    for i in range(n):
        words = generator.choice(generator.choice(400, 60, replace=False), length)
        yield {"id": str(i), "text": " ".join(f"word{w}" for w in words)}


def snapshot(tmp_path, name, **options):
    return lw.index(texts(300, **options), to=tmp_path / name, model=None).snapshot


def test_long_texts_are_recognised_and_short_ones_are_not(tmp_path):
    short = snapshot(tmp_path, "short.lw", length=24)
    long = snapshot(tmp_path, "long.lw", length=400)
    config = LSI(topics=20, power=1.0)
    poorly = unrecognised(fit_lsi(short, config), short)
    well = unrecognised(fit_lsi(long, config), long)
    assert 0 <= well < 0.05
    assert 0.15 < poorly <= 1
    assert weight_of_words(poorly) > weight_of_words(well)
    assert power_of_idf(poorly) > power_of_idf(well)


def test_the_power_is_chosen_by_it(tmp_path):
    short = snapshot(tmp_path, "short.lw", length=24)
    rough = fit_lsi(short, LSI(topics=20, power=1.0, docs=6000, iterations=12))
    expected = round(power_of_idf(unrecognised(rough, short)), 3)
    assert fit_lsi(short, LSI(topics=20)).power == expected
    assert fit_lsi(short, LSI(topics=20, power=1.5)).power == 1.5


class Known:
    """A model whose compact half is the bag of words itself."""

    kind = "subspace"

    def __init__(self, width):
        self.width = width

    def transform(self, counts, *, words, threads):
        return None

    def compact(self, counts, triples):
        out = np.zeros((len(counts.bounds) - 1, self.width))
        for i in range(len(out)):
            mine = slice(counts.bounds[i], counts.bounds[i + 1])
            out[i, counts.terms[mine]] = counts.counts[mine]
        return out


def test_ranks_by_hand():
    # Three documents of one word each, many times: the other half is found first. A fourth is the
    # same as the third, which stands in its way: a tie counts against it.
    counts = TermCounts(
        np.arange(5, dtype=np.int64),
        np.array([0, 1, 2, 2], np.int32),
        np.full(4, 50, np.int32),
    )
    ranks = reciprocal_ranks(Known(3), counts, np.arange(4))
    assert ranks.tolist() == [1, 1, 0.5, 0.5]


def test_a_half_that_is_empty_counts_as_not_found():
    counts = TermCounts(
        np.array([0, 1], np.int64), np.array([0], np.int32), np.array([1], np.int32)
    )
    assert reciprocal_ranks(Known(1), counts, np.array([0])).tolist() == [0]


def test_nothing_long_enough(tmp_path):
    c = lw.index([{"id": "1", "text": "one two"}], to=tmp_path / "c.lw")
    assert unrecognised(c.models[c.models.default()], c.snapshot) == pytest.approx(0.5)
