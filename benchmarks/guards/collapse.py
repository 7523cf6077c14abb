"""Copies that collapse vignette by vignette: size with noisy vignettes, and what it costs.

Arms are arrays `(n_vignettes, n_replicates)` of whole outputs (codes) and of one action (0/1). The
old rule collapses all vignettes or none; the new one each whose codes repeat inside every arm, from
`least` draws on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_fairmedagent.stats import sham_guard, stratified_test

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NEVER = 99  # more draws than there are: nothing collapses
N_ACTIONS = 6


@dataclass(frozen=True)
class Arm:
    """Whole outputs and one action of one arm, `(n_vignettes, n_replicates)`."""

    codes: Ints
    action: Ints

    @property
    def repeats(self) -> NDArray[np.bool_]:
        same: NDArray[np.bool_] = (self.codes == self.codes[:, :1]).all(axis=1)
        return same


def p_old(swap: Arm, reference: Arm) -> float:
    """p where all vignettes collapse if the action is unanimous in every cell, else none."""
    arms = (swap.action, reference.action)
    if all(((a == a[:, :1]).all() and a.shape[1] > 1) for a in arms):
        arms = (arms[0][:, :1], arms[1][:, :1])
    return _p(arms[0].sum(1), arms[0].shape[1], arms[1].sum(1), arms[1].shape[1])


def p_new(swap: Arm, reference: Arm, rerender: Arm | None, least: int, *, blocks: bool) -> float:
    """p where each vignette collapses by itself; with a re-render, its draws are pooled.

    `blocks` asks that reference and re-render each repeat their own output; without it, that all
    their draws are one output.
    """
    k, m, j, n = collapsed(swap, reference, rerender, least, blocks=blocks)
    return _p(k, m, j, n)


def collapsed(
    swap: Arm, reference: Arm, rerender: Arm | None, least: int, *, blocks: bool
) -> tuple[Ints, Ints, Ints, Ints]:
    size = swap.action.shape[1]
    pooled = [reference] if rerender is None else [reference, rerender]
    flags = swap.repeats & np.all([arm.repeats for arm in pooled], axis=0) & (size >= least)
    if not blocks:
        flags &= np.all([arm.codes[:, 0] == reference.codes[:, 0] for arm in pooled], axis=0)
    drawn = np.concatenate([arm.action for arm in pooled], axis=1)
    k, m = swap.action.sum(1), np.full(flags.size, size)
    j, n = drawn.sum(1), np.full(flags.size, drawn.shape[1])
    if all((a == a[:, :1]).all() for a in (swap.action, *(x.action for x in pooled))) and size > 1:
        flags = np.ones_like(flags)  # an action that is unanimous everywhere: as in the old rule
    k[flags], m[flags] = swap.action[flags, 0], 1
    j[flags], n[flags] = reference.action[flags, 0], 1
    return k, m, j, n


def _p(k: Ints, m: Ints | int, j: Ints, n: Ints | int) -> float:
    return stratified_test(k, np.broadcast_to(m, k.shape), j, np.broadcast_to(n, j.shape)).p


def passes(swap: Arm, reference: Arm, shams: Sequence[Arm]) -> bool:
    """Whether the gap exceeds what shams do, on all draws as they are."""
    size = np.full(swap.action.shape[0], swap.action.shape[1])
    arms = [(arm.action.sum(1), size) for arm in shams]
    return sham_guard(swap.action.sum(1), size, reference.action.sum(1), size, arms).passes


# --- sets of mostly deterministic vignettes --------------------------------------------------


def nearly_deterministic(
    rng: np.random.Generator,
    n_vignettes: int,
    n_noisy: int,
    replicates: int,
    n_arms: int,
    *,
    flip: float,
    text: bool,
) -> list[Arm]:
    """Arms of an agent that answers each string for good, but in the first `n_noisy` vignettes.

    Reference first: it has the vignette's own answer, every other arm flips it in a share `flip` of
    vignettes. In noisy vignettes the action is a coin; with `text` every output there is unlike any
    other, without it the action is all of the output.
    """
    base = rng.integers(0, 2, n_vignettes)
    arms = []
    for index in range(n_arms):
        answer = base ^ (rng.random(n_vignettes) < (flip if index else 0.0))
        action = np.repeat(answer[:, None], replicates, axis=1)
        action[:n_noisy] = rng.integers(0, 2, (n_noisy, replicates))
        codes = action.copy()
        if text:
            codes[:n_noisy] = 2 + np.arange(n_noisy * replicates).reshape(n_noisy, replicates)
        arms.append(Arm(codes, action))
    return arms


# --- honest stochastic agents -----------------------------------------------------------------


def rates(rng: np.random.Generator, shape: tuple[int, ...], floor: float) -> Floats:
    a = floor / (1 - 2 * floor)
    return rng.beta(a, a, shape)


def shift_of(gap: float, floor: float, *, base: float = 0.0) -> float:
    """The logit shift whose mean effect over the law of p is `gap`."""
    from scipy.special import betaincinv, expit, logit

    if not gap:
        return 0.0
    a = floor / (1 - 2 * floor)
    grid = (np.arange(4000) + 0.5) / 4000
    logits = logit(np.clip(betaincinv(a, a, grid), 1e-300, 1 - 1e-16)) + base
    mean, low, high = expit(logits).mean(), 0.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(logits + middle).mean() - mean < gap else (low, middle)
    return low


def moved(p: Floats, shift: float) -> Floats:
    from scipy.special import expit, logit

    return p if not shift else expit(logit(np.clip(p, 1e-300, 1 - 1e-16)) + shift)


def stochastic(
    rng: np.random.Generator, p: Floats, replicates: int, shift: float, *, n_shifted: int = 1
) -> Arm:
    """An arm whose outputs are independent actions with rates `p`, `(n_vignettes, n_actions)`.

    The first `n_shifted` actions are shifted; the first is the one that is tested.
    """
    p = np.concatenate((moved(p[:, :n_shifted], shift), p[:, n_shifted:]), axis=1)
    drawn = (rng.random((p.shape[0], replicates, p.shape[1])) < p[:, None, :]).astype(np.int64)
    codes = drawn @ (1 << np.arange(p.shape[1]))
    return Arm(codes, drawn[:, :, 0])
