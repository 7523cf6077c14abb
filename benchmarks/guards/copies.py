"""Stored answers served at random: how often they are found, and how often honest agents are.

An arm is an array `(n_vignettes, n_replicates, n_fields)` of the values of its fields; the first
six are actions, the first of them is tested. Served arms pick each draw from `stored` answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.guards.collapse import N_ACTIONS, Floats, Ints, rates
from pytest_fairmedagent.stats import (
    repeats_between,
    repeats_of_fields,
    sham_guard,
    stratified_test,
)

LEVEL = 0.01 / 7  # six actions and whole outputs of one re-render; or seven arms
HONEST = 0
LATENT = {"independent": 0.0, "correlated .3": 0.3, "correlated .8": 0.8}
KINDS = ("actions", "score and orders", "with text", "templated text", "low temperature")


@dataclass(frozen=True)
class Agent:
    """What an agent answers with: see `draw`."""

    kind: str
    floor: float
    correlation: float

    @property
    def texts(self) -> tuple[int, ...]:
        return {"with text": (8,), "templated text": (8,), "low temperature": (6, 7, 8)}.get(
            self.kind, ()
        )


def cases(rng: np.random.Generator, agent: Agent, n_vignettes: int) -> dict[str, Floats]:
    """What the draws of a vignette have in common, whatever arm they are of."""
    return {
        "actions": rates(rng, (n_vignettes, N_ACTIONS), agent.floor),
        "orders": rates(rng, (n_vignettes, 5), max(agent.floor, 0.087)),
        "score": rng.uniform(20, 80, (n_vignettes, 1)),
    }


def draw(rng: np.random.Generator, agent: Agent, case: dict[str, Floats], replicates: int) -> Ints:
    """Honest draws of one arm.

    Six actions; then a score with a standard deviation of 5 points (2 where a text is made from it)
    and a set of five orders, all with one latent correlation; then a text that is never the same
    twice, or one that is made from score and orders. At low temperature three texts, each of which
    goes on from the one before and is the usual one in 80 %, and actions.
    """
    from scipy.special import ndtr

    n_vignettes, shared = len(case["score"]), np.sqrt(agent.correlation)
    latent = rng.normal(size=(n_vignettes, replicates, 1))

    def noise(size: int) -> Floats:
        own = rng.normal(size=(n_vignettes, replicates, size))
        found: Floats = shared * latent + np.sqrt(1 - agent.correlation) * own
        return found

    actions = (ndtr(noise(N_ACTIONS)) < case["actions"][:, None]).astype(np.int64)
    if agent.kind == "actions":
        return actions
    if agent.kind == "low temperature":
        return np.concatenate((actions, _branches(rng, n_vignettes, replicates)), axis=2)
    spread = 2 if agent.kind == "templated text" else 5
    score = np.rint(case["score"][:, None] + spread * noise(1)).astype(np.int64)
    orders = (ndtr(noise(5)) < case["orders"][:, None]).astype(np.int64) @ (1 << np.arange(5))
    parts = [actions, score, orders[..., None]]
    if agent.kind == "templated text":
        parts.append(32 * score + orders[..., None])
    if agent.kind == "with text":
        parts.append(rng.integers(0, 2**40, score.shape))
    return np.concatenate(parts, axis=2)


def _branches(rng: np.random.Generator, n_vignettes: int, replicates: int) -> Ints:
    text, texts = np.zeros((n_vignettes, replicates), dtype=np.int64), []
    for _ in range(3):
        usual = rng.random(text.shape) < 0.8
        text = 100 * text + np.where(usual, 1, rng.integers(2, 100, text.shape))
        texts.append(text)
    return np.stack(texts, axis=2)


def served(rng: np.random.Generator, stored: Ints, replicates: int) -> Ints:
    """Draws picked at random from the stored answers of each vignette."""
    picks = rng.integers(0, stored.shape[1], (stored.shape[0], replicates))
    found: Ints = np.take_along_axis(stored, picks[..., None], axis=1)
    return found


@dataclass(frozen=True)
class Found:
    """What one null set came to: red before, found by either test, and whether shams explain it."""

    red: bool
    between: bool
    fields: bool
    collapsed_red: bool
    sham_passes: bool


def one(
    rng: np.random.Generator,
    agent: Agent,
    n_vignettes: int,
    replicates: int,
    stored: int,
    *,
    shared: bool,
) -> Found:
    """One set without an effect. `shared`: the re-render is served what the reference stored."""
    case = cases(rng, agent, n_vignettes)
    stores = [draw(rng, agent, case, stored or replicates) for _ in range(5)]
    if shared:
        stores[1] = stores[0]
    arms = [served(rng, store, replicates) for store in stores] if stored else stores
    reference, rerender, swap, *shams = arms
    texts, n = agent.texts, np.full(n_vignettes, replicates)
    k, j = swap[..., 0].sum(1), reference[..., 0].sum(1)
    red = stratified_test(k, n, j, n).p <= 0.05
    alike = _repeats(swap) & _repeats(reference)
    m = np.where(alike, 1, n)
    collapsed = stratified_test(np.minimum(k, m), m, np.minimum(j, m), m).p <= 0.05
    guard = sham_guard(k, n, j, n, [(arm[..., 0].sum(1), n) for arm in shams])
    between = repeats_between(_whole(reference), _whole(rerender)).p <= LEVEL
    fields = any(
        repeats_of_fields(arm.tolist(), texts=texts).p <= LEVEL for arm in (reference, swap)
    )
    return Found(bool(red), between, fields, bool(collapsed), guard.passes)


def _whole(arm: Ints) -> list[list[tuple[int, ...]]]:
    return [[tuple(draw) for draw in cell] for cell in arm.tolist()]


def _repeats(arm: Ints) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = (arm == arm[:, :1]).all(axis=(1, 2))
    return same
