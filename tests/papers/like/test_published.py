"""The decomposition paper's score: what it cannot compare."""

import pytest

import likewise as lw
from likewise.app.cli import main
from likewise.errors import UsageError

from ...like.conftest import documents


def test_sums_of_trained_word_vectors_are_refused(tmp_path, capsys):
    c = lw.index(list(documents(30)), to=tmp_path / "c.lw", model="lsi(topics=4,train=crops)")
    with pytest.raises(UsageError, match=r"eq4 compares projections.*fit lsi without train"):
        c.like("flow-0", method="eq4")
    assert main(["like", str(c.folder), "--id", "flow-0", "--method", "eq4"]) == 2
    assert "fit lsi without train" in capsys.readouterr().err
    c.models.fit("lsi(topics=4)", name="plain")
    assert len(c.like("flow-0", method="eq4(model=plain)"))
