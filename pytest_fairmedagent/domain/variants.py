"""Variants: the same case with other values of its pools. They share the base as cluster."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from pytest_fairmedagent.domain.vignette import Pool, Vignette, fill


def n_variants(vignette: Vignette) -> int:
    """Return how many distinct variants a case has, the base included; 1 without pools."""
    return math.prod(map(_size, vignette.pools))


def variants(vignette: Vignette, n: int, seed: int) -> tuple[Vignette, ...]:
    """Return `n` distinct variants of a case: the base first, then `BASE-v2`, `BASE-v3`, ...

    No case can have such an id of its own, for '-' stands in none.

    Equal arguments give equal variants on every machine, and a smaller `n` gives the first of them,
    so that more variants add rows and redraw none. Raises ValueError where the pools do not give
    that many.
    """
    most = n_variants(vignette)
    if not 1 <= n <= most:
        raise ValueError(
            f"{n} variants of '{vignette.id}', expected 1 to {most}: its pools give no more"
        )
    # A text seeds alike in every process; hash() of one does not.
    rng = random.Random(f"{seed}:{vignette.id}")
    drawn = {0: vignette}
    while len(drawn) < n:
        number = rng.randrange(1, most)
        if number not in drawn:
            drawn[number] = _variant(vignette, number, f"{vignette.id}-v{len(drawn) + 1}")
    return tuple(drawn.values())


def clusters_of(vignettes: Mapping[str, Vignette]) -> dict[str, str]:
    """Return the base of each vignette that is a variant, by id."""
    return {name: v.base for name, v in vignettes.items() if v.base != name}


def clusters_among(names: Collection[str]) -> dict[str, str]:
    """Return the same for ids alone, where the base is among them: what a store knows of a case."""
    found = {name: re.sub(r"-v[0-9]+$", "", name) for name in names}
    return {name: base for name, base in found.items() if base != name and base in found}


def _variant(vignette: Vignette, number: int, name: str) -> Vignette:
    """Return the variant with this number: its digits, pool by pool, are what is chosen."""
    chosen: dict[str, str] = {}
    for pool in vignette.pools:
        number, digit = divmod(number, _size(pool))
        chosen[pool.slot] = pool.values[digit] if pool.values else _ordered(pool.parts, digit)
    return replace(
        vignette,
        id=name,
        narrative=fill(vignette.template, chosen),
        template="",
        pools=(),
        variant_of=vignette.id,
    )


def _size(pool: Pool) -> int:
    return len(pool.values) or math.factorial(len(pool.parts))


def _ordered(parts: tuple[str, ...], number: int) -> str:
    """Return the parts in their permutation `number`, in lexicographic order; 0 is as written."""
    left, found = list(parts), []
    for n in range(len(parts) - 1, -1, -1):
        place, number = divmod(number, math.factorial(n))
        found.append(left.pop(place))
    return " ".join(found)
