"""Which request meets which fault: a function of its seed, so that all that follows is foretold."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from pytest_fairmedagent import errors

# What keeps an answer from coming, and the kind that a trial lost to it is to be missing with.
INFRASTRUCTURE = {
    "429": errors.RATE_LIMITED,
    "429 with retry-after": errors.RATE_LIMITED,
    "529": errors.OVERLOADED,
    "overload under 400": errors.OVERLOADED,
    "500": errors.SERVER_ERROR,
    "reset": errors.CONNECTION_LOST,
    "body cut short": errors.CONNECTION_LOST,
    "hang": errors.TIMEOUT,
    "dripping body": errors.TIMEOUT,
    "half a JSON": errors.MALFORMED,
    "no choices": errors.MALFORMED,
}

# What the agent is said to have answered, made of what it did answer.
CONTENT: dict[str, Callable[[str], str]] = {
    "slow body": lambda text: text,
    "fenced": lambda text: f"```json\n{text}\n```",
    "think block": lambda text: f'<think>{{"esi_acuity": 1}} or {{x}}?</think>\n{text}',
    "prose": lambda text: "I would see this patient soon.",
    "out of range": lambda text: json.dumps(dict.fromkeys(json.loads(text), 999)),
    "answer cut": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
}


@dataclass(frozen=True)
class Fault:
    """A fault by its name, and how many tries of one request it hits; inf for all of them."""

    name: str
    tries: float


FaultOf = Callable[[int], "Fault | None"]


def faults(share: float, *, lasting: float) -> FaultOf:
    """Return the faults of a server: a `share` of requests has one, of these `lasting` for good."""

    def fault_of(seed: int) -> Fault | None:
        rng = random.Random(f"fault of {seed}")
        if rng.random() >= share:
            return None
        name = rng.choice([*INFRASTRUCTURE, *CONTENT])
        return Fault(name, math.inf if rng.random() < lasting else rng.choice((1, 1, 2)))

    return fault_of


def no_faults(seed: int) -> Fault | None:
    return None
