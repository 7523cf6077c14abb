"""Anthropic's Messages API. The answer is asked for as the input of a forced tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anthropic

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
from pytest_fairmedagent.models.hosts import check_base_url, is_loopback, plain, refuse_key_abroad

KEY = "ANTHROPIC_API_KEY"
TOOL = "answer"

_FINISH = {
    "end_turn": "stop",
    "tool_use": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


class AnthropicModel:
    """Answers through the `anthropic` package. The package reads the key, not this class."""

    toy = False
    seeded = False
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
        self.name = f"anthropic/{name}"
        self._model = name
        self.workers = workers or WORKERS
        self._decoding = decoding
        refuse_unknown_parameters("Anthropic", decoding, ("num_ctx", "min_p"))
        if base_url is not None:
            check_base_url(base_url)
            refuse_key_abroad(base_url, trusted=base_url_trusted, key=KEY)
        self._base_url = base_url
        self._timeout_s = timeout_s
        self._client: Any = None

    def open(self) -> None:
        """Find a key. Nothing is sent: a call costs money, and a hosted model is always warm."""
        if self._client is not None:
            return
        client = self._connect(None)
        url = str(client.base_url).rstrip("/")
        if self._base_url is None:
            check_base_url(url, option="ANTHROPIC_BASE_URL")
        if not any((client.api_key, client.auth_token, getattr(client, "credentials", None))):
            client.close()
            if not is_loopback(url):
                raise ModelError(
                    f"Anthropic: there is no key in the environment\n"
                    f"  set {KEY}, then run again; it is never stored or printed"
                )
            client = self._connect("none")  # compatible servers on this machine ask for none
        self._client = client
        self._server = Server(
            "Anthropic",
            url,
            KEY,
            anthropic.AnthropicError,
            lambda: (client.api_key, client.auth_token),
        )

    def configuration(self) -> Mapping[str, object]:
        """Return what identifies model, server and decoding, as far as a hosted model tells."""
        return {
            "backend": "anthropic",
            "model": self._model,
            "weights": "unattested",
            "server": self._server.url,
            "workers": self.workers,
            "schema_mode": f"forced tool {TOOL}",
            "seed": "unsupported",
            "decoding": self._decoding.describe(),
        }

    def chat(self, request: Request, worker: int) -> Reply:
        """Return the tool's input as JSON text, or the prose that came in its place."""
        try:
            answer = self._server.ask(
                self._client.messages.with_raw_response.create,
                {
                    "messages": [dict(m) for m in request.messages if m["role"] != "system"],
                    **_system(request),
                    "tools": [
                        {
                            "name": TOOL,
                            "description": "Gives the answer in the form that was asked for.",
                            "input_schema": dict(request.schema),
                        }
                    ],
                    "tool_choice": {
                        "type": "tool",
                        "name": TOOL,
                        "disable_parallel_tool_use": True,
                    },
                    **self._decoding.sampling(),
                },
                model=self._model,
                max_tokens=request.max_tokens,
            )
        except ModelError as error:
            return refusal(error)
        return self._reply(answer)

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _connect(self, key: str | None) -> Any:
        connect, read, write, pool = self._timeout_s
        try:
            return anthropic.Anthropic(
                api_key=key,
                base_url=self._base_url,
                timeout=anthropic.Timeout(connect=connect, read=read, write=write, pool=pool),
                max_retries=0,  # the runner tries again, within its own budget of time
            )
        except anthropic.AnthropicError as error:
            raise ModelError(f"Anthropic: {plain(error)}") from None  # a profile that is broken

    def _reply(self, body: Mapping[str, Any]) -> Reply:
        content, usage = body.get("content"), body.get("usage") or {}
        if not isinstance(content, list):
            raise self._server.malformed("it has no list 'content'")
        blocks = [block for block in content if isinstance(block, dict)]
        texts = [
            json.dumps(block.get("input"), ensure_ascii=False)
            for block in blocks
            if block.get("type") == "tool_use"
        ][:1] or [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
        reason = str(body.get("stop_reason"))
        return Reply(
            text="\n".join(texts),
            finish=_FINISH.get(reason, reason),
            input_tokens=sum(
                usage.get(name) or 0
                for name in (
                    "input_tokens",
                    "cache_read_input_tokens",
                    "cache_creation_input_tokens",
                )
            ),
            output_tokens=usage.get("output_tokens") or 0,
            response_id=str(body.get("id") or ""),
        )


def _system(request: Request) -> dict[str, Any]:
    """Return the system prompt, marked as the prefix that all arms share and a cache may keep."""
    text = "\n\n".join(m["content"] for m in request.messages if m["role"] == "system")
    if not text:
        return {}
    return {"system": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]}
