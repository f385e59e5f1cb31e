import numpy as np
import pytest

import likewise as lw
from likewise.errors import UsageError
from likewise.models.stored_vectors import vectors_of
from likewise.models.topics import without_prior
from likewise.stages import Cut

from .conftest import space_by


def theme(doc_id):
    return doc_id.partition("-")[0]


@pytest.mark.parametrize("model", ["lda", "lsi"])
def test_neighbours_are_of_the_same_theme(themes, model):
    for doc_id in ("flow-0", "heat-1", "wing-2"):
        found = themes.like(doc_id, k=5, method=f"near(model={model})")
        assert len(found) == 5
        assert doc_id not in [answer.doc_id for answer in found]
        assert sum(theme(answer.doc_id) == theme(doc_id) for answer in found) >= 4


def test_a_document_without_words_is_nobodys_neighbour_and_has_none(themes):
    assert len(themes.like("empty", method="near(model=lda)")) == 0
    found = themes.like("flow-0", k=1000, method="near(model=lda)")
    assert len(found) == 59
    assert "empty" not in [answer.doc_id for answer in found]


@pytest.mark.parametrize("metric", ["hellinger", "js", "kl", "cosine", "inner", "euclidean"])
def test_explanations_add_up_to_the_score(themes, metric):
    found = themes.like("flow-0", k=20, method=f"near(model=lda,metric={metric})", explain=True)
    assert len(found) >= 1
    for answer in found:
        assert sum(part.score for part in answer.explanation.parts) == pytest.approx(
            answer.score, abs=1e-5
        )
        assert all(part.name.startswith("topic ") for part in answer.explanation.parts)
    scores = [answer.score for answer in found]
    assert scores == sorted(scores, reverse=True)


def test_similarity_of_the_same_is_one_and_of_strangers_zero(themes):
    text = themes["flow-0"].text
    best = themes.search(text, k=1, method="near(model=lda,metric=js)")[0]
    assert best.doc_id == "flow-0"
    assert best.score == pytest.approx(1, abs=1e-5)


def test_without_prior_gives_back_the_words_of_the_topics():
    alpha = np.array([0.5, 1.5, 1.0])
    words = np.array([[3.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 40.0, 0.0]])
    n = words.sum(axis=1)
    posterior = ((words + alpha) / (alpha.sum() + n)[:, None]).astype(np.float32)
    posterior[1] = 0
    shares = without_prior(posterior, alpha, n)
    assert shares == pytest.approx(words / np.maximum(n, 1)[:, None], abs=1e-5)


def test_vectors_of_topics_are_distributions(themes):
    vectors = vectors_of(themes.snapshot, "lda").coordinates(np.arange(61))
    assert vectors[:-1].sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert not vectors[-1].any()
    assert vectors.min() >= 0


def test_the_metric_suits_the_model(themes):
    assert themes.models["lda"].metric == "hellinger"
    assert themes.models["lsi"].metric == "cosine"
    assert space_by(themes, "near(model=lsi)").metric.name == "cosine"


def test_filters_and_unknown_words(themes):
    found = themes.search("viscous flow", k=50, method="near(model=lda)", filter=["theme=heat"])
    assert {answer.fields["theme"] for answer in found} == {"heat"}
    assert len(themes.search("zzz qqq", method="near(model=lda)")) == 0


def test_a_stage_composes(themes):
    both = lw.fuse("near(model=lda) >> cut(20)", "bm25", method="rrf") >> Cut(3)
    [(_, ranking, *_)] = themes.pipeline(both)("wing flutter")
    assert len(ranking.docs) == 3
    assert repr(themes.pipeline("near(model=lda)", k=20)) == "near(model=lda)"


@pytest.mark.parametrize(
    ("near", "message"),
    [
        ("near(model=nonsense)", "no model 'nonsense'"),
        ("near(metric=nonsense)", "unknown metric"),
        ("near(index=nonsense)", "unknown method"),
        ("near(depth=3)", "is no option"),
    ],
)
def test_what_is_not_there_is_said(themes, near, message):
    with pytest.raises(UsageError, match=message):
        themes.like("flow-0", method=near)


def test_neighbours_of_all_are_near_in_a_space(themes, tmp_path):
    with pytest.raises(UsageError, match="unknown method"):
        themes.write_neighbours(tmp_path / "all.jsonl", method="bm25")


def test_a_deleted_document_is_not_found(themes, tmp_path):
    c = lw.index(list(themes), to=tmp_path / "c.lw", model="lsi(topics=4)")
    nearest = c.like("flow-0", k=1, method="near")[0].doc_id
    c.delete(nearest)
    assert nearest not in [answer.doc_id for answer in c.like("flow-0", k=30, method="near")]
