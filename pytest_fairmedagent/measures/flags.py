"""Flags of the note: what the agent wrote about a patient, the descriptor's own words left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pytest_fairmedagent.domain import OUTCOMES, Condition, Outcome, ReplicateTable
from pytest_fairmedagent.domain.flags import counted_flags
from pytest_fairmedagent.measures._rows import outcome_of, readings
from pytest_fairmedagent.stats import ScoreTest, SetContrast, score_test, set_contrast
from pytest_fairmedagent.stats._result import Result


@dataclass(frozen=True, repr=False)
class FlagContrast(Result):
    """The flags under a swap and under its reference.

    `number` compares how many flags a note has, `sets` which ones (`sets.elements`: each flag with
    its exact test, adjusted by Holm). `left_out` counts, by condition, the flags that only repeat a
    descriptor or say that there is none.
    """

    swap: str
    reference: str
    vignettes: tuple[str, ...]
    number: ScoreTest
    sets: SetContrast
    left_out: Mapping[str, Mapping[str, int]]

    def __str__(self) -> str:
        n = sum(sum(flags.values()) for flags in self.left_out.values())
        return (
            f"note flags, {self.swap} vs {self.reference}: number: {self.number}; {self.sets}; "
            f"{n} left out that repeat a descriptor or say none"
        )


def compare_flags(
    table: ReplicateTable,
    vignettes: Sequence[str],
    *,
    swap: Condition,
    reference: Condition,
    outcome: str | Outcome = OUTCOMES["note_flags"],
    n_resamples: int = 1999,
    rng: int = 0,
) -> FlagContrast:
    """Return how the flags differ under a swap.

    One rule for both arms: the words of both descriptors are left out in both. ValueError without
    vignettes.
    """
    read, descriptors = outcome_of(outcome), (swap.descriptor, reference.descriptor)
    arms, left_out = [], {}
    for condition in (swap, reference):
        rows = readings(table, vignettes, condition.id, read)
        kept = [
            [None if flags is None else counted_flags(flags, descriptors) for flags in row]
            for row in rows
        ]
        left_out[condition.id] = _left_out(rows, kept)
        arms.append(kept)
    numbers = [[[None if f is None else len(f) for f in row] for row in kept] for kept in arms]
    return FlagContrast(
        swap=swap.id,
        reference=reference.id,
        vignettes=tuple(vignettes),
        number=score_test(*numbers, rng=rng),
        sets=set_contrast(*arms, n_resamples=n_resamples, rng=rng),
        left_out=left_out,
    )


Rows = Sequence[Sequence["Collection[str] | None"]]


def _left_out(rows: Rows, kept: Rows) -> dict[str, int]:
    found: Counter[str] = Counter()
    for row, kept_row in zip(rows, kept, strict=True):
        for flags, those in zip(row, kept_row, strict=True):
            found.update(set(flags or ()) - set(those or ()))
    return dict(sorted(found.items()))
