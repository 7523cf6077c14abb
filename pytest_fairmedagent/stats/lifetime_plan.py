"""After how many runs of a line a steady gap is found: simulated, since looks at every run add up.

The agent is that of `simulate_plan`: action rates over vignettes by a Beta law with the asked
floor, the same in every run, and one common shift in logits that makes the gap. Shams change
nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ._check import Floats, Ints, Rng, fraction, generator, whole
from ._result import Result
from .lifetime import _payoff, lifetime_e, surface_share
from .operating import logit_shift, rate_law

_SLOWEST = 250


@dataclass(frozen=True, repr=False, eq=False)
class RunsToFind(Result):
    """`runs` after which a share of at least `power` (0..1) of lines has found a steady gap.

    None where `most` runs were not enough. `found[i]` is the share that has found it by run i + 1,
    of `n_datasets` simulated lines.
    """

    runs: int | None
    power: float
    found: Floats
    gap: float
    floor: float
    n_vignettes: int
    n_replicates: int
    n_members: int
    n_datasets: int

    @property
    def most(self) -> int:
        return int(self.found.size)

    @property
    def share(self) -> float:
        """The share found by `runs`, or by the last run that was simulated."""
        return float(self.found[(self.runs or self.most) - 1])

    def __str__(self) -> str:
        told = f"{self.n_vignettes} x {self.n_replicates} at floor {self.floor:g}"
        if self.runs is None:
            return (
                f"a steady gap of {self.gap:g} is not found in {self.most} runs of {told} with "
                f"chance {self.power:g}: {self.share:.2f}"
            )
        return (
            f"a steady gap of {self.gap:g} is found by run {self.runs} with chance "
            f"{self.share:.2f} ({told}, family of {self.n_members})"
        )


def runs_to_find(
    gap: float,
    floor: float,
    n_vignettes: int,
    n_replicates: int,
    *,
    n_members: int = 1,
    n_shams: int = 2,
    n_reference: int | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    n_datasets: int = 500,
    rng: Rng = 0,
) -> RunsToFind:
    """The number of runs after which one contrast with a steady gap is red, with chance `power`.

    `n_members` counts the family's contrasts, of which the others have no gap: they are taken to
    add nothing, which makes the answer a little late rather than early. `n_reference` is the draws
    of the reference per vignette, by default `n_replicates`. With `n_shams` at 0 the evidence is
    against "no gap" alone. At most 250 runs are looked at. ValueError for numbers out of range.
    """
    gap, floor = fraction("gap", gap), fraction("floor", floor)
    vignettes, draws = whole("n_vignettes", n_vignettes), whole("n_replicates", n_replicates)
    bar = whole("n_members", n_members) / fraction("alpha", alpha)
    power, lines = fraction("power", power), whole("n_datasets", n_datasets)
    base = draws if n_reference is None else whole("n_reference", n_reference)
    shams, generate = whole("n_shams", n_shams, least=0), generator(rng)
    law = rate_law(floor)
    shift = math.exp(logit_shift(gap, *law))
    runs = _long_enough(gap, floor, vignettes, draws, bar)
    found = np.zeros(runs)
    for _ in range(lines):
        p = generate.beta(*law, size=vignettes)
        q = p * shift / (1 - p + p * shift)
        k, j = generate.binomial(draws, q, (runs, vignettes)), _drawn(generate, base, p, runs)
        moved = generate.binomial(draws, p, (runs, shams, vignettes)).astype(np.int64)
        e = line_of_counts(k, j, moved, draws, base, bar)[1]
        found += np.maximum.accumulate(e) >= bar
    share = found / lines
    reached = np.flatnonzero(share >= power)
    return RunsToFind(
        int(reached[0]) + 1 if reached.size else None,
        power,
        share,
        gap,
        floor,
        vignettes,
        draws,
        n_members,
        lines,
    )


def _drawn(generate: np.random.Generator, n: int, p: Floats, runs: int) -> Ints:
    return generate.binomial(n, p, (runs, p.size)).astype(np.int64)


def _long_enough(gap: float, floor: float, vignettes: int, draws: int, bar: float) -> int:
    """A number of runs by which nearly every line should have found the gap."""
    growth = vignettes * draws * min(gap, gap**2 / (2 * (floor + gap / 2)))
    return min(_SLOWEST, 4 + math.ceil(2.5 * math.log(bar * 27) / growth))


def line_of_counts(
    k: Ints, j: Ints, shams: Ints, draws: int, base: int, bar: float
) -> tuple[Floats, Floats]:
    """`guarded_e` of one line whose cells are all full, from counts `(n_runs, n_vignettes)`.

    `shams` is `(n_runs, n_shams, n_vignettes)`. What `run_evidence`, `sampling_variance` and
    `moved_by_sham` give cell by cell, for simulation: from one table of what a cell can be.
    """
    payoffs = np.array(
        [[_payoff(x, draws, y, base) for y in range(base + 1)] for x in range(draws + 1)]
    )
    logs = payoffs[k, j].sum(axis=1)
    plain = lifetime_e(logs)
    if not shams.shape[1]:
        return plain, plain
    both, positive = draws + base, k + j
    weight = k.shape[1] * draws * base / both
    spread = draws * base * positive * (both - positive) / (both**2 * (both - 1))
    x, y = shams / draws, (j / base)[:, None]
    if min(draws, base) < 2:
        noise = np.full(x.shape, np.nan)
    else:
        noise = x * (1 - x) / (draws - 1) + y * (1 - y) / (base - 1)
    share = surface_share(x - y, noise, spread.sum(axis=1) / weight**2, bar=bar)
    return plain, np.minimum(plain, lifetime_e(logs, shrink=share))
