"""The command line: what was typed becomes a call, an error a line and an exit code."""

from __future__ import annotations

import argparse
import io
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TextIO

from likewise import __version__, notation, registry
from likewise.app.interrupts import INTERRUPTED, is_interrupt
from likewise.app.options import Commands, Parser
from likewise.errors import LikewiseError, UsageError

_DESCRIPTION = """\
Find the documents like this one, on one CPU, and say exactly why.

  likewise index papers.jsonl --to papers.lw     make a collection
  likewise like papers.lw --doc draft.txt        find the documents like this one
  likewise search papers.lw "boundary layer"     search it by words
  likewise demo                                  see it at work on this machine's docstrings
"""

_EPILOG = """\
Data goes to standard output, progress and messages to standard error. Every command that prints
a table takes --json. Exit codes: 0 done, 1 failed, 2 not understood, 130 interrupted.
`likewise COMMAND --help` is the manual of a command.
"""


def parser(command: str = "") -> argparse.ArgumentParser:
    """Make the parser of a command; without one, what tells of all of them."""
    top, commands = _top()
    if command in registry.COMMANDS:
        module, _ = registry.COMMANDS[command]
        import_module(f"likewise.app.commands.{module}").register(commands)
        return top
    # Commands of other packages are looked for only where one is typed that is not ours.
    typed = bool(command) and not command.startswith("-")
    if typed and (register := registry.command_added(command)):
        register(commands)
        return top
    for name, (_, summary) in registry.COMMANDS.items():
        commands.add_parser(name, help=summary)
    if typed:
        known = [*registry.COMMANDS, *registry.commands_added()]
        top.error(notation.unknown("command", command, known))
    return top


def whole_parser() -> argparse.ArgumentParser:
    """Make the parser of all commands, those of other packages too."""
    top, commands = _top()
    for module in dict.fromkeys(module for module, _ in registry.COMMANDS.values()):
        import_module(f"likewise.app.commands.{module}").register(commands)
    for name in registry.commands_added():
        registry.command_added(name)(commands)
    return top


def _top() -> tuple[argparse.ArgumentParser, Commands]:
    """Make a parser that has no commands yet, and what they are added to."""
    top = Parser(
        prog="likewise",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"likewise {__version__}")
    return top, top.add_subparsers(title="commands", metavar="COMMAND", required=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; give the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # What a terminal cannot show is replaced, not an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    options = parser(_command(given)).parse_args(given)
    with _logging_to(sys.stderr):
        return _run(options)


def _command(arguments: Sequence[str]) -> str:
    """Give the command that was typed: only its module is imported. Options may not precede it."""
    typed = [argument for argument in arguments if argument != "--"]
    return typed[0] if typed else ""


def _run(options: argparse.Namespace) -> int:
    try:
        options.run(options)
        sys.stdout.flush()
    except UsageError as error:
        return _fail(error, 2)
    except LikewiseError as error:
        return _fail(error, 1)
    except BrokenPipeError:
        # The reader has gone (as `head` does); nothing more can or need be said.
        _silence()
        return 0
    except KeyboardInterrupt as error:
        return _fail(str(error) or INTERRUPTED, 130)
    except SystemError as error:
        # As Python has it where compiled code was interrupted.
        if not is_interrupt(error):
            raise
        return _fail(INTERRUPTED, 130)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        _silence()
        return _fail(f"{error.filename or 'standard output'}: {reason}", 1)
    except MemoryError:
        return _fail("out of memory; give less with --memory, or fewer --threads", 1)
    return 0


@contextmanager
def _logging_to(stream: TextIO) -> Iterator[None]:
    """Log warnings beside the answer; LIKEWISE_LOG names a lower level (INFO, DEBUG)."""
    log = logging.getLogger("likewise")
    before = log.level, log.propagate
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("likewise: %(message)s"))
    level = os.environ.get("LIKEWISE_LOG", "WARNING").upper()
    log.setLevel(level if level in logging.getLevelNamesMapping() else "WARNING")
    log.propagate = False
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before[0])
        log.propagate = before[1]


def _silence() -> None:
    """Send what is left in the buffer nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(error: LikewiseError | str, code: int) -> int:
    told = error if isinstance(error, str) else error.in_shell
    print(f"likewise: {told}", file=sys.stderr)
    return code
