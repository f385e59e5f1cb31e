"""completion: what a shell needs to complete commands, options and files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from likewise.app.options import Commands, command

SHELLS = ("bash", "zsh", "tcsh", "fish")
_FOLDERS = {"DIR", "TO"}
_FILES = {"FILE", "RUN", "SOURCE"}

_MANUAL = """\
Prints a script for the shell; commands of other installed packages are in it too.

examples:
  likewise completion bash > ~/.local/share/bash-completion/completions/likewise
  likewise completion zsh > ~/.zsh/completions/_likewise       in a folder of $fpath
  likewise completion fish > ~/.config/fish/completions/likewise.fish
  likewise completion tcsh > ~/.likewise.tcsh                  and `source` it in ~/.tcshrc
"""


def register(commands: Commands) -> None:
    """Add the command."""
    made = command(commands, "completion", _print, manual=_MANUAL)
    made.add_argument("shell", choices=SHELLS, help="the shell that reads it")


def _print(options: argparse.Namespace) -> None:
    import shtab

    from likewise.app.cli import whole_parser

    parser = whole_parser()
    for action in _actions(parser):
        for metavars, completed in ((_FOLDERS, shtab.DIRECTORY), (_FILES, shtab.FILE)):
            if action.metavar in metavars:
                vars(action)["complete"] = completed
    print(shtab.complete(parser, options.shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Give the options and arguments of a parser and of all commands in it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)
