"""The life of a gate: false red over 200 runs, and steady gaps found when `plan --lifetime` says.

64 cases x 2 replicates, a family of 18 contrasts (3 swaps x 6 actions, one reference arm, two
shams), action rates by a Beta law with the named floor that stays the same in all runs of a life.
`python -m benchmarks lifetime 0.1` makes a tenth of the lives; a second word (sizes, steady, late,
surface, screened) makes one alone.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pytest_fairmedagent.stats import logit_shift, rate_law, stratified_test
from pytest_fairmedagent.stats.lifetime import BETS, _payoff, close_over_means, lifetime_e
from pytest_fairmedagent.stats.lifetime_plan import line_of_counts, runs_to_find

V, R, SWAPS, ACTIONS, SHAMS, RUNS, ALPHA = 64, 2, 3, 6, 2, 200, 0.05
K = SWAPS * ACTIONS
FLOORS = (0.05, 0.087, 0.25)
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def bets() -> Floats:
    """Log payoffs of the shipped rule by (k, j), `(9, 41)`."""
    return np.array([_payoff(k, R, j, R) for k in range(R + 1) for j in range(R + 1)])


def likelihood_ratios() -> Floats:
    """The same for psi**k / E0 psi**k of the exact test, which was not adopted."""
    theta, rows = 2 * np.arctanh(BETS), []
    for k in range(R + 1):
        for j in range(R + 1):
            s = k + j
            x = np.arange(max(0, s - R), min(R, s) + 1)
            ways = np.array([math.comb(R, a) * math.comb(R, s - a) for a in x.tolist()], float)
            law = np.log((ways[:, None] / ways.sum() * np.exp(np.outer(x, theta))).sum(axis=0))
            rows.append(k * theta - law)
    return np.array(rows)


def rates(rng: np.random.Generator, floor: float, jitter: float) -> list[Floats]:
    """Action rates of reference `(A, V)`, swaps `(W, A, V)` and shams `(S, A, V)` of one life."""
    p = np.clip(rng.beta(*rate_law(floor), (ACTIONS, V)), 1e-12, 1 - 1e-12)
    logit = np.log(p) - np.log1p(-p)
    shapes = ((ACTIONS, V), (SWAPS, ACTIONS, V), (SHAMS, ACTIONS, V))
    return [1 / (1 + np.exp(-logit - jitter * rng.normal(size=shape))) for shape in shapes]


def family_e(k: Ints, j: Ints, table: Floats) -> Floats:
    """The family's e-process against "no gap", `(n_runs,)`; counts (N, W, A, V) and (N, A, V)."""
    code = k * (R + 1) + j[:, None]
    often = np.stack([(code == cell).sum(axis=-1) for cell in range((R + 1) ** 2)], axis=-1)
    logs = often @ table
    wealth, e = np.zeros(logs.shape[1:]), np.empty(len(logs))
    for n, row in enumerate(logs):  # `lifetime_e` of all members at once
        wealth = np.minimum(np.exp(row) * (wealth + 1 / ((n + 1) * (n + 2))), 1e250)
        e[n] = 1 / (n + 2) + wealth.mean()
    return e


def size(floor: float, lives: int, seed: int, kind: str, table: Floats) -> float:
    """Share of lives of 200 runs that ever turn red: `kind` is "sharp" or "cancel"."""
    rng, red = np.random.default_rng(seed), 0
    for _ in range(lives):
        p, q, _ = rates(rng, floor, 0.0)
        if kind == "cancel":  # neighbours change places: every case moves, the mean does not
            q = np.broadcast_to(p.reshape(ACTIONS, -1, 2)[..., ::-1].reshape(p.shape), q.shape)
        k = rng.binomial(R, q, (RUNS, *q.shape))
        j = rng.binomial(R, p, (RUNS, *p.shape))
        red += bool(family_e(k, j, table).max() >= 1 / ALPHA)
    return red / lives


def life(
    rng: np.random.Generator, floor: float, runs: int, jitter: float, gap: float, members: int = K
) -> tuple[Ints, Ints, Ints]:
    """Counts of swaps (N, W, A, V), reference (N, A, V), shams (N, S, A, V); a gap in the first."""
    p, q, shams = rates(rng, floor, jitter)
    if members == 1:
        p, q, shams = p[:1], q[:1, :1], shams[:, :1]
    if gap:
        odds = math.exp(logit_shift(gap, *rate_law(floor)))
        q = q.copy()
        q[0, 0] = q[0, 0] * odds / (1 - q[0, 0] + q[0, 0] * odds)
    k, h = rng.binomial(R, q, (runs, *q.shape)), rng.binomial(R, shams, (runs, *shams.shape))
    return k, rng.binomial(R, p, (runs, *p.shape)), h


def evidence(k: Ints, j: Ints, h: Ints, w: int, a: int, members: int) -> tuple[Floats, Floats]:
    """Both e-processes of one contrast."""
    return line_of_counts(k[:, w, a], j[:, a], h[:, :, a], R, R, members / ALPHA)


def surface(floor: float, lives: int, seed: int, runs: int = RUNS, members: int = K) -> list[float]:
    """Share of lives that ever turn red under surface noise of 1 logit: without, with shams."""
    rng, red = np.random.default_rng(seed), np.zeros(2)
    for _ in range(lives):
        k, j, h = life(rng, floor, runs, 1.0, 0.0, members)
        places = [(w, a) for w in range(k.shape[1]) for a in range(k.shape[2])]
        both = np.mean([evidence(k, j, h, w, a, members) for w, a in places], axis=0)
        red += both.max(axis=1) >= 1 / ALPHA
    return list(red / lives)


def steady(floor: float, gap: float, lives: int, seed: int) -> str:
    """A row: what is foretold of a steady gap in one contrast of 18, and what came."""
    told = runs_to_find(gap, floor, V, R, n_members=K, rng=seed)
    assert told.runs is not None
    rng, named, once = np.random.default_rng(seed + 1), 0, 0
    for _ in range(lives):
        k, j, h = life(rng, floor, told.runs, 0.0, gap)
        mine = evidence(k, j, h, 0, 0, K)[1]
        if mine.max() >= K / ALPHA:  # then it is named whatever the others are
            named += 1
        elif mine.max() >= 1 / ALPHA:
            places = [(w, a) for w in range(SWAPS) for a in range(ACTIONS)]
            e = np.stack([evidence(k, j, h, w, a, K)[1] for w, a in places], axis=1)
            named += bool(max(close_over_means(row)[0] for row in e) >= 1 / ALPHA)
        full = np.full(V, R)
        once += stratified_test(k[0, 0, 0], full, j[0, 0], full).p <= ALPHA / K
    return (
        f"| {floor} | {gap} | {once / lives:.2f} | {told.runs} | {told.share:.2f} | "
        f"{named / lives:.2f} |"
    )


def late(floor: float, gap: float, quiet: int, lives: int, seed: int) -> str:
    """A row: runs after a gap came in run `quiet` + 1, until .8 of lives have found it."""
    rng, most, bar = np.random.default_rng(seed), 60, K / ALPHA
    table = bets().reshape(R + 1, R + 1, -1)
    odds = math.exp(logit_shift(gap, *rate_law(floor)))
    first: list[list[float]] = [[], []]
    for _ in range(lives):
        p = rng.beta(*rate_law(floor), V)
        q = p * odds / (1 - p + p * odds)
        k = rng.binomial(R, np.where(np.arange(quiet + most)[:, None] < quiet, p, q))
        j = rng.binomial(R, p, (quiet + most, V))
        logs = table[k, j].sum(axis=1)
        for e, when in zip(
            (lifetime_e(logs), np.exp(np.cumsum(logs, axis=0)).mean(axis=1)), first, strict=True
        ):
            hit = np.flatnonzero(e >= bar)
            when.append(hit[0] + 1 - quiet if hit.size else math.inf)
    with_start, without = (sorted(when)[math.ceil(0.8 * lives) - 1] for when in first)
    return f"| {floor} | {gap} | {quiet} | {with_start:g} | {without:g} |"


def print_sizes(n: Callable[[int], int]) -> None:
    print("## False red in 200 runs, no surface noise\n")
    print("Evidence against no gap alone, which is never below what a gate with shams goes by.\n")
    print("| floor | lives | no case changes | cases change, mean does not | the same by psi**T |")
    print("|---|---|---|---|---|")
    for floor in FLOORS:
        lives = n(600)
        sharp = size(floor, lives, 1, "sharp", bets())
        weak = [size(floor, lives, 2, "cancel", table) for table in (bets(), likelihood_ratios())]
        print(f"| {floor} | {lives} | {sharp:.3f} | {weak[0]:.3f} | {weak[1]:.3f} |", flush=True)


def print_steady(n: Callable[[int], int]) -> None:
    print(f"## A steady gap in one contrast of 18, two quiet shams, {n(400)} lives\n")
    print("| floor | gap | found in one run | run foretold | chance foretold | found by then |")
    print("|---|---|---|---|---|---|")
    for floor in FLOORS:
        for gap in (0.03, 0.05):
            print(steady(floor, gap, n(400), 3), flush=True)


def print_late(n: Callable[[int], int]) -> None:
    print("## A gap that comes late: further runs until .8 of lives have found it\n")
    print("| floor | gap | runs without | mixture over the first run | bets from run 1 only |")
    print("|---|---|---|---|---|")
    for floor in FLOORS:
        for quiet in (0, 10, 50, 140):
            print(late(floor, 0.05, quiet, n(400), 4), flush=True)


def print_surface(n: Callable[[int], int]) -> None:
    print("## False red with surface noise of 1 logit in every text, the same in all runs\n")
    print("| floor | lives | contrasts | runs | without shams | with two shams |")
    print("|---|---|---|---|---|---|")
    for floor in FLOORS:
        for lives, runs, members in ((n(100), RUNS, K), (n(600), 40, 1)):
            red = surface(floor, lives, 5, runs, members)
            told = f"| {floor} | {lives} | {members} | {runs} |"
            print(f"{told} {red[0]:.3f} | {red[1]:.3f} |", flush=True)


def screened(floor: float, lives: int, seed: int) -> int:
    """Lives of 200 runs that turn red under surface noise of 1 logit with two shams.

    Contrasts whose true gap is below 2.5 standard errors of surface noise are left out as e = 1,
    for they get nowhere: many lives in little time.
    """
    rng, red = np.random.default_rng(seed), 0
    for _ in range(lives):
        p, q, shams = rates(rng, floor, 1.0)
        e, left = np.zeros(RUNS), K
        for a in range(ACTIONS):
            error = np.sqrt(((shams[:, a] - p[a]) ** 2).mean() / V)
            far = [w for w in range(SWAPS) if abs((q[w, a] - p[a]).mean()) >= 2.5 * error]
            if far:
                j = rng.binomial(R, p[a], (RUNS, V))
                h = rng.binomial(R, shams[:, a], (RUNS, SHAMS, V))
            for w in far:
                k = rng.binomial(R, q[w, a], (RUNS, V))
                e, left = e + line_of_counts(k, j, h, R, R, K / ALPHA)[1], left - 1
        red += bool((e + left).max() / K >= 1 / ALPHA)
    return red


def print_screened(n: Callable[[int], int]) -> None:
    lives = n(513)
    print("## The same at floor 0.05 over 200 runs, two shams, contrasts near 0 left out\n")
    print(f"{screened(0.05, lives, 2)} of {lives} lives red", flush=True)


def main() -> None:
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    parts = (print_sizes, print_steady, print_late, print_surface, print_screened)
    for part in parts:
        if len(sys.argv) < 3 or part.__name__.endswith(sys.argv[2]):
            part(lambda lives: max(2, round(lives * share)))
            print(flush=True)


if __name__ == "__main__":
    main()
