"""What is there after Ctrl-C: work of several steps says which of them are done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERRUPTED = "interrupted; nothing was changed by what was under way"


def is_interrupt(error: BaseException | None) -> bool:
    """Tell whether an error was caused by an interrupt, at any remove."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


@contextmanager
def saying_what_is_done(said: Callable[[], str]) -> Iterator[None]:
    """Say at an interrupt what is there by then."""
    try:
        yield
    except (KeyboardInterrupt, SystemError) as error:
        # Python has the second where compiled code was interrupted.
        if not is_interrupt(error):
            raise
        raise KeyboardInterrupt(f"interrupted: {said()}") from error
