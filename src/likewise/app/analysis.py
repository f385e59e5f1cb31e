"""How texts of a new collection are analysed, as it is typed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.app.options import positive, whole
from likewise.errors import UsageError

if TYPE_CHECKING:
    from likewise.text.analysis import Analysis


def add_analysis(parser: argparse.ArgumentParser) -> None:
    """Add the options of analysis."""
    group = parser.add_argument_group("analysis (kept with the collection, used for every query)")
    group.add_argument(
        "--language",
        default="auto",
        metavar="NAME",
        help="a name or ISO 639 code, none, or mixed: detected for each document (default: auto)",
    )
    group.add_argument(
        "--stemmer",
        default="",
        metavar="NAME",
        help="a Snowball stemmer, or none (default: the language's)",
    )
    group.add_argument("--stop", default="", metavar="NAME", help="a language's stop list, or none")
    group.add_argument("--stop-file", type=Path, metavar="FILE", help="stop words of your own")
    group.add_argument("--drop-numbers", action="store_true", help="leave numeric tokens out")
    group.add_argument(
        "--min-length", type=positive, default=2, metavar="N", help="shortest token (default 2)"
    )
    group.add_argument(
        "--max-length", type=positive, default=64, metavar="N", help="longest token (default 64)"
    )
    group.add_argument(
        "--title-weight",
        type=positive,
        default=3,
        metavar="N",
        help="how often a title's words count (default 3)",
    )
    group.add_argument(
        "--no-fold", action="store_true", help="keep accents: cafe does not find café"
    )
    group.add_argument(
        "--no-positions",
        action="store_true",
        help="do not store where words stand: smaller, phrases take longer",
    )
    group.add_argument(
        "--min-df", type=whole, default=1, metavar="N", help="terms in at least N documents"
    )
    group.add_argument(
        "--max-df",
        type=float,
        default=1.0,
        metavar="SHARE",
        help="terms in at most this share of them",
    )
    group.add_argument(
        "--min-count", type=whole, default=1, metavar="N", help="terms that occur N times"
    )
    group.add_argument(
        "--max-count", type=whole, default=0, metavar="N", help="terms that occur at most N times"
    )


def read_analysis(options: argparse.Namespace) -> Analysis:
    """Read what `add_analysis` added."""
    from likewise.text.analysis import Analysis

    stop_list: tuple[str, ...] = ()
    if options.stop_file:
        try:
            stop_list = tuple(options.stop_file.read_text("utf-8").split())
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"stop words of {options.stop_file}: {error}") from None
        if not stop_list:
            raise UsageError(f"{options.stop_file} holds no words; --stop none means no stop list")
    return Analysis(
        language=options.language,
        stemmer=options.stemmer,
        stop=options.stop,
        stop_list=stop_list,
        numbers=not options.drop_numbers,
        min_length=options.min_length,
        max_length=options.max_length,
        title_weight=options.title_weight,
        fold=not options.no_fold,
        positions=not options.no_positions,
        min_df=options.min_df,
        max_df=options.max_df,
        min_count=options.min_count,
        max_count=options.max_count,
    )
