"""Options that several commands share, and how they are printed."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from likewise import registry

if TYPE_CHECKING:
    from likewise.collection.build import Resources

Commands = Any
Run = Callable[[argparse.Namespace], None]

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Parser(argparse.ArgumentParser):
    """A parser of options, and of words among them: `words` is the argument that takes these.

    Where there is one, it also takes words that begin with - and are no option, and words that come
    after options. Long options are written with two dashes, so a slip in one is still told.
    """

    words = ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse what is known; give the rest as well."""
        if not self.words:
            found, rest = super().parse_known_args(args, namespace)
            self._refuse(rest)
            return found, rest
        given = [*(sys.argv[1:] if args is None else args)]
        n = given.index("--") if "--" in given else len(given)
        # What begins with a space is no option, and a word of a query with one is the same word.
        given[:n] = [f" {one}" if self._is_word(one) else one for one in given[:n]]
        found, rest = super().parse_known_args(given, namespace)
        getattr(found, self.words, []).extend(one for one in rest if not one.startswith("-"))
        rest = [one for one in rest if one.startswith("-")]
        self._refuse(rest)
        return found, rest

    def _refuse(self, rest: Sequence[str]) -> None:
        """Tell what is no option here, rather than in the parser of all commands."""
        if rest:
            typed = next((one for one in rest if one.startswith("--")), rest[0]).partition("=")[0]
            close = get_close_matches(typed, [*self._option_string_actions])
            meant = f"; did you mean {' or '.join(close)}?" if close else ""
            self.error(f"unrecognized arguments: {' '.join(rest)}{meant}")

    def _is_word(self, text: str) -> bool:
        if not re.match(r"-[^-]", text):
            return False
        if f"-{text.partition('=')[0]}" in self._option_string_actions:
            self.error(
                f"{text} is no option: did you mean -{text}? To leave out documents with that "
                f"word, put the whole query in quotes, with {text} in it"
            )
        short = [one for one in self._option_string_actions if re.fullmatch("-[^-]", one)]
        return not any(re.fullmatch(rf"{one}([\d=].*)?", text) for one in short)


def command(commands: Commands, name: str, run: Run, *, manual: str, summary: str = "") -> Parser:
    """Add a command: what runs it, its manual, and its summary if the table has none."""
    summary = summary or registry.COMMANDS[name][1]
    made: Parser = commands.add_parser(
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


def add_document(parser: argparse.ArgumentParser) -> None:
    """Add --doc, --id and --text, one of which says what document is asked about."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--doc", metavar="FILE", help="a document of any format; - is text on standard input"
    )
    which.add_argument("--id", metavar="ID", help="a document of the collection")
    which.add_argument("--text", metavar="TEXT", help="this text")


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
