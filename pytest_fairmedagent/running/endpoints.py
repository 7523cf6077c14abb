"""Who asks a server of this machine: one run at a time, or its answers and its floor are both's.

Every process that asks a server keeps a locked file in the server's folder, with its number and the
start of pytest that it belongs to. Files of dead processes are not locked, and are removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models.hosts import local_endpoint
from pytest_fairmedagent.running.locks import POLL_S, alone, lock, unlock

WAIT_S = 20.0  # a run that is about to end is waited for; one that goes on is named
LOOK_S = 0.25


@contextmanager
def held(
    urls: Iterable[str],
    *,
    start: str,
    share: bool = False,
    on_wait: Callable[[str], None] = lambda holder: None,
    wait_s: float | None = None,
) -> Iterator[list[str]]:
    """Be the run that asks those of the servers that are on this machine.

    Yields the other runs that ask one too, which is none unless `share` allows it. Processes with
    the same `start` are one run. While another run has a server, `on_wait` is told who that is;
    after `wait_s` (None for `WAIT_S`) ModelError is raised. Hosted servers are made to be shared,
    and are passed over.
    """
    here = sorted({place for url in urls if (place := local_endpoint(url))})
    others: list[str] = []
    wait_s = WAIT_S if wait_s is None else wait_s
    with ExitStack() as stack:
        for endpoint in here:  # sorted, or two runs could wait for each other
            others += stack.enter_context(_one(endpoint, start, share, on_wait, wait_s))
        yield others


@contextmanager
def _one(
    endpoint: str, start: str, share: bool, on_wait: Callable[[str], None], wait_s: float
) -> Iterator[list[str]]:
    folder = _folder() / re.sub(r"\W", "_", endpoint)
    folder.mkdir(mode=0o700, exist_ok=True)
    mine = folder / f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
    deadline = time.monotonic() + wait_s
    while True:
        with alone(folder / "door"):
            others = _others(folder, start)
            if share or not others:
                descriptor = lock(mine)
                assert descriptor is not None  # noqa: S101 - nobody else knows its name
                about = {"pid": os.getpid(), "since": time.time(), "start": start}
                os.write(descriptor, json.dumps(about).encode())
                break
        if time.monotonic() > deadline:
            raise ModelError(
                f"the server at {endpoint} is being asked by another run: {others[0]}\n"
                "  Two runs on one server slow each other down, and the floor would be measured "
                "under the other's load.\n  Wait until that run has ended, or give this one a "
                "server of its own. To share the server knowingly: --fairmed-share-server"
            )
        on_wait(others[0])
        time.sleep(LOOK_S)
    try:
        yield others
    finally:
        # Unlocked first: Windows removes no file that is open.
        unlock(descriptor)
        with contextlib.suppress(OSError):
            mine.unlink()


class Turns:
    """So many trials under way at once, where a run has more processes than it may have requests.

    Args:
        urls: the servers that are asked.
        total: trials under way at once, in all processes together.
    """

    def __init__(self, urls: Iterable[str], total: int) -> None:
        of_servers = hashlib.sha256("\n".join(sorted(urls)).encode()).hexdigest()[:16]
        self._files = [_folder() / f"turn_{of_servers}_{i}" for i in range(total)]

    @contextmanager
    def one(self, stopped: Callable[[], bool]) -> Iterator[None]:
        """Hold a turn; wait until one is free, or until `stopped` tells that none is wanted."""
        descriptor = self._take()
        while descriptor is None and not stopped():
            time.sleep(POLL_S)
            descriptor = self._take()
        try:
            yield
        finally:
            if descriptor is not None:
                unlock(descriptor)

    def _take(self) -> int | None:
        found = (lock(file) for file in self._files)
        return next((descriptor for descriptor in found if descriptor is not None), None)


def _others(folder: Path, start: str) -> list[str]:
    """Return the living holders that belong to another start. Remove what dead ones left."""
    found = []
    for path in sorted(folder.glob("*-*")):
        descriptor = lock(path)
        if descriptor is not None:
            unlock(descriptor)
            with contextlib.suppress(OSError):
                path.unlink()
            continue
        try:
            about = json.loads(path.read_text(encoding="utf-8"))
            since = time.strftime("%H:%M:%S", time.localtime(about["since"]))
            if about["start"] != start:
                found.append(f"process {about['pid']}, since {since}")
        except (OSError, ValueError, KeyError, TypeError):
            found.append(f"process {path.name.split('-')[0]}")
    return found


def _folder() -> Path:
    """Return this user's folder of the machine. Raises ModelError if it is somebody else's."""
    user = os.getuid() if hasattr(os, "getuid") else ""
    folder = Path(tempfile.gettempdir()) / f"fairmed-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise ModelError(f"{folder}: cannot be made, which tells runs apart: {error}") from error
    if not stat.S_ISDIR(found.st_mode) or (user != "" and found.st_uid != user):
        raise ModelError(
            f"{folder}: belongs to somebody else, expected a folder of this user\n"
            "  remove it, or set TMPDIR to another place"
        )
    return folder
