"""One Ollama server: what it says of a model, and how its faults read."""

from __future__ import annotations

import importlib
import ipaddress
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pytest_fairmedagent.errors import CONNECTION_LOST, MALFORMED, TIMEOUT, TOO_LONG, ModelError
from pytest_fairmedagent.models.faults import kind_of_refusal
from pytest_fairmedagent.models.hosts import (
    check_base_url,
    local_endpoint,
    plain,
    refuse_key_abroad,
)

KEY = "OLLAMA_API_KEY"
HOST = "OLLAMA_HOST"
UNATTESTED = "unattested"  # weights of which nothing is known but their name
PORT = 11434
Timeout = tuple[float, float, float, float]  # connect, read, write, pool, in seconds

_PASSING_STATUS = {408, 429, 500, 502, 503, 504}
_WEIGHTS_FORMATS = {"gguf", "safetensors"}
_AROUND = " \t\r\n\"'"  # what may stand around a host in the environment
_LISTENING = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - not to listen at, to replace
LOOK_S = 10.0  # between two looks at what a tag stands for

T = TypeVar("T")


def _package() -> Any:
    # While it is imported it makes a client for OLLAMA_HOST, and fails where that names several.
    named = os.environ.pop(HOST, None)
    try:
        return importlib.import_module("ollama")
    finally:
        if named is not None:
            os.environ[HOST] = named


ollama = _package()


@dataclass(frozen=True)
class Identity:
    """What a server says of a model. `trained` is its longest window in tokens, if it says one."""

    weights: str
    quantisation: str
    parameters: str
    server: str
    trained: int | None


class Host:
    """A server, and the official client that asks it."""

    def __init__(self, url: str, timeout_s: Timeout) -> None:
        self._client: Any = ollama.Client(
            # A server that was not named would get the case.
            url,
            timeout=timeout_s,
            follow_redirects=False,
        )
        self._looked = time.monotonic()
        self.url = str(self._client._client.base_url).rstrip("/")

    def wait_at_most(self, timeout_s: Timeout) -> None:
        """Set the timeouts of the calls from now on."""
        self._client._client.timeout = timeout_s

    def close(self) -> None:
        self._client._client.close()

    def identify(self, model: str) -> Identity:
        """Return what the server says of a model. Raises ModelError, also for an unknown one."""
        shown = self._ask(model, lambda: self._client.show(model))
        digest = self._digest(model)
        # The package has no call for the version, but one for any path.
        version = self._ask(
            model, lambda: self._client._request_raw("GET", "/api/version").json()["version"]
        )
        trained = next(
            (
                int(value)
                for key, value in (shown.modelinfo or {}).items()
                if key.endswith(".context_length")
            ),
            None,
        )
        details = shown.details
        # A proxy in front of something else lists digests of its own making (one makes others at
        # every start), and so does Ollama for models that run elsewhere: where no file of weights
        # is claimed, there is nothing that a digest could be of.
        file = ((details and details.format) or "").casefold() in _WEIGHTS_FORMATS
        return Identity(
            weights=digest if file and digest else UNATTESTED,
            quantisation=(details and details.quantization_level) or "unknown",
            parameters=(details and details.parameter_size) or "unknown",
            server=f"ollama {version}",
            trained=trained,
        )

    def look_again(self, model: str, weights: str) -> None:
        """Raise ModelError where the tag stands for other weights by now: a table holds one model.

        Looks every `LOOK_S` seconds at most, and not at what was never attested.
        """
        if weights == UNATTESTED or time.monotonic() - self._looked < LOOK_S:
            return
        self._looked = time.monotonic()
        digest = self._digest(model)
        if digest != weights:
            raise ModelError(
                f"Ollama ({self.url}): {model} was changed while it was measured: its digest was "
                f"{weights[:12]} and is {(digest or 'gone')[:12]}\n  run again: that measures what "
                "the tag stands for now, from the start"
            )

    def _digest(self, model: str) -> str:
        """Return the digest that the server lists for a model, "" where it lists none."""
        names = {model.casefold(), f"{model}:latest".casefold()}
        tags = self._ask(model, self._client.list).models
        return next((tag.digest or "" for tag in tags if (tag.model or "").casefold() in names), "")

    def chat(self, model: str, body: Mapping[str, Any]) -> Any:
        """Return the answer to a body of /api/chat. Raises ModelError."""

        def call() -> Any:
            # Not `chat` of the package, which has no argument for `truncate` and `shift`.
            return self._client._request(
                ollama.ChatResponse, "POST", "/api/chat", json={"model": model, **body}
            )

        return self._ask(model, call)

    def _ask(self, model: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except ollama.ResponseError as error:
            raise self._refusal(model, error.status_code, error.error) from None
        except ConnectionError:
            raise ModelError(
                f"Ollama is not reachable at {self.url}\n"
                "  start it: ollama serve\n"
                "  or name its host: OLLAMA_HOST=... or --fairmed-base-url=...",
                kind=CONNECTION_LOST,
                transient=True,
            ) from None
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            # All that the package raises for a body that is cut, no JSON, or of another shape.
            raise ModelError(
                f"Ollama ({self.url}) sent a malformed answer: {_plain(error)}",
                kind=MALFORMED,
                transient=True,
            ) from None
        except Exception as error:
            # By name, as the HTTP library underneath is the package's own choice.
            names = [base.__name__ for base in type(error).__mro__]
            if "TransportError" not in names:
                raise
            late = "TimeoutException" in names
            what = "did not answer in time" if late else "broke off"
            words = _plain(error) or type(error).__name__
            raise ModelError(
                f"Ollama ({self.url}) {what}: {words}",
                kind=TIMEOUT if late else CONNECTION_LOST,
                transient=True,
            ) from None

    def _refusal(self, model: str, status: int, words: object) -> ModelError:
        said = _plain(words) or "(an empty body)"
        kind = kind_of_refusal(status, "", said.lower())
        advice = ""
        if status == 404 and model.casefold() in said.casefold():
            advice = f"\n  fetch it: ollama pull {model}"
        elif status == 404 or 300 <= status < 400:
            advice = "\n  give the root of an Ollama server, as in http://HOST:11434 (without /v1)"
        elif status in (401, 403):
            advice = f"\n  check {KEY} in the environment"
        # What will not get smaller: a prompt (a proxy hands that on as 502), and a model for which
        # there is no memory, which comes as 500.
        lasting = kind == TOO_LONG or "more system memory" in said
        return ModelError(
            f"Ollama ({self.url}) answered {status}: {said}{advice}",
            kind=kind,
            transient=status in _PASSING_STATUS and not lasting,
        )


def urls(base_url: str | None, *, trusted: bool) -> list[str]:
    """Return the servers to ask, each as a whole URL. Raises ModelError for what names none."""
    option = "--fairmed-base-url" if base_url else HOST
    found: dict[tuple[str, str], str] = {}
    for word in (base_url or os.environ.get(HOST) or "").split(","):
        if not word.strip(_AROUND):
            continue
        url = _whole(word.strip(_AROUND), option)
        if base_url and os.environ.get(KEY):
            refuse_key_abroad(url, trusted=trusted, key=KEY)
        found.setdefault((local_endpoint(url) or url, urlsplit(url).path), url)
    return list(found.values()) or [f"http://127.0.0.1:{PORT}"]


def _whole(text: str, option: str) -> str:
    """Return the URL that `HOST`, `HOST:PORT/PATH`, `:PORT`, an IPv6 address or a URL means.

    As Ollama reads its own variable: the port is 11434 where no scheme is given, and an address to
    listen at, such as 0.0.0.0, is this machine.
    """
    scheme, has_scheme, rest = text.partition("://")
    if not has_scheme:
        scheme, rest = "http", f"[{text}]" if _is_ipv6(text) else text
    if rest.startswith(":") and not has_scheme:
        rest = f"127.0.0.1{rest}"
    check_base_url(f"{scheme}://{rest}", option=option)
    parts = urlsplit(f"{scheme}://{rest}")
    host = _LISTENING.get(parts.hostname or "", parts.hostname or "")
    port = parts.port or (None if has_scheme else PORT)
    place = f"[{host}]" if ":" in host else host
    return f"{scheme}://{place}{'' if port is None else f':{port}'}{parts.path.rstrip('/')}"


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False


def alike(model: str, hosts: Sequence[Host]) -> Identity:
    """Return what all servers say of the model. Raises ModelError where they differ."""
    first, *others = hosts
    identity = first.identify(model)
    for other in others:
        theirs = asdict(other.identify(model))
        for field, value in asdict(identity).items():
            if theirs[field] != value:
                raise ModelError(
                    f"Ollama: {first.url} and {other.url} differ in {field} of {model}: {value} "
                    f"and {theirs[field]}\n"
                    "  arms may be compared only where all draws come from the same: bring the "
                    "servers to one state, or name one of them"
                )
    return identity


def _plain(text: object) -> str:
    return plain(text, (os.environ.get(KEY),))
