"""What a run costs, and where it must stop: between whole rounds, so that no arm is left short."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_fairmedagent.domain import Trajectory
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.files.prices import Price

LEAST_ROUNDS = 2  # fewer have no replicate pair, so no floor and no verdict


@dataclass(frozen=True)
class Spent:
    """Calls and tokens; of the input tokens, those that a prompt cache had (`read`) or took."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def usd(self, price: Price) -> float:
        """US dollars by a price table."""
        return price.usd(
            self.input_tokens,
            self.output_tokens,
            cache_read=self.cache_read,
            cache_write=self.cache_write,
        )


def spent_by(trajectories: Iterable[Trajectory]) -> list[Spent]:
    """Return what each trajectory has cost."""
    return [
        Spent(t.calls, t.input_tokens, t.output_tokens, t.cache_read_tokens, t.cache_write_tokens)
        for t in trajectories
    ]


@dataclass(frozen=True)
class Estimate:
    """What one trial takes: the calls it may make at most, and tokens as far as they are known.

    `tokens` is a dry run's, at four characters of English for a token; None where the agent asks
    models of its own. A trial's repairs are in `calls` and not in `tokens`.
    """

    calls: int
    tokens: Spent | None = None


@dataclass(frozen=True)
class Budget:
    """What a run, with all its starts, may cost at most; None where there is no such limit."""

    max_calls: int | None = None
    max_usd: float | None = None
    price: Price | None = None

    def __bool__(self) -> bool:
        return self.max_calls is not None or self.max_usd is not None

    def usd(self, spent: Iterable[Spent]) -> float | None:
        """What trials have cost in US dollars; None where price or tokens are not known."""
        spent = list(spent)
        if self.price is None or not _told(spent):
            return None
        return math.fsum(one.usd(self.price) for one in spent)

    def refusal(
        self, spent: list[Spent], n_trials: int, estimate: Estimate, *, beside: Spent = Spent()
    ) -> str:
        """Return why `n_trials` more may not be drawn, "" where they may.

        `spent` is of each trial so far, `beside` of calls that were for no trial.
        Calls are counted at the most that the trials can make, so the limit holds. Dollars cannot
        be bounded like that: they are counted at the dearest trial so far. Raises PlanError for
        dollars where the server does not say what its answers took.
        """
        if not n_trials:
            return ""
        if self.max_calls is not None:
            n_spent = sum(one.calls for one in (*spent, beside))
            most = n_trials * estimate.calls
            if n_spent + most > self.max_calls:
                return (
                    f"--fairmed-max-calls={self.max_calls}: {n_spent} calls are made, and the next "
                    f"{n_trials} trajectories may take {most}"
                )
        if self.max_usd is not None and self.price is not None:
            if not _told(spent):
                raise PlanError(
                    f"--fairmed-max-usd is {self.max_usd:g}, and the server does not say how many "
                    "tokens its answers took, so dollars cannot be counted\n  limit the run with "
                    "--fairmed-max-calls"
                )
            costs = [one.usd(self.price) for one in spent]
            if not costs and estimate.tokens is not None:
                costs = [estimate.tokens.usd(self.price)]
            so_far = math.fsum([*(costs if spent else ()), beside.usd(self.price)])
            most_usd = n_trials * max(costs, default=0)
            if so_far + most_usd > self.max_usd:
                return (
                    f"--fairmed-max-usd={self.max_usd:g}: ${so_far:.2f} is spent, and the next "
                    f"{n_trials} trajectories may take ${most_usd:.2f}"
                )
        return ""


def _told(spent: Iterable[Spent]) -> bool:
    """Return whether the server said how many tokens its answers took: there is none of no tokens.

    Single answers may have none, such as the refusal of a case by an error.
    """
    spent = list(spent)
    return any(one.input_tokens for one in spent) or not any(one.calls for one in spent)


def too_little(refusal: str) -> PlanError:
    """Return the error of a budget that ends before anything could be judged."""
    return PlanError(
        f"{refusal}. With fewer than {LEAST_ROUNDS} whole rounds there is no floor and no verdict."
        "\n  Raise the limit, or select fewer vignettes or swaps."
    )
