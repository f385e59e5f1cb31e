"""How do commands draw? A figure is made before anything is printed, and told of afterwards."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from likewise.errors import LikewiseError, StorageError, UsageError


def add_figure(parser: argparse.ArgumentParser, default: str) -> None:
    """Add --plot, --no-plot and --quiet."""
    figure = parser.add_mutually_exclusive_group()
    figure.add_argument(
        "--plot",
        type=Path,
        metavar="NAME",
        help=f"write NAME.svg and NAME.png (default {default})",
    )
    figure.add_argument("--no-plot", action="store_true", help="write no figure")
    parser.add_argument("--quiet", action="store_true", help="no messages on standard error")
    parser.set_defaults(plot_default=Path(default))


def check_figure(options: argparse.Namespace) -> None:
    """Refuse a figure, asked for by name, that could not be written in the end."""
    if not options.plot:
        return
    from likewise.draw import style

    style.check(options.plot)
    folder = options.plot.parent
    if not folder.is_dir():
        raise UsageError(f"--plot {options.plot}: there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK):
        raise StorageError(f"--plot {options.plot}: {folder} cannot be written to")


class Figure(NamedTuple):
    """What became of a figure."""

    said: str = ""
    error: LikewiseError | None = None

    def tell(self, options: argparse.Namespace) -> None:
        """Say where it is, or raise why not: one that nobody asked for by name may be missing."""
        if self.error and options.plot:
            raise self.error
        if self.said:
            say(options, self.said)


def draw_figure(options: argparse.Namespace, draw: Callable[[Path], list[Path]]) -> Figure:
    """Draw unless --no-plot was given."""
    if options.no_plot:
        return Figure()
    try:
        written = draw(options.plot or options.plot_default)
    except LikewiseError as error:
        return Figure(f"no figure: {error.in_shell}", error)
    return Figure(f"the figure is in {' and '.join(map(str, written))}")


def say(options: argparse.Namespace, text: str) -> None:
    """Say something on standard error, unless --quiet was given."""
    if not options.quiet:
        print(f"likewise: {text}", file=sys.stderr)
