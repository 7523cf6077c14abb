"""Servers that speak OpenAI's chat completions: vLLM, llama.cpp, hosted ones."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import openai

from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models.base import Reply, Request
from pytest_fairmedagent.models.faults import as_reply
from pytest_fairmedagent.models.hosted import HostedModel, Server, count
from pytest_fairmedagent.models.hosts import check_base_url, is_loopback

KEY = "OPENAI_API_KEY"
URL = "OPENAI_BASE_URL"

_FINISH = {"content_filter": "refusal"}


class OpenAICompatibleModel(HostedModel):
    """Answers through the `openai` package, held to the schema by `response_format`."""

    prefix = "openai"
    provider = "an OpenAI-compatible server"
    key = KEY
    url = URL
    home = "https://api.openai.com/v1"
    unknown = ("num_ctx",)  # the window of these servers is set where they are started
    seeded = True

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
        client = openai.OpenAI(api_key=key, base_url=url, **self._options(openai))
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
        body = {
            "messages": [dict(message) for message in request.messages],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": dict(request.schema), "strict": True},
            },
            "seed": request.seed,
            self._limit: request.max_tokens,
            **self._decoding.sampling(),
        }
        create = self._client.chat.completions.with_raw_response.create
        try:
            return self._reply(self._server.ask(create, body, model=self._model))
        except ModelError as error:
            return as_reply(error)

    def _reply(self, body: Mapping[str, Any]) -> Reply:
        self._check_unchanged(body)
        choices = body.get("choices")
        if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
            raise self._server.malformed("it has no 'choices'")
        message = choices[0].get("message")
        if not isinstance(message, dict):
            raise self._server.malformed("its choice has no 'message'")
        refusal = message.get("refusal")
        reason = str(choices[0].get("finish_reason"))
        return Reply(
            text=_text_of(message.get("content")) or str(refusal or ""),
            finish="refusal" if refusal else _FINISH.get(reason, reason),
            input_tokens=count(body, "usage", "prompt_tokens"),
            output_tokens=count(body, "usage", "completion_tokens"),
            cache_read_tokens=count(body, "usage", "prompt_tokens_details", "cached_tokens"),
            response_id=str(body.get("id") or ""),
        )


def _text_of(content: object) -> str:
    """Return an answer's text. Some servers give a list of parts, of which thoughts are one."""
    if not isinstance(content, list):
        return str(content or "")
    parts = [part for part in content if isinstance(part, dict)]
    return "".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
