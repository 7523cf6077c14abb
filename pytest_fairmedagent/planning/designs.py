"""Vignettes x replicates: those that reach an aim, and those that a budget buys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.planning.gate import MOST_ROUNDS, Aim, Gate
from pytest_fairmedagent.planning.trial import TrialCost

LEAST, USUAL = 3, 20  # replicates that measure a floor and serial dependence; more gain little
MOST_REPLICATES = 100_000


@dataclass(frozen=True)
class Design:
    """Vignettes x replicates in each of `n_arms` arms, and what that takes.

    `usd` and `hours` are None where the price or the time of a trial is unknown.
    """

    n_vignettes: int
    replicates: int
    n_arms: int
    cost: TrialCost

    @property
    def pairs(self) -> int:
        return self.n_vignettes * self.replicates

    @property
    def trajectories(self) -> int:
        return self.pairs * self.n_arms

    @property
    def calls(self) -> float:
        return self.trajectories * self.cost.calls

    @property
    def tokens(self) -> tuple[float, float]:
        """Sent and answered."""
        n = self.trajectories
        return n * self.cost.input_tokens, n * self.cost.output_tokens

    @property
    def usd(self) -> float | None:
        return None if self.cost.usd is None else self.trajectories * self.cost.usd

    @property
    def hours(self) -> float | None:
        seconds = self.cost.seconds
        return None if seconds is None else self.trajectories * seconds / 3600


@dataclass(frozen=True)
class Budgeted:
    """Limits of a run: model calls, US dollars, hours; None where there is none."""

    max_calls: int | None = None
    max_usd: float | None = None
    hours: float | None = None

    def __bool__(self) -> bool:
        return any(limit is not None for limit in (self.max_calls, self.max_usd, self.hours))

    def rounds(self, n_trials: int, cost: TrialCost) -> int:
        """Return how many rounds of so many trials fit.

        A run stops before a round that could break its limit of calls if every call of it needed a
        repair. So one round's repairs stay in hand, and rounds fit that end below that.
        """
        fit: list[float] = []
        if self.max_calls is not None:
            held_back = cost.most_calls - cost.calls
            fit.append((self.max_calls / n_trials - held_back) / cost.calls)
        if self.max_usd is not None and cost.usd:
            fit.append(self.max_usd / (n_trials * cost.usd))
        if self.hours is not None and cost.seconds:
            fit.append(self.hours * 3600 / (n_trials * cost.seconds))
        return max(0, int(min(fit, default=0) + 1e-9))

    def check(self, cost: TrialCost) -> None:
        """Raise PlanError for a limit of something that is not known."""
        if self.max_usd is not None and cost.usd is None:
            raise PlanError(
                "--max-usd needs a price: name the model with --model, and a price table of your "
                "own with --prices where the shipped one does not know it"
            )
        if self.hours is not None and cost.seconds is None:
            raise PlanError(
                "--hours needs the time of a trial: --seconds-per-trial, or --record with a run "
                "record of this model"
            )


def designs_for(
    aim: Aim,
    gate: Gate,
    cost: TrialCost,
    *,
    n_arms: int,
    most_vignettes: int,
    replicates: int | None = None,
) -> list[Design]:
    """Return designs that reach an aim, from few replicates to many; empty where none does.

    With as few vignettes as each number of replicates allows, at most `most_vignettes`. The first
    has the fewest replicates (3 or more) that these vignettes allow. `replicates` fixes the number.
    """
    if replicates is not None:
        found = _fewest_vignettes(aim, gate, replicates, most_vignettes)
        return [Design(found, replicates, n_arms, cost)] if found else []
    least = _fewest_replicates(aim, gate, most_vignettes)
    if least is None:
        return []
    designs = []
    for number in range(least, max(least, USUAL) + 1):
        vignettes = _fewest_vignettes(aim, gate, number, most_vignettes)
        if vignettes:
            designs.append(Design(vignettes, number, n_arms, cost))
    return designs


def cheapest(designs: Iterable[Design]) -> Design:
    """Return the design of fewest trajectories; of several, the one of most vignettes.

    Vignettes alone speak for new cases. Raises ValueError for no design.
    """
    return min(designs, key=lambda design: (design.trajectories, -design.n_vignettes))


def in_budget(
    budget: Budgeted,
    cost: TrialCost,
    *,
    n_arms: int,
    most_vignettes: int,
    replicates: int | None = None,
) -> list[Design]:
    """Return what a budget buys: the most vignettes first, then fewer with more replicates.

    Raises PlanError for a budget that does not buy the replicates asked for (3 where none are) of
    one vignette, or limits what is not known.
    """
    budget.check(cost)
    least = replicates or LEAST
    designs = []
    vignettes = most_vignettes
    while vignettes >= 1:
        rounds = min(budget.rounds(vignettes * n_arms, cost), MOST_REPLICATES)
        if rounds >= least:
            designs.append(Design(vignettes, replicates or rounds, n_arms, cost))
        if len(designs) >= 4 or vignettes == 1:
            break
        # Down to what the budget allows, then by halves, to show what fewer vignettes would be.
        vignettes = max(1, vignettes // 2 if designs else _next(vignettes, rounds, least))
    if not designs:
        raise PlanError(
            f"the budget does not buy {least} replicates of one vignette in {n_arms} arms\n  "
            "Fewer swaps or controls need fewer arms; two replicates have no serial dependence "
            "that could be tested, and one has no floor."
        )
    return designs


def _next(vignettes: int, rounds: int, least: int) -> int:
    return min(vignettes - 1, max(1, vignettes * (rounds + 1) // least))


def _fewest_vignettes(aim: Aim, gate: Gate, replicates: int, most: int) -> int | None:
    """Return the fewest vignettes that reach the aim at so many replicates; None above `most`."""
    return _first(lambda n: gate.reaches(aim, n, replicates), most)


def _fewest_replicates(aim: Aim, gate: Gate, vignettes: int) -> int | None:
    most = MOST_ROUNDS if gate.sequential == "e" else MOST_REPLICATES
    found = _first(lambda r: gate.reaches(aim, vignettes, r), most)
    return None if found is None else max(LEAST, found)


def _first(holds: Callable[[int], bool], most: int) -> int | None:
    """Return the smallest number from 1 to `most` for which it holds, as it then does for more."""
    high = 1
    while not holds(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
