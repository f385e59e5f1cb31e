"""What every test may use."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

import likewise as lw

# Compiling a kernel makes the first example of a test slow, which says nothing about the test.
settings.register_profile("likewise", deadline=None)
settings.load_profile("likewise")


@pytest.fixture(scope="session")
def data():
    """The folder of real test collections."""
    folder = os.environ.get("LIKEWISE_DATA")
    if not folder:
        pytest.skip("LIKEWISE_DATA does not name the folder of test collections")
    return Path(folder)


PAPERS = [
    {
        "id": "1",
        "title": "Wing flutter",
        "text": "Flutter of a wing. Wings do flutter.",
        "year": 1960,
    },
    {"id": "2", "title": "Heat transfer", "text": "Heat transfer to a blunt body.", "year": 1958},
    {"id": "3", "title": "Boundary layers", "text": "The boundary layer on a wing.", "year": 1962}
    | {"tags": ["flow", "wing"]},
    {"id": "4", "title": "Panel flutter", "text": "Panels in supersonic flow.", "year": 1965}
    | {"tags": ["flow"]},
    {"id": "5", "title": "", "text": "", "year": 1970},
]


@pytest.fixture
def papers(tmp_path):
    """A collection of five small papers."""
    return lw.index(PAPERS, to=tmp_path / "papers.lw")
