"""Anthropic's Messages API. The form of an answer is that of an output format or a forced tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anthropic

from pytest_fairmedagent.domain import PATIENT_LINE
from pytest_fairmedagent.errors import MALFORMED, ModelError
from pytest_fairmedagent.models.base import Reply, Request, Schema
from pytest_fairmedagent.models.faults import as_reply
from pytest_fairmedagent.models.hosted import HostedModel, Server, count
from pytest_fairmedagent.models.hosts import check_base_url, is_loopback, plain

KEY = "ANTHROPIC_API_KEY"
URL = "ANTHROPIC_BASE_URL"
TOOL = "answer"
OUTPUT_FORMAT, FORCED_TOOL = "output format json_schema", f"forced tool {TOOL}"

# The `finish` of prose from a server that was to answer through the tool, as `fairmed show` has it.
NO_TOOL = "stop without the tool"

_FINISH = {
    "end_turn": "stop",
    "tool_use": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
# Output formats know none of these; what they say is told in the description, and checked after.
_LIMITS = ("minimum", "maximum", "maxItems", "maxLength")


class AnthropicModel(HostedModel):
    """Answers through the `anthropic` package. The package reads the key, not this class."""

    prefix = "anthropic"
    provider = "Anthropic"
    key = KEY
    url = URL
    home = "https://api.anthropic.com"
    unknown = ("num_ctx", "min_p")
    seeded = False

    def open(self) -> None:
        """Find a key, and ask what the model can do. No call is made: a call costs money."""
        if self._client is not None:
            return
        client = self._connect(None)
        url = str(client.base_url).rstrip("/")
        if self._base_url is None:
            check_base_url(url, option=URL)
        if not any((client.api_key, client.auth_token, getattr(client, "credentials", None))):
            client.close()
            if not is_loopback(url):
                raise ModelError(
                    f"Anthropic: there is no key in the environment\n"
                    f"  set {KEY}, then run again; it is never stored or printed"
                )
            client = self._connect("none")  # compatible servers on this machine ask for none
        self._server = Server(
            "Anthropic",
            url,
            KEY,
            anthropic.AnthropicError,
            lambda: (client.api_key, client.auth_token),
        )
        try:
            told = self._told_of_model(client)
        except BaseException:
            client.close()
            raise
        # Its newest models refuse a forced tool, its older ones know no output formats. Compatible
        # servers say nothing of either and are asked for the tool, the older of the two.
        formats: Any = told
        for name in ("capabilities", "structured_outputs", "supported"):
            formats = formats.get(name) if isinstance(formats, dict) else None
        self._form = OUTPUT_FORMAT if formats is True else FORCED_TOOL
        # An alias comes with the model that it stands for at present.
        self._reported = plain(told.get("id") or "unattested")
        self._client = client

    def configuration(self) -> Mapping[str, object]:
        """Return what identifies model, server and decoding, as far as a hosted model tells."""
        return {
            "backend": "anthropic",
            "model": self._model,
            "model_reported": self._reported,
            "weights": "unattested",
            "server": self._server.url,
            "workers": self.workers,
            "schema_mode": self._form,
            "seed": "unsupported",
            "decoding": self._decoding.describe(),
        }

    def chat(self, request: Request, worker: int) -> Reply:
        """Return the answer as JSON text, or the prose that came in its place."""
        create = self._client.messages.with_raw_response.create
        insisted = {"model": self._model, "max_tokens": request.max_tokens}
        try:
            return self._reply(self._server.ask(create, self._body(request), **insisted))
        except ModelError as error:
            return as_reply(error)

    def _body(self, request: Request) -> dict[str, Any]:
        return {
            "messages": _messages(request),
            **_system(request),
            **(_format if self._form == OUTPUT_FORMAT else _tool)(request.schema),
            **self._decoding.sampling(),
        }

    def _connect(self, key: str | None) -> Any:
        options = self._options(anthropic)
        try:
            return anthropic.Anthropic(api_key=key, base_url=self._base_url, **options)
        except anthropic.AnthropicError as error:
            raise ModelError(f"Anthropic: {plain(error)}") from None  # a profile that is broken

    def _told_of_model(self, client: Any) -> dict[str, Any]:
        """Return what the server says of the model; nothing where it knows no such question."""
        retrieve = client.models.with_raw_response.retrieve
        try:
            return self._server.read(lambda: retrieve(self._model))
        except ModelError as error:
            # Where the server only stumbled, it would be another configuration by chance.
            if error.transient and error.kind != MALFORMED:
                raise
            return {}

    def _reply(self, body: Mapping[str, Any]) -> Reply:
        self._check_unchanged(body)
        content = body.get("content")
        if not isinstance(content, list):
            raise self._server.malformed("it has no list 'content'")
        blocks = [block for block in content if isinstance(block, dict)]
        given = [block.get("input") for block in blocks if block.get("type") == "tool_use"]
        prose = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
        reason = str(body.get("stop_reason"))
        finish = _FINISH.get(reason, reason)
        if self._form == FORCED_TOOL and finish == "stop" and not given:
            finish = NO_TOOL
        text = json.dumps(given[0], ensure_ascii=False) if given else "\n".join(prose)
        if given and finish == "length":
            text = ""  # an input that was cut comes closed, as if it had been whole
        read = count(body, "usage", "cache_read_input_tokens")
        written = count(body, "usage", "cache_creation_input_tokens")
        return Reply(
            text=text,
            finish=finish,
            input_tokens=count(body, "usage", "input_tokens") + read + written,
            cache_read_tokens=read,
            cache_write_tokens=written,
            output_tokens=count(body, "usage", "output_tokens"),
            response_id=str(body.get("id") or ""),
        )


def _system(request: Request) -> dict[str, Any]:
    """Return the system prompt, marked as the prefix that all arms share and a cache may keep."""
    text = "\n\n".join(m["content"] for m in request.messages if m["role"] == "system")
    if not text:
        return {}
    return {"system": [_kept(text)]}


def _messages(request: Request) -> list[dict[str, Any]]:
    """Return the messages; the first is cut where arms begin to differ, and kept up to there.

    A server keeps prefixes of some 1,000 tokens and more, and passes over the mark of shorter ones.
    A case that has its descriptor inside the text is kept whole, for the replicates of its arm.
    """
    first, *rest = [dict(m) for m in request.messages if m["role"] != "system"]
    shared, line, own = first["content"].rpartition(PATIENT_LINE)
    parts = [_kept(shared), {"type": "text", "text": f"{line}{own}"}] if shared else [_kept(own)]
    return [{**first, "content": parts}, *rest]


def _kept(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}


def _tool(schema: Schema) -> dict[str, Any]:
    description = "Gives the answer in the form that was asked for."
    return {
        "tools": [{"name": TOOL, "description": description, "input_schema": dict(schema)}],
        "tool_choice": {"type": "tool", "name": TOOL, "disable_parallel_tool_use": True},
    }


def _format(schema: Schema) -> dict[str, Any]:
    told = {"type": "json_schema", "schema": _without_limits(schema)}
    return {"output_config": {"format": told}}


def _without_limits(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_limits(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    limits = {n: v for n, v in schema.items() if n in _LIMITS and isinstance(v, int)}
    kept = {name: _without_limits(v) for name, v in schema.items() if name not in limits}
    if limits:
        kept["description"] = ", ".join(f"{name} {value}" for name, value in limits.items())
    return kept
