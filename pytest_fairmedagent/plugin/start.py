"""Before the first call: options are checked, and the plan says what it costs and can see."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Set
from functools import partial
from pathlib import Path

import pytest

from pytest_fairmedagent.agents.base import Agent
from pytest_fairmedagent.domain import Family, Plan, Vignette
from pytest_fairmedagent.errors import FairmedError, PlanError
from pytest_fairmedagent.plugin.costs import budget, cost_line
from pytest_fairmedagent.plugin.items import agent_seen_by, brings_its_agent
from pytest_fairmedagent.plugin.options import drop_defaults
from pytest_fairmedagent.plugin.parametrise import NOTES
from pytest_fairmedagent.plugin.session import registry_of, run_of
from pytest_fairmedagent.relations.certify import certification
from pytest_fairmedagent.relations.needs import seen
from pytest_fairmedagent.report.written import check_formats
from pytest_fairmedagent.verdict import planned_looks


def check_options(config: pytest.Config) -> None:
    """Raise pytest.UsageError for an option or a plan file that is not valid."""
    drop_defaults(config)
    registry, run = registry_of(config), run_of(config)
    try:
        settings = registry.settings
        assert run.seats  # noqa: S101 - reads models and decodings
        if settings.fresh and settings.offline:
            raise PlanError(
                "--fairmed-fresh draws everything anew and --fairmed-offline draws nothing: give "
                "one or the other"
            )
        if settings.fresh and all(seat.spec.backend == "recorded" for seat in run.seats):
            raise PlanError(
                "--fairmed-fresh draws everything anew, and a recording is never drawn: leave it "
                "out, or name a model"
            )
        check_formats(settings.reports)
        _check_reports(settings.reports)
        if settings.baseline is not None:
            assert run.baseline  # noqa: S101 - reads it
            _check_kept(settings.baseline, settings.reports)
        registry.check_selection()
        run.clinical_agent()  # checks scaffold and exposure
        for seat in run.seats:
            budget(settings, seat.spec)
            if seat.spec.backend == "simulated":
                assert run.model(seat)  # noqa: S101 - checks the parameters
    except FairmedError as error:
        raise pytest.UsageError(f"{type(error).__name__}: {error}") from error
    config.add_cleanup(run.close)


def _check_reports(paths: Iterable[Path]) -> None:
    """Raise PlanError for a report that could not be written when the run has been paid for."""
    for path in paths:
        folder = next(p for p in path.absolute().parents if p.exists())
        if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise PlanError(f"--fairmed-report is '{path}', which cannot be written there")


def _check_kept(baseline: Path, reports: Iterable[Path]) -> None:
    """Raise PlanError for a report that would take the baseline's place unasked."""
    for path in reports:
        if path.resolve() == baseline.resolve():
            raise PlanError(
                f"--fairmed-report and --fairmed-baseline are both '{path}': a run never changes "
                "its baseline.\n  Write the record elsewhere, and accept it by `fairmed compare "
                "BASELINE RECORD --accept`."
            )


def collection_lines(config: pytest.Config) -> list[str] | None:
    """Return what the plan will do, for the lines below "collected"."""
    run, registry = run_of(config), registry_of(config)
    if not run.selected or config.get_verbosity() < 0:
        return None
    file = registry.registered.file
    plan = registry.plan()
    asked = {contrast for item in run.selected for contrast in run.contrasts(item)}
    contrasts = {contrast for contrast in asked if contrast.swap != plan.reference}
    arms = plan.arms(asked)
    seats = {run.seat(item) for item in run.selected}
    n_trials = sum(arm.replicates for arm in arms)
    conditions = len({arm.condition for arm in arms})
    vignettes = _vignettes({arm.vignette for arm in arms}, registry.cases)
    at_most = "at most " if plan.first_leg else ""
    own = registry.settings.agent or any(brings_its_agent(item) for item in run.selected)
    agent = None if own else run.clinical_agent()
    lines = [
        f"fairmed: profile {file.name}. {file.says}",
        f"fairmed: {len(run.selected)} items, {len(contrasts)} contrasts; {vignettes} x "
        f"{conditions} arms = {at_most}{n_trials} trajectories, {_calls(agent, n_trials)}",
    ]
    n_agents = len({agent_seen_by(item) for item in run.selected})
    if n_agents > 1:
        lines[-1] += f"; at most that for each of {n_agents} agents"
    if len(run.seats) > 1:
        lines[-1] += f"; that for each of {len(seats)} models or decodings"
    cases = registry.cases
    for seat in sorted(seats, key=run.seats.index):
        cost = cost_line(registry.settings, seat.spec, agent, arms, cases, registry.catalogue)
        if cost is not None:
            told = f" {seat.id}:" if seat.id else ""
            lines.append(cost.replace("fairmed:", f"fairmed:{told}", 1))
    lines.extend(_looks_line(plan))
    lines.extend(_leg_line(plan))
    floor = file.assumed_floor
    families = [
        f
        for f in plan.families
        if f.gating
        and any(c.family == f.name for c in contrasts)
        and not f.relation  # what a test of the user's own can see, only its author knows
        and set(f.actions) & set(plan.actions)
    ]
    lines.extend(_power_line(plan, family, floor) for family in families)
    lines.extend(f"fairmed: warning: {note}" for note in config.stash.get(NOTES, []))
    few = registry.few_variants(registry.cases[name] for name in sorted({a.vignette for a in arms}))
    return [*lines, f"fairmed: variants: {few}"] if few else lines


def _vignettes(names: Set[str], cases: Mapping[str, Vignette]) -> str:
    """Return how many vignettes are drawn, and in how many variants where they have some."""
    bases = {cases[name].base for name in names}
    if len(bases) == len(names):
        return f"{len(names)} vignettes"
    if len(names) % len(bases) == 0:
        return f"{len(bases)} vignettes x {len(names) // len(bases)} variants"
    return f"{len(bases)} vignettes in {len(names)} variants"


def _calls(agent: Agent | None, n_trials: int) -> str:
    each = None if agent is None else agent.calls_per_trial
    if each is None:
        return "with as many calls as the agent makes"
    return f"up to {n_trials * each} calls without repairs"


def _looks_line(plan: Plan) -> list[str]:
    looks = planned_looks(plan)
    if not looks:
        return []
    how = "planned looks" if plan.sequential == "gs" else "looks after every round, an e-process"
    shown = ", ".join(map(str, looks[:6])) + (", ..." if len(looks) > 6 else "")
    return [
        f"fairmed: sequential ({plan.sequential}): {how}, at R = {shown} and {plan.replicates}; "
        "arms stop when all their contrasts are decided"
    ]


def _power_line(plan: Plan, family: Family, floor: float) -> str:
    """Return what a family can find and what it can rule out, by the rule that will decide."""
    replicates, cases = family.replicates, family.n_pooled
    if plan.first_leg and replicates > plan.first_leg:
        replicates = plan.first_leg
    find = partial(seen, plan, family, floor=floor, n_vignettes=cases, replicates=replicates)
    n_actions = len([action for action in family.actions if action in plan.actions])
    text = f"fairmed: family {family.name} ({family.size}): at a floor of {floor} it can find gaps "
    text += f"of {find():.2f} in one action"
    if n_actions > 1:
        text += f" or {find(every=True):.2f} in all {n_actions} of a swap"
    if replicates != family.replicates:
        text += f" with {replicates} replicates"
    text += " (power .8)"
    if family.margin is None:
        return f"{text} and, without a margin, certify nothing"
    chance = certification(plan, family, floor=floor, target=0.0).chance
    most = "at most " if replicates != family.replicates else ""
    return (
        f"{text}; chance to certify all inside ±{family.margin:g} if nothing differs: "
        f"{most}{chance:.2f}"
    )


def _leg_line(plan: Plan) -> list[str]:
    if not plan.first_leg:
        return []
    return [
        f"fairmed: {plan.first_leg} replicates first; from the floor of all arms together as many "
        f"follow as certify everything with chance {plan.certify:g}, {plan.replicates} at most"
    ]
