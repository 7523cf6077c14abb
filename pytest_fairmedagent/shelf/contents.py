"""What a store, a run and a trial hold, as plain JSON. What is printed is a view of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from pytest_fairmedagent.domain import ACTIONS, Catalogue, Trial, Vignette
from pytest_fairmedagent.errors import StoreError, closest
from pytest_fairmedagent.running.archive import DONE, FAILED, OPEN, Archive, StoredRun, StoredTrial
from pytest_fairmedagent.shelf.prompts import render_prompts

Record = dict[str, Any]

SCHEMA = 1


def store_contents(archive: Archive, *, check: bool = False) -> Record:
    """Return the runs of a store; with `check` also what of it is damaged."""
    return {
        "schema": SCHEMA,
        "store": str(archive.path),
        "bytes": archive.size,
        "store_schema": archive.schema,
        "damage": archive.check() if check else None,
        "runs": [_run(archive, run) for run in archive.runs()],
    }


def run_contents(archive: Archive, number: int | None) -> Record:
    """Return a run with its configuration and its arms."""
    run = archive.run(number)
    arms: dict[tuple[str, str], Counter[str]] = {}
    reasons: dict[str, Counter[str]] = {}
    for trial, stored in archive.trials(run).items():
        arms.setdefault((trial.vignette, trial.condition), Counter())[stored.state] += 1
        missing = stored.trajectory.missing if stored.trajectory else {}
        for stage, reason in missing.items():
            if reason != "not reached":
                reasons.setdefault(trial.condition, Counter())[f"{stage}: {reason}"] += 1
    return {
        "schema": SCHEMA,
        "store": str(archive.path),
        "run": {**_run(archive, run), "configuration": run.fields},
        "arms": [
            {"vignette": vignette, "condition": condition, **_states(found)}
            for (vignette, condition), found in arms.items()
        ],
        "missing": {condition: dict(found) for condition, found in reasons.items()},
    }


def trial_contents(
    archive: Archive,
    number: int | None,
    place: str,
    vignettes: Mapping[str, Vignette],
    catalogue: Catalogue,
) -> Record:
    """Return one trial: its outputs and labels, its calls, and their prompts if they are proven.

    `place` is VIGNETTE/CONDITION/REPLICATE; replicates count from 1, as in record files.
    """
    run = archive.run(number)
    stored = _trial_at(archive, run, place)
    calls, trajectory, trial = archive.calls(stored), stored.trajectory, stored.trial
    prompts = render_prompts(run, stored, calls, vignettes, catalogue)
    return {
        "schema": SCHEMA,
        "store": str(archive.path),
        "run": {"id": run.id, "model": run.model, "config_digest": run.configuration},
        "trial": {
            "vignette": trial.vignette,
            "condition": trial.condition,
            "replicate": trial.replicate + 1,
            "key": stored.key,
            "draw": stored.draw,
            "state": stored.state,
            "drawn_by_run": stored.origin,
            "finished": iso(stored.finished),
        },
        "outputs": trajectory.outputs if trajectory else {},
        "missing": dict(trajectory.missing) if trajectory else {},
        "labels": {name: action.read(trajectory) for name, action in ACTIONS.items()}
        if trajectory
        else {},
        "case": prompts.case.text if prompts.case else None,
        "prompts": prompts.note or ("as sent" if calls else "no call was kept"),
        "calls": [
            {
                "stage": call.stage,
                "attempt": call.attempt + 1,
                "seed": call.seed,
                "created": iso(call.created),
                "duration_s": call.duration_s,
                "request": call.request,
                **vars(call.reply),
                "messages": prompts.messages.get((call.stage, call.attempt)),
            }
            for call in calls
        ],
    }


def iso(seconds: float | None) -> str | None:
    """Return a time in seconds since the epoch as a date in UTC."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")


def _run(archive: Archive, run: StoredRun) -> Record:
    states = Counter(s.state for s in archive.trials(run, outputs=False).values())
    return {
        "id": run.id,
        "series": run.series,
        "created": iso(run.created),
        "finished": iso(run.finished),
        "imported": bool(run.imported),
        "model": run.model,
        "seed": run.seed,
        "config_digest": run.configuration,
        "plan_digest": run.plan,
        "replicates": run.replicates,
        "trials": _states(states),
    }


def _states(found: Counter[str]) -> dict[str, int]:
    return {state: found[state] for state in (DONE, FAILED, OPEN)}


def _trial_at(archive: Archive, run: StoredRun, place: str) -> StoredTrial:
    parts = place.split("/")
    if len(parts) != 3 or not (parts[2].isascii() and parts[2].isdigit()) or int(parts[2]) < 1:
        raise StoreError(
            f"--trial {place!r}: expected VIGNETTE/CONDITION/REPLICATE, replicates from 1, such as "
            "hot_knee_urgent_care/race_black/1"
        )
    vignette, condition, replicate = parts[0], parts[1], int(parts[2])
    trials = archive.trials(run)
    found = trials.get(Trial(vignette, condition, replicate - 1))
    if found is not None:
        return found
    where = f"{archive.path}: run {run.id}"
    vignettes = {trial.vignette for trial in trials}
    if vignette not in vignettes:
        raise StoreError(f"{where} has no vignette '{vignette}'.{closest(vignette, vignettes)}")
    conditions = {trial.condition for trial in trials if trial.vignette == vignette}
    if condition not in conditions:
        raise StoreError(
            f"{where} has no condition '{condition}' of {vignette}.{closest(condition, conditions)}"
        )
    last = 1 + max(
        t.replicate for t in trials if (t.vignette, t.condition) == (vignette, condition)
    )
    raise StoreError(
        f"{where} has replicates 1 to {last} of {vignette}/{condition}, not {replicate}"
    )
