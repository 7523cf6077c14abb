"""How many calls may be under way at once: fewer after a rate limit, all of them again later."""

from __future__ import annotations

import threading

RECOVER_AFTER = 10  # answers in a row after which one more call may be under way


class Throttle:
    """Halves the calls under way when the server says that it limits them, down to 1.

    Only a rate limit does that. An overloaded server has too much of everybody's work: asking less
    would not mend it, and the floor is to be measured at the concurrency of the arms.
    """

    def __init__(self, most: int) -> None:
        self.limit = most
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
                self._cuts += 1
            self._answers = self._answers + answered if not limited else 0
            if self._answers >= RECOVER_AFTER and self.limit < self._most:
                self.limit += 1
                self._answers = 0
            self._free.notify_all()
