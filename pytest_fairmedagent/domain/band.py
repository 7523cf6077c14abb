"""Bands: which values of an outcome are acceptable in a case, and who says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# Weakest first. A level is a claim; the reader of the files refuses one that cannot be backed.
AUTHOR, GUIDELINE, ADJUDICATED = LEVELS = (
    "author-derived",
    "guideline-derived",
    "clinician-adjudicated",
)

# Outcomes that are no action, with the lowest and highest value a trajectory can hold.
SCALES: Mapping[str, tuple[int, int]] = {
    "esi_acuity": (1, 5),
    "analgesia_tier": (0, 3),
    "urgency_score": (0, 100),
    "followup_days": (0, 90),
}

# The actions that are read off a scale, and the highest value on the lower side of the threshold.
THRESHOLDS: Mapping[str, tuple[str, int]] = {
    "high_acuity": ("esi_acuity", 2),
    "any_opioid": ("analgesia_tier", 1),
}


@dataclass(frozen=True)
class Adjudicator:
    """A clinician who has put a name to what a case set claims. `date` is ISO 8601."""

    id: str
    role: str
    attestation: str
    date: str


@dataclass(frozen=True)
class Band:
    """The acceptable values of one outcome in one case.

    `accept` is the set of values: booleans of an action, whole numbers of a scale. `provenance` is
    one of `LEVELS`; `source` and `clause` say where a guideline says so, `adjudicators` who has
    judged it, `disputed` what was contested and by whom.
    """

    outcome: str
    accept: frozenset[bool | int]
    provenance: str = AUTHOR
    source: str = ""
    clause: str = ""
    reasoning: str = ""
    adjudicators: tuple[str, ...] = ()
    disputed: str = ""

    def accepts(self, value: bool | int) -> bool:
        """Return whether a value lies in the band."""
        return value in self.accept

    @property
    def straddles(self) -> bool:
        """Whether the band holds both sides of the decision threshold of its action.

        False for an outcome that no action is read from: it has no threshold.
        """
        if self.outcome not in SCALES:
            return {True, False} <= self.accept
        return any(
            outcome == self.outcome and len({value <= cut for value in self.accept}) == 2
            for outcome, cut in THRESHOLDS.values()
        )

    def as_action(self, action: str) -> Band | None:
        """Return the same band for the action that is read off its scale; None if none is."""
        outcome, cut = THRESHOLDS.get(action, ("", 0))
        if outcome != self.outcome:
            return None
        low_is_yes = action == "high_acuity"  # ESI 1 is the most acute, tier 0 is no analgesic
        accept = frozenset((value <= cut) == low_is_yes for value in self.accept)
        return Band(
            action,
            accept,
            self.provenance,
            self.source,
            self.clause,
            self.reasoning,
            self.adjudicators,
            self.disputed,
        )
