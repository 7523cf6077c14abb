"""What a chat backend is: it answers one request, says what it is, and names its own faults."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

Schema = Mapping[str, Any]
Message = Mapping[str, str]  # {"role": "system" | "user" | "assistant", "content": text}


@dataclass(frozen=True)
class Request:
    """One model call. `seed` is a draw's own; `stage` is a name for records, never sent."""

    stage: str
    messages: tuple[Message, ...]
    schema: Schema
    seed: int
    max_tokens: int

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 of all that is sent, so that a stored reply answers this very request."""
        content = [self.messages, self.schema, self.seed, self.max_tokens]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


@dataclass(frozen=True)
class Reply:
    """What came back.

    `finish` is `stop`, `length` (cut at the token limit), `refusal`, or the server's own word.
    `response_id` is the server's id of the answer, "" where it gives none: two trials with one id
    are one answer read twice. `input_tokens` counts cached tokens too.
    """

    text: str
    finish: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    response_id: str = ""


@dataclass(frozen=True)
class Decoding:
    """Sampling parameters as the user gave them. What is not given is not sent."""

    parameters: Mapping[str, float | int | str] = field(default_factory=dict)

    KNOWN = ("temperature", "top_p", "top_k", "min_p", "num_ctx", "max_tokens")

    def describe(self) -> dict[str, object]:
        """Return every known parameter, "unset" for those that are left to the server."""
        known: dict[str, object] = dict.fromkeys(self.KNOWN, "unset")
        return {**known, **self.parameters}

    def sampling(self) -> dict[str, float | int | str]:
        """Return what is sent as sampling parameters: all but the window and the token limit."""
        return {k: v for k, v in self.parameters.items() if k not in ("num_ctx", "max_tokens")}


class ChatModel(Protocol):
    """A chat backend.

    `name` is what was asked for. `workers` is how many requests may be under way at once; request
    number `worker` (0 <= worker < workers) never overlaps with itself, so a backend may keep one
    connection or one loaded model for each. `toy` tells that nothing clinical can be learned from
    it. `seeded` tells that the seed is sent; no real server promises equal answers for equal seeds.
    A call that lasts longer than `call_limit_s` is given up and may go on unheard, so that it can
    overlap with the next of its worker; None where that must not be.
    """

    name: str
    workers: int
    toy: bool
    seeded: bool
    call_limit_s: float | None

    def open(self) -> None:
        """Get ready and warm up; nothing if it is ready. Raises ModelError that says what to do."""

    def configuration(self) -> Mapping[str, object]:
        """Return what identifies backend, weights, server and decoding. Called after `open`."""

    def chat(self, request: Request, worker: int) -> Reply:
        """Answer one request. Raises ModelError for faults of the infrastructure only."""

    def close(self) -> None:
        """Let go of what `open` took."""
