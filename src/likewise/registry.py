"""Tables of names: what each stands for is imported when it is first asked for.

So no room imports one above it, and a command loads what it uses only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

# Kinds of derived data.
KINDS = {
    "model": "likewise.models.stored:MODEL",
    "vectors": "likewise.models.stored:VECTORS",
    "finder": "likewise.models.stored:FINDER",
    "graph": "likewise.terms.stored:GRAPH",
    "pairs": "likewise.terms.stored:PAIRS",
    "prepared": "likewise.terms.stored:PREPARED",
}

# What is computed from a kind of root, in the order of needs.
COMPUTED = {"model": ("vectors", "finder"), "graph": ("pairs", "prepared")}

# Types of fitted models, by what their artifacts say.
MODELS = {
    "topics": "likewise.models.topics:TopicModel",
    "subspace": "likewise.models.subspace:Subspace",
    "vectors": "likewise.models.supplied:SuppliedModel",
    "klsa": "likewise.smooth.space:KernelSpace",
    "klsa-given": "likewise.smooth.given:GivenSpace",
}


def look_up(table: Mapping[str, str], name: str) -> Any:
    """Import what a name stands for."""
    return _imported(table[name])


@cache
def _imported(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
