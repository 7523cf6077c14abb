"""What a change does by itself, and what it does through the stage that was held.

Holding the orders at recorded values in both arms is an intervention: its contrast is the direct
effect at those orders. What is left of the total went through the orders.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from pytest_fairmedagent.domain import Outcome, ReplicateTable
from pytest_fairmedagent.measures._rows import binary, counts_of, outcome_of, readings
from pytest_fairmedagent.stats import StratifiedTest, stratified_test
from pytest_fairmedagent.stats._result import Result

DESCRIPTIVE, INTERVENTIONAL = "descriptive", "interventional"


@dataclass(frozen=True, repr=False)
class Mediation(Result):
    """The change of one later action in three parts: total = direct + through the held stage.

    `total` compares the arms as they are, `direct` the arms of the run in which the stage was held
    at the same recorded values in both. `kind` is "interventional" where both runs are balanced,
    else "descriptive", and `reasons` says why. The two runs are two configurations, each read
    against its own floor; `configurations` are their digests.
    """

    action: str
    swap: str
    reference: str
    vignettes: tuple[str, ...]
    total: StratifiedTest
    direct: StratifiedTest
    kind: str
    reasons: tuple[str, ...]
    configurations: tuple[str, str]

    @property
    def mediated(self) -> float:
        """Signed gap that goes through the held stage, total minus direct, in -2..2."""
        return self.total.gap - self.direct.gap

    @property
    def se(self) -> float:
        """Standard error of `mediated`: the two runs are drawn apart."""
        return math.hypot(self.total.se(), self.direct.se())

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Normal interval of `mediated`."""
        reach = NormalDist().inv_cdf((1 + confidence) / 2) * self.se
        return self.mediated - reach, self.mediated + reach

    def __str__(self) -> str:
        low, high = self.interval()
        why = f": {'; '.join(self.reasons)}" if self.reasons else ""
        return (
            f"{self.action}, {self.swap} vs {self.reference}: total {self.total.gap:+.3f}, direct "
            f"{self.direct.gap:+.3f}, through the held stage {self.mediated:+.3f} [{low:.3f}, "
            f"{high:.3f}] ({self.kind}{why})"
        )


def mediation(
    total: ReplicateTable,
    held: ReplicateTable,
    vignettes: Sequence[str],
    action: str | Outcome,
    *,
    swap: str,
    reference: str = "reference",
    through: str | Outcome = "orders",
) -> Mediation:
    """Return how much of a change of `action` goes through an earlier outcome.

    `total` is the table of the agent as it is, `held` that of the same agent with the stage of
    `through` held (`agents.held.hold`). ValueError without vignettes,
    PlanError for an unknown name or an outcome of another kind.
    """
    then, first = binary(action), outcome_of(through)
    tests = []
    for table in (total, held):
        k, m = counts_of(table, vignettes, swap, then)
        j, n = counts_of(table, vignettes, reference, then)
        tests.append(stratified_test(k, m, j, n))
    reasons = [
        *_imbalance("the run as it is", total, vignettes, then, swap, reference),
        *_imbalance("the held run", held, vignettes, then, swap, reference),
    ]
    if readings(held, vignettes, swap, first) != readings(held, vignettes, reference, first):
        reasons.append(f"the {first.id} of the held run differ between its arms")
    return Mediation(
        action=then.id,
        swap=swap,
        reference=reference,
        vignettes=tuple(vignettes),
        total=tests[0],
        direct=tests[1],
        kind=DESCRIPTIVE if reasons else INTERVENTIONAL,
        reasons=tuple(reasons),
        configurations=(total.configuration, held.configuration),
    )


def _imbalance(
    name: str,
    table: ReplicateTable,
    vignettes: Sequence[str],
    action: Outcome,
    swap: str,
    reference: str,
) -> list[str]:
    """Return why a run's arms cannot be set against each other one to one."""
    _, m = counts_of(table, vignettes, swap, action)
    _, n = counts_of(table, vignettes, reference, action)
    reasons = []
    if not any(m) or not any(n):
        reasons.append(f"{name} has no answers in an arm")
    elif m != n:
        reasons.append(f"{name} has unequal numbers of answers in its arms")
    elif len(set(m)) > 1:
        reasons.append(f"{name} has unequal numbers of answers in its vignettes")
    return reasons
