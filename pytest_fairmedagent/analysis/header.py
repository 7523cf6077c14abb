"""What a file says of itself: its sets, its reference, its controls, its model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_fairmedagent.analysis.tabulate import RecordedSet, Tabulation
from pytest_fairmedagent.errors import PlanError, closest
from pytest_fairmedagent.files.rules import Rules
from pytest_fairmedagent.files.swaps import RESERVED


def chosen_sets(tabulation: Tabulation, block: str | None, rules: Rules) -> tuple[RecordedSet, ...]:
    if block is None:
        return tabulation.sets
    chosen = tuple(s for s in tabulation.sets if s.block == block)
    if not chosen:
        named = [name for name in tabulation.blocks if name is not None]
        how = (
            f"{closest(block, named)}"
            if named
            else f"\n  Its rows name no block: they have no key '{rules.block}'. Which key it is, "
            'a rules file says: block = "..."'
        )
        raise PlanError(f"{tabulation.path}: no block '{block}'.{how}")
    return chosen


def with_header(rules: Rules, tabulation: Tabulation) -> Rules:
    """Return the rules with the controls that the record of a run says it had."""
    plan = tabulation.header.get("plan")
    if not isinstance(plan, dict):
        return rules
    kinds: dict[str, str] = {}
    for key, kind in (("identical", "identical"), ("shams", "sham")):
        named = plan.get(key)
        if isinstance(named, list):
            kinds.update({str(name): kind for name in named})
    return replace(rules, kinds={**kinds, **rules.kinds})


def reference_of(
    tabulation: Tabulation, sets: Sequence[RecordedSet], given: str | None, rules: Rules
) -> str | None:
    """Return the id of the reference; None where no block holds more than one condition."""
    header, plan = tabulation.header, tabulation.header.get("plan")
    declared = [
        given,
        rules.reference,
        header.get("reference"),
        plan.get("reference") if isinstance(plan, dict) else None,
        RESERVED,
    ]
    conditions = list(dict.fromkeys(c for s in sets for c in s.table.conditions))
    blocks = dict.fromkeys(s.block for s in sets)
    several = any(
        len({c for s in sets if s.block == block for c in s.table.conditions}) > 1
        for block in blocks
    )
    for name in declared:
        if not isinstance(name, str):
            continue
        found = name if name in conditions else rules.names.get(name, name)
        if found in conditions:
            return found
        if name is not RESERVED and several:
            raise PlanError(
                f"{tabulation.path}: no condition '{name}', which shall be the reference."
                f"{closest(name, conditions)}"
            )
    if several:
        raise PlanError(
            f"{tabulation.path}: which of its {len(conditions)} conditions is the reference? Name "
            f"it with --reference, or 'reference' in the header.\n  conditions: "
            f"{', '.join(conditions)}"
        )
    return None


def check_reference(given: str | None, tabulations: Sequence[Tabulation], rules: Rules) -> None:
    """Raise PlanError for a reference that no file holds: a slip would give floors only."""
    if given is None:
        return
    known = {name for t in tabulations for name in (*t.conditions, *t.names.values())}
    if given not in known and rules.names.get(given) not in known:
        raise PlanError(f"--reference: no file has a condition '{given}'.{closest(given, known)}")


def model_of(tabulation: Tabulation) -> str:
    header = tabulation.header
    named = header.get("model")
    if isinstance(named, str) and named:
        return named
    runs = header.get("runs")
    if isinstance(runs, list) and runs and isinstance(runs[0], dict):
        return str(runs[0].get("model", "unknown"))
    for drawn in tabulation.sets:
        if drawn.configuration.get("model"):
            return str(drawn.configuration["model"])
    return "unknown"
