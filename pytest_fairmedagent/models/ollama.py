"""Ollama's native API, through the `ollama` package.

Not its OpenAI-compatible route: that one drops `num_ctx` and `think` without a word.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import ollama

from pytest_fairmedagent.errors import (
    CONNECTION_LOST,
    MALFORMED,
    TIMEOUT,
    ModelError,
)
from pytest_fairmedagent.models.base import Decoding, Reply, Request
from pytest_fairmedagent.models.hosted import kind_of_refusal
from pytest_fairmedagent.models.hosts import check_base_url, plain, refuse_key_abroad

KEY = "OLLAMA_API_KEY"
N_CTX = 8192
KEEP_ALIVE = "30m"

# connect, read, write, pool. Loading a large model from disk takes minutes, and a client that
# gives up earlier cancels the load: no number of retries would then ever succeed.
TIMEOUT_S = (10.0, 300.0, 30.0, 300.0)
WARM_UP_TIMEOUT_S = (10.0, 1200.0, 30.0, 1200.0)
# Those start anew with every byte: a body that drips in is cut by this one.
CALL_LIMIT_S = 360.0

_PASSING_STATUS = {408, 429, 500, 502, 503, 504}

T = TypeVar("T")


class OllamaModel:
    """Answers through an Ollama server, one request at a time unless told otherwise."""

    toy = False
    seeded = True
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
        warm_up_timeout_s: tuple[float, float, float, float] = WARM_UP_TIMEOUT_S,
    ) -> None:
        self.name = name
        # Ollama answers one after the other unless it was started otherwise: more requests only
        # wait, and then time out.
        self.workers = workers or 1
        self._decoding = decoding
        if base_url is not None:
            check_base_url(base_url if "://" in base_url else f"http://{base_url}")
            if os.environ.get(KEY):
                refuse_key_abroad(base_url, trusted=base_url_trusted, key=KEY)
        self._base_url = base_url
        self._timeout_s = timeout_s
        self._warm_up_timeout_s = warm_up_timeout_s
        self._client: Any = None
        self._identity: dict[str, object] = {}
        self._think: bool | None = False
        self._n_ctx = 0

    def open(self) -> None:
        """Identify the model, choose its window and load it."""
        if self._client is not None:
            return
        client: Any = ollama.Client(self._base_url, timeout=self._timeout_s)
        self._host = str(client._client.base_url).rstrip("/")
        try:
            self._identity = self._identify(client)
            client._client.timeout = self._warm_up_timeout_s
            self._warm_up(client)
            client._client.timeout = self._timeout_s
        except BaseException:
            client._client.close()
            raise
        self._client = client

    def configuration(self) -> Mapping[str, object]:
        """Return what identifies weights, server and decoding."""
        return {
            "backend": "ollama",
            "model": self.name,
            **self._identity,
            "context": self._n_ctx,
            "workers": self.workers,
            "schema_mode": "format",
            "think": "unsupported" if self._think is None else self._think,
            "seed": "sent",
            "decoding": self._decoding.describe(),
        }

    def chat(self, request: Request, worker: int) -> Reply:
        """Return the model's answer. What it thought is no part of it."""
        self._refuse_what_would_be_cut(request)
        answer = self._ask(
            lambda: self._client.chat(
                **self._body(num_predict=request.max_tokens, seed=request.seed),
                messages=[dict(message) for message in request.messages],
                format=dict(request.schema),
            )
        )
        n_prompt = answer.prompt_eval_count or 0
        if n_prompt >= self._n_ctx - request.max_tokens:
            # The server answers with status 200 whether it has cut the prompt or not, and a cut
            # that hits one arm alone looks like bias.
            raise self._too_long(str(n_prompt), request)
        return Reply(
            text=answer.message.content or "",
            finish=answer.done_reason or "stop",
            input_tokens=n_prompt,
            output_tokens=answer.eval_count or 0,
        )

    def close(self) -> None:
        """Close the connections. The server unloads the model by itself."""
        if self._client is not None:
            self._client._client.close()
            self._client = None

    def _identify(self, client: Any) -> dict[str, object]:
        """Return digest, size and server of the model, and choose the window."""
        shown = self._ask(lambda: client.show(self.name))
        tags = self._ask(client.list).models
        # The package has no call for the version, but one for any path.
        version = self._ask(lambda: client._request_raw("GET", "/api/version").json()["version"])
        trained = next(
            (
                int(value)
                for key, value in (shown.modelinfo or {}).items()
                if key.endswith(".context_length")
            ),
            None,
        )
        self._n_ctx = int(self._decoding.parameters.get("num_ctx", min(N_CTX, trained or N_CTX)))
        if trained is not None and self._n_ctx > trained:
            raise ModelError(
                f"Ollama: num_ctx is {self._n_ctx}, but {self.name} was trained with {trained}, "
                f"and the server would silently take that\n"
                f"  give at most: --fairmed-decoding num_ctx={trained}"
            )
        names = {self.name.casefold(), f"{self.name}:latest".casefold()}
        digests = [tag.digest for tag in tags if (tag.model or "").casefold() in names]
        details = shown.details
        return {
            "weights": digests[0] if digests and digests[0] else "unattested",
            "quantisation": (details and details.quantization_level) or "unknown",
            "parameters": (details and details.parameter_size) or "unknown",
            "server": f"ollama {version}",
        }

    def _warm_up(self, client: Any) -> None:
        """Load the model as the calls will want it, and find out whether `think` may be sent.

        Where it may, it is false: a model that thinks spends its tokens on that and then often
        answers nothing.
        """
        hello = [{"role": "user", "content": "Hello."}]

        def call() -> object:
            return client.chat(**self._body(num_predict=1, seed=0), messages=hello)

        try:
            self._ask(call)
        except ModelError as error:
            if "support thinking" not in str(error):
                raise
            self._think = None  # the server refuses the word itself for this model
            self._ask(call)

    def _body(self, *, num_predict: int, seed: int) -> dict[str, Any]:
        think = {} if self._think is None else {"think": self._think}
        return {
            "model": self.name,
            "stream": False,
            "keep_alive": KEEP_ALIVE,
            "options": {
                "num_ctx": self._n_ctx,
                "num_predict": num_predict,
                "seed": seed,
                **self._decoding.sampling(),
            },
            **think,
        }

    def _refuse_what_would_be_cut(self, request: Request) -> None:
        # There is no tokenizer to ask. English has about 4 bytes a token, so that 3 refuses too
        # early rather than too late.
        estimate = sum(len(m["content"].encode()) // 3 + 16 for m in request.messages)
        if estimate >= self._n_ctx - request.max_tokens:
            raise self._too_long(f"about {estimate}", request)

    def _too_long(self, n_prompt: str, request: Request) -> ModelError:
        return ModelError(
            f"Ollama: the prompt of stage {request.stage} has {n_prompt} tokens; with "
            f"{request.max_tokens} for the answer it would be cut at num_ctx={self._n_ctx}\n"
            "  give a larger window: --fairmed-decoding num_ctx=..., or shorten the case"
        )

    def _ask(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except ollama.ResponseError as error:
            raise self._refusal(error.status_code, error.error) from None
        except ConnectionError:
            raise ModelError(
                f"Ollama is not reachable at {self._host}\n"
                "  start it: ollama serve\n"
                "  or name its host: OLLAMA_HOST=... or --fairmed-base-url=...",
                kind=CONNECTION_LOST,
                transient=True,
            ) from None
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            # All that the package raises for a body that is cut, no JSON, or of another shape.
            raise ModelError(
                f"Ollama ({self._host}) sent a malformed answer: {self._plain(error)}",
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
            words = self._plain(error) or type(error).__name__
            raise ModelError(
                f"Ollama ({self._host}) {what}: {words}",
                kind=TIMEOUT if late else CONNECTION_LOST,
                transient=True,
            ) from None

    def _refusal(self, status: int, words: object) -> ModelError:
        said = self._plain(words)
        advice = ""
        if status == 404:
            advice = f"\n  fetch it: ollama pull {self.name}"
        elif status in (401, 403):
            advice = f"\n  check {KEY} in the environment"
        return ModelError(
            f"Ollama ({self._host}) answered {status}: {said}{advice}",
            kind=kind_of_refusal(status, "", said.lower()),
            # A model too large for the memory comes as 500 too, and will not get smaller.
            transient=status in _PASSING_STATUS and "more system memory" not in said,
        )

    def _plain(self, text: object) -> str:
        return plain(text, (os.environ.get(KEY),))
