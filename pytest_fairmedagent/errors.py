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


# Kinds of faults of a model's infrastructure. The reason of a missing trial begins with one, so
# that reasons can be counted whatever the server's words are.
RATE_LIMITED = "rate limited"
OVERLOADED = "overloaded"
SERVER_ERROR = "server error"
TIMEOUT = "timeout"
CONNECTION_LOST = "connection lost"
MALFORMED = "malformed reply"
REFUSED = "request refused"
REFUSED_BY_POLICY = "refused by policy"
TOO_LONG = "prompt too long"
OTHER_FAULT = "model error"


class ModelError(FairmedError):
    """A model that is missing, unreachable or answered with a fault of its infrastructure.

    Args:
        kind: one of the kinds above.
        transient: whether another try may succeed (overload, timeout, lost connection).
        retry_after_s: what the server asked to wait, in seconds.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = OTHER_FAULT,
        transient: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.transient = transient
        self.retry_after_s = retry_after_s

    @property
    def reason(self) -> str:
        """The kind and the first line of the message, as records keep it."""
        return f"{self.kind}: {next(iter(str(self).splitlines()), '')}"


class StoreError(FairmedError):
    """A store that cannot be opened, is of another version, or lacks a trial it must hold."""


class OwnCodeError(FairmedError):
    """An outcome or relation of the user's own that failed, or returned what its kind forbids."""


class DisparityError(AssertionError):
    """The signed exact test exceeds what the measured floor explains."""

    __module__ = "builtins"  # as pytest does for its own: reports then begin with the verdict


class InconclusiveError(AssertionError):
    """Neither a disparity nor equivalence was shown, and the run is strict."""

    __module__ = "builtins"


class UnreliableError(AssertionError):
    """The floor of an action lies above its bound, interval and all."""

    __module__ = "builtins"


class RegressionError(AssertionError):
    """A gap or a floor grew since the baseline, by more than the noise of both runs explains."""

    __module__ = "builtins"


def closest(word: str, known: Iterable[str]) -> str:
    """Return the advice " Did you mean 'x'?" (or "") and the known words, for an unknown word."""
    words = sorted(known)
    match = difflib.get_close_matches(word, words, n=1)
    hint = f" Did you mean {match[0]!r}?" if match else ""
    return f"{hint}\n  known: {', '.join(words) if words else '(none)'}"
