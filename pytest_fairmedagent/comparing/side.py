"""One run of a record, as it is set beside another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_fairmedagent.report.entries import of_run

Record = Mapping[str, Any]
Counts = tuple[list[int], list[int]]  # positives and answers, per vignette
Member = tuple[str, str, str | None]  # a contrast: condition, action, vignette


@dataclass(frozen=True)
class Side:
    """One run of a record. `name` tells it from the other in tables."""

    name: str
    record: Record
    run: Mapping[str, Any]

    @property
    def reference(self) -> str:
        return str(self.record["plan"]["reference"])

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """Every registered action, in the order of the plan; outcomes of other kinds are none."""
        families = self.record["plan"]["families"]
        binary = next((row["labels"].keys() for row in self.record["rows"]), ())
        named = dict.fromkeys(action for f in families for action in f["actions"])
        return tuple(action for action in named if action in binary)

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """Every condition of the plan: reference, swaps and controls."""
        plan = self.record["plan"]
        swaps = [swap for family in plan["families"] for swap in family["swaps"]]
        found = [plan["reference"], *swaps, *plan["identical"], *plan["shams"]]
        return tuple(dict.fromkeys(found))

    def part(self, name: str) -> list[dict[str, Any]]:
        """Return the entries of a part of the record that are of this run; older ones lack some."""
        return of_run(self.record, name, self.run) if name in self.record else []

    @cached_property
    def contrasts(self) -> dict[Member, Record]:
        """What was judged, by condition, action and vignette; a gating family's before others."""
        found: dict[Member, Record] = {}
        for contrast in of_run(self.record, "contrasts", self.run):
            member = (contrast["condition"], contrast["action"], contrast["vignette"])
            if contrast["action"] not in self.actions:
                continue
            if member not in found or found[member]["q"] is not None:
                found[member] = contrast
        return found

    @cached_property
    def outcomes(self) -> dict[Member, Record]:
        """What was judged of outcomes that are no actions, as `contrasts`."""
        found: dict[Member, Record] = {}
        for entry in self.part("outcomes"):
            member = (entry["condition"], entry["outcome"], entry["vignette"])
            if member not in found or found[member]["q"] is not None:
                found[member] = entry
        return found

    @cached_property
    def gating(self) -> frozenset[Member]:
        """Every gap of an action that can fail a run, whether it was run or not.

        A family that a relation of the user's own tests has no gaps.
        """
        return frozenset(
            (swap, action, vignette)
            for family in self.record["plan"]["families"]
            if family["gating"] and not family.get("relation")
            for swap in family["swaps"]
            for action in family["actions"]
            if action in self.actions
            for vignette in (family["vignettes"] if family["per_vignette"] else [None])
        )

    @cached_property
    def rows(self) -> dict[tuple[str, str], list[Record]]:
        """The trajectories of every vignette and condition."""
        found: dict[tuple[str, str], list[Record]] = {}
        for row in self.record["rows"]:
            if row["config"] == self.run["config_digest"]:
                found.setdefault((row["vignette"], row["condition"]), []).append(row)
        return found

    @cached_property
    def vignettes(self) -> tuple[str, ...]:
        return tuple(sorted({vignette for vignette, _ in self.rows}))

    def clusters_of(self, vignettes: Iterable[str]) -> list[str]:
        """Return the case of each vignette: itself, unless it is a variant."""
        return [self._clusters.get(vignette) or vignette for vignette in vignettes]

    @cached_property
    def _clusters(self) -> dict[str, str]:
        return {row["vignette"]: row.get("cluster", "") for row in self.record["rows"]}

    def labels(self, vignette: str, condition: str, action: str) -> list[bool | None]:
        """Return the answers of one cell, None where missing."""
        return [row["labels"].get(action) for row in self.rows.get((vignette, condition), ())]

    def counts(self, vignettes: Iterable[str], condition: str, action: str) -> Counts:
        """Return positives and answers of one arm, per vignette."""
        cells = [self.labels(vignette, condition, action) for vignette in vignettes]
        return [cell.count(True) for cell in cells], [len(c) - c.count(None) for c in cells]

    def complete(self, condition: str, actions: Sequence[str]) -> set[str]:
        """Return the vignettes with at least two draws of an arm, none of whose answers lacks."""
        return {
            vignette
            for vignette in self.vignettes
            if len(self.rows.get((vignette, condition), ())) > 1
            and not any(None in self.labels(vignette, condition, action) for action in actions)
        }


def sides_of(record: Record, name: str = "") -> tuple[Side, ...]:
    """Return the runs of a record, named by seat or model; `name` stands before them."""
    runs = record["runs"]
    words = [run.get("seat", {}).get("id") or run["model"] for run in runs]
    if len(set(words)) < len(runs):  # several agents of one model
        words = [f"{word} #{number}" for number, word in enumerate(words, start=1)]
    return tuple(
        Side(": ".join(filter(None, (name, word))), record, run)
        for word, run in zip(words, runs, strict=True)
    )
