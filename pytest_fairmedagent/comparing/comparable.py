"""What of two runs can be compared at all, and what else is to be known before it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_fairmedagent.comparing.side import Side
from pytest_fairmedagent.errors import PlanError

# Of a family or a plan: what may differ without making its arms other arms.
_OF_FAMILY = ("swaps", "actions", "vignettes", "replicates", "margin", "alpha", "gating")


@dataclass(frozen=True)
class Comparable:
    """What two runs share. `differs` says, a line each, what their plans do not have in common.

    `vignettes` have equal texts in both, `conditions` equal descriptors.
    """

    same_plan: bool
    vignettes: tuple[str, ...]
    conditions: tuple[str, ...]
    differs: tuple[str, ...]


def comparable(a: Side, b: Side) -> Comparable:
    """Return what of two runs can be compared.

    Raises PlanError where their references are not the same, or where they share no vignette.
    """
    ref_a, ref_b = (side.record["conditions"].get(side.reference, {}) for side in (a, b))
    if a.reference != b.reference or (ref_a and ref_b and ref_a != ref_b):
        told = [
            f"{side.reference} ({found.get('descriptor', 'unknown')})"
            for side, found in ((a, ref_a), (b, ref_b))
        ]
        raise PlanError(
            f"{a.name} and {b.name} have different references: {told[0]} and {told[1]}.\n"
            "  What is measured against different references cannot be compared."
        )
    differs: list[str] = []
    vignettes = _shared(a, b, "vignettes", "vignette", a.vignettes, b.vignettes, differs)
    conditions = _shared(a, b, "conditions", "condition", _drawn(a), _drawn(b), differs)
    if not vignettes:
        raise PlanError(
            f"{a.name} and {b.name} share no vignette of the same text: expected records of one "
            "plan.\n  " + "\n  ".join(differs)
        )
    same_plan = a.run["plan_digest"] == b.run["plan_digest"]
    if not same_plan:
        differs += _plans(a.record["plan"], b.record["plan"])
    return Comparable(same_plan, tuple(vignettes), tuple(conditions), tuple(differs))


def _drawn(side: Side) -> list[str]:
    drawn = {condition for _, condition in side.rows}
    return [condition for condition in side.conditions if condition in drawn]


def _shared(
    a: Side, b: Side, part: str, word: str, of_a: Any, of_b: Any, differs: list[str]
) -> list[str]:
    """Return the names that mean the same in both, and add to `differs` why others are left out."""
    known_a, known_b = a.record[part], b.record[part]
    changed = [n for n in of_b if n in of_a and known_a.get(n, 0) != known_b.get(n, 0)]
    for text, names in (
        (f"only in {a.name}", [n for n in of_a if n not in of_b]),
        (f"only in {b.name}", [n for n in of_b if n not in of_a]),
        ("not the same text in both", changed),
    ):
        if names:
            shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if names[4:] else "")
            differs.append(f"{len(names)} {word}{'s' if names[1:] else ''} {text}: {shown}")
    return [n for n in of_b if n in of_a and n not in changed]


def _plans(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[str]:
    families_a, families_b = ({f["name"]: f for f in plan["families"]} for plan in (a, b))
    for name in {**families_a, **families_b}:
        one, other = families_a.get(name), families_b.get(name)
        if one is None or other is None:
            yield f"family {name} is registered in one of them only"
            continue
        for key in _OF_FAMILY:
            if one[key] != other[key]:
                yield f"{key} of family {name}: {_short(one[key])} before, {_short(other[key])} now"
    if a.get("sequential") != b.get("sequential"):
        yield f"sequential: {a.get('sequential')} before, {b.get('sequential')} now"


def configuration_changes(
    a: Mapping[str, Any], b: Mapping[str, Any], name: str = ""
) -> Iterator[str]:
    """Yield a line for every field of two configurations that is not the same."""
    for key in sorted({*a, *b}):
        one, other = a.get(key, "(absent)"), b.get(key, "(absent)")
        inner = f"{name}.{key}" if name else str(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from configuration_changes(one, other, inner)
        elif one != other:
            yield f"{inner}: {_short(one)} before, {_short(other)} now"


def notes(a: Side, b: Side) -> Iterator[str]:
    """Yield what else is to be known: draws that both hold, runs cut short, what is left out."""
    shared = _answers(a) & _answers(b)
    if shared:
        yield (
            f"{len(shared)} trajectories are the very same draws in both: what was not drawn anew "
            "cannot differ"
        )
    for side in (a, b):
        yield from run_notes(side)
    others = [outcome for _, outcome, _ in b.outcomes]
    others += [entry["relation"] for entry in b.part("relations")]
    if others:
        yield f"only actions are compared, not {', '.join(dict.fromkeys(others))}"


def run_notes(side: Side) -> Iterator[str]:
    """Yield why a run may hold fewer draws than its plan."""
    if not side.run["complete"]:
        yield f"{side.name}: the plan was not drawn to its end"
    elif side.run.get("ended"):
        yield f"{side.name}: ended after {side.run['replicates']} whole rounds: {side.run['ended']}"
    if side.run.get("looks"):
        yield f"{side.name}: a sequential run, whose arms end when they are decided"


def _answers(side: Side) -> set[Any]:
    """Return what tells draws from others: the server's ids of their answers, or the run's own."""
    found: set[Any] = set()
    for place, rows in side.rows.items():
        for row in rows:
            ids = tuple(row.get("response_ids") or ())
            seed = side.run["seed"] if side.run["seed"] is not None else side.run.get("created")
            run = (side.run["config_digest"], seed)
            found.add(ids or (*run, *place, row["replicate"], str(row["outputs"])))
    return found


def _short(value: object) -> str:
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
