"""What a plan would do, simulated: how often it fails an innocent agent or finds a gap.

The agent's action rates p over vignettes follow a Beta law with the asked instability floor; the
swap shifts them by one common amount in logits, chosen so that the mean over the law is the gap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._check import Floats, Ints, Rng, fraction, generator, one_of, whole
from ._result import Result
from .equivalence import tost
from .exact import StratifiedTest, stratified_test
from .looks import KINDS, group_sequential
from .sequential import e_value
from .swap_runs import Runs

RULES = ("fixed", *KINDS, "e_process")


@dataclass(frozen=True, repr=False, eq=False)
class Operating(Result):
    """Simulated verdict rates of a plan, in 0..1, with the plan they belong to.

    `disparity` is the size at a gap of 0 and the power elsewhere; `equivalent` is nan without a
    margin; both have a Monte Carlo error of `se(rate)`. `mean_replicates` is how many replicates
    per arm were run until the rule stopped.
    """

    disparity: float
    equivalent: float
    mean_replicates: float
    gap: float
    floor: float
    n_vignettes: int
    n_replicates: int
    rule: str
    alpha: float
    margin: float | None
    n_datasets: int

    def se(self, rate: float) -> float:
        """Monte Carlo standard error of one of the rates."""
        return math.sqrt(rate * (1 - rate) / self.n_datasets)

    def __str__(self) -> str:
        name = "size" if self.gap == 0 else f"power at gap {self.gap:g}"
        certify = "" if self.margin is None else f", EQUIVALENT {self.equivalent:.3f}"
        return (
            f"{self.rule}, {self.n_vignettes} x {self.n_replicates} at floor {self.floor:g}: "
            f"{name} {self.disparity:.3f} +- {self.se(self.disparity):.3f}{certify}, "
            f"{self.mean_replicates:.1f} replicates on average"
        )


def simulate_plan(
    floor: float,
    n_vignettes: int,
    n_replicates: int,
    *,
    gap: float = 0.0,
    margin: float | None = None,
    alpha: float = 0.05,
    n_members: int = 1,
    n_actions: int = 1,
    every: bool = False,
    ratio: int = 1,
    rule: str = "fixed",
    looks: Sequence[int] | None = None,
    prevalence: float = 0.5,
    imbalance: float = 1.0,
    missing: float = 0.0,
    n_datasets: int = 1000,
    rng: Rng = 0,
) -> Operating:
    """Simulated size (gap 0) or power of a plan.

    With several `n_actions` a swap is judged by the rule of swaps, at its share of `alpha`: the gap
    is in one action, which is to be named, or in `every` one, and the swap is to be red. The
    reference has `ratio` draws for each of the swap's. `equivalent` is then that all `n_members`
    contrasts are, of swaps that share a reference.

    `rule` is "fixed" (one exact test at `n_replicates`), "obrien_fleming" or "pocock" (exact test
    at `looks`, by default five even ones) or "e_process" (after every replicate). `alpha` is
    divided by `n_members`, the family's size. `prevalence` skews the law of action rates.
    `imbalance` >= 1 multiplies the reference's replicates (spread evenly over vignettes),
    `missing` is the chance of an outcome to be lost; both with "fixed" only. EQUIVALENT is
    judged on the data the run ended with. ValueError for numbers out of range, a floor the
    prevalence cannot have, or an impossible gap.
    """
    one_of("rule", rule, RULES)
    n_vignettes = whole("n_vignettes", n_vignettes)
    n_replicates = whole("n_replicates", n_replicates)
    level = fraction("alpha", alpha) / whole("n_members", n_members)
    missing, datasets = fraction("missing", missing, ends=True), whole("n_datasets", n_datasets)
    if not imbalance >= 1:
        raise ValueError(f"imbalance: expected a ratio of at least 1, got {imbalance}")
    if rule != "fixed" and (imbalance != 1 or missing):
        raise ValueError(f"imbalance, missing: expected 1 and 0 with rule {rule!r}")
    law = rate_law(floor, prevalence)
    shift = logit_shift(gap, *law)
    generate = generator(rng)
    n_actions, ratio = whole("n_actions", n_actions), whole("ratio", ratio)
    if n_actions > 1 or ratio > 1:
        if imbalance != 1 or missing or looks is not None:
            raise ValueError("imbalance, missing, looks: expected none with several actions")
        swaps = Runs(
            n_vignettes,
            n_replicates,
            ratio,
            n_actions,
            -(-n_members // n_actions),
            rule,
            alpha / -(-n_members // n_actions),
            alpha,
        )
        return _swap_runs(swaps, floor, gap, shift, law, margin, every, datasets, generate)

    rejected = certified = replicates = 0
    for _ in range(datasets):
        p = generate.beta(*law, size=n_vignettes)
        q = _shifted(p, shift)
        if rule == "fixed":
            test = _fixed(p, q, n_replicates, imbalance, missing, generate)
            found, used = test.p <= level, n_replicates
        else:
            k = _running_counts(q, n_replicates, generate)
            j = _running_counts(p, n_replicates, generate)
            found, used = _stop(k, j, rule, looks, level)
            runs = np.full(n_vignettes, used)
            test = stratified_test(k[used - 1], runs, j[used - 1], runs)
        rejected += found
        replicates += used
        certified += margin is not None and tost(test, margin=margin, alpha=alpha).equivalent
    return Operating(
        rejected / datasets,
        math.nan if margin is None else certified / datasets,
        replicates / datasets,
        gap,
        floor,
        n_vignettes,
        n_replicates,
        rule,
        level,
        margin,
        datasets,
    )


def _swap_runs(
    runs: Runs,
    floor: float,
    gap: float,
    shift: float,
    law: tuple[float, float],
    margin: float | None,
    every: bool,
    datasets: int,
    rng: np.random.Generator,
) -> Operating:
    hits = inside = replicates = 0
    size = (runs.n_vignettes, runs.n_actions)
    for _ in range(datasets):
        p = rng.beta(*law, size=size)
        if margin is not None and runs.rule != "e_process":
            inside += runs.all_inside(p, margin, rng)
        q = p.copy()
        moved = runs.n_actions if every else 1
        q[:, :moved] = _shifted(p[:, :moved], shift)
        found, used = runs.found(p, q, every, rng)
        hits += found
        replicates += used
    told = margin is not None and runs.rule != "e_process"
    return Operating(
        hits / datasets,
        inside / datasets if told else math.nan,
        replicates / datasets,
        gap,
        floor,
        runs.n_vignettes,
        runs.n_replicates,
        runs.rule,
        runs.level,
        margin if told else None,
        datasets,
    )


def rate_law(floor: float, prevalence: float = 0.5) -> tuple[float, float]:
    """(a, b) of the Beta law of action rates with mean `prevalence` and mean floor `floor`.

    U-shaped at low floors: most vignettes are decided one way. ValueError when the floor is not
    below 2 prevalence (1 - prevalence), the floor of a constant rate.
    """
    floor, prevalence = fraction("floor", floor), fraction("prevalence", prevalence)
    most = 2 * prevalence * (1 - prevalence)
    if floor >= most:
        raise ValueError(
            f"floor: expected below {most:g}, the most at prevalence {prevalence:g}, got {floor}"
        )
    size = floor / (most - floor)
    return prevalence * size, (1 - prevalence) * size


def logit_shift(gap: float, a: float, b: float) -> float:
    """The common shift in logits that moves the mean of a Beta(a, b) law by `gap`.

    ValueError when no shift can: the mean must stay inside (0, 1).
    """
    mean = a / (a + b)
    if not 0 < mean + gap < 1:
        raise ValueError(f"gap: expected the mean {mean:g} + gap inside (0, 1), got gap {gap}")
    if gap == 0:
        return 0.0
    from scipy import special

    # Equal-probability points of the law; at small a, b most of them sit at the ends.
    share = (np.arange(20_000) + 0.5) / 20_000
    p = special.betaincinv(a, b, share)
    complement = special.betaincinv(b, a, 1 - share)
    with np.errstate(divide="ignore"):
        logit = np.log(p) - np.log(complement)
    low, high = -60.0, 60.0
    for _ in range(80):
        middle = (low + high) / 2
        moved = float(special.expit(logit + middle).mean())
        low, high = (middle, high) if moved < mean + gap else (low, middle)
    return (low + high) / 2


def _shifted(p: Floats, shift: float) -> Floats:
    if shift == 0:
        return p
    odds = math.exp(shift)
    return p * odds / (1 - p + p * odds)


def _fixed(
    p: Floats,
    q: Floats,
    n_replicates: int,
    imbalance: float,
    missing: float,
    rng: np.random.Generator,
) -> StratifiedTest:
    m = np.full(p.shape, n_replicates)
    # Whole numbers that add up to the ratio: at 1.25 x 1, every fourth vignette has two.
    n = np.diff(np.floor(np.arange(p.size + 1) * (n_replicates * imbalance) + 1e-9)).astype(int)
    if missing:
        m, n = rng.binomial(m, 1 - missing), rng.binomial(n, 1 - missing)
    return stratified_test(rng.binomial(m, q), m, rng.binomial(n, p), n)


def _running_counts(p: Floats, n_replicates: int, rng: np.random.Generator) -> Ints:
    """Positives after each replicate, `(n_replicates, n_vignettes)`."""
    answers = rng.random((n_replicates, p.size)) < p
    counts: Ints = np.cumsum(answers, axis=0, dtype=np.int64)
    return counts


def _stop(
    k: Ints, j: Ints, rule: str, looks: Sequence[int] | None, level: float
) -> tuple[bool, int]:
    """Whether the rule rejected and after how many replicates it stopped."""
    most = len(k)
    if rule == "e_process":
        fresh_k, fresh_j = np.diff(k, axis=0, prepend=0), np.diff(j, axis=0, prepend=0)
        b = np.cumsum(((fresh_k == 1) & (fresh_j == 0)).sum(axis=1)).tolist()
        c = np.cumsum(((fresh_k == 0) & (fresh_j == 1)).sum(axis=1)).tolist()
        for i in range(most):
            if e_value(b[i], c[i]) >= 1 / level:
                return True, i + 1
        return False, most
    planned = sorted({math.ceil(most * i / 5) for i in range(1, 6)}) if looks is None else looks
    plan = group_sequential(planned, alpha=level, kind=rule)
    if plan.looks[-1] != most:
        raise ValueError(f"looks: expected to end at {most} replicates, got {plan.looks[-1]}")
    for look, allowed in zip(plan.looks, plan.levels, strict=True):
        runs = np.full(k.shape[1], look)
        if stratified_test(k[look - 1], runs, j[look - 1], runs).p <= allowed:
            return True, look
    return False, most
