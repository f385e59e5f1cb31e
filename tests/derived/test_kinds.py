"""Kinds of derived data are in the tables as they say of themselves."""

import pytest

from likewise import registry
from likewise.derived.kind import Scope
from likewise.derived.store import kind_of, kinds_of


@pytest.mark.parametrize("name", registry.KINDS)
def test_a_kind_is_in_the_tables_as_it_says(name):
    kind = kind_of(name)
    assert kind.name == name
    if kind.scope is Scope.ROOT:
        assert kind.root == ""
    else:
        assert kind in kinds_of(kind.root)
        assert kind_of(kind.root).scope is Scope.ROOT


def test_what_is_computed_is_known():
    computed = [name for names in registry.COMPUTED.values() for name in names]
    assert len(computed) == len({*computed})
    assert {*computed, *registry.COMPUTED} == {*registry.KINDS}


def test_a_kind_that_is_not_known():
    assert kind_of("of a later version") is None
    assert kinds_of("of a later version") == []
