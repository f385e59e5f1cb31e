"""How does an index stay on disk? Arrays and a JSON file, memory-mapped, replaced as a whole."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from likewise import notation
from likewise.collection.files import (
    Seal,
    check_content,
    check_size,
    map_array,
    seal,
    storage_errors,
    sync_folder,
    write_array,
    write_bytes,
)
from likewise.errors import DamagedError, FormatError, UsageError
from likewise.neighbours.index import Neighbours, Part, read_method
from likewise.neighbours.metrics import PRODUCT, read_metric

FORMAT = 1
_ABOUT = "neighbours.json"
_ALWAYS_CHECKED = 64 << 20


def save_neighbours(neighbours: Neighbours, path: Path) -> None:
    """Write an index; what was there before is replaced when all is written."""
    if path.exists() and not (path / _ABOUT).exists() and not _is_empty(path):
        raise UsageError(f"{path} is there and is no index of neighbours: name another folder")
    aside = path.with_name(path.name + ".new")
    with storage_errors(path):
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        write_array(aside / "gone.npy", neighbours.gone.astype(np.uint8))
        for i, part in enumerate(neighbours.parts):
            inside = aside / f"part-{i}"
            (inside / "finder").mkdir(parents=True)
            write_array(inside / "points.npy", part.points.ravel(), np.float32)
            part.finder.save(inside / "finder")
        about = {
            "format": FORMAT,
            "metric": neighbours.metric.name,
            "method": notation.write(neighbours.method),
            "dimensions": neighbours.dimensions,
            "seed": neighbours.seed,
            "parts": [len(part.points) for part in neighbours.parts],
            "files": _seals(aside),
        }
        write_bytes(aside / _ABOUT, orjson.dumps(about))
        sync_folder(aside)
        old = _old(path)
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
            path.rename(old)
        aside.rename(path)
        sync_folder(path.parent)
        shutil.rmtree(old, ignore_errors=True)


def open_neighbours(folder: str | os.PathLike[str]) -> Neighbours:
    """Open an index as `save` wrote it; points and finders are memory-mapped."""
    path = Path(folder)
    if not path.exists() and _old(path).exists():
        path = _old(path)  # a process was killed between the two steps of replacing it
    try:
        about: dict[str, Any] = orjson.loads((path / _ABOUT).read_bytes())
        version = about["format"]
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{path} is no index of neighbours: it has no {_ABOUT}") from None
    except (ValueError, TypeError, LookupError):
        raise DamagedError(f"{path / _ABOUT}: not readable; build the index again") from None
    if version != FORMAT:
        raise FormatError(f"{path}: an index of format {version}; build it again")
    try:
        return _opened(path, about)
    except (FileNotFoundError, ValueError, TypeError, LookupError, AttributeError):
        raise DamagedError(f"{path}: its files do not fit; build the index again") from None


def _opened(path: Path, about: dict[str, Any]) -> Neighbours:
    for name, measured in about["files"].items():
        expected = Seal(*measured)
        check = check_content if expected.size <= _ALWAYS_CHECKED else check_size
        check(path / name, expected)
    metric = read_metric(about["metric"])
    neighbours = Neighbours(
        metric,
        read_method(about["method"]),
        dimensions=about["dimensions"],
        seed=about["seed"],
    )
    neighbours.gone = map_array(path / "gone.npy").astype(np.bool_)
    width = neighbours.dimensions + (metric.form == PRODUCT)
    first = 0
    for i, n in enumerate(about["parts"]):
        points = map_array(path / f"part-{i}" / "points.npy").reshape(n, width)
        finder = neighbours.method.load(path / f"part-{i}" / "finder", points)
        neighbours.parts.append(Part(first, points, finder))
        first += n
    if first != neighbours.n_slots:
        raise DamagedError(f"{path}: {first} points and {neighbours.n_slots} numbers")
    return neighbours


def _seals(folder: Path) -> dict[str, list[int]]:
    """Measure every file of an index and push its folders to the disk."""
    inside = sorted(folder.rglob("*"))
    for path in filter(Path.is_dir, inside):
        sync_folder(path)
    files = filter(Path.is_file, inside)
    return {path.relative_to(folder).as_posix(): [*seal(path)] for path in files}


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _old(path: Path) -> Path:
    return path.with_name(path.name + ".old")
