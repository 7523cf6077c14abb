"""The seats of a panel: every model under every decoding that one run was given."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.models.base import Decoding
from pytest_fairmedagent.models.decoding import parse_decoding
from pytest_fairmedagent.models.specs import ModelSpec, parse_spec

UNSET = "unset"  # the id of a decoding that sends nothing


@dataclass(frozen=True)
class Seat:
    """One model under one decoding. `id` stands in the ids of its items; "" where it is alone."""

    number: int
    id: str
    model: str
    decoding_text: str
    spec: ModelSpec = field(compare=False)  # what the texts say
    decoding: Decoding = field(compare=False)

    def entry(self) -> dict[str, Any]:
        """Return the seat as records have it."""
        return {
            "number": self.number,
            "id": self.id,
            "model": self.model,
            "decoding": self.decoding_text or UNSET,
        }

    def __str__(self) -> str:
        return self.id or self.model


def seats_of(models: Iterable[str], decodings: Iterable[str]) -> tuple[Seat, ...]:
    """Return a seat for each model and decoding, models first. Raises PlanError for one twice."""
    models, decodings = list(models), list(decodings)
    _refuse_twice("model", [parse_spec(model) for model in models], models)
    _refuse_twice("decoding", [parse_decoding(text) for text in decodings], decodings)
    by_model, by_decoding = _ids(models), _ids([text or UNSET for text in decodings])
    found: list[Seat] = []
    for model, m in zip(models, by_model, strict=True):
        for text, d in zip(decodings, by_decoding, strict=True):
            names = [m] * (len(models) > 1) + [d] * (len(decodings) > 1)
            read = parse_spec(model), parse_decoding(text)
            found.append(Seat(len(found), "-".join(names), model, text, *read))
    return tuple(found)


def _refuse_twice(name: str, parsed: list[object], given: list[str]) -> None:
    for index, one in enumerate(parsed):
        if one in parsed[:index]:
            raise PlanError(
                f"--fairmed-{name} names {given[index]!r} twice, expected models or decodings that "
                "differ: draws of one configuration are one series.\n  For more of them raise "
                "--fairmed-replicates."
            )


def _ids(words: list[str]) -> list[str]:
    """Return slugs that `-k` understands, alike in every process; equal ones get a number."""
    found: list[str] = []
    for word in words:
        slug = re.sub(r"[^\w.:+/-]+", "_", word.strip()).replace("::", "_").strip("_") or "_"
        again = sum(other == slug or other.startswith(f"{slug}~") for other in found)
        found.append(f"{slug}~{again + 1}" if again else slug)
    return found
