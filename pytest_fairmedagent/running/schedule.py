"""The order of trials: seeded, randomly interleaved rounds over all arms.

Drift between two arms cannot be told from a swap by any analysis of the two; only interleaving
prevents it (STATISTICS, section 8, "arms run in sequence").
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence

from pytest_fairmedagent.domain import Arm, Catalogue, Trial, Vignette, render
from pytest_fairmedagent.running.store import Draw

DRAW_RANGE = 1_000_000  # draws of one arm; arms with equal content get ranges of their own

Block = tuple[Draw, ...]  # trials that one worker takes in this order


def draws_of(
    arms: Sequence[Arm],
    vignettes: Mapping[str, Vignette],
    catalogue: Catalogue,
    configuration: str,
) -> dict[Trial, Draw]:
    """Return the place in the store of every trial of the arms.

    The key is a digest of the rendered case and the configuration, so it does not change with the
    name of a vignette. The draw index is part of the identity of a trial: without it, ten
    replicates would be one answer read ten times and the floor would be zero. Arms with equal
    content (the reference and its identical re-render) get disjoint ranges of draws.
    """
    places: dict[Trial, Draw] = {}
    for arm, key, twin in _arms(arms, vignettes, catalogue, configuration):
        for replicate in range(arm.replicates):
            trial = Trial(arm.vignette, arm.condition, replicate)
            places[trial] = Draw(trial, key, twin * DRAW_RANGE + replicate)
    return places


def keys_of(
    arms: Sequence[Arm],
    vignettes: Mapping[str, Vignette],
    catalogue: Catalogue,
    configuration: str,
) -> dict[tuple[str, str], str]:
    """Return a short key of every arm's draws, by vignette and condition.

    Two arms with one key have the same draws. What cannot be rendered here has none.
    """
    known = [a for a in arms if a.vignette in vignettes and a.condition in catalogue.conditions]
    return {
        (arm.vignette, arm.condition): f"{key[:16]}{f'+{twin}' if twin else ''}"
        for arm, key, twin in _arms(known, vignettes, catalogue, configuration)
    }


def _arms(
    arms: Sequence[Arm],
    vignettes: Mapping[str, Vignette],
    catalogue: Catalogue,
    configuration: str,
) -> Iterator[tuple[Arm, str, int]]:
    """Yield each arm with the key of what is sent, and how many arms before it send the same."""
    twins: dict[str, list[str]] = {}  # a condition's descriptor -> conditions
    for name, condition in catalogue.conditions.items():
        twins.setdefault(condition.descriptor, []).append(name)
    for arm in arms:
        condition = catalogue.conditions[arm.condition]
        case = render(vignettes[arm.vignette], condition)
        key = hashlib.sha256(f"{case.digest}|{configuration}".encode()).hexdigest()
        yield arm, key, twins[condition.descriptor].index(arm.condition)


def rounds(draws: Sequence[Draw], *, seed: int, by_vignette: bool) -> list[Block]:
    """Return the draws in blocks, round after round.

    A round holds one replicate of every arm in random order, which depends on the round alone: a
    leg that begins in the middle of the plan has the order it would have had in the whole. With
    `by_vignette` the arms of one vignette stay together in a block, in random order: a prompt cache
    then reads each narrative once a round, and which arm comes first is left to chance.
    """
    by_round: dict[int, list[Draw]] = {}
    for draw in sorted(draws, key=lambda d: (d.trial.replicate, d.trial.vignette, d.draw, d.key)):
        by_round.setdefault(draw.trial.replicate, []).append(draw)
    blocks: list[Block] = []
    for number, members in by_round.items():
        random.Random(f"{seed}|{number}").shuffle(members)
        if not by_vignette:
            blocks.extend((draw,) for draw in members)
            continue
        groups: dict[str, list[Draw]] = {}
        for draw in members:
            groups.setdefault(draw.trial.vignette, []).append(draw)
        blocks.extend(tuple(group) for group in groups.values())
    return blocks


def seed_of(series_seed: int, draw: Draw, stage: str, attempt: int) -> int:
    """Return the seed of one call, in 0..2**31-1: a draw's own, the same whenever it is made."""
    text = f"{series_seed}|{draw.key}|{draw.draw}|{stage}|{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1
