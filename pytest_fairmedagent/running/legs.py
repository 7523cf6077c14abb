"""The legs of a run: whole rounds, up to where something is decided.

A leg ends at a planned look, or after every round where a budget limits the run. Arms are equally
long at every such point, so whatever is decided there, no contrast is left with half a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pytest_fairmedagent.domain import Contrast, Plan, ReplicateTable
from pytest_fairmedagent.errors import PlanError, StoreError
from pytest_fairmedagent.running.budget import LEAST_ROUNDS, Budget, Estimate, Spent, too_little
from pytest_fairmedagent.running.drawn import Drawn
from pytest_fairmedagent.running.sampler import Sampler
from pytest_fairmedagent.running.schedule import rounds
from pytest_fairmedagent.running.store import Draw

# Given the table of the first leg: how many replicates the plan is to have in the end. Raises
# PlanError where no number that it allows would do.
Sizing = Callable[[ReplicateTable], int]
# Given the table so far and the contrasts that were going on: those that still do.
Undecided = Callable[[ReplicateTable, frozenset[Contrast]], frozenset[Contrast]]


@dataclass
class Legs:
    """Draws leg after leg, and knows how far it came, also where it was cut short.

    Args:
        beside: what was spent on no trial.
        looks: replicates, rising, after which `undecided` is asked which contrasts go on; none
            for a plan of fixed size.
        sizing: asked after the plan's first leg, where it has one, how many replicates follow.
        done: trials that need not be drawn.
        offline: a trial that is not done is an error.

    `asked` are the trials of the legs so far, `reached` their replicates, `looked` the looks that
    were taken. `over` tells that all is drawn that the plan needs, `ended` why a budget stopped it.
    """

    plan: Plan
    drawn: Drawn
    done: set[Draw]
    budget: Budget
    estimate: Estimate
    beside: Spent
    looks: Sequence[int]
    undecided: Undecided
    offline: bool
    by_vignette: bool
    sizing: Sizing | None = None
    asked: set[Draw] = field(default_factory=set, init=False)
    looked: list[int] = field(default_factory=list, init=False)
    reached: int = field(default=0, init=False)
    over: bool = field(default=False, init=False)
    ended: str = field(default="", init=False)
    most: int = field(default=0, init=False)  # replicates, once they are settled

    def draw(self, contrasts: frozenset[Contrast], sampler: Sampler) -> None:
        """Draw all that the contrasts need, as far as the budget goes.

        Raises PlanError for a budget that ends before anything could be judged, StoreError for what
        is not there offline, and what the sampler raises.
        """
        going = contrasts
        for upto in self._ends(contrasts):
            leg = self._leg(going, upto)
            if self._stops_before(leg):
                return
            self.asked |= set(leg)
            seed = self.drawn.run.seed
            sampler.sample(rounds(leg, seed=seed, by_vignette=self.by_vignette), self.done)
            self.done |= set(leg)
            self.reached = upto
            if upto in self.looks and upto < self.most:
                going = self._look(going, upto)
            if not going:
                break
        self.over = True

    def _ends(self, going: frozenset[Contrast]) -> Iterator[int]:
        """Yield the replicates at which a leg ends, rising; the last is the plan's, or the sized.

        What is after the first leg is settled when that is drawn, and not before.
        """
        self.most = self.plan.replicates
        first = self.plan.first_leg if self.sizing else 0
        if first and self.sizing:
            yield from self._until(min(first, self.most))
            self.most = self._sized(self.sizing, going)
        yield from self._until(self.most)

    def _until(self, most: int) -> list[int]:
        ends = range(1, most + 1) if self.budget else (*self.looks, most)
        return sorted({end for end in ends if self.reached < end <= most})

    def _sized(self, sizing: Sizing, going: frozenset[Contrast]) -> int:
        """Return the replicates of the plan by its first leg, which every process finds alike.

        Raises PlanError where they could not be paid for: what is drawn without reaching them
        certifies nothing.
        """
        most = max(self.reached, sizing(self.drawn.table(self.asked)))
        leg = self._leg(going, most)
        new, begun = self._new(leg)
        refusal = ""
        if self.budget and not begun:
            refusal = self.budget.refusal(
                self.drawn.spent(), len(new), self.estimate, beside=self.beside
            )
        if refusal:
            raise PlanError(
                f"at the floor that was measured {most} replicates are needed to certify "
                f"everything, and the budget does not allow them: {refusal}.\n  Raise the limit, "
                f"or name fewer swaps. The {self.reached} replicates that are drawn are kept."
            )
        return most

    def _leg(self, going: frozenset[Contrast], upto: int) -> list[Draw]:
        wanted = {(arm.vignette, arm.condition) for arm in self.plan.arms(going)}
        return [
            place
            for trial, place in self.drawn.places.items()
            if self.reached <= trial.replicate < upto
            and (trial.vignette, trial.condition) in wanted
        ]

    def _new(self, leg: Sequence[Draw]) -> tuple[list[Draw], bool]:
        """Return what of a leg nobody has drawn, and whether another process has begun it.

        What is begun goes on: its costs are in already, and if they were dearer than expected, one
        process would end and leave the other with arms of another length.
        """
        found = {d: t for d, (t, _, _) in self.drawn.found().items() if not t.infrastructure}
        new = [place for place in leg if place not in found and place not in self.done]
        return new, any(place in found for place in leg if place not in self.done)

    def _stops_before(self, leg: Sequence[Draw]) -> bool:
        """Whether the budget ends before this leg. Raises where nothing could be judged then."""
        new, begun = self._new(leg)
        if self.budget and not begun:
            # A run that could not end its second round would be paid for and say nothing.
            ahead = LEAST_ROUNDS if not self.reached and self.plan.replicates > 1 else 1
            self.ended = self.budget.refusal(
                self.drawn.spent(), ahead * len(new), self.estimate, beside=self.beside
            )
        if self.ended and self.reached < LEAST_ROUNDS:
            raise too_little(self.ended)
        if self.offline and new and not self.ended:
            first = new[0].trial
            raise StoreError(
                f"--fairmed-offline: {len(new)} of {len(leg)} trials are not in "
                f"{self.drawn.store.path}, the first being {first.vignette}, {first.condition}, "
                f"replicate {first.replicate + 1}.\n  Run without --fairmed-offline to draw them."
            )
        return bool(self.ended)

    def _look(self, going: frozenset[Contrast], replicates: int) -> frozenset[Contrast]:
        """Return the contrasts that go on.

        The answer that was given first is the answer: the processes of one start, and later ones
        that draw again what was missing, must not leave arms of different length.
        """
        self.looked.append(replicates)
        on = self.undecided(self.drawn.table(self.asked), going)
        kept = self.drawn.store.keep_look(self.drawn.run, replicates, sorted(on))
        return frozenset(contrast for contrast in going if contrast in kept)
