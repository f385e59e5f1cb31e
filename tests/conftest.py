"""What every test may use."""

import os

import pytest
from hypothesis import HealthCheck, settings

import likewise as lw
from likewise.app.progress import VARIABLE
from likewise_papers.folders import find_collection

# How fast a machine is says nothing about a test: an example may take its time, most of all the
# first, for which kernels are compiled. Examples of a test may share its folder.
settings.register_profile(
    "likewise",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("likewise")
# Nor does progress appear on a slow machine, here or in processes that tests start.
os.environ[VARIABLE] = "none"


@pytest.fixture(scope="session")
def real():
    """Find the folder of a real collection by its name; a test that has none is left out."""

    def real(name):
        found = find_collection(name)
        if found is None:
            pytest.skip(f"LIKEWISE_DATA names no folder that has {name}")
        return found

    return real


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
