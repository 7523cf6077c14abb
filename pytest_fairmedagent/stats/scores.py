"""Ordinal and score outcomes: acuity levels, urgency, tiers, counts of orders.

The same question as for actions, with the same strata: does the mean over vignettes move in one
direction, given the vignettes? The p-value is of the quantity that is reported. Labels are
permuted inside strata, and the statistic is studentised: exact where no vignette changes, and with
many draws right for "no difference on the mean" where one arm is wider, more skewed or larger than
the other (Janssen 1997; Chung and Romano 2013; for ranks Neubert and Brunner 2007).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ._check import Floats, Ints, Rng, fraction, generator, one_of, positive, whole
from ._result import Result
from ._studentised import Reading, Stratum, tails

Scores = Iterable[Sequence[float | None]]

MEAN, SUPERIORITY = ESTIMANDS = ("mean difference", "net superiority")


@dataclass(frozen=True, repr=False, eq=False)
class ScoreTest(Result):
    """Scores under the swap against the reference, per vignette and then averaged over vignettes.

    `estimand` names what `gap`, `interval`, `p` and the floors are of: the mean difference in
    score units, or net superiority in -1..1, how much more often a swap score is above a reference
    score of its vignette than below it. `p` is two-sided, `p_greater` and `p_less` are towards a
    gap above and below 0: the larger of relabelling (`relabelled`, both tails) and of t, so that it
    is exact where no vignette changes and cautious where only the averages agree. `p_attainable` is
    the smallest that relabelling allows. `se` and `df` are of the gap: sampling within vignettes,
    each arm with a variance of its own.

    `difference`, `superiority` and `absolute_difference` (mean absolute difference of cross pairs)
    are there whatever the estimand. `floor_swap` and `floor_ref` are of two replicates of one arm,
    weighted by pairs (nan without any): their mean absolute difference, or the share that differs.
    `method` is "exact" or "permutation"; `strata` holds the scores of both arms.
    """

    estimand: str
    p: float
    p_greater: float
    p_less: float
    p_attainable: float
    gap: float
    se: float
    df: float
    superiority: float
    difference: float
    absolute_difference: float
    floor_swap: float
    floor_ref: float
    unit: float
    n_strata: int
    n_dropped: int
    m_total: int
    n_total: int
    method: str
    relabelled: tuple[float, float]
    strata: tuple[tuple[Floats, Floats], ...]

    @property
    def weight(self) -> float:
        """Effective replicate pairs by two, sum m n / (m + n); 0 where nothing can be compared."""
        return math.fsum(len(x) * len(y) / (len(x) + len(y)) for x, y in self.strata)

    @property
    def floor(self) -> float:
        """The floor within an arm, mean of both arms."""
        return (self.floor_swap + self.floor_ref) / 2

    def error(self) -> float:
        """Standard error of the gap with one pair added that differs by `unit`; inf without pairs.

        So it is never 0, as that of the signed gap.
        """
        return math.hypot(self.se, self.unit / (2 * self.weight)) if self.weight else math.inf

    def quantile(self, tail: float) -> float:
        """The t quantile that leaves this much above it, `tail` in 0..1."""
        from scipy import special

        return float(-special.stdtrit(self.df, fraction("tail", tail)))

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """t interval of the gap; infinite without pairs. Where it and p disagree, p decides."""
        tail = (1 - fraction("confidence", confidence)) / 2
        if not self.weight:
            return -math.inf, math.inf
        reach = self.quantile(tail) * self.error()
        if self.estimand == MEAN:
            return self.gap - reach, self.gap + reach
        return max(-1.0, self.gap - reach), min(1.0, self.gap + reach)

    def p_beyond(self, minimum: float) -> float:
        """p (0..1) of "the gap is at most `minimum` on either side", `minimum` above 0; by t.

        1 without pairs. The chance is largest at the border: both tails of a gap of `minimum`.
        """
        minimum = positive("minimum", minimum)
        if not self.weight:
            return 1.0
        from scipy import special

        steps = [(abs(self.gap) + sign * minimum) / self.error() for sign in (-1, 1)]
        return float(min(1.0, sum(special.stdtr(self.df, -step) for step in steps)))

    def __str__(self) -> str:
        if not self.strata:
            return "no vignette has scores in both arms: no difference, p=1"
        low, high = self.interval()
        return (
            f"{self.estimand} {self.gap:+.3g} [{low:.3g}, {high:.3g}] over {self.n_strata} strata, "
            f"absolute difference {self.absolute_difference:.3g}, floor {self.floor:.3g} within "
            f"arms, p={self.p:.3g} ({self.method})"
        )


def score_test(
    scores_swap: Scores,
    scores_ref: Scores,
    *,
    estimand: str = MEAN,
    strata: Sequence[Hashable] | None = None,
    unit: float = 1.0,
    n_resamples: int = 9999,
    rng: Rng = 0,
) -> ScoreTest:
    """The studentised permutation test of a mean difference, or of net superiority, beside t.

    `scores_swap[v]` and `scores_ref[v]` hold the scores of stratum v; None and nan are missing.
    `strata` merges rows with equal labels. `unit` is the step of a score that counts as one
    discordant pair (see `ScoreTest.error`); for net superiority it is 1. All vignettes count alike,
    however many scores they have. Exact where the relabellings can be listed, else by seeded draws
    (ten times `n_resamples` where a tail is small). Strata without scores in an arm are dropped
    and counted. ValueError for other values, unequal numbers of strata, or none.
    """
    pairs, n_dropped = _strata(scores_swap, scores_ref, strata)
    one_of("estimand", estimand, ESTIMANDS)
    unit, n_resamples = positive("unit", unit), whole("n_resamples", n_resamples)
    cells = [_stratum(x, y, estimand) for x, y in pairs]
    seen = [cell.observed for cell in cells]
    found = tails([c for c in cells if len(c.ties) > 1], n_resamples, generator(rng))
    test = ScoreTest(
        estimand=estimand,
        p=1.0,
        p_greater=found.greater,
        p_less=found.less,
        p_attainable=min(1.0, 2 * found.attainable),
        gap=_mean([gap for gap, _ in seen]),
        se=math.sqrt(math.fsum(v for _, v in seen)) / len(pairs) if pairs else math.inf,
        df=_freedom(pairs, cells, estimand),
        superiority=_mean([float(np.sign(x[:, None] - y).mean()) for x, y in pairs]),
        difference=_mean([float(x.mean() - y.mean()) for x, y in pairs]),
        absolute_difference=_mean([float(np.abs(x[:, None] - y).mean()) for x, y in pairs]),
        floor_swap=_within([x for x, _ in pairs], estimand),
        floor_ref=_within([y for _, y in pairs], estimand),
        unit=unit if estimand == MEAN else 1.0,
        n_strata=len(pairs),
        n_dropped=n_dropped,
        m_total=sum(len(x) for x, _ in pairs),
        n_total=sum(len(y) for _, y in pairs),
        method=found.method,
        relabelled=(found.greater, found.less),
        strata=tuple(pairs),
    )
    if any(min(len(x), len(y)) > 1 for x, y in pairs):  # else it is the sign-flip test
        above, below = _by_t(test)
        test = replace(test, p_greater=max(found.greater, above), p_less=max(found.less, below))
    return replace(test, p=min(1.0, 2 * min(test.p_greater, test.p_less)))


def _by_t(test: ScoreTest) -> tuple[float, float]:
    """Tails of the gap by t, with the error of its interval."""
    from scipy import special

    step = test.gap / test.error()
    return float(special.stdtr(test.df, -step)), float(special.stdtr(test.df, step))


def stratum_gaps(
    scores_swap: Scores, scores_ref: Scores, *, estimand: str = MEAN
) -> list[tuple[float, float]]:
    """The gap of each stratum, and an unbiased variance of it by sampling.

    The gap is nan where an arm has no score, the variance where an arm has fewer than two.
    ValueError as `score_test`.
    """
    one_of("estimand", estimand, ESTIMANDS)
    swap, ref = _arms(scores_swap, scores_ref)
    found = []
    for row, base in zip(swap, ref, strict=True):
        rises = np.subtract.outer(np.array(row), np.array(base))
        rises = rises if estimand == MEAN else np.sign(rises)
        gap, m, n = float(rises.mean()) if rises.size else math.nan, len(row), len(base)
        if min(m, n) < 2:
            found.append((gap, math.nan))
            continue
        above, below = rises.mean(axis=1), rises.mean(axis=0)
        # What scores of both arms do together is in both variances, and is taken off once.
        together = rises - above[:, None] - below + gap
        rest = float((together**2).sum()) / ((m - 1) * (n - 1)) / (m * n)
        found.append((gap, float(above.var(ddof=1) / m + below.var(ddof=1) / n) - rest))
    return found


def _stratum(x: Floats, y: Floats, estimand: str) -> Stratum:
    values, inverse, ties = np.unique(
        np.concatenate((x, y)), return_inverse=True, return_counts=True
    )
    swap = np.bincount(inverse.ravel()[: len(x)], minlength=len(values))
    # Apart from the middle one: no digits are lost where all scores are large.
    apart = values - values[len(values) // 2]
    rises = np.subtract.outer(apart, apart)
    read = _reading(rises if estimand == MEAN else np.sign(rises), len(x), len(y))
    return Stratum(tuple(map(int, ties)), tuple(map(int, swap)), read)


def _reading(rises: Floats, m: int, n: int) -> Reading:
    """Difference and variance of a stratum from counts; `rises[a, b]` is how far a is above b.

    Every swap score has a placement, its mean rise above the reference scores, and each of these
    one below the swap scores. Their variances, each over its own number, add up to the variance of
    the difference (for means Welch's; for superiority Brunner and Munzel's, a little too large).
    With one score in an arm nothing is known of its variance: there it is the square of the
    difference, which is on average too large by the square of the true one.
    """

    def read(swap: Ints, reference: Ints) -> tuple[Floats, Floats]:
        above, below = reference @ rises.T / n, swap @ rises / m
        difference = (swap * above).sum(axis=1) / m
        if min(m, n) == 1:
            return difference, difference**2
        of_swap = (swap * (above - difference[:, None]) ** 2).sum(axis=1) / (m - 1) / m
        of_ref = (reference * (below - difference[:, None]) ** 2).sum(axis=1) / (n - 1) / n
        return difference, of_swap + of_ref

    return read


def _freedom(
    pairs: Sequence[tuple[Floats, Floats]], cells: Sequence[Stratum], estimand: str
) -> float:
    """Degrees of freedom of the summed variance (Satterthwaite), at least 1.

    In the form that is right on average where single variances have one or two (v^2 / (df + 2)).
    All there are, where all variances are 0.
    """
    total, squares = 0.0, 0.0
    for (x, y), cell in zip(pairs, cells, strict=True):
        _, variance = cell.observed
        total += variance
        if min(len(x), len(y)) == 1:
            squares += variance**2 / 3
        else:
            rises = np.subtract.outer(x, y)
            rises = rises if estimand == MEAN else np.sign(rises)
            for axis in (0, 1):
                part, n = float(rises.mean(axis=1 - axis).var(ddof=1)), rises.shape[axis]
                squares += (part / n) ** 2 / (n + 1)
    if not squares:
        return float(max(1, sum(max(1, len(x) + len(y) - 2) for x, y in pairs)))
    return max(1.0, total**2 / squares - 2)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _strata(
    scores_swap: Scores, scores_ref: Scores, strata: Sequence[Hashable] | None
) -> tuple[list[tuple[Floats, Floats]], int]:
    swap, ref = _arms(scores_swap, scores_ref)
    labels: Sequence[Hashable] = range(len(swap)) if strata is None else list(strata)
    if len(labels) != len(swap):
        raise ValueError(f"strata: expected {len(swap)} labels, one per row, got {len(labels)}")
    merged: dict[Hashable, tuple[list[float], list[float]]] = {}
    for label, x, y in zip(labels, swap, ref, strict=True):
        seat = merged.setdefault(label, ([], []))
        seat[0].extend(x)
        seat[1].extend(y)
    pairs = [(np.array(x), np.array(y)) for x, y in merged.values() if x and y]
    return pairs, len(merged) - len(pairs)


def _arms(scores_swap: Scores, scores_ref: Scores) -> tuple[list[list[float]], list[list[float]]]:
    swap = [_known(f"scores_swap[{v}]", row) for v, row in enumerate(scores_swap)]
    ref = [_known(f"scores_ref[{v}]", row) for v, row in enumerate(scores_ref)]
    if len(swap) != len(ref) or not swap:
        raise ValueError(
            f"scores_swap and scores_ref: expected the same strata, got {len(swap)} and {len(ref)}"
        )
    return swap, ref


def _known(name: str, row: Sequence[float | None]) -> list[float]:
    known = []
    for value in row:
        try:
            number = math.nan if value is None else float(value)
        except (TypeError, ValueError):
            raise ValueError(f"{name}: expected numbers or None, got {value!r}") from None
        if math.isinf(number):
            raise ValueError(f"{name}: expected finite scores, got {value}")
        if not math.isnan(number):
            known.append(number)
    return known


def _within(arms: list[Floats], estimand: str) -> float:
    """Mean absolute difference, or share that differs, of the replicate pairs; nan without any."""
    pairs = sum(x.size * (x.size - 1) for x in arms)
    apart = math.fsum(
        float(np.abs(d if estimand == MEAN else np.sign(d)).sum())
        for d in (x[:, None] - x for x in arms)
    )
    return apart / pairs if pairs else math.nan
