"""How tests look at a figure."""

import struct
import xml.etree.ElementTree as ET
from importlib.util import find_spec

import pytest

collect_ignore = (
    [] if find_spec("matplotlib") else ["test_style.py", "test_words.py", "test_curves.py"]
)


class Seen:
    """What is written in an SVG, and how large a PNG is."""

    @staticmethod
    def texts(file):
        root = ET.fromstring(file.read_bytes())
        return [e.text for e in root.iter("{http://www.w3.org/2000/svg}text") if e.text]

    @staticmethod
    def size(file):
        data = file.read_bytes()
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        return struct.unpack(">II", data[16:24])


@pytest.fixture
def seen():
    return Seen
