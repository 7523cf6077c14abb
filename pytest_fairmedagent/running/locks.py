"""Locks between processes: files that the system unlocks when their process ends, however it does.

A number in a file would outlive its process; a lock of the system never blocks for a dead holder.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

POLL_S = 0.05


def lock(path: Path) -> int | None:
    """Return the descriptor of the file, locked; None if another has it. `unlock` lets it go.

    The file is created if it is not there, for this user alone.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        _lock(descriptor)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def unlock(descriptor: int) -> None:
    os.close(descriptor)


@contextmanager
def alone(path: Path, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold a lock, waiting for it as long as another process has it."""
    while (descriptor := lock(path)) is None:
        on_wait()
        time.sleep(POLL_S)
    try:
        yield
    finally:
        unlock(descriptor)


if sys.platform == "win32":
    import msvcrt

    # Nobody else can read what is locked there, so a byte is taken that is never written.
    _BEYOND = 1 << 30

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, _BEYOND, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
