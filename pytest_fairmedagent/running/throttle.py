"""How many calls may be under way at once: fewer after a rate limit, all of them again later."""

from __future__ import annotations

import threading
from collections import Counter

RECOVER_AFTER = 10  # answers in a row after which one more call may be under way


class Throttle:
    """Halves the calls under way when the server says that it limits them, down to 1.

    Only a rate limit does that. An overloaded server has too much of everybody's work: asking less
    would not mend it, and the floor is to be measured at the concurrency of the arms.

    `limit` is how many may be under way now, `lowest` the fewest so far.
    """

    def __init__(self, most: int) -> None:
        self.limit = self.lowest = most
        self._calls: Counter[str] = Counter()
        self._calls_below: Counter[str] = Counter()
        self._most = most
        self._under_way = 0
        self._answers = 0
        self._cuts = 0
        self._free = threading.Condition()

    def enter(self, timeout_s: float) -> int | None:
        """Return a ticket once another call may start; None if none may within the time."""
        with self._free:
            if not self._free.wait_for(lambda: self._under_way < self.limit, timeout_s):
                return None
            self._under_way += 1
            return self._cuts

    def leave(self, ticket: int, *, answered: bool = False, limited: bool = False) -> None:
        """Give a ticket back, and tell what came of its call."""
        with self._free:
            self._under_way -= 1
            # Calls that were sent together are refused together: that is one reason, not many.
            if limited and ticket == self._cuts:
                self.limit = max(1, self.limit // 2)
                self.lowest = min(self.lowest, self.limit)
                self._cuts += 1
            self._answers = self._answers + answered if not limited else 0
            if self._answers >= RECOVER_AFTER and self.limit < self._most:
                self.limit += 1
                self._answers = 0
            self._free.notify_all()

    @property
    def shrunk(self) -> bool:
        """Whether fewer may be under way than were asked for."""
        return self.limit < self._most

    def count(self, arm: str) -> None:
        """Count an answered call of an arm, and whether fewer than usual were under way."""
        with self._free:
            self._calls[arm] += 1
            self._calls_below[arm] += self.shrunk

    def note(self) -> str:
        """Return what rate limits did to the run, "" for nothing.

        It is told and not held against a verdict: trials are drawn in rounds of all arms in random
        order, so a stretch with fewer calls under way meets every arm alike, and the floor is that
        of the same mixture. The shares show whether it was so; they would differ where one arm's
        longer prompts had brought the limit about.
        """
        if self.lowest == self._most:
            return ""
        text = f"a rate limit cut the calls under way from {self._most} to {self.lowest}"
        shares = sorted((self._calls_below[arm] / n, arm) for arm, n in self._calls.items())
        if not shares:
            return text
        (low, least), (high, most) = shares[0], shares[-1]
        return (
            f"{text}; {sum(self._calls_below.values())} of {sum(self._calls.values())} calls were "
            f"made below {self._most}: {low:.0%} ({least}) to {high:.0%} ({most}) of an arm's"
        )
