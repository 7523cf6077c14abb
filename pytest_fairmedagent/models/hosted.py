"""What the back ends of hosted servers have in common: how they are made, and how a call is made.

The packages anthropic and openai come from one generator: their errors have the same names and the
same attributes, so both are read here by attribute and neither is imported.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_fairmedagent.errors import (
    CONNECTION_LOST,
    MALFORMED,
    OTHER_FAULT,
    TIMEOUT,
    ModelError,
)
from pytest_fairmedagent.models.base import Decoding
from pytest_fairmedagent.models.faults import (
    kind_of_refusal,
    passes,
    read_error,
    retry_after_s,
    status_of,
)
from pytest_fairmedagent.models.hosts import check_base_url, plain, refuse_key_abroad

# connect, read, write, pool. A server that is not there says so soon; one that thinks may think.
TIMEOUT_S = (10.0, 180.0, 30.0, 180.0)
# Those start anew with every byte: a body that drips in is cut by this one.
CALL_LIMIT_S = 240.0
WORKERS = 4


class HostedModel:
    """What is alike in a back end for hosted servers; `open` of each makes its client and server.

    `prefix` is that of its SPEC, `provider` the name in messages, `key` the variable that holds the
    key, `url` the one that may name a server, `home` the provider's own server, `unknown` the
    parameters that its servers have not got and would pass over.
    """

    prefix: str
    provider: str
    key: str
    url: str
    home: str
    unknown: tuple[str, ...]
    toy = False
    call_limit_s: float | None = CALL_LIMIT_S

    def __init__(
        self,
        name: str,
        *,
        decoding: Decoding,
        base_url: str | None = None,
        base_url_trusted: bool = True,
        workers: int | None = None,
        timeout_s: tuple[float, float, float, float] = TIMEOUT_S,
    ) -> None:
        self.name = f"{self.prefix}/{name}"
        self.workers = workers or WORKERS
        for parameter in self.unknown:
            if parameter in decoding.parameters:
                raise ModelError(
                    f"{self.provider} has no parameter {parameter}, so it would not be obeyed"
                    "\n  leave it out of --fairmed-decoding"
                )
        if base_url is not None:
            check_base_url(base_url)
            refuse_key_abroad(base_url, trusted=base_url_trusted, key=self.key)
        self._model = name
        self._decoding = decoding
        self._base_url = base_url
        self._timeout_s = timeout_s
        self._client: Any = None
        self._answers_as = ""
        self._lock = threading.Lock()

    @property
    def endpoints(self) -> tuple[str, ...]:
        """The server that is asked."""
        return (self._base_url or os.environ.get(self.url) or self.home,)

    def known(self) -> Mapping[str, object]:
        """Return the server, and what is sent of the decoding."""
        server = self.endpoints[0].rstrip("/")
        return {"server": server, "decoding": self._decoding.describe()}

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _check_unchanged(self, body: Mapping[str, Any]) -> None:
        """Raise ModelError where another model answers than before: a table holds one model.

        A name may be an alias, which the provider moves on, or a router's, behind which are many.
        """
        named = body.get("model")
        if not isinstance(named, str) or not named:
            return
        with self._lock:
            first = self._answers_as = self._answers_as or named
        if named != first:
            raise ModelError(
                f"{self.name} was answered as {plain(named)}, and before as {plain(first)}\n"
                "  measure one of them: name it, in place of what stands for both"
            )

    def _options(self, package: Any) -> dict[str, Any]:
        """Return what both packages' clients are made with."""
        connect, read, write, pool = self._timeout_s
        return {
            "timeout": package.Timeout(connect=connect, read=read, write=write, pool=pool),
            "max_retries": 0,  # the runner tries again, within its own budget of time
            # A server that was not named would get the case, and of some versions the key.
            "http_client": package.DefaultHttpxClient(follow_redirects=False),
        }


def count(body: object, *names: str) -> int:
    """Return the number that stands under the names, one inside the other; 0 where none does."""
    for name in names:
        body = body.get(name) if isinstance(body, Mapping) else None
    return body if isinstance(body, int) and body > 0 else 0


@dataclass(frozen=True)
class Server:
    """A server as messages call it.

    `error` is the base of the SDK's own errors, `keys` returns what must not be in a message.
    """

    provider: str
    url: str
    key_variable: str
    error: type[Exception]
    keys: Callable[[], tuple[str | None, ...]]

    def ask(
        self, create: Callable[..., Any], body: Mapping[str, Any], **insisted: Any
    ) -> dict[str, Any]:
        """Return the JSON of an answer. `create` is an SDK's `with_raw_response` method.

        The raw body and not the SDK's object is read: the SDK fills in an object from anything,
        so that a broken answer would be found out only at the field that is missing.

        `body` is sent as it is, with the arguments that `create` insists on. As arguments, every
        message and every word of the schema would be held against the SDK's types, which takes it
        twice as long as all the rest of a call; and which parameters are arguments depends on its
        version (anthropic has had no `temperature` since 1.0).
        """
        # The messages in the body take the place of the empty ones.
        return self.read(lambda: create(**insisted, messages=[], extra_body=body))

    def read(self, call: Callable[[], Any]) -> dict[str, Any]:
        """Return the JSON object that a call of an SDK's `with_raw_response` brings."""
        try:
            answer = call().http_response.json()
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise self.malformed(f"no JSON ({error})") from None
        except Warning as warning:
            # The SDK warns of models that will go; under `-W error` that is raised.
            raise ModelError(f"{self.provider}: {plain(warning)}") from None
        except self.error as error:
            # Without its cause, whose frames hold the request with its key.
            raise self._fault(error) from None
        if not isinstance(answer, dict):
            raise self.malformed(f"{type(answer).__name__} where an object belongs")
        if answer.get("error"):
            raise self._refusal(status_of(answer), answer, None)
        return answer

    def malformed(self, what: str) -> ModelError:
        """Return the error for an answer that is none; another try may bring a whole one."""
        return ModelError(
            f"{self.provider} ({self.url}) sent a malformed answer: {self._plain(what)}",
            kind=MALFORMED,
            transient=True,
        )

    def _fault(self, error: Any) -> ModelError:
        status = getattr(error, "status_code", None)
        if status is not None:
            return self._refusal(status, error.body, error.response.headers)
        cause = error.__cause__ or error
        names = [base.__name__ for base in type(error).__mro__]
        if "APITimeoutError" in names:
            what, kind = "did not answer in time", TIMEOUT
        elif "APIConnectionError" in names:
            what, kind = "is not reachable", CONNECTION_LOST
        else:
            what, kind = "was not asked", OTHER_FAULT  # credentials that cannot be had, for one
        return ModelError(
            f"{self.provider} ({self.url}) {what}: {self._plain(cause) or type(cause).__name__}",
            kind=kind,
            transient="APIConnectionError" in names,
        )

    def _refusal(self, status: int, body: object, headers: Mapping[str, str] | None) -> ModelError:
        kind, words = read_error(body)
        text = f"{self.provider} ({self.url}) answered {status} {kind}".rstrip()
        advice = ""
        if status in (401, 403):
            advice = f"\n  check {self.key_variable} in the environment"
        elif status == 404:
            advice = "\n  check the model's name and the base URL"
        elif 300 <= status < 400:
            place = plain((headers or {}).get("location", "another place"), self.keys())
            advice = f"\n  it redirects to {place}, which is not followed: name the server itself"
        return ModelError(
            f"{self._plain(text)}: {self._plain(words)}{advice}",
            kind=kind_of_refusal(status, kind.lower(), words.lower()),
            transient=passes(status, kind.lower(), words.lower()),
            retry_after_s=retry_after_s(headers) if headers else None,
        )

    def _plain(self, text: object) -> str:
        return plain(text, self.keys())
