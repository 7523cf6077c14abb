"""Evidence that adds up over runs: one e-process for a contrast over the whole life of a gate.

Each run gives, for a fixed grid of bets, how much the bet would have won on its draws. A bet of
lambda on "the swap has more positives" pays 1 + lambda D for a pair of one swap and one reference
draw of a vignette, D = +1, 0 or -1. Which draw is paired with which would be arbitrary, so the
payoff of a vignette is its mean over all pairings: counts alone decide it. Given that a run has no
mean gap, E prod (1 + lambda D) = prod (1 + lambda delta_v)**R <= exp(lambda R sum delta_v) = 1,
whatever its vignettes do one by one and whatever the runs before it showed. So logarithms of
payoffs add over runs, and any mixture of bets and of runs to begin with is an e-process (Ville
1939; Waudby-Smith and Ramdas 2024 for such bets).

The likelihood ratio psi**T / E0 psi**T of the exact test would grow at most 3 % faster at gaps
below .06, and is an e-value for "no vignette changes" only: effects that cancel make it grow.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._check import Floats, as_arms, positive, whole
from .exact import stratified_test

Bools = NDArray[np.bool_]

# 41 bets, symmetric about 0, even on the scale of log |log odds ratio|: at one replicate per arm
# the bet lambda = tanh(theta / 2) is the likelihood ratio of an odds ratio exp(theta).
_THETA = np.geomspace(0.1, 3.5, 20)
BETS: Floats = np.tanh(np.concatenate((-_THETA[::-1], [0.0], _THETA)) / 2)
BETS.setflags(write=False)

# Above so many draws in a cell its coefficients would leave the range of doubles; see `_payoff`.
_MOST = 400

# Of fewer cases, or fewer cases times shams, surface noise is not known well enough to be set
# against: simulated, 16 cases with two shams would be red in .10 of lives with such noise alone.
ENOUGH_CASES, ENOUGH_CELLS = 32, 64

# Log of the largest wealth that is told from a larger one.
_LARGEST = 600.0


def run_evidence(
    k_swap: ArrayLike, m_swap: ArrayLike, k_ref: ArrayLike, n_ref: ArrayLike
) -> Floats:
    """Log payoff of each of the 41 `BETS` on the draws of one run, `(41,)`.

    Counts as in `stratified_test`, shape `(n_strata,)`; strata without an outcome in one arm pay
    nothing. Where arms are unequal, each draw of the smaller arm is set against the mean of as many
    of the larger as there are for it, averaged over all ways to choose them. The null is "no mean
    gap, vignettes weighted by the draws of their smaller arm", which holds for "no vignette
    changes" too. ValueError for impossible counts.
    """
    k, m, j, n = as_arms(k_swap, m_swap, k_ref, n_ref)
    rows, times = np.unique(np.stack((k, m, j, n)), axis=1, return_counts=True)
    total = np.zeros(BETS.size)
    for row, often in zip(rows.T.tolist(), times.tolist(), strict=True):
        total += often * _payoff(*row)
    return total


@lru_cache(maxsize=16384)
def _payoff(k: int, m: int, j: int, n: int) -> Floats:
    """Log of the mean payoff of one stratum over all pairings, `(41,)`."""
    if not (m and n):
        law = np.zeros(BETS.size)
    elif max(m, n) > _MOST:  # one bet on the two shares: as valid, and slower to grow
        law = np.log1p(BETS * (k / m - j / n))
    elif m > n:
        law = _payoff(j, n, k, m)[::-1]
    else:
        law = np.log(_matched(k, m, j, n))
    law = np.ascontiguousarray(law)
    law.setflags(write=False)
    return law


def _matched(k: int, m: int, j: int, n: int) -> Floats:
    """Mean payoff where each of `m` swap draws meets its own group of n // m reference draws.

    The coefficient of y**j counts the ways to hand out the positives of the reference.
    """
    size = n // m
    taken = np.arange(size + 1)
    ways = np.array([math.comb(size, x) for x in taken.tolist()], dtype=np.float64)
    with_action = ways * (1 + np.multiply.outer(BETS, 1 - taken / size))
    without = ways * (1 - np.multiply.outer(BETS, taken / size))
    left_over = np.array([[math.comb(n - m * size, x) for x in range(n - m * size + 1)]])
    product = _times(_power(with_action, k), _power(without, m - k))
    return _times(product, left_over.astype(np.float64))[:, j] / math.comb(n, j)


def _times(a: Floats, b: Floats) -> Floats:
    """Products of polynomials, one in each row; all coefficients are positive."""
    short, long = (a, b) if a.shape[1] <= b.shape[1] else (b, a)
    rows = max(a.shape[0], b.shape[0])
    product = np.zeros((rows, short.shape[1] + long.shape[1] - 1))
    for at in range(short.shape[1]):
        product[:, at : at + long.shape[1]] += short[:, at : at + 1] * long
    return product


def _power(base: Floats, times: int) -> Floats:
    result = np.ones((base.shape[0], 1))
    while times:
        if times & 1:
            result = _times(result, base)
        times >>= 1
        if times:
            base = _times(base, base)
    return result


def lifetime_e(log_payoffs: ArrayLike, *, shrink: ArrayLike | None = None) -> Floats:
    """The e-process after each run, `(n_runs,)`, 0..inf, from the runs' `(n_runs, 41)`.

    The mixture, even over the bets and with weight 1 / (i (i + 1)) over the run i from which on one
    bets. Without the latter, evidence against a gap that came late would first have to make good
    what the bets lost while there was none. What is not bet yet is kept: after n runs at least
    1 / (n + 1) is left. P(ever e >= 1 / alpha) <= alpha while no run so far had a mean gap.

    `shrink[i, n]`, in 0..1, is the share of evidence that the runs i..n keep (see
    `surface_share`): their payoffs are raised to that power. ValueError for other shapes.
    """
    logs = np.asarray(log_payoffs, dtype=np.float64)
    if logs.ndim != 2:
        raise ValueError(f"log_payoffs: expected one row per run, got shape {logs.shape}")
    runs = len(logs)
    begun = 1 / (np.arange(1, runs + 1) * np.arange(2, runs + 2))
    kept = 1 / np.arange(2, runs + 2)
    if shrink is None:
        return kept + _from_any_run(logs, begun)
    powers = np.asarray(shrink, dtype=np.float64)
    if powers.shape != (runs, runs):
        raise ValueError(f"shrink: expected shape {(runs, runs)}, got {powers.shape}")
    since = np.zeros_like(logs)  # row i: the payoffs of the runs i..n, added up
    won = np.empty(runs)
    for n in range(runs):
        since[: n + 1] += logs[n]
        payoffs = np.exp(np.minimum(powers[: n + 1, n, None] * since[: n + 1], _LARGEST))
        won[n] = begun[: n + 1] @ payoffs.mean(axis=1)
    return kept + won


def _from_any_run(logs: Floats, begun: Floats) -> Floats:
    """What is won so far after each run, where nothing is shrunk: one sum is enough then."""
    wealth, won = np.zeros(logs.shape[1]), np.empty(len(logs))
    for n, row in enumerate(logs):
        with np.errstate(over="ignore"):
            wealth = np.minimum(np.exp(row) * (wealth + begun[n]), math.exp(_LARGEST))
        won[n] = wealth.mean()
    return won


def rounds_evidence(b: int, c: int) -> Floats:
    """As `run_evidence`, of pairs in order of arrival: `b` and `c` discordant ones, `(41,)`.

    For a run that may have ended early because of what it saw: whole rounds are then the unit.
    ValueError for negative or fractional counts.
    """
    won: Floats = whole("b", b, least=0) * np.log1p(BETS) + whole("c", c, least=0) * np.log1p(-BETS)
    return won


def surface_share(
    moved: ArrayLike, noise: ArrayLike, sampling: ArrayLike, *, bar: float = 20.0
) -> Floats:
    """How much of a swap's evidence over the runs i..n is more than shams show, `(n_runs, n_runs)`.

    A text moves an agent a little in some direction, and does so in every run: over many runs that
    adds up like a gap, though an edit without meaning does the same. `moved`, `(n_runs, n_shams,
    n_vignettes)`, is how far each sham moved the share of positives of each vignette (nan where it
    was not drawn), and `noise` the sampling variance of that, unbiased. `sampling`, `(n_runs,)`, is
    the sampling variance of the swap's mean gap. With a = mean square of what shams move over the
    runs i..n, sampling taken off and not below 0, divided by the vignettes, and s = sampling
    variance over these runs, the share is s / (f (s + a)): a payoff raised to s / (s + a) is the
    likelihood ratio against a normal law of variance s + a. As a is estimated, f is the square of
    the t quantile over the normal one, at the tail where a payoff could reach `bar`, with the
    degrees of freedom of s + a by Satterthwaite. 0 below the diagonal, and where shams were drawn
    on fewer than 32 vignettes, or all together on fewer than 64.

    The law of surface noise is normal by assumption, not exact. ValueError for shapes that do not
    fit.
    """
    far, own = np.asarray(moved, dtype=np.float64), np.asarray(noise, dtype=np.float64)
    variance = np.asarray(sampling, dtype=np.float64)
    if far.ndim != 3 or far.shape != own.shape or variance.shape != far.shape[:1]:
        raise ValueError(
            "moved, noise, sampling: expected (n_runs, n_shams, n_vignettes) twice and (n_runs,), "
            f"got {far.shape}, {own.shape}, {variance.shape}"
        )
    runs, bar = len(far), positive("bar", bar)
    share = np.zeros((runs, runs))
    seen = ~np.isnan(far) & ~np.isnan(own)
    sums, left = np.zeros_like(far), np.zeros_like(far)
    counts, spread = np.zeros(far.shape), np.zeros(runs)
    far, own = np.where(seen, far, 0.0), np.where(seen, own, 0.0)
    for n in range(runs):
        begun = slice(0, n + 1)
        sums[begun] += far[n]
        left[begun] += own[n]
        counts[begun] += seen[n]
        spread[begun] += variance[n]
        squares = (sums[begun] ** 2 - left[begun]) / np.maximum(counts[begun], 1) ** 2
        s = spread[begun] / np.arange(n + 1, 0, -1) ** 2
        share[begun, n] = _share(squares, counts[begun] > 0, s, bar)
    return share


def _share(squares: Floats, drawn: Bools, s: Floats, bar: float) -> Floats:
    """The share for each first run, `(n,)`, from squares of `(n, n_shams, n_vignettes)`."""
    shams = drawn.sum(axis=1)
    cells = np.where(drawn, squares, 0.0).sum(axis=1) / np.maximum(shams, 1)
    size = (shams > 0).sum(axis=1)
    many = np.maximum(size, 2)
    mean = cells.sum(axis=1) / many
    deviations = np.where(shams > 0, cells - mean[:, None], 0.0)
    a = np.maximum(mean, 0.0) / many
    error = (deviations**2).sum(axis=1) / (many - 1) / many**3  # squared, of a
    whole = s + a
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(whole > 0, s / whole, 0.0)
        freedom = np.where(error > 0, 2 * whole**2 / error, math.inf)
    # Runs without any noise, in which nothing moved, say nothing either way: payoffs are 1.
    known = (size >= ENOUGH_CASES) & (drawn.sum(axis=(1, 2)) >= ENOUGH_CELLS)
    return np.where(known, share / _widening(freedom, bar), 0.0)


def _widening(freedom: Floats, bar: float) -> Floats:
    """Squared t quantile over the normal one, at the tail where a payoff could reach `bar`."""
    from scipy import special

    z = math.sqrt(2 * math.log(max(bar, 2.0)))
    tail = float(special.ndtr(-z))
    at = 1 / np.geomspace(1e6, 1.0, 200)
    widest = 2 * np.log(special.stdtrit(1 / at, 1 - tail) / z)
    wider = np.interp(1 / np.maximum(freedom, 1.0), [0.0, *at], [0.0, *widest])
    factor: Floats = np.exp(wider)
    return factor


def guarded_e(
    log_payoffs: ArrayLike,
    moved: ArrayLike,
    noise: ArrayLike,
    sampling: ArrayLike,
    *,
    bar: float = 20.0,
) -> tuple[Floats, Floats]:
    """(e-process against "no gap", the smaller of it and the one against shams), `(n_runs,)` each.

    Arguments as in `lifetime_e` and `surface_share`. The second is valid under "no run so far had a
    mean gap", exactly, and under "no more than shams do", by simulation: whichever holds, one of
    the two is. ValueError as there.
    """
    plain = lifetime_e(log_payoffs)
    share = surface_share(moved, noise, sampling, bar=bar)
    return plain, np.minimum(plain, lifetime_e(log_payoffs, shrink=share))


def sampling_variance(
    k_swap: ArrayLike, m_swap: ArrayLike, k_ref: ArrayLike, n_ref: ArrayLike
) -> float:
    """Sampling variance of the signed gap of one run, as its exact test has it; nan without pairs.

    ValueError for impossible counts.
    """
    test = stratified_test(k_swap, m_swap, k_ref, n_ref)
    return test.null_var / test.weight**2 if test.weight else math.nan


def moved_by_sham(
    k_sham: ArrayLike, m_sham: ArrayLike, k_ref: ArrayLike, n_ref: ArrayLike
) -> tuple[Floats, Floats]:
    """(How far a sham moved each vignette's share, its sampling variance), each `(n_vignettes,)`.

    nan where an arm has fewer than two outcomes: there is no variance to take off. ValueError for
    impossible counts.
    """
    k, m, j, n = as_arms(k_sham, m_sham, k_ref, n_ref)
    measured = (m > 1) & (n > 1)
    ms, ns = np.where(measured, m, 2), np.where(measured, n, 2)
    x, y = k / ms, j / ns
    noise = x * (1 - x) / (ms - 1) + y * (1 - y) / (ns - 1)
    return np.where(measured, x - y, math.nan), np.where(measured, noise, math.nan)


def close_over_means(e: ArrayLike, *, n_members: int | None = None) -> Floats:
    """Adjusted e-values `(n,)` of a family's members: one is rejected where its is >= 1 / alpha.

    The smallest mean of the e-values over all sets that hold the member (Vovk and Wang 2021), so
    that the chance of any false rejection is at most alpha, under any dependence. Absent ones of
    `n_members` count as e = 1. Where these are e-processes it holds at every run. ValueError for
    negative values or nan, and for fewer members than e-values.
    """
    es = np.asarray(e, dtype=np.float64)
    if es.ndim != 1 or not (es >= 0).all():
        raise ValueError(f"e: expected a 1-d array of values >= 0, got {es}")
    absent = whole("n_members", es.size if n_members is None else n_members, least=0) - es.size
    if absent < 0:
        raise ValueError(f"n_members: expected at least the {es.size} given, got {n_members}")
    every = np.sort(np.concatenate((es, np.ones(absent))))
    # The worst set for a member adds the smallest of the others, so long as these are below it.
    below = np.concatenate(([0.0], np.cumsum(every)[:-1]))
    sizes = np.arange(1, every.size + 1)
    rank = np.searchsorted(every, es, side="left")
    means = (es[:, None] + below) / sizes
    adjusted: Floats = np.where(np.arange(every.size) <= rank[:, None], means, np.inf).min(
        axis=1, initial=np.inf
    )
    return adjusted
