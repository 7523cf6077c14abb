"""What may leave for which host, and texts of a server made fit to be shown."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from pytest_fairmedagent.errors import ModelError

_LONGEST = 400  # characters of a server's words that a message shows
_KEY = re.compile(r"\bsk-[\w-]{8,}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def is_loopback(url: str) -> bool:
    """Return whether the host of a URL (with or without scheme) is this machine."""
    host = urlsplit(url if "://" in url else f"http://{url}").hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def local_endpoint(url: str) -> str | None:
    """Return the port of this machine that a URL names, as `localhost:11434`; None for others.

    Every name of this machine that is known as such counts as one.
    """
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if not is_loopback(url) and parts.hostname not in ("0.0.0.0", "::"):  # noqa: S104 - no listener
        return None
    return f"localhost:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def check_base_url(
    url: str,
    *,
    option: str = "--fairmed-base-url",
    instead: str = "give the key in the environment instead",
) -> None:
    """Raise ModelError for a URL that is none, or that carries a password of its own."""
    try:
        parts = urlsplit(url)
        port_ok = parts.port is None or parts.port > 0
    except ValueError:
        parts, port_ok = urlsplit(""), False
    if "@" in parts.netloc:
        # It would be written into records, logs and reports along with the URL.
        raise ModelError(
            f"{option} carries a user name or password (…@{parts.hostname}), which would be "
            f"recorded\n  {instead}"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_ok:
        raise ModelError(f"{option} is {url!r}, expected http://HOST:PORT/... or https://HOST/...")


def refuse_key_abroad(url: str | None, *, trusted: bool, key: str) -> None:
    """Raise ModelError if project configuration would send a key to another machine.

    A repository that is only being tried out could otherwise collect the keys of whoever runs its
    tests, by naming a server of its own.
    """
    if url is not None and not trusted and not is_loopback(url):
        raise ModelError(
            f"the base URL {url} comes from project configuration and is not on this machine, so "
            f"{key} is not sent there\n"
            f"  if you trust it, say so on the command line: --fairmed-base-url={url}"
        )


def plain(text: object, keys: Iterable[str | None] = ()) -> str:
    """Return a server's words as one line without control characters and without keys."""
    line = " ".join(_CONTROL.sub(" ", str(text)).split())
    for key in keys:
        # Placeholders such as "none" are no secrets, and words of the message may hold them.
        if key and len(key) >= 8:
            line = line.replace(key, "[key]")
    line = _KEY.sub("[key]", line)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
