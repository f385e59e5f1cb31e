"""Arrays in memory, arrays that share a pack, and shapes that are required."""

import numpy as np
import pytest

from likewise.collection.arrays import Memory, PrefixedArrays, PrefixedOutput, require
from likewise.collection.pack import open_pack, write_pack
from likewise.errors import DamagedError


def test_memory_is_a_pack_that_is_not_written():
    memory = Memory()
    memory.put("x", np.arange(3), np.uint8)
    memory.note(a=1)
    memory.note(b=2)
    with pytest.raises(ZeroDivisionError), memory.stream("lost", np.uint8):
        raise ZeroDivisionError
    assert memory.meta == {"a": 1, "b": 2}
    assert "x" in memory
    assert "lost" not in memory
    assert memory["x"].dtype == np.uint8


@pytest.mark.parametrize("most", [0, 100, 1 << 20])
def test_what_grows_in_memory_goes_to_a_file(monkeypatch, most):
    monkeypatch.setattr("likewise.collection.arrays.MOST_HELD", most)
    memory = Memory()
    with memory.stream("few", np.int64) as few, memory.stream("rows", np.int32, 3) as rows:
        for i in range(40):
            few.append(np.arange(i))
            rows.append(np.full((2, 3), i))
    assert np.array_equal(memory["few"], np.concatenate([np.arange(i) for i in range(40)]))
    assert np.array_equal(memory["rows"], np.repeat(np.arange(40), 6).reshape(-1, 3))
    assert (memory["few"].dtype, memory["rows"].dtype) == (np.int64, np.int32)
    none = memory.stream("none", np.int64)
    none.append(np.arange(100))
    none.abandon()
    assert "none" not in memory


def test_parts_of_a_pack_have_names_of_their_own(tmp_path):
    memory = Memory()
    with write_pack(tmp_path / "pack") as packer:
        for out in (memory, packer):
            out.put("some", np.zeros(3))
            out.note(name="all")
            for prefix in ("0.", "1."):
                mine = PrefixedOutput(out, prefix)
                mine.put("some", np.full(2, float(prefix)))
                mine.note(name=prefix)
                deeper = PrefixedOutput(mine, "deep.")
                with deeper.stream("more", np.int64, 2) as more:
                    more.append(np.arange(4))
                deeper.note(seed=5)
    for arrays in (memory, open_pack(tmp_path / "pack")):
        second = PrefixedArrays(arrays, "1.")
        assert second["some"].tolist() == [1, 1]
        assert second.meta == {"name": "1.", "deep.seed": 5}
        assert "some" in second
        assert "more" not in second
        assert 3 not in second
        deep = PrefixedArrays(second, "deep.")
        assert deep["more"].tolist() == [[0, 1], [2, 3]]
        assert deep.meta == {"seed": 5}
        assert arrays["some"].tolist() == [0, 0, 0]
    with pytest.raises(DamagedError, match=r"there is no array 1\.other"):
        second["other"]


def test_shapes_that_are_required():
    memory = Memory()
    memory.put("codes", np.zeros((4, 3), np.int8))
    memory.put("words.sizes", np.zeros(4, np.uint16))
    require(memory, "the model", codes=(4, -1), words_sizes=(4,))
    for shapes in ({"codes": (4,)}, {"codes": (5, 3)}, {"words_sizes": (3,)}, {"gone": (1,)}):
        with pytest.raises(DamagedError, match=r"the model: .* is shaped"):
            require(memory, "the model", **shapes)


def test_an_output_says_where_its_file_is(tmp_path):
    with write_pack(tmp_path / "pack") as out:
        assert out.folder == PrefixedOutput(out, "a.").folder == tmp_path
    assert Memory().folder is None
