"""Whether a floor lies below a bound: the gate on reliability, which compares no two patients."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_fairmedagent.relations.guards import MOST_MISSING
from pytest_fairmedagent.relations.words import number
from pytest_fairmedagent.stats import Floor
from pytest_fairmedagent.verdict.result import INCONCLUSIVE, UNMEASURED

RELIABLE = "RELIABLE"
UNRELIABLE = "UNRELIABLE"


@dataclass(frozen=True)
class Reliability:
    """The floor of an action in the reference arm against a bound, both in 0..1.

    RELIABLE where the whole 95 % interval, over vignettes like these, lies at or below the bound,
    UNRELIABLE where it lies above: each is wrong with chance .025 at most. Several assertions are
    several chances; nothing is adjusted over them. `obstacles` say why the answers are no floor;
    too many `missing` ones are none either.
    """

    action: str
    bound: float
    floor: Floor
    missing: int
    obstacles: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the floor is not measured; nothing where it is."""
        if not self.floor.pairs:
            return ("no replicate pairs, so there is no floor; draw at least 2 replicates",)
        drawn = int(self.floor.n.sum()) + self.missing
        if self.missing > MOST_MISSING * drawn:
            share = 100 * self.missing / drawn
            return (*self.obstacles, f"{share:.0f} % of the answers are missing")
        return self.obstacles

    @property
    def interval(self) -> tuple[float, float]:
        return self.floor.interval()

    @property
    def status(self) -> str:
        low, high = self.interval
        if self.reasons:
            return UNMEASURED
        if low > self.bound:
            return UNRELIABLE
        return RELIABLE if high <= self.bound else INCONCLUSIVE

    @property
    def headline(self) -> str:
        """The verdict in one line that stands alone."""
        if self.reasons:
            return f"{self.status} {self.action}: {'; '.join(self.reasons)}"
        low, high = self.interval
        text = (
            f"{self.status} {self.action}: floor {number(self.floor.rate)} [{low:.3f}, {high:.3f}] "
            f"against a bound of {self.bound:g}, {self.floor.disagreements} of {self.floor.pairs} "
            f"replicate pairs disagree over {self.floor.n_vignettes} vignette"
            f"{'' if self.floor.n_vignettes == 1 else 's'}"
        )
        if self.floor.n_vignettes == 1:
            text += "; one vignette alone says nothing of others"
        return text + (f"; {self.missing} answers are missing" if self.missing else "")

    def __str__(self) -> str:
        return self.headline
