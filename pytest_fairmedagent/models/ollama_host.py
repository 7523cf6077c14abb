"""One Ollama server: what it says of a model, and how its faults read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import ollama

from pytest_fairmedagent.errors import CONNECTION_LOST, MALFORMED, TIMEOUT, TOO_LONG, ModelError
from pytest_fairmedagent.models.faults import kind_of_refusal
from pytest_fairmedagent.models.hosts import check_base_url, plain, refuse_key_abroad

KEY = "OLLAMA_API_KEY"
HOST = "OLLAMA_HOST"
UNATTESTED = "unattested"  # weights of which nothing is known but their name
PORT = 11434
Timeout = tuple[float, float, float, float]  # connect, read, write, pool, in seconds

_PASSING_STATUS = {408, 429, 500, 502, 503, 504}
_WEIGHTS_FORMATS = {"gguf", "safetensors"}

T = TypeVar("T")


@dataclass(frozen=True)
class Identity:
    """What a server says of a model. `trained` is its longest window in tokens, if it says one."""

    weights: str
    quantisation: str
    parameters: str
    server: str
    trained: int | None


class Host:
    """A server and the official client that asks it. `url` "" is the client's own default."""

    def __init__(self, url: str, timeout_s: Timeout) -> None:
        self._client: Any = ollama.Client(url or None, timeout=timeout_s)
        self.url = str(self._client._client.base_url).rstrip("/")

    def wait_at_most(self, timeout_s: Timeout) -> None:
        """Set the timeouts of the calls from now on."""
        self._client._client.timeout = timeout_s

    def close(self) -> None:
        self._client._client.close()

    def identify(self, model: str) -> Identity:
        """Return what the server says of a model. Raises ModelError, also for an unknown one."""
        shown = self._ask(model, lambda: self._client.show(model))
        tags = self._ask(model, self._client.list).models
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
        names = {model.casefold(), f"{model}:latest".casefold()}
        digests = [tag.digest for tag in tags if (tag.model or "").casefold() in names]
        details = shown.details
        # A proxy in front of something else lists digests of its own making (one makes others at
        # every start), and so does Ollama for models that run elsewhere: where no file of weights
        # is claimed, there is nothing that a digest could be of.
        file = ((details and details.format) or "").casefold() in _WEIGHTS_FORMATS
        return Identity(
            weights=digests[0] if file and digests and digests[0] else UNATTESTED,
            quantisation=(details and details.quantization_level) or "unknown",
            parameters=(details and details.parameter_size) or "unknown",
            server=f"ollama {version}",
            trained=trained,
        )

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
        said = _plain(words)
        kind = kind_of_refusal(status, "", said.lower())
        advice = ""
        if status == 404:
            advice = f"\n  fetch it: ollama pull {model}"
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
    """Return the servers to ask, "" for the package's own default. Raises ModelError."""
    urls = [url.strip() for url in (base_url or os.environ.get(HOST) or "").split(",")]
    for url in filter(None, urls):
        # The environment's may be an address to listen at, such as 0.0.0.0 or :11434.
        if base_url is not None or "@" in url:
            option = "--fairmed-base-url" if base_url is not None else HOST
            check_base_url(url if "://" in url else f"http://{url}", option=option)
        if base_url is not None and os.environ.get(KEY):
            refuse_key_abroad(url, trusted=trusted, key=KEY)
    return list(dict.fromkeys(filter(None, urls))) or [""]


def endpoint(url: str) -> str:
    """Return a server with its port, as the package completes it: its default is Ollama's own."""
    if "://" in url:
        return url
    place = urlsplit(f"http://{url}")
    host, port = place.hostname or "127.0.0.1", place.port or PORT
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


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
