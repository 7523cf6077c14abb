"""One study of the records of sharded jobs, to be judged anew.

Each job counts the members that it did not run with p = 1, so no verdict of a job is that of the
whole: the families are judged again over all rows, by the rule that every run is judged by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_fairmedagent.domain import Catalogue, Contrast, ReplicateTable, Trajectory
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.files.record_row import Row, trajectory_of
from pytest_fairmedagent.running.info import RunInfo
from pytest_fairmedagent.shelf.shards import Shard, check_alike, read_shard
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.verdict.looks import together

Place = tuple[str, str, int]


@dataclass(frozen=True)
class Merged:
    """The study of all jobs together, their records, and how many copies of rows they held."""

    study: Study
    shards: tuple[Shard, ...]
    n_copies: int


def merge(paths: Sequence[Path]) -> Merged:
    """Return the study of all jobs together.

    A trajectory that stands alike in several records counts once. Raises PlanError where the jobs
    are no shards of one run, or where two drew the same trial differently.
    """
    again = [path for i, path in enumerate(paths) if path.resolve() in _resolved(paths[:i])]
    if again:
        raise PlanError(f"{again[0]}: is named twice. Name each record once.")
    shards = tuple(read_shard(path) for path in paths)
    check_alike(shards)
    _check_own(shards)
    _check_ends(shards)
    rows, n_copies = _union(shards)
    _check_ids(shards, rows)
    first = shards[0]
    study = Study(plan=first.plan, vignettes={}, catalogue=Catalogue({}))
    arms = _by_arm(rows)
    numbers: dict[tuple[str, str], list[int]] = {arm: [] for arm in arms}
    for vignette, condition, replicate in sorted(rows):
        numbers[vignette, condition].append(replicate - 1)
    clusters = {row.vignette: row.cluster for row in rows.values() if row.cluster}
    digest = first.info.config_digest
    study.table = ReplicateTable(arms, digest, numbers=numbers, clusters=clusters)
    study._present = _present(shards)  # what the jobs ran; the other members enter with p = 1
    whole = sum(arm.replicates for arm in first.plan.arms(study._present))
    study.info = _info(shards, rows, whole)
    return Merged(study, shards, n_copies)


def _resolved(paths: Sequence[Path]) -> set[Path]:
    return {path.resolve() for path in paths}


def _union(shards: Sequence[Shard]) -> tuple[dict[Place, Row], int]:
    """Return every trajectory once, and how many further copies there were."""
    rows: dict[Place, Row] = {}
    origin: dict[Place, Shard] = {}
    conflicts: list[tuple[Place, Shard, Shard]] = []
    n_copies = 0
    for shard in shards:
        for place, row in shard.rows.items():
            if place not in rows:
                rows[place], origin[place] = row, shard
            elif rows[place] == row:
                n_copies += 1
            else:
                conflicts.append((place, origin[place], shard))
    if conflicts:
        (vignette, condition, replicate), a, b = conflicts[0]
        raise PlanError(
            f"{a.path} and {b.path}: both drew {vignette}, {condition}, replicate {replicate}, and "
            f"not alike ({len(conflicts)} such trials). Which draw counts cannot be chosen "
            "afterwards.\n  Let the jobs share their draws: hand one --fairmed-store from job to "
            "job. Or split them by vignette, with tests that take `vignette`."
        )
    return rows, n_copies


def _check_own(shards: Sequence[Shard]) -> None:
    """Refuse what only code of the user's own can read or judge: a record holds none."""
    own = [name for name, _, _ in shards[0].plan.outcomes]
    if not own:
        own = sorted({entry["relation"] for s in shards for entry in s.header["relations"]})
    if own:
        raise PlanError(
            f"{shards[0].path}: {', '.join(own)} is of your own code, and a record has no code to "
            "judge by.\n  Hand one --fairmed-store from job to job; a last job that selects all "
            "tests then draws nothing and judges the whole."
        )


def _check_ends(shards: Sequence[Shard]) -> None:
    """Refuse a job that a budget ended: at which round the whole is judged would be a choice."""
    for shard in shards:
        if shard.info.ended:
            raise PlanError(
                f"{shard.path}: its job ended before its plan, after {shard.info.replicates} "
                f"rounds: {shard.info.ended}.\n  Run the same command with a higher limit: it "
                "goes on where the job stopped. Then merge."
            )


def _check_ids(shards: Sequence[Shard], rows: Mapping[Place, Row]) -> None:
    """Refuse records that tell of repeated answers and not of which: judged anew, they'd pass."""
    for shard in shards:
        told = any(d.get("kind") == "repeated answer" for d in shard.header["diagnostics"])
        if told and not any(row.response_ids for row in shard.rows.values()):
            raise PlanError(
                f"{shard.path}: tells that an answer was read twice, and its rows have no "
                "'response_ids' to tell which.\n  Merge records of a newer pytest-fairmedagent."
            )


def _by_arm(rows: Mapping[Place, Row]) -> dict[tuple[str, str], list[Trajectory]]:
    arms: dict[tuple[str, str], list[Trajectory]] = {}
    for (vignette, condition, _), row in sorted(rows.items()):
        arms.setdefault((vignette, condition), []).append(trajectory_of(row))
    return arms


def _present(shards: Sequence[Shard]) -> set[Contrast]:
    return {contrast for shard in shards for contrast in shard.contrasts}


def _info(shards: Sequence[Shard], rows: Mapping[Place, Row], whole: int) -> RunInfo:
    """Return what is to be known of all jobs together, of `whole` trials that the plan has."""
    infos = [shard.info for shard in shards]
    complete = all(info.complete for info in infos)
    prices = [info.spent_usd for info in infos if info.spent_usd is not None]
    notes = dict.fromkeys(n for info in infos for n in info.concurrency.get("notes", ()))
    seeds = {info.seed for info in infos}
    drawn = min(len(rows), sum(info.drawn for info in infos))
    missing: dict[str, dict[str, int]] = {}
    for (_, condition, _), row in rows.items():
        reason = next((f"{s}: {r}" for s, r in row.missing.items() if r != "not reached"), None)
        if reason is not None:
            reasons = missing.setdefault(condition, {})
            reasons[reason] = reasons.get(reason, 0) + 1
    return replace(
        infos[0],
        id=None,
        toy=any(info.toy for info in infos),
        seed=seeds.pop() if len(seeds) == 1 else None,
        created=min((i.created for i in infos if i.created is not None), default=None),
        drawn=drawn,
        earlier=len(rows) - drawn,
        since=min((i.since for i in infos if i.since is not None), default=None),
        registered=all(info.registered for info in infos),
        earlier_looks=tuple(sorted({look for info in infos for look in info.earlier_looks})),
        calls=sum(row.calls for row in rows.values()),
        repairs=sum(row.retries for row in rows.values()),
        retries=sum(info.retries for info in infos),
        input_tokens=sum(info.input_tokens for info in infos),
        output_tokens=sum(info.output_tokens for info in infos),
        missing=missing,
        elapsed_s=sum(info.elapsed_s for info in infos),
        store=", ".join(str(shard.path) for shard in shards),
        complete=complete,
        looks=tuple(sorted({look for info in infos for look in info.looks})),
        saved=whole - len(rows) if complete else 0,
        spent_usd=sum(prices) if len(prices) == len(infos) else None,
        concurrency={**infos[0].concurrency, "notes": list(notes)},
        store_bytes=0,  # there is no one store
        calls_found=sum(info.calls_found for info in infos),
        calls_made=sum(info.calls_made for info in infos),
        fresh=any(info.fresh for info in infos),
        offline=all(info.offline for info in infos),
        ledger=together([info.ledger for info in infos]),
        starts=max((info.starts for info in infos), key=len),
    )
