"""An index in one file, a pack: written whole, memory-mapped, replaced as a whole."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from likewise import notation
from likewise.arguments import check_path
from likewise.collection.arrays import PrefixedArrays, PrefixedOutput
from likewise.collection.files import storage_errors
from likewise.collection.pack import Pack, open_pack, write_pack
from likewise.errors import DamagedError, FormatError, StorageError, UsageError
from likewise.neighbours.index import Neighbours, Part, read_method
from likewise.neighbours.metrics import PRODUCT, read_metric

FORMAT, VERSION = "likewise neighbours", 2
_ABOUT_FORMAT_1 = "neighbours.json"
_ZIP = b"PK"


def save_neighbours(neighbours: Neighbours, path: Path) -> None:
    """Write an index; one that was there before is replaced when all is written."""
    try:
        with storage_errors(path):
            if path.exists():
                _find(path)
    except (UsageError, FormatError, DamagedError) as error:
        raise UsageError(f"{error} (name another file, or remove what is there)") from None
    with write_pack(path) as pack:
        pack.put("gone", neighbours.gone)
        for i, part in enumerate(neighbours.parts):
            pack.put(f"{i}.points", part.points)
            part.finder.save(PrefixedOutput(pack, f"{i}.finder."))
        pack.note(
            format=FORMAT,
            version=VERSION,
            metric=neighbours.metric.name,
            method=notation.write(neighbours.method),
            dimensions=neighbours.dimensions,
            seed=neighbours.seed,
            parts=[len(part.points) for part in neighbours.parts],
        )


def open_neighbours(path: str | os.PathLike[str]) -> Neighbours:
    """Open an index as `save` wrote it; points and finders are memory-mapped."""
    check_path(path, "an index")
    pack = _find(Path(os.fsdecode(path)))
    version = pack.meta.get("version")
    if version != VERSION:
        raise FormatError(f"{path}: an index of format {version}; build it again")
    try:
        return _opened(pack)
    except UsageError:
        # A method that another package brings, and that is not installed.
        raise
    except (ValueError, TypeError, LookupError, AttributeError):
        raise DamagedError(f"{path}: its arrays do not fit; build the index again") from None


def _find(path: Path) -> Pack:
    """Open the pack of an index, or say what else is there."""
    if (path / _ABOUT_FORMAT_1).exists():
        raise FormatError(f"{path}: an index of format 1, which was a folder; build it again")
    if not path.is_file():
        what = "a folder" if path.is_dir() else "nothing that can be read"
        raise UsageError(f"{path} is no index of neighbours: there is {what}")
    try:
        with path.open("rb") as file:
            foreign = file.read(len(_ZIP)) != _ZIP
        if foreign or (pack := open_pack(path)).meta.get("format") != FORMAT:
            raise UsageError(f"{path} is no index of neighbours: there is another kind of file")
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror})") from error
    return pack


def _opened(pack: Pack) -> Neighbours:
    about = pack.meta
    metric = read_metric(about["metric"])
    neighbours = Neighbours(
        metric,
        read_method(about["method"]),
        dimensions=about["dimensions"],
        seed=about["seed"],
    )
    neighbours.gone = pack["gone"]
    width = neighbours.dimensions + (metric.form == PRODUCT)
    first = 0
    for i, n in enumerate(about["parts"]):
        # Whatever their values are, they lead nowhere; reading all of them takes long.
        points = pack.unchecked(f"{i}.points")
        if points.dtype != np.float32 or points.shape != (n, width):
            raise ValueError(points.shape)
        finder = neighbours.method.load(PrefixedArrays(pack, f"{i}.finder."), points)
        neighbours.parts.append(Part(first, points, finder))
        first += n
    if neighbours.gone.dtype != np.bool_ or neighbours.gone.shape != (first,):
        raise ValueError(neighbours.gone.shape)
    return neighbours
