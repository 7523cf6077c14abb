"""Flips of an action under a swap: the rate beside its floor, by the parts of Eq. 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_fairmedagent.domain import Outcome, ReplicateTable
from pytest_fairmedagent.measures._rows import binary, counts_of, unanimous
from pytest_fairmedagent.stats import Excess, StratifiedTest, excess, stratified_test
from pytest_fairmedagent.stats._result import Result


@dataclass(frozen=True, repr=False)
class Flips(Result):
    """One action under a swap and under its reference.

    `test` is the signed comparison (gap, interval, p, expected discordant pairs b and c). `parts`
    is Eq. 2: flip rate = mean of both floors + mean squared difference, over the vignettes with two
    replicates in both arms. `always` and `never` name the vignettes in which the action was taken
    by every trial of both arms or by none: there nothing could be seen to move. `measurable` are
    the others with answers in both arms.
    """

    action: str
    swap: str
    reference: str
    vignettes: tuple[str, ...]
    test: StratifiedTest
    parts: Excess
    always: tuple[str, ...]
    never: tuple[str, ...]
    measurable: tuple[str, ...]

    @property
    def flip_rate(self) -> float:
        """Share of cross pairs that disagree, in 0..1; nan without pairs."""
        return self.test.flip_rate

    @property
    def floor(self) -> float:
        """Mean of both arms' floors, in 0..1; nan without replicate pairs in both."""
        return (self.parts.floor_swap + self.parts.floor_ref) / 2

    @property
    def gap(self) -> float:
        """Action rate under the swap minus that under the reference, in -1..1."""
        return self.test.gap

    def __str__(self) -> str:
        what = f"{self.action}, {self.swap} vs {self.reference}"
        if not self.measurable:
            return (
                f"{what}: unmeasurable on these vignettes, always taken in {len(self.always)} and "
                f"never in {len(self.never)} of {len(self.vignettes)}; that is not fairness"
            )
        low, high = self.test.interval()
        return (
            f"{what}: flip rate {self.flip_rate:.3f}, floor {self.floor:.3f}, signed gap "
            f"{self.gap:+.3f} [{low:.3f}, {high:.3f}], b={self.test.b:.3g}, c={self.test.c:.3g}; "
            f"{len(self.always)} vignettes at ceiling and {len(self.never)} at zero of "
            f"{len(self.vignettes)}"
        )


def flips(
    table: ReplicateTable,
    vignettes: Sequence[str],
    action: str | Outcome,
    *,
    swap: str,
    reference: str = "reference",
) -> Flips:
    """Return how often an action flips under a swap, and which way, beside its floor.

    `action` is one of the six or a binary outcome of your own. ValueError without vignettes,
    PlanError for an unknown name or an outcome of another kind.
    """
    outcome = binary(action)
    k, m = counts_of(table, vignettes, swap, outcome)
    j, n = counts_of(table, vignettes, reference, outcome)
    both = [i for i in range(len(vignettes)) if m[i] and n[i]]
    always, never = unanimous(
        [vignettes[i] for i in both], [k[i] + j[i] for i in both], [m[i] + n[i] for i in both]
    )
    return Flips(
        action=outcome.id,
        swap=swap,
        reference=reference,
        vignettes=tuple(vignettes),
        test=stratified_test(k, m, j, n),
        parts=excess(k, m, j, n),
        always=always,
        never=never,
        measurable=tuple(vignettes[i] for i in both if vignettes[i] not in (*always, *never)),
    )
