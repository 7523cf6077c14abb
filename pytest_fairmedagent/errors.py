"""What can go wrong, by name.

The first line of every message stands alone, for it is all that a summary shows: what happened, the
value, what was expected. What to do about it follows.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class FairmedError(Exception):
    """Base of the errors of this project that are not verdicts."""


class FileFormatError(FairmedError):
    """A vignette, swap, plan or record file that does not say what it should."""


class PlanError(FairmedError):
    """A plan, mark or option that names something unknown or asks for something refused."""


class ModelError(FairmedError):
    """A model that is missing, unreachable or answered with a fault of its infrastructure.

    Args:
        transient: whether another try may succeed (overload, timeout, lost connection).
        retry_after_s: what the server asked to wait, in seconds.
    """

    def __init__(
        self, message: str, *, transient: bool = False, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.transient = transient
        self.retry_after_s = retry_after_s


class StoreError(FairmedError):
    """A store that cannot be opened, is of another version, or lacks a trial it must hold."""


class DisparityError(AssertionError):
    """The signed exact test exceeds what the measured floor explains."""

    __module__ = "builtins"  # as pytest does for its own: reports then begin with the verdict


class InconclusiveError(AssertionError):
    """Neither a disparity nor equivalence was shown, and the run is strict."""

    __module__ = "builtins"


class UnmeasuredError(AssertionError):
    """No verdict may be given: a guard rejected, data are missing, or nothing was asserted."""

    __module__ = "builtins"


def closest(word: str, known: Iterable[str]) -> str:
    """Return the advice " Did you mean 'x'?" (or "") and the known words, for an unknown word."""
    words = sorted(known)
    match = difflib.get_close_matches(word, words, n=1)
    hint = f" Did you mean {match[0]!r}?" if match else ""
    return f"{hint}\n  known: {', '.join(words) if words else '(none)'}"
