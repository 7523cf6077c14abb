"""Servers that speak OpenAI's chat completions: vLLM, llama.cpp, hosted ones."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import openai

from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models.base import Decoding, Reply, Request
from pytest_fairmedagent.models.hosted import (
    CALL_LIMIT_S,
    TIMEOUT_S,
    WORKERS,
    Server,
    refusal,
    refuse_unknown_parameters,
)
from pytest_fairmedagent.models.hosts import check_base_url, is_loopback, refuse_key_abroad

KEY = "OPENAI_API_KEY"
URL = "OPENAI_BASE_URL"

_FINISH = {"content_filter": "refusal"}


class OpenAICompatibleModel:
    """Answers through the `openai` package, held to the schema by `response_format`."""

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
    ) -> None:
        self.name = f"openai/{name}"
        self._model = name
        self.workers = workers or WORKERS
        self._decoding = decoding
        # The window of these servers is set where they are started.
        refuse_unknown_parameters("an OpenAI-compatible server", decoding, ("num_ctx",))
        if base_url is not None:
            check_base_url(base_url)
            refuse_key_abroad(base_url, trusted=base_url_trusted, key=KEY)
        self._base_url = base_url
        self._timeout_s = timeout_s
        self._client: Any = None

    def open(self) -> None:
        """Find a key and a server. Nothing is sent: a call may cost money."""
        if self._client is not None:
            return
        url = self._base_url or os.environ.get(URL) or None
        if self._base_url is None and url is not None:
            check_base_url(url, option=URL)
        key = None
        if not os.environ.get(KEY):
            if url is None or not is_loopback(url):
                where = url or "api.openai.com"
                raise ModelError(
                    f"{self.name}: there is no key for {where} in the environment\n"
                    f"  set {KEY} (any word, if the server asks for none), or name a server: "
                    "--fairmed-base-url=http://localhost:8000/v1"
                )
            key = "none"  # the package insists on one, servers on this machine mostly do not
        connect, read, write, pool = self._timeout_s
        client = openai.OpenAI(
            api_key=key,
            base_url=url,
            timeout=openai.Timeout(connect=connect, read=read, write=write, pool=pool),
            max_retries=0,  # the runner tries again, within its own budget of time
        )
        self._client = client
        shown = str(client.base_url).rstrip("/")
        self._server = Server(
            "the OpenAI-compatible server",
            shown,
            KEY,
            openai.OpenAIError,
            lambda: (client.api_key,),
        )
        # OpenAI's own newer models refuse the old name, other servers know no other.
        hosted = urlsplit(shown).hostname == "api.openai.com"
        self._limit = "max_completion_tokens" if hosted else "max_tokens"

    def configuration(self) -> Mapping[str, object]:
        """Return what identifies model, server and decoding, as far as the server tells."""
        return {
            "backend": "openai",
            "model": self._model,
            "weights": "unattested",
            "server": self._server.url,
            "workers": self.workers,
            "schema_mode": "response_format json_schema",
            "token_limit": self._limit,
            "seed": "sent",
            "decoding": self._decoding.describe(),
        }

    def chat(self, request: Request, worker: int) -> Reply:
        """Return the model's answer."""
        try:
            answer = self._server.ask(
                self._client.chat.completions.with_raw_response.create,
                {
                    "messages": [dict(message) for message in request.messages],
                    "response_format": {
                        "type": "json_schema",
                        "json_schema": {
                            "name": "answer",
                            "schema": dict(request.schema),
                            "strict": True,
                        },
                    },
                    "seed": request.seed,
                    self._limit: request.max_tokens,
                    **self._decoding.sampling(),
                },
                model=self._model,
            )
        except ModelError as error:
            return refusal(error)
        return self._reply(answer)

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _reply(self, body: Mapping[str, Any]) -> Reply:
        choices, usage = body.get("choices"), body.get("usage") or {}
        if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
            raise self._server.malformed("it has no 'choices'")
        message = choices[0].get("message")
        if not isinstance(message, dict):
            raise self._server.malformed("its choice has no 'message'")
        refusal = message.get("refusal")
        reason = str(choices[0].get("finish_reason"))
        return Reply(
            text=str(message.get("content") or refusal or ""),
            finish="refusal" if refusal else _FINISH.get(reason, reason),
            input_tokens=usage.get("prompt_tokens") or 0,
            output_tokens=usage.get("completion_tokens") or 0,
            response_id=str(body.get("id") or ""),
        )
