"""The tests of a family in the order in which its level is handed on: swaps first, then outcomes.

A swap is tested as a whole, over all its registered outcomes together; only where it has passed are
single outcomes named. Each swap has an equal share of the family's level, and hands it on to the
others once all its outcomes are named. So the chance that anything is said falsely, of a swap or of
an outcome, is at most alpha, whatever is true of the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pytest_fairmedagent.domain import Contrast, Family, Plan
from pytest_fairmedagent.relations.evidence import GS, AtAnyRound, E, Evidence, spending_of
from pytest_fairmedagent.relations.measured import Measured
from pytest_fairmedagent.stats import SwapTest, benjamini_hochberg, e_process, inherited

Shown = Mapping[Contrast, tuple[Measured, Evidence]]


@dataclass(frozen=True)
class Chain:
    """p of the members that are tested together: of all as a `whole`, and of each by itself.

    All in 0..1 and before any adjustment over the family. `silent` members claim nothing: they
    count as 1, so that a chain which has one never hands its share on.
    """

    whole: float
    members: Mapping[Contrast, float]
    silent: tuple[Contrast, ...] = ()

    @property
    def steps(self) -> list[float]:
        """The p-values in the order in which they are tested, rising."""
        rising = np.maximum.accumulate([self.whole, *sorted(self.members.values())])
        return [*map(float, rising), *(1.0 for _ in self.silent)]


@dataclass(frozen=True)
class Adjusted:
    """p adjusted over a family: of each group as a whole, and of each member."""

    whole: Mapping[Contrast, float] = field(default_factory=dict)
    members: Mapping[Contrast, float] = field(default_factory=dict)


def chain_of(
    shown: Shown,
    at_worst: Mapping[Contrast, float],
    silent: Sequence[Contrast],
    tests: Sequence[SwapTest | None],
    family: Family,
    plan: Plan,
) -> Chain:
    """Return the chain of a group at a look, from what each of its members shows there.

    Members of `at_worst` have missing answers which may have made their gap: they are kept out of
    the test of the whole, and stand for themselves with their p at the worst filling. `tests` are
    the joint tests of those shown, at each planned look so far.
    """
    own = {contrast: found.p for contrast, (_, found) in shown.items()}
    if not family.joint:
        members = {**own, **at_worst}
        return Chain(min(members.values(), default=1.0), members, tuple(silent))
    whole, parts = _together(shown, own, tests, family, plan)
    # An outcome must pass by itself too: there copies count once and arms of unequal size are
    # minded, which relabelling knows nothing of.
    members = {contrast: max(parts[contrast], p) for contrast, p in own.items()}
    if at_worst:
        # Two ways to pass, so each has half of the level; and within the second one for each.
        alone = {contrast: min(1.0, len(at_worst) * p) for contrast, p in at_worst.items()}
        whole = min(1.0, 2 * min(whole, *alone.values()))
        members |= {contrast: min(1.0, 2 * p) for contrast, p in alone.items()}
    return Chain(whole, members, tuple(silent))


def _together(
    shown: Shown,
    own: Mapping[Contrast, float],
    tests: Sequence[SwapTest | None],
    family: Family,
    plan: Plan,
) -> tuple[float, Mapping[Contrast, float]]:
    """Return p of all outcomes as a whole, and of each, minding that there are several."""
    if len(shown) < 2:
        return min(own.values(), default=1.0), own
    if plan.sequential == E:
        return _by_rounds(shown)
    whole = [1.0 if test is None else test.p for test in tests]
    parts = [
        [1.0 if test is None else float(test.p_outcomes[i]) for test in tests]
        for i in range(len(shown))
    ]
    if plan.sequential == GS:
        spend = spending_of(family).adjusted
        return spend(whole), dict(zip(shown, map(spend, parts), strict=True))
    return whole[-1], {contrast: p[-1] for contrast, p in zip(shown, parts, strict=True)}


def _by_rounds(shown: Shown) -> tuple[float, dict[Contrast, float]]:
    """Return anytime p of all outcomes together and of each, by averages of their e-values.

    An average of e-values is one, however they hang together. For a single outcome, closed testing:
    the smallest average over all sets of outcomes that hold it.
    """
    rounds = [e for _, e in shown.values() if isinstance(e, AtAnyRound)]
    n = max((len(e.b) for e in rounds), default=0)
    if not n:
        return 1.0, dict.fromkeys(shown, 1.0)
    paths = np.stack([_padded(e, n) for e in rounds])
    whole = _anytime_p(paths.mean(axis=0))
    parts = {}
    for index, (contrast, (_, found)) in enumerate(shown.items()):
        others = np.sort(np.delete(paths, index, axis=0), axis=0)
        sums = paths[index] + np.vstack([np.zeros(n), np.cumsum(others, axis=0)])
        least = (sums / np.arange(1, len(paths) + 1)[:, None]).min(axis=0)
        parts[contrast] = max(_anytime_p(least), 0.0 if found.sham is None else found.sham.p)
    shams = [e.sham.p for _, e in shown.values() if e.sham is not None]
    # Without shams to exceed, chance alone decides; with them, some outcome must exceed both.
    return max(whole, len(shams) * min(shams)) if shams else whole, parts


def _padded(found: AtAnyRound, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    e = e_process(found.b, found.c).e if found.b else np.ones(1)
    return np.concatenate([e, np.full(n - len(e), e[-1])])


def _anytime_p(path: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(min(1.0, 1 / path.max()))


def adjusted(chains: Mapping[Contrast, Chain], family: Family) -> Adjusted:
    """Return p adjusted over a family. `chains` are by the first member of each group.

    Exploratory families have no groups: q-values by Benjamini and Hochberg over all members.
    """
    if not family.gating:
        found = {c: p for chain in chains.values() for c, p in chain.members.items()}
        q = benjamini_hochberg(list(found.values()), n_members=family.size) if found else ()
        return Adjusted({}, dict(zip(found, map(float, q), strict=True)))
    steps = [chain.steps for chain in chains.values()]
    rows = inherited(steps, n_groups=family.n_groups) if steps else []
    whole: dict[Contrast, float] = {}
    members: dict[Contrast, float] = {}
    for (first, chain), row in zip(chains.items(), rows, strict=True):
        whole[first] = row[0]
        ordered = sorted(chain.members, key=lambda c: (chain.members[c], c))
        members |= dict(zip(ordered, row[1:], strict=False))
    return Adjusted(whole, members)
