"""Files that were altered in transit: the parent goes on, and each has a document or a status."""

import io
import random
import zipfile

import pytest
from made_files import VALID, zipped

from likewise.formats.kinds import KINDS, parser_of
from likewise.formats.parsed import STATUSES, Refused
from likewise.formats.pool import Limits, Pool


def altered(data, others, draw):
    """Bytes flipped, cut, repeated, or spliced with another file."""
    data = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(data) + 1)
        match draw.randrange(5):
            case 0:
                for _ in range(draw.randint(1, 20)):
                    if data:
                        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            case 1:
                del data[place:]
            case 2:
                del data[place : place + draw.randint(1, 50)]
            case 3:
                data[place:place] = data[place : place + draw.randint(1, 300)] * draw.randint(1, 5)
            case 4:
                other = draw.choice(others)
                start = draw.randrange(len(other))
                data[place:place] = other[start : start + draw.randint(1, 300)]
    return bytes(data)


def altered_within(data, others, draw):
    """An archive in which one member was altered before it was packed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = draw.choice(sorted(members))
    return zipped(members | {name: altered(members[name], others, draw)})


def altered_file(format, draw):
    data, others = VALID[format], [*VALID.values()]
    within = format in ("docx", "xlsx") and draw.random() < 0.7
    return (altered_within if within else altered)(data, others, draw)


def fuzz(format, n_files):
    if format == "pdf":
        pytest.importorskip("pypdfium2")
    draw = random.Random(format)
    kind = KINDS[format]
    parser = parser_of(kind) if kind.parser else "likewise.formats.xlsx:parse"
    outcomes = {"read": 0}
    with Pool(Limits(seconds=30, memory=1 << 29, restarts=n_files), size=2) as pool:

        def work(data):
            try:
                return len([*pool.parse(parser, data)])
            except Refused as refused:
                return refused.status

        files = [altered_file(format, draw) for _ in range(n_files)]
        for _, outcome in pool.map(files, work):
            found = outcome.result()
            assert isinstance(found, int) or found in STATUSES
            key = "read" if isinstance(found, int) else found
            outcomes[key] = outcomes.get(key, 0) + 1
        # The parent is well, and so are its processes.
        assert [*pool.parse(parser, VALID[format])]
    assert sum(outcomes.values()) == n_files
    return outcomes


@pytest.mark.parametrize("format", VALID)
def test_some_altered_files(format):
    fuzz(format, 20)


@pytest.mark.long
@pytest.mark.parametrize("format", VALID)
def test_many_altered_files(format):
    print(format, fuzz(format, 1000))
