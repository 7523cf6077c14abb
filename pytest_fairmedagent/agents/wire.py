"""One request to an agent behind HTTP, and whose fault it is where no answer comes of it."""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from typing import Any

from pytest_fairmedagent.agents.user import AgentFault
from pytest_fairmedagent.errors import (
    CONNECTION_LOST,
    OTHER_FAULT,
    REFUSED,
    TIMEOUT,
    ModelError,
)
from pytest_fairmedagent.models.faults import kind_of_refusal, retry_after_s
from pytest_fairmedagent.models.hosts import is_loopback, plain

MOST_BYTES = 1_000_000  # of an answer
PASSING = (408, 425, 429)  # and 5xx: faults of the server's state, not of the agent's answer

Headers = Message  # of a reply: names in any case


class Wire:
    """Sends requests to a service. `shown` is its URL as messages may have it.

    `headers` go with each request, and are in no message. A request is given up after `timeout_s`
    seconds without a byte.
    """

    def __init__(self, url: str, shown: str, headers: Mapping[str, str], timeout_s: float) -> None:
        self._at, self._headers, self._timeout_s = shown, headers, timeout_s
        # What the environment says of proxies does not hold for a service on this machine.
        proxies = [urllib.request.ProxyHandler({})] if is_loopback(url) else []
        self._opener = urllib.request.build_opener(_NoRedirect(), *proxies)

    def send(self, url: str, body: bytes | None) -> tuple[int, Headers, bytes]:
        """Return status, headers and body. Raises ModelError for faults of server and network."""
        headers = {"Accept": "application/json", **self._headers}
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(url, data=body, headers=headers)  # noqa: S310 - checked
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                return response.status, response.headers, _read(response)
        except urllib.error.HTTPError as error:
            with error:
                text = _read(error)
            if error.code < 500 and error.code not in PASSING:
                return error.code, error.headers, text
            raise self._busy(error.code, error.headers, text) from None
        except (OSError, http.client.HTTPException) as error:
            raise self._lost(error) from None

    def _busy(self, status: int, headers: Headers, body: bytes) -> ModelError:
        words = plain(body.decode("utf-8", "replace"), self._headers.values())
        kind = kind_of_refusal(status, "", words.lower())
        return ModelError(
            f"the agent at {self._at} answered {status}: {words}",
            kind=kind,
            transient=status != 501 and kind != REFUSED,
            retry_after_s=retry_after_s({k.lower(): v for k, v in headers.items()}),
        )

    def _lost(self, error: Exception) -> ModelError:
        cause = getattr(error, "reason", error)
        late = isinstance(cause, TimeoutError)
        distrusted = isinstance(cause, ssl.SSLError)
        said = "did not answer in time" if late else "is not reachable"
        words = plain(cause, self._headers.values()) or type(cause).__name__
        return ModelError(
            f"the agent at {self._at} {said}: {words}",
            kind=TIMEOUT if late else OTHER_FAULT if distrusted else CONNECTION_LOST,
            transient=not distrusted,
        )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected POST would arrive as a GET without its case, and a token go to another host."""

    def redirect_request(self, *_: object) -> None:
        return None


def _read(response: Any) -> bytes:
    body: bytes = response.read(MOST_BYTES + 1)
    if len(body) > MOST_BYTES:
        raise AgentFault(f"answered with more than {MOST_BYTES} bytes")
    return body
