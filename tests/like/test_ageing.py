"""Does a model that no longer fits say so?"""

import json

import numpy as np
import pytest

import likewise as lw
from likewise.app.cli import main
from likewise.like.ageing import ageing

from .conftest import THEMES, documents

STRANGE = "quasar pulsar nebula redshift galaxy parallax"


@pytest.fixture(params=["lsi(topics=4)", "lda(topics=3,sweeps=40)"])
def fitted(request, tmp_path):
    return lw.index(documents(), to=tmp_path / "c.lw", model=request.param)


def texts(words, n, seed=1):
    generator = np.random.default_rng(seed)
    for i in range(n):
        yield {"id": f"new-{seed}-{i}", "text": " ".join(generator.choice(words.split(), 30))}


def test_nothing_new_is_no_age(fitted):
    assert ageing(fitted.snapshot) is None


def test_documents_of_the_same_kind_do_not_age_a_model(fitted):
    for i, words in enumerate(THEMES.values()):
        fitted.add(texts(words, 10, seed=i))
    found = ageing(fitted.snapshot)
    assert found.new_documents == 30
    assert found.now.unknown == 0
    assert not found.aged


def test_documents_of_another_kind_age_it(fitted):
    fitted.add(texts(STRANGE, 20))
    found = ageing(fitted.snapshot)
    assert found.aged
    assert found.now.unknown == 1
    assert found.then.unknown < 0.2
    assert "added since it was fitted" in str(found)
    assert found.to_json()["aged"]


def test_a_model_is_young_again_once_fitted_again(fitted):
    fitted.add(texts(STRANGE, 20))
    fitted.fit("lsi(topics=4)")
    assert ageing(fitted.snapshot) is None
    assert "lsi" not in {one["model"] for one in fitted.info()["ageing"]}


def test_a_merge_does_not_change_it(fitted):
    fitted.add(texts(STRANGE, 20))
    before = ageing(fitted.snapshot)
    fitted.merge()
    assert ageing(fitted.snapshot) == before


def test_the_command_line_says_so(fitted, tmp_path, capsys):
    strange = tmp_path / "strange.jsonl"
    strange.write_text("\n".join(json.dumps(document) for document in texts(STRANGE, 20)))
    assert main(["add", str(fitted.folder), str(strange), "--quiet"]) == 0
    assert "fit it again with: likewise fit" in capsys.readouterr().err
    assert main(["info", str(fitted.folder)]) == 0
    assert "20 documents added since it was fitted" in capsys.readouterr().out
