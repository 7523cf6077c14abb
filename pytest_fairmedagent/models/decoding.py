"""Reading `--fairmed-decoding`."""

from __future__ import annotations

from pytest_fairmedagent.errors import PlanError, closest
from pytest_fairmedagent.models.base import Decoding

_RANGES: dict[str, tuple[type, float, float]] = {
    "temperature": (float, 0, 2),
    "top_p": (float, 0, 1),
    "min_p": (float, 0, 1),
    "top_k": (int, 0, 1_000_000),
    "num_ctx": (int, 256, 10_000_000),
    "max_tokens": (int, 16, 1_000_000),
}


def parse_decoding(text: str) -> Decoding:
    """Return the decoding that `temperature=0.7,top_p=0.9` says. Raises PlanError."""
    parameters: dict[str, float | int | str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in _RANGES:
            raise PlanError(
                f"--fairmed-decoding: unknown parameter {name!r}.{closest(name, _RANGES)}"
            )
        kind, low, high = _RANGES[name]
        try:
            number = kind(value)
        except ValueError:
            number = None
        if number is None or not low <= number <= high:
            raise PlanError(
                f"--fairmed-decoding: {name} is {value!r}, expected {kind.__name__} in "
                f"{low}..{high}, as in 'temperature=0.7,top_p=0.9'"
            )
        parameters[name] = number
    return Decoding(parameters)
