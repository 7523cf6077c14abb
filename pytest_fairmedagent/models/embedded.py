"""A real small language model on this machine, through llama.cpp (xllamacpp). No server."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import xllamacpp

from pytest_fairmedagent.errors import OVERLOADED, SERVER_ERROR, TOO_LONG, ModelError
from pytest_fairmedagent.models import weights
from pytest_fairmedagent.models.base import Decoding, Planned, Reply, Request
from pytest_fairmedagent.models.faults import as_reply
from pytest_fairmedagent.models.hosts import plain
from pytest_fairmedagent.models.llama_process import THREADS, LlamaError, LlamaProcess
from pytest_fairmedagent.models.window import Ruler, extremes

N_CTX = 4096


class EmbeddedModel:
    """Answers on this machine: each worker has a single-thread llama.cpp of its own."""

    seeded = True
    endpoints: tuple[str, ...] = ()
    call_limit_s: float | None = None  # it is this machine, however slow

    def __init__(
        self,
        path: str,
        *,
        decoding: Decoding,
        base_url: str | None = None,
        base_url_trusted: bool = True,
        workers: int | None = None,
    ) -> None:
        # The base URL is for servers. A project that sets one may still be run embedded.
        del base_url, base_url_trusted
        self.name = f"embedded/{path}" if path else "embedded"
        self.workers = workers or min(2, _usable_cores())
        self.toy = True  # until the weights are seen
        self._path = path
        self._decoding = decoding
        self._n_ctx = int(decoding.parameters.get("num_ctx", N_CTX))
        self._weights = ""
        self._digest = ""
        self._servers: list[LlamaProcess] = []

    def open(self) -> None:
        """Load the weights for each worker and ask each something."""
        if self._servers:
            return
        file = weights.find_weights(self._path)
        self._weights, self._digest = file.name, weights.digest(file)
        self.toy = weights.is_toy(file)
        for _ in range(self.workers):
            self._servers.append(self._load(str(file)))
        # The first call of a fresh server pages the weights in and starts from no cache. It is
        # made here, so that it is nobody's first draw.
        hello = Request("warm-up", ({"role": "user", "content": "Hello."},), {}, 0, 1)
        for worker in range(self.workers):
            self.chat(hello, worker)

    def prepare(self, planned: Sequence[Planned]) -> None:
        """See whether the longest prompt of a plan fits the window that was loaded."""
        _, longest = extremes(planned, Ruler())
        self._refuse_what_would_be_cut(longest.where, longest.request, 0)

    def configuration(self) -> Mapping[str, object]:
        """Return what identifies weights, runtime and decoding."""
        return {
            "backend": "embedded",
            "model": self._weights,
            "weights": f"sha256:{self._digest}",
            "server": f"xllamacpp {version('xllamacpp')}",
            "context": self._n_ctx,
            "threads_per_worker": THREADS,
            "workers": self.workers,
            "schema_mode": "grammar without white space",
            "prompt_cache": "one slot",
            "flash_attention": "off",
            "seed": "sent",
            "decoding": self._decoding.describe(),
        }

    def known(self) -> Mapping[str, object]:
        """Return what is sent of the decoding."""
        return {"decoding": self._decoding.describe()}

    def chat(self, request: Request, worker: int) -> Reply:
        """Return the model's answer, which the grammar holds to the schema."""
        body: dict[str, Any] = {
            "messages": [dict(message) for message in request.messages],
            "max_tokens": request.max_tokens,
            "seed": request.seed,
            "cache_prompt": True,
            **self._decoding.sampling(),
        }
        if request.schema:
            body["grammar"] = _grammar(request.schema)
        try:
            self._refuse_what_would_be_cut(f"stage {request.stage}", request, worker)
            return self._reply(self._server(worker).chat(body), request)
        except LlamaError as error:
            raise ModelError(f"{self.name}: llama.cpp refused: {plain(error)}") from error
        except ModelError as error:
            return as_reply(error)

    def close(self) -> None:
        """Let the models go, once the calls under way have ended."""
        servers, self._servers = self._servers, []
        for server in servers:
            server.close()

    def _server(self, worker: int) -> LlamaProcess:
        if not self._servers:
            raise ModelError(f"{self.name}: the model is closed")
        return self._servers[worker]

    def _load(self, file: str) -> LlamaProcess:
        try:
            return LlamaProcess(file, n_ctx=self._n_ctx)
        except LlamaError as error:
            raise ModelError(
                f"{self.name}: llama.cpp cannot load {file}: {plain(error)}\n"
                "  the file may be cut or of an architecture that this version does not know, or "
                f"a window of {self._n_ctx} tokens needs more memory than there is"
            ) from error

    def _refuse_what_would_be_cut(self, where: str, request: Request, worker: int) -> None:
        # No token is shorter than a byte, so most requests fit for sure without being counted.
        most = sum(len(m["content"].encode()) + 32 for m in request.messages) + 64
        if most + request.max_tokens <= self._n_ctx:
            return
        n_prompt = self._server(worker).count(request.messages)
        if n_prompt + request.max_tokens > self._n_ctx:
            raise self._too_long(n_prompt, where, request)

    def _too_long(self, n_prompt: object, where: str, request: Request) -> ModelError:
        return ModelError(
            f"{self.name}: the prompt of {where} has {n_prompt} tokens; with "
            f"{request.max_tokens} for the answer it would be cut at the window of {self._n_ctx}\n"
            "  give a larger one: --fairmed-decoding num_ctx=..., or shorten the case",
            kind=TOO_LONG,
        )

    def _reply(self, answer: Mapping[str, Any], request: Request) -> Reply:
        if error := answer.get("error"):
            if error.get("type") == "exceed_context_size_error":
                raise self._too_long(
                    error.get("n_prompt_tokens"), f"stage {request.stage}", request
                )
            raise ModelError(
                f"{self.name}: llama.cpp answered {error.get('code')}: "
                f"{plain(error.get('message'))}",
                kind=OVERLOADED if error.get("type") == "unavailable_error" else SERVER_ERROR,
                transient=error.get("type") == "unavailable_error",
            )
        choice, usage = answer["choices"][0], answer["usage"]
        return Reply(
            text=choice["message"].get("content") or "",
            finish=choice["finish_reason"],
            input_tokens=usage["prompt_tokens"],
            output_tokens=usage["completion_tokens"],
            response_id=answer.get("id", ""),
        )


def _grammar(schema: Mapping[str, Any]) -> str:
    """Return the grammar of a schema's JSON texts, with not a space in them.

    `response_format` would allow white space, and a small model at its usual temperature fills half
    its tokens with it and is cut before the last brace.
    """
    tight = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}
    return str(xllamacpp.json_schema_to_grammar({**schema, "x-guidance": tight}))


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
