"""Options that several commands share, and how they are printed."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from likewise import registry

if TYPE_CHECKING:
    from likewise.collection.build import Resources

Commands = Any
Run = Callable[[argparse.Namespace], None]

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def command(
    commands: Commands, name: str, run: Run, *, manual: str, summary: str = ""
) -> argparse.ArgumentParser:
    """Add a command: what runs it, its manual, and its summary if the table has none."""
    summary = summary or registry.COMMANDS[name][1]
    made: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=manual,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(run=run)
    return made


# Options that mean the same wherever they stand, named as in Python.
_SHARED: dict[str, dict[str, Any]] = {
    "method": {"metavar": "NAME", "help": "how to score"},
    "expand": {"metavar": "NAME", "help": "how to expand queries"},
    "smooth": {"metavar": "NAME", "help": "how to smooth rankings"},
    "filter": {
        "metavar": "CONDITION",
        "action": "append",
        "default": [],
        "help": "only documents that meet it",
    },
    "explain": {"action": "store_true", "help": "show what each score is made of"},
}


def add_shared(parser: argparse.ArgumentParser, *names: str, method: str | None = None) -> None:
    """Add options by name: method (and its default), expand, smooth, filter, explain."""
    for name in names:
        how = dict(_SHARED[name])
        if name == "method":
            how["default"] = method
            how["help"] += f" (default {method})" if method else " (see below)"
        parser.add_argument(f"--{name}", **how)


def add_k(parser: argparse.ArgumentParser, default: int, what: str = "answers") -> None:
    """Add -k, the number of answers (or of others)."""
    parser.add_argument(
        "-k", type=positive, default=default, metavar="N", help=f"{what} (default {default})"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def add_resources(parser: argparse.ArgumentParser) -> None:
    """Add --memory, --threads and --quiet."""
    parser.add_argument(
        "--memory", type=size, default=1 << 30, metavar="SIZE", help="memory budget (default 1G)"
    )
    parser.add_argument(
        "--threads", type=whole, default=0, metavar="N", help="threads (default: all cores)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def resources(options: argparse.Namespace) -> Resources:
    """Read what `add_resources` added."""
    from likewise.collection.build import Resources

    return Resources(memory=options.memory, threads=options.threads)


def size(text: str) -> int:
    """Read a size: 512M, 2G, 1000000."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", text.upper())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 512M or 2G")
    value = int(float(match[1]) * _UNITS[match[2]])
    if value < 16 << 20:
        raise argparse.ArgumentTypeError(f"{text!r} is too little: at least 16M")
    return value


def whole(text: str) -> int:
    """Read a whole number, not negative."""
    if not re.fullmatch(r"\d{1,9}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def positive(text: str) -> int:
    """Read a whole number from 1 up."""
    value = whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return value


def spoken(words: Sequence[str]) -> str:
    """Join words of the command line; bytes among them that are no text are replaced."""
    return " ".join(words).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    import orjson

    flags = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
    sys.stdout.buffer.write(orjson.dumps(value, option=flags))
    sys.stdout.buffer.flush()


def human_size(n_bytes: float) -> str:
    """Write a number of bytes for people."""
    for unit in ("B", "KB", "MB", "GB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TB"
