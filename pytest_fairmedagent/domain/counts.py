"""What was read of one arm: counts of an action, or the answers to an outcome of another kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Counts:
    """Per vignette of one arm: positives `k` among `n` answers, and how many are `missing`.

    All have one entry per vignette of `vignettes`. `clusters` names the case that each is a variant
    of; empty where every vignette is a case of its own.
    """

    vignettes: tuple[str, ...]
    k: tuple[int, ...]
    n: tuple[int, ...]
    missing: tuple[int, ...]
    clusters: tuple[str, ...] = ()

    @property
    def firsts(self) -> list[int]:
        """The place of the first variant of each case."""
        return _firsts(self.clusters or self.vignettes)

    @property
    def missing_share(self) -> float:
        """Share of answers that are missing, in 0..1; 0 for an arm without trials."""
        total = sum(self.n) + sum(self.missing)
        return sum(self.missing) / total if total else 0.0


@dataclass(frozen=True)
class Readings:
    """Per vignette of one arm: its answers in order of draw, and how many are `missing`.

    For outcomes that cannot be counted: `cells` holds numbers or sets, without what is missing.
    """

    vignettes: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...]
    missing: tuple[int, ...]
    clusters: tuple[str, ...] = ()

    @property
    def firsts(self) -> list[int]:
        """The place of the first variant of each case."""
        return _firsts(self.clusters or self.vignettes)

    @property
    def n(self) -> tuple[int, ...]:
        return tuple(len(cell) for cell in self.cells)

    @property
    def missing_share(self) -> float:
        """Share of answers that are missing, in 0..1; 0 for an arm without trials."""
        total = sum(self.n) + sum(self.missing)
        return sum(self.missing) / total if total else 0.0


def _firsts(clusters: Sequence[str]) -> list[int]:
    places: dict[str, int] = {}
    for place, cluster in enumerate(clusters):
        places.setdefault(cluster, place)
    return list(places.values())
