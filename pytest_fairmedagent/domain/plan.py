"""The plan: what will be compared, how often, and by which rule. Fixed before the first trial."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from pytest_fairmedagent.domain.confounding import Confounded
from pytest_fairmedagent.domain.outcome import BINARY, OUTCOMES

_LEFT_OUT_UNUSED = (
    *("outcomes", "margins", "relation", "variants", "minimum_gap"),
    *("pooled", "first_leg", "certify"),
)


@dataclass(frozen=True, order=True)
class Contrast:
    """One member of a family: a swap and an action, over all vignettes or on one of them.

    `vignette` is None where the contrast pools over the family's vignettes.
    """

    family: str
    swap: str
    action: str
    vignette: str | None = None


@dataclass(frozen=True)
class Family:
    """Registered contrasts that share one error rate `alpha` (in 0..1).

    `replicates` is the number of draws per arm and vignette. `margin` is the largest signed gap
    (in 0..1) that would not matter; None where nothing may be called equivalent. A family that is
    not `gating` is exploratory: its contrasts get q-values and never fail a run. `actions` may name
    outcomes that are no actions; `margins` has the margin of each of these, in its own units.
    `relation` names a test of the user's own (and its version) that stands in for the built-in one.
    A family without swaps has no members: its items ask for floors only.

    `variants` has, for each vignette that is drawn in several, their ids and digests, the vignette
    itself first. A contrast pools over them; the vignette is their cluster.

    `minimum_gap` (in 0..1) is the largest signed gap that is not tested against: above 0 the null
    of every member is "the gap is at most this large", and below it nothing can fail.
    """

    name: str
    swaps: tuple[str, ...]
    actions: tuple[str, ...]
    vignettes: tuple[str, ...]
    replicates: int
    margin: float | None = None
    alpha: float = 0.05
    gating: bool = True
    per_vignette: bool = False
    margins: tuple[tuple[str, float | None], ...] = ()
    relation: str = ""
    variants: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    minimum_gap: float = 0.0

    def cases_of(self, vignette: str) -> tuple[str, ...]:
        """Return the ids of a vignette's variants; itself alone where it has none."""
        found = dict(self.variants).get(vignette)
        return (vignette,) if found is None else tuple(name for name, _ in found)

    @property
    def cases(self) -> tuple[str, ...]:
        """The vignettes with all their variants."""
        return tuple(case for vignette in self.vignettes for case in self.cases_of(vignette))

    @property
    def n_pooled(self) -> int:
        """How many cases a contrast pools over; the fewest, where each is on one vignette."""
        if not self.per_vignette:
            return len(self.cases)
        return min((len(self.cases_of(vignette)) for vignette in self.vignettes), default=1)

    def margin_of(self, outcome: str) -> float | None:
        """Return the margin of an outcome in its own units; None where there is none."""
        return dict(self.margins).get(outcome, self.margin)

    @property
    def members(self) -> Iterator[Contrast]:
        for vignette in self.vignettes if self.per_vignette else (None,):
            for swap in self.swaps:
                for action in self.actions:
                    yield Contrast(self.name, swap, action, vignette)

    @property
    def joint(self) -> bool:
        """Whether each swap is first tested as a whole, over all its outcomes together."""
        return self.gating and not (self.minimum_gap or self.relation) and len(self.actions) > 1

    def together(self, contrast: Contrast) -> tuple[Contrast, ...]:
        """Return the registered members that are tested as a whole with a contrast, itself too."""
        if not self.joint:
            return (contrast,)
        return tuple(replace(contrast, action=action) for action in self.actions)

    @property
    def n_groups(self) -> int:
        """How many tests share `alpha` evenly at first: registered swaps, or else all members."""
        return self.size // len(self.actions) if self.joint else self.size

    @property
    def size(self) -> int:
        """The number K of registered members, whatever of them is run."""
        return (
            len(self.swaps) * len(self.actions) * (len(self.vignettes) if self.per_vignette else 1)
        )


@dataclass(frozen=True)
class Arm:
    """All trials of one vignette under one condition."""

    vignette: str
    condition: str
    replicates: int


@dataclass(frozen=True)
class Plan:
    """Families with the reference and the controls they are read against.

    `confounded` tells on which vignettes a swap can rightly change an action: those are left out
    of the contrast and explored apart.

    `sequential` is how often the data are looked at: `off` once, at the end; `gs` at five planned
    looks; `e` after every round. `outcomes` has id, kind and digest of the user's own ones.

    `pooled` tells that draws of the identical arms count as draws of the reference, whose text is
    the same: fixed here, before the data, so that no one can choose it after a look.

    Where `first_leg` is above 0, so many replicates are drawn first, and from the floor of all arms
    together as many follow as certify everything with the chance `certify` (in 0..1), up to the
    replicates of the families.
    """

    families: tuple[Family, ...]
    reference: str
    identical: tuple[str, ...] = ()
    shams: tuple[str, ...] = ()
    sequential: str = "off"
    confounded: tuple[Confounded, ...] = ()
    outcomes: tuple[tuple[str, str, str], ...] = ()
    pooled: bool = False
    first_leg: int = 0
    certify: float | None = None

    @property
    def replicates(self) -> int:
        """Draws of the arm that is drawn most often; 0 for a plan without families."""
        return max((family.replicates for family in self.families), default=0)

    @property
    def controls(self) -> tuple[str, ...]:
        return self.identical + self.shams

    @property
    def actions(self) -> tuple[str, ...]:
        """The registered outcomes that are actions: these have flip rates."""
        return tuple(name for name in self._named if self.kind_of(name) == BINARY)

    @property
    def further(self) -> tuple[str, ...]:
        """The registered outcomes of other kinds, which never enter a flip rate."""
        return tuple(name for name in self._named if self.kind_of(name) != BINARY)

    @property
    def _named(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(a for f in self.families for a in f.actions))

    def kind_of(self, outcome: str) -> str:
        """Return the kind of an outcome; one that nothing is known of is an action."""
        own = {name: kind for name, kind, _ in self.outcomes}
        return own.get(outcome) or (OUTCOMES[outcome].kind if outcome in OUTCOMES else BINARY)

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 of everything registered."""
        return hashlib.sha256(json.dumps(self._content(), sort_keys=True).encode()).hexdigest()

    @cached_property
    def design_digest(self) -> str:
        """The same without replicates: two plans that differ in nothing else are looks at one."""
        content = self._content()
        for name in ("sequential", "first_leg", "certify"):
            content.pop(name, None)
        for family in content["families"]:
            del family["replicates"]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def _content(self) -> dict[str, Any]:
        """Return what digests are made of; what is not used leaves them as they were before it."""
        content = asdict(self)
        for part in (content, *content["families"]):
            for name in _LEFT_OUT_UNUSED:
                if name in part and not part[name]:
                    del part[name]
        return content

    def family(self, name: str) -> Family:
        return next(f for f in self.families if f.name == name)

    def confounding(self, contrast: Contrast) -> Confounded | None:
        """Return what is confounded of a contrast, on its own vignettes; None for nothing."""
        mine = self._all(contrast)
        for found in self.confounded:
            named = tuple(vignette for vignette in found.vignettes if vignette in mine)
            if named and (found.swap, found.action) == (contrast.swap, contrast.action):
                return replace(found, vignettes=named)
        return None

    def judged(self, contrast: Contrast) -> tuple[str, ...]:
        """Return the vignettes that a contrast is judged on.

        Those that are not confounded for it. Where all are, all of them: such a contrast is looked
        at and never claimed.
        """
        found = self.confounding(contrast)
        left_out = found.vignettes if found else ()
        every = self._all(contrast)
        return tuple(vignette for vignette in every if vignette not in left_out) or every

    def _all(self, contrast: Contrast) -> tuple[str, ...]:
        family = self.family(contrast.family)
        return family.cases if contrast.vignette is None else family.cases_of(contrast.vignette)

    def arms(self, contrasts: Iterable[Contrast]) -> tuple[Arm, ...]:
        """Return the arms that the contrasts need: their swaps, the reference and the controls.

        An arm that several families need is drawn as often as the largest of them asks.
        """
        families = {family.name: family for family in self.families}
        needed: dict[tuple[str, str], int] = {}
        for contrast in contrasts:
            family = families[contrast.family]
            for vignette in self._all(contrast):
                # A contrast of the reference with itself asks for its floor, and for nothing more.
                controls = () if contrast.swap == self.reference else self.controls
                for condition in (self.reference, contrast.swap, *controls):
                    key = (vignette, condition)
                    needed[key] = max(needed.get(key, 0), family.replicates)
        return tuple(Arm(v, c, r) for (v, c), r in needed.items())
