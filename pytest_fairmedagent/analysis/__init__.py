"""The work behind `fairmed analyse`: recorded trajectories in, floors and verdicts out.

Nothing is printed, drawn or asked for here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_fairmedagent.analysis.diagnose import Diagnostic, diagnose
from pytest_fairmedagent.analysis.floors import SEED, ArmFloors, arm_floors
from pytest_fairmedagent.analysis.groups import UNDECLARED, UNREGISTERED, Declared
from pytest_fairmedagent.analysis.header import (
    check_reference,
    chosen_sets,
    model_of,
    reference_of,
    with_header,
)
from pytest_fairmedagent.analysis.judging import (
    ControlArm,
    Judged,
    JudgedContrast,
    JudgedSwap,
    judge_file,
)
from pytest_fairmedagent.analysis.models import (
    Agreement,
    BaseArm,
    Difference,
    Spread,
    compare_models,
    spread_of,
)
from pytest_fairmedagent.analysis.plan import declared_by
from pytest_fairmedagent.analysis.tabulate import RecordedSet, Tabulation, tabulate
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.files.rules import Rules, default_rules, read_rules
from pytest_fairmedagent.files.swaps import RESERVED

__all__ = [
    "UNDECLARED",
    "UNREGISTERED",
    "Agreement",
    "Analysis",
    "Arm",
    "ArmFloors",
    "ControlArm",
    "Declared",
    "Diagnostic",
    "Difference",
    "FileAnalysis",
    "JudgedContrast",
    "JudgedSwap",
    "analyse",
    "arm_floors",
]


@dataclass(frozen=True)
class Arm:
    """Floors of one condition, and where they were measured. `named` is the file's own name."""

    block: str | None
    named: str
    kind: str
    config_digest: str
    floors: ArmFloors
    spread: Spread | None


@dataclass(frozen=True)
class FileAnalysis:
    """What one file came to. `reference` is None where it has floors only."""

    path: Path
    model: str
    reference: str | None
    n_rows: int
    configurations: Mapping[str, Mapping[str, object]]
    declared_configuration: bool
    arms: tuple[Arm, ...]
    judged: Judged
    diagnostics: tuple[Diagnostic, ...]

    @property
    def contrasts(self) -> tuple[JudgedContrast, ...]:
        return self.judged.contrasts

    @property
    def swaps(self) -> tuple[JudgedSwap, ...]:
        return self.judged.swaps

    @property
    def controls(self) -> tuple[ControlArm, ...]:
        return self.judged.controls


@dataclass(frozen=True)
class Analysis:
    """Files analysed by the same rules and the same plan."""

    files: tuple[FileAnalysis, ...]
    differences: tuple[Difference, ...]
    agreements: tuple[Agreement, ...]
    actions: tuple[str, ...]
    registered: bool
    plan: str | None
    seed: int


def analyse(
    paths: Sequence[Path],
    *,
    reference: str | None = None,
    block: str | None = None,
    rules: Path | None = None,
    plan: Path | None = None,
    margin: float | None = None,
    alpha: float | None = None,
    seed: int = SEED,
    on_file: Callable[[Path], None] = lambda path: None,
) -> Analysis:
    """Return the analysis of record files.

    Args:
        reference: name or id of the reference condition; without it that of rules, header, or the
            id `reference`. A file with one condition needs none: it has floors only.
        block: the only set to look at, where files hold several.
        rules, plan: files; without a plan every swap x action of a file is one family.
        margin, alpha: of that family. A plan declares its own.
        seed: of the percentile intervals.

    Raises FileFormatError for a bad file and PlanError for arguments that do not fit it.
    """
    if plan is not None and (margin is not None or alpha is not None):
        raise PlanError(
            f"margin and level are declared by the plan {plan}: leave out --margin and --alpha, "
            "or the plan"
        )
    if len(set(paths)) < len(paths):
        raise PlanError("a file is given twice: name each once")
    read = default_rules() if rules is None else read_rules(rules)
    tables: list[tuple[Tabulation, tuple[RecordedSet, ...]]] = []
    for path in paths:
        on_file(path)
        tabulation = tabulate(path, read)
        tables.append((tabulation, chosen_sets(tabulation, block, read)))
    declared = Declared(None, margin, 0.05 if alpha is None else alpha)
    if plan is not None:
        found = [s.table.conditions for _, sets in tables for s in sets]
        declared = declared_by(plan, read, [c for conditions in found for c in conditions])
    check_reference(reference, [t for t, _ in tables], read)
    files = [_file(t, sets, reference, read, declared, seed) for t, sets in tables]
    bases = [base for file in files for base in _bases(file)]
    differences, agreements = compare_models(bases, seed=seed)
    return Analysis(
        tuple(files),
        differences,
        agreements,
        tuple(read.actions),
        declared.registered,
        None if plan is None else str(plan),
        seed,
    )


def _file(
    tabulation: Tabulation,
    sets: tuple[RecordedSet, ...],
    reference: str | None,
    rules: Rules,
    declared: Declared,
    seed: int,
) -> FileAnalysis:
    rules = with_header(rules, tabulation)
    base = reference_of(tabulation, sets, reference, rules)
    floors = [
        (
            drawn,
            arm_floors(
                drawn.table, drawn.vignettes(condition), condition, tuple(rules.actions), seed=seed
            ),
        )
        for drawn in sets
        for condition in sorted(drawn.table.conditions, key=lambda c: c != base)
    ]
    judged = Judged((), (), (), (), ())
    if base is not None:
        judged = judge_file(sets, base, rules, declared)
    with_guards = [drawn for drawn, _ in judged.judgements]
    unjudged = [drawn for drawn in sets if drawn not in with_guards]
    return FileAnalysis(
        tabulation.path,
        model_of(tabulation),
        base,
        tabulation.n_rows,
        {s.config_digest: s.configuration for s in sets},
        tabulation.declared,
        tuple(
            Arm(
                drawn.block,
                tabulation.names[arm.condition],
                RESERVED if arm.condition == base else rules.kinds.get(arm.condition, "swap"),
                drawn.config_digest,
                arm,
                spread_of(arm, seed=seed) if base in (None, arm.condition) else None,
            )
            for drawn, arm in floors
        ),
        judged,
        diagnose(tabulation, floors, judged, unjudged),
    )


def _bases(file: FileAnalysis) -> list[BaseArm]:
    """Return the arms of a file that models are compared by: one per block at most."""
    found: dict[str | None, list[Arm]] = {}
    for arm in file.arms:
        found.setdefault(arm.block, []).append(arm)
    bases = []
    for block, arms in found.items():
        chosen = [a for a in arms if a.floors.condition == file.reference] or arms
        if len(chosen) == 1:
            bases.append(BaseArm(str(file.path), file.model, block, chosen[0].floors))
    return bases
