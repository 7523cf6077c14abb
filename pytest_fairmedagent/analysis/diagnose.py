"""What recorded draws say about themselves: order, copies, gaps and values out of range."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_fairmedagent.analysis.floors import ArmFloors
from pytest_fairmedagent.analysis.judging import Judged
from pytest_fairmedagent.analysis.tabulate import RecordedSet, Tabulation
from pytest_fairmedagent.domain import Family, Plan
from pytest_fairmedagent.relations.guards import LEVEL, GuardTest, check_guards
from pytest_fairmedagent.stats import FirstDraw, first_draw_effect, holm

WHOLE = "whole output"
_COMPARED = 1000  # the first draw is set against the next ones, up to here
_NAMED = 10  # vignettes are named in a line, the rest is counted; the JSON has them all
_TESTABLE = 3  # draws of a vignette below which no first one can stand out


@dataclass(frozen=True)
class Diagnostic:
    """One finding. `numbers` are what `text` was made from."""

    kind: str
    block: str | None
    condition: str | None
    text: str
    numbers: Mapping[str, object] = field(default_factory=dict)


def diagnose(
    tabulation: Tabulation,
    arms: Sequence[tuple[RecordedSet, ArmFloors]],
    judged: Judged,
    unjudged: Sequence[RecordedSet],
) -> tuple[Diagnostic, ...]:
    """Return the findings of a file. `unjudged` sets have no contrasts, so no guards yet."""
    guards = [
        (drawn, test) for drawn, judgement in judged.judgements for test in judgement.guards.tests
    ]
    guards += [(drawn, test) for drawn in unjudged for test in _serial(drawn, arms)]
    return (
        *(Diagnostic(r.kind, r.block, r.condition, r.text) for r in judged.remarks),
        *_guards(guards),
        *_first_draws(arms),
        *_repeats(arms),
        *_unequal(arms),
        *_missing(arms),
        *(
            Diagnostic(
                note.kind,
                note.block,
                note.condition,
                f"{note.text} ({note.n_draws} trajectories)",
                {"trajectories": note.n_draws},
            )
            for note in tabulation.notes
        ),
    )


def _serial(drawn: RecordedSet, arms: Sequence[tuple[RecordedSet, ArmFloors]]) -> list[GuardTest]:
    """Return the serial tests of a set without contrasts, over each of its conditions."""
    found: list[GuardTest] = []
    for home, arm in arms:
        if home is drawn:
            family = Family("", (), arm.actions, arm.vignettes, 1)
            table = drawn.table.part(arm.vignettes, (arm.condition,))
            found += check_guards(table, Plan((family,), arm.condition), arm.vignettes).tests
    if not found:
        return []
    adjusted = holm([test.p for test in found])  # one budget, as for a set with contrasts
    return [
        GuardTest(t.guard, t.condition, t.action, t.p, float(q))
        for t, q in zip(found, adjusted, strict=True)
    ]


def _guards(tests: Iterable[tuple[RecordedSet, GuardTest]]) -> Iterable[Diagnostic]:
    for drawn, test in tests:
        numbers = {
            "action": test.action or None,
            "p": test.p,
            "p_adjusted": test.p_adjusted,
            "rejects": test.rejects,
        }
        yield Diagnostic(test.guard, drawn.block, test.condition, str(test), numbers)


def _first_draws(arms: Sequence[tuple[RecordedSet, ArmFloors]]) -> Iterable[Diagnostic]:
    found: list[tuple[RecordedSet, str, str, FirstDraw]] = []
    for drawn, arm in arms:
        if arm.replicates[1] < _TESTABLE:
            continue
        for action in arm.actions:
            cells = [
                drawn.table.labels(vignette, arm.condition, action)[:_COMPARED]
                for vignette in arm.vignettes
            ]
            found.append((drawn, arm.condition, action, first_draw_effect(cells)))
        whole = [
            [
                str(trajectory.get("whole", "answer")) if trajectory.complete else None
                for trajectory in drawn.table.rows[vignette, arm.condition][:_COMPARED]
            ]
            for vignette in arm.vignettes
        ]
        found.append((drawn, arm.condition, WHOLE, first_draw_effect(whole)))
    if not found:
        return
    adjusted = holm([test.p for *_, test in found])
    for (drawn, condition, what, test), p in zip(found, adjusted, strict=True):
        numbers = {
            "action": what,
            "p": test.p,
            "p_adjusted": float(p),
            "rejects": float(p) <= LEVEL,
            "rate_first": test.rate_first,
            "rate_rest": test.rate_rest,
        }
        yield Diagnostic("first draw", drawn.block, condition, f"{what}: {test}", numbers)


def _repeats(arms: Sequence[tuple[RecordedSet, ArmFloors]]) -> Iterable[Diagnostic]:
    for drawn, arm in arms:
        cells = [drawn.table.rows[vignette, arm.condition] for vignette in arm.vignettes]
        rows = [[t for t in row if t.complete] for row in cells]
        rows = [row for row in rows if len(row) > 1]
        equal = sum(all(t.outputs == row[0].outputs for t in row) for row in rows)
        if equal:
            text = (
                f"whole outputs repeat in all draws of {equal} of {len(rows)} vignettes: equal "
                "answers of one vignette are one answer, be it by decoding or from a cache"
            )
            numbers: dict[str, object] = {"vignettes": equal, "of": len(rows)}
            yield Diagnostic("repeated outputs", drawn.block, arm.condition, text, numbers)


def _unequal(arms: Sequence[tuple[RecordedSet, ArmFloors]]) -> Iterable[Diagnostic]:
    for drawn, arm in arms:
        fewest, most = arm.replicates
        if fewest < most:
            text = f"vignettes have from {fewest} to {most} trajectories"
            numbers: dict[str, object] = {"fewest": fewest, "most": most}
            yield Diagnostic("unequal replicates", drawn.block, arm.condition, text, numbers)


def _missing(arms: Sequence[tuple[RecordedSet, ArmFloors]]) -> Iterable[Diagnostic]:
    for drawn, arm in arms:
        table, rows = drawn.table, drawn.table.rows
        if arm.n_incomplete:
            reasons: dict[str, int] = {}
            lost: dict[str, int] = {}
            uncounted = 0
            for vignette in arm.vignettes:
                for trajectory in rows[vignette, arm.condition]:
                    if not trajectory.complete:
                        lost[vignette] = lost.get(vignette, 0) + 1
                        uncounted += not trajectory.outputs["actions"]
                    for stage, reason in trajectory.missing.items():
                        if reason != "not reached":
                            name = f"{stage}: {reason}"
                            reasons[name] = reasons.get(name, 0) + 1
            sizes = {vignette: len(rows[vignette, arm.condition]) for vignette in lost}
            numbers: dict[str, object] = {
                "trajectories": arm.n_incomplete,
                "reasons": reasons,
                "vignettes": lost,
            }
            text = (
                f"{arm.n_incomplete} of {arm.n_trajectories} trajectories are incomplete, "
                f"{_by_vignette(lost, sizes)}; {uncounted} of them do not count"
            )
            told = "; ".join(f"{n} x {reason}" for reason, n in sorted(reasons.items()))
            text += f" ({told})" if told else ""
            yield Diagnostic("incomplete", drawn.block, arm.condition, text, numbers)
        for action, counts in zip(arm.actions, arm.counts, strict=True):
            if not sum(counts.missing):
                continue
            cut = sum(
                label is None and not trajectory.complete
                for vignette in arm.vignettes
                for label, trajectory in zip(
                    table.labels(vignette, arm.condition, action),
                    rows[vignette, arm.condition],
                    strict=True,
                )
            )
            rest = sum(counts.missing) - cut
            text = (
                f"{action}: {sum(counts.missing)} of {arm.n_trajectories} answers are missing "
                f"({cut} in incomplete trajectories, {rest} where the field is null, absent or "
                "not of its type)"
            )
            numbers = {"action": action, "missing": sum(counts.missing), "incomplete": cut}
            yield Diagnostic("missing", drawn.block, arm.condition, text, numbers)


def _by_vignette(lost: Mapping[str, int], sizes: Mapping[str, int]) -> str:
    """Return what was lost of each vignette, those that lost most first."""
    order = sorted(lost, key=lambda vignette: (-lost[vignette] / sizes[vignette], vignette))
    told = [f"{lost[vignette]} of {sizes[vignette]} of {vignette}" for vignette in order]
    return ", ".join(told[:_NAMED]) + (f" and of {len(told) - _NAMED} more" * (len(told) > _NAMED))
