"""Many checks at once: adjusted p-values for a registered family.

`n_members` is how many members were registered. Members without a p-value (deselected, not run)
count as p = 1, so running fewer of them can only make a verdict more cautious.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._check import Floats, as_probabilities, fraction, whole

Bools = NDArray[np.bool_]


def holm(p: ArrayLike, *, n_members: int | None = None) -> Floats:
    """Adjusted p-values in 0..1, in the order of `p` `(n,)`; reject where <= alpha.

    Controls the family-wise error under any dependence (Holm 1979). ValueError for p outside 0..1
    or NaN, and for `n_members` below the number of p-values. An empty `p` gives an empty array.
    """
    ps = as_probabilities("p", p)
    members = _members(ps.size, n_members)
    order = np.argsort(ps, kind="stable")
    steps = ps[order] * (members - np.arange(ps.size))
    return _in_place(order, np.minimum(1.0, np.maximum.accumulate(steps)))


def inherited(chains: Sequence[Sequence[float]], n_groups: int | None = None) -> list[list[float]]:
    """Adjusted p-values in 0..1 of groups that are each tested step by step, shaped as `chains`.

    A chain holds the p-values of one group in the order they are tested: the group as a whole,
    then its members; each step is taken only after those before it, so a p counts as no less than
    them. Members that are registered and absent stand in the chain as 1. Every group starts with
    1 / `n_groups` of alpha; a group whose whole chain is rejected passes its share on, equally, to
    the groups that are left. An adjusted p is the smallest alpha at which that step is rejected.
    Absent groups are never rejected, so never pass anything on.

    Strong control of the family-wise error where each chain alone has it at every level: as long
    as a group holds a true step, it never passes on; let r groups without any have been rejected
    in full, then each of the S - r left is tested at alpha / (S - r), and only they can err. With
    chains of one step it is `holm`. ValueError as `holm`, and for an empty chain.
    """
    steps = []
    for i, chain in enumerate(chains):
        ps = as_probabilities(f"chains[{i}]", chain)
        if not ps.size:
            raise ValueError(f"chains[{i}]: expected at least one p-value, got none")
        steps.append(np.maximum.accumulate(ps))
    members = _members(len(steps), n_groups)
    whole_chains = np.array([chain[-1] for chain in steps])
    shares = members - np.arange(len(steps))
    adjusted = []
    for i, own in enumerate(steps):
        others = np.sort(np.delete(whole_chains, i))
        # Smallest alpha at which r other groups are rejected in full, r = 0, 1, ...
        passed = np.concatenate(([0.0], np.maximum.accumulate(others * shares[:-1])))
        reached = np.maximum(passed, np.multiply.outer(own, shares)).min(axis=1)
        adjusted.append([float(p) for p in np.minimum(1.0, reached)])
    return adjusted


def benjamini_hochberg(p: ArrayLike, *, n_members: int | None = None) -> Floats:
    """q-values in 0..1, in the order of `p` `(n,)`: for exploration, never a gate.

    Controls the false discovery rate under independence or positive dependence (Benjamini and
    Hochberg 1995). ValueError as `holm`.
    """
    ps = as_probabilities("p", p)
    members = _members(ps.size, n_members)
    order = np.argsort(ps, kind="stable")
    steps = ps[order] * members / np.arange(1, ps.size + 1)
    lowest = np.minimum.accumulate(steps[::-1])[::-1]
    return _in_place(order, np.minimum(1.0, lowest))


def tarone_holm(
    p: ArrayLike, p_attainable: ArrayLike, alpha: float = 0.05, *, n_members: int | None = None
) -> Bools:
    """Which members are rejected, `(n,)`: Holm that does not pay for members that cannot reject.

    A discrete test whose smallest attainable p exceeds alpha / K cannot reject at that level, so it
    need not be counted in K (Tarone 1990; step-down by Hommel and Krummenauer 1998). Rejects
    whatever Holm rejects. Its proof conditions on all margins jointly, which a shared reference arm
    breaks: opt-in. ValueError as `holm`, and for a p below its own smallest attainable value.
    """
    ps, least = as_probabilities("p", p), as_probabilities("p_attainable", p_attainable)
    alpha = fraction("alpha", alpha)
    if ps.shape != least.shape:
        raise ValueError(f"p and p_attainable: expected equal lengths, got {ps.size}, {least.size}")
    if (ps < least * (1 - 1e-9)).any():
        at = int(np.flatnonzero(ps < least * (1 - 1e-9))[0])
        raise ValueError(f"p: expected >= p_attainable {least[at]}, got {ps[at]} at index {at}")
    # Nothing is known of absent members, so they stay in the count as if they could reject.
    absent = _members(ps.size, n_members) - ps.size
    rejected: Bools = np.zeros(ps.size, dtype=np.bool_)
    while True:
        remaining = ~rejected
        counted = 1
        while np.count_nonzero(least[remaining] <= alpha / counted) + absent > counted:
            counted += 1
        new = remaining & (ps <= alpha / counted)
        if not new.any():
            return rejected
        rejected |= new


def e_bh(e: ArrayLike, alpha: float = 0.05, *, n_members: int | None = None) -> Bools:
    """Which members are discoveries at false discovery rate alpha, `(n,)`, from e-values.

    Valid under any dependence (Wang and Ramdas 2022). Absent members count as e = 0. ValueError
    for negative e or NaN (infinity is allowed: the null is impossible).
    """
    es = np.asarray(e, dtype=np.float64)
    alpha = fraction("alpha", alpha)
    if es.ndim != 1:
        raise ValueError(f"e: expected a 1-d array of e-values, got shape {es.shape}")
    if not (es >= 0).all():
        raise ValueError(f"e: expected values >= 0, got {es[~(es >= 0)][0]}")
    members = _members(es.size, n_members)
    order = np.argsort(-es, kind="stable")
    enough = es[order] * np.arange(1, es.size + 1) >= members / alpha
    found: Bools = np.zeros(es.size, dtype=np.bool_)
    if enough.any():
        found[order[: int(np.flatnonzero(enough)[-1]) + 1]] = True
    return found


def _members(present: int, n_members: int | None) -> int:
    if n_members is None:
        return present
    members = whole("n_members", n_members, least=0)
    if members < present:
        raise ValueError(f"n_members: expected at least the {present} given, got {members}")
    return members


def _in_place(order: NDArray[np.intp], values: Floats) -> Floats:
    adjusted = np.empty_like(values)
    adjusted[order] = values
    return adjusted
