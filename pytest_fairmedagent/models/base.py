"""What a chat backend is: it answers one request, says what it is, and names its own faults."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

Schema = Mapping[str, Any]
Message = Mapping[str, str]  # {"role": "system" | "user" | "assistant", "content": text}

# The `finish` of a reply to a prompt that did not fit the window: the server refused it, or cut it
# and answered something else than was asked. Its text is no answer.
OVER_WINDOW = "over the window"


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

    `finish` is `stop`, `length` (cut at the token limit), `refusal`, `OVER_WINDOW`, or the server's
    own word.
    `response_id` is the server's id of the answer, "" where it gives none: two trials with one id
    are one answer read twice. `input_tokens` counts cached tokens too,
    `cache_read_tokens` those of them that a prompt cache had, `cache_write_tokens` those it took.
    """

    text: str
    finish: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
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

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Return the URLs of the servers that are asked, () for none. Known before `open`.

        Where there are any, `workers` may be set until the first call.
        """

    def open(self) -> None:
        """Get ready and warm up; nothing if it is ready. Raises ModelError that says what to do."""

    def configuration(self) -> Mapping[str, object]:
        """Return what identifies backend, weights, server and decoding. Called after `open`."""

    def known(self) -> Mapping[str, object]:
        """Return as much of `configuration` as is known before `open`: what the user chose."""

    def chat(self, request: Request, worker: int) -> Reply:
        """Answer one request. Raises ModelError for faults of the infrastructure only."""

    def close(self) -> None:
        """Let go of what `open` took."""


@dataclass(frozen=True)
class Planned:
    """A request that a plan may come to. `where` names its vignette, condition and stage."""

    where: str
    request: Request


@runtime_checkable
class Windowed(Protocol):
    """A chat backend that knows its window, and looks before the first draw whether a plan fits."""

    def prepare(self, planned: Sequence[Planned]) -> None:
        """Fit the window to what a plan may come to. Called after `open`, before `configuration`.

        Raises ModelError that names the request which can not fit.
        """
