"""How long prompts are in tokens, for servers that have no tokenizer to ask."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_fairmedagent.models.base import Message, Planned, Request

# English has about 4 bytes a token. 3 counts too many rather than too few.
CAUTIOUS = 1 / 3
FRAME = 16  # tokens that a template puts around a message, at most
# The same writing differs by some 10 % in tokens per byte. A cut takes at least a whole message
# (the case, which comes first) or half the window away.
LEAST_SHARE = 0.75
ABOVE = 1.15
# Fewer tokens per byte no tokenizer makes of prompts like these; words per byte are some 0.16.
LEAST_PER_BYTE = 0.18


@dataclass(frozen=True)
class Ruler:
    """Tokens per byte of this plan's prompts, templates included: the fewest and the most seen.

    Before anything was counted, `measured` is False: the most is a cautious guess and there is no
    fewest.
    """

    fewest: float = 0.0
    most: float = CAUTIOUS

    @property
    def measured(self) -> bool:
        return self.fewest > 0

    @classmethod
    def of(cls, counted: Iterable[tuple[Request, int]]) -> Ruler:
        """Return the ruler that prompts and the tokens a server counted in them give.

        Not measured, if the server counted none, or something that can not be tokens.
        """
        shares = [tokens / size(request.messages) for request, tokens in counted]
        if not shares or min(shares) < LEAST_PER_BYTE:
            return cls()
        return cls(min(shares), max(shares))

    def at_most(self, request: Request) -> int:
        """Return a number of tokens that the prompt hardly exceeds."""
        n_bytes, n_messages = size(request.messages), len(request.messages)
        if self.measured:
            return int(n_bytes * self.most * ABOVE)
        return int(n_bytes * self.most) + FRAME * n_messages

    def at_least(self, request: Request) -> int:
        """Return a number of tokens below which the prompt was not read whole; 0 unmeasured."""
        return int(size(request.messages) * self.fewest * LEAST_SHARE)

    def need(self, request: Request) -> int:
        """Return the window that the prompt and its answer hardly exceed, in tokens."""
        return self.at_most(request) + request.max_tokens


def size(messages: Iterable[Message]) -> int:
    """Return the bytes of all messages together."""
    return sum(len(message["content"].encode(errors="replace")) for message in messages)


def extremes(planned: Iterable[Planned], ruler: Ruler) -> tuple[Planned, Planned]:
    """Return the requests that need the smallest and the largest window."""
    ranked = sorted(planned, key=lambda p: ruler.need(p.request))
    return ranked[0], ranked[-1]
