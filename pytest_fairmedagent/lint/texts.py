"""The texts of a case that an agent can come to see, with their places in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_fairmedagent.domain import Vignette
from pytest_fairmedagent.domain.pronouns import PRONOUN_SLOTS
from pytest_fairmedagent.domain.vignette import PATIENT, fill
from pytest_fairmedagent.lint.finding import Place

_PRONOUN = re.compile(rf"\{{(?:{'|'.join(sorted(PRONOUN_SLOTS))})\}}")
_CONTEXT = 80  # characters round a pool value that are read with it


@dataclass(frozen=True)
class Piece:
    """A text at a place of the file. What begins or ends in `start` to `end` belongs to it.

    The rest is what it is read with: the name before a result, the sentence round a pool value.
    """

    place: Place
    text: str
    start: int
    end: int

    def holds(self, start: int, end: int) -> bool:
        return start < self.end and end > self.start


def pieces(vignette: Vignette) -> Iterator[Piece]:
    """Yield every text of a case: the narrative, what else its pools can say, and the menu."""
    narrative = _bare(vignette.narrative)
    yield Piece(("narrative",), narrative, 0, len(narrative))
    base = {pool.slot: pool.base for pool in vignette.pools}
    for index, pool in enumerate(vignette.pools):
        slot = f"{{{pool.slot}}}"
        before, _, after = vignette.template.partition(slot)
        left = _bare(fill(before, base))[-_CONTEXT:]
        right = _bare(fill(after, base))[:_CONTEXT]
        for value in pool.values[1:]:
            place = ("pool", index, "values")
            yield Piece(place, f"{left}{value}{right}", len(left), len(left) + len(value))
    for index, order in enumerate(vignette.menu):
        name = f"{order.id.replace('_', ' ')}: {order.name}"
        yield Piece(("menu", index, "name"), name, 0, len(name))
        result = f"{order.name}: {order.result}"
        yield Piece(("menu", index, "result"), result, len(order.name) + 2, len(result))


def _bare(text: str) -> str:
    """Return the text without the descriptor's slot, which says nothing by itself."""
    return _PRONOUN.sub("patient", text.replace(f"{{{PATIENT}}}", "patient"))
