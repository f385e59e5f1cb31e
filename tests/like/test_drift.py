"""Does a model that no longer fits say so?"""

import json

import numpy as np
import pytest

import likewise as lw
from likewise.app.cli import main
from likewise.like import drift as module
from likewise.models.kinds import find_model
from likewise.models.klsa import weigh
from likewise.models.model import SMOOTH
from likewise.models.stored_vectors import vectors_of

from .conftest import THEMES, documents

STRANGE = "quasar pulsar nebula redshift galaxy parallax"


@pytest.fixture(params=["lsi(topics=4)", "lda(topics=3,sweeps=40)"])
def fitted(request, tmp_path):
    return lw.index(documents(), to=tmp_path / "c.lw", model=request.param)


def drift(snapshot):
    return module.measure_drift(snapshot, find_model(snapshot))


def texts(words, n, seed=1):
    generator = np.random.default_rng(seed)
    for i in range(n):
        yield {"id": f"new-{seed}-{i}", "text": " ".join(generator.choice(words.split(), 30))}


def test_nothing_new_is_no_age(fitted):
    assert drift(fitted.snapshot) is None


def test_documents_of_the_same_kind_do_not_age_a_model(fitted):
    for i, words in enumerate(THEMES.values()):
        fitted.add(texts(words, 10, seed=i))
    found = drift(fitted.snapshot)
    assert found.new_documents == 30
    assert found.now.unknown == 0
    assert not found.aged


def test_documents_of_another_kind_age_it(fitted):
    fitted.add(texts(STRANGE, 20))
    found = drift(fitted.snapshot)
    assert found.aged
    assert found.now.unknown == 1
    assert found.then.unknown < 0.2
    assert "added since it was fitted" in str(found)
    assert found.to_json()["aged"]


def test_a_model_is_young_again_once_fitted_again(fitted):
    fitted.add(texts(STRANGE, 20))
    fitted.models.fit("lsi(topics=4)", default=True)
    assert drift(fitted.snapshot) is None
    assert "lsi" not in {one["model"] for one in fitted.info()["drift"]}


def test_a_merge_does_not_change_it(fitted):
    fitted.add(texts(STRANGE, 20))
    before = drift(fitted.snapshot)
    fitted.merge()
    assert drift(fitted.snapshot) == before


def test_the_command_line_says_so(fitted, tmp_path, capsys):
    strange = tmp_path / "strange.jsonl"
    strange.write_text("\n".join(json.dumps(document) for document in texts(STRANGE, 20)))
    assert main(["add", str(fitted.folder), str(strange), "--quiet"]) == 0
    assert "fit it again with: likewise fit" in capsys.readouterr().err
    assert main(["info", str(fitted.folder)]) == 0
    assert "20 documents added since it was fitted" in capsys.readouterr().out


def test_a_kernel_model_ages_too(tmp_path, capsys):
    c = lw.index(documents(), to=tmp_path / "c.lw", model=None, smooth="klsa(axes=4)")
    assert c.models.drift() == []
    for i, words in enumerate(THEMES.values()):
        c.add(texts(words, 10, seed=i))
    [young] = c.models.drift()
    assert (young.model, young.config, young.new_documents) == ("klsa", "klsa(axes=4)", 30)
    assert not young.aged
    strange = tmp_path / "strange.jsonl"
    strange.write_text("\n".join(json.dumps(document) for document in texts(STRANGE, 200, seed=9)))
    assert main(["add", str(c.folder), str(strange), "--quiet"]) == 0
    told = capsys.readouterr().err
    assert f'fit it again with: likewise fit {c.folder} --model "klsa(axes=4)"' in told
    c.refresh()
    [old] = c.models.drift()
    assert old.aged
    c.models.fit("klsa(axes=4)")
    assert c.models.drift() == []


def test_what_lies_along_the_axes_is_a_share(tmp_path):
    c = lw.index(documents(), to=tmp_path / "c.lw", model=None, smooth="klsa(axes=3)")
    space = vectors_of(c.snapshot, role=SMOOTH).model
    counts = c.snapshot.term_counts(c.snapshot.live_docs())
    shares = space.captured(counts)
    assert ((shares >= 0) & (shares <= 1 + 1e-5)).all()
    # Of all features together the axes hold the sum of their squared values.
    weighted = weigh(space.kernel, space.vocabulary, space.corpus, counts)
    sums = np.cumsum([0.0, *np.square(weighted.weights, dtype=np.float64)])
    whole = np.diff(sums[weighted.bounds])
    assert (shares * whole).sum() == pytest.approx(np.square(space.values).sum(), rel=1e-4)
