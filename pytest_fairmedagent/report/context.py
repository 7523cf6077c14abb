"""What a run record says around its verdicts: controls, cases, conditions, cost, deviations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from pytest_fairmedagent.domain import Contrast, ReplicateTable
from pytest_fairmedagent.files.vignettes import CANARY
from pytest_fairmedagent.relations.invariance import Comparison, compare
from pytest_fairmedagent.report.entries import comparison_entry
from pytest_fairmedagent.report.looked import goes_on, looked_lines
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.verdict import Judgement

Record = dict[str, Any]

LICENCE = "CC-BY-4.0"  # of the cases that come with the project, known by their canary

_SUMMED = ("calls", "repairs", "retries", "input_tokens", "output_tokens", "elapsed_s")


def control_entries(
    table: ReplicateTable, judgement: Judgement, *, config_digest: str
) -> Iterator[Record]:
    """Yield what every control arm does against the reference, for each action; no verdicts."""
    plan = judgement.plan
    for condition in plan.controls:
        vignettes = [v for v in judgement.vignettes if table.has([v], condition)]
        for action in plan.actions if vignettes else ():
            contrast = Contrast("", condition, action)
            comparison: Comparison = compare(table, contrast, vignettes, plan.reference)
            yield {
                "kind": "identical" if condition in plan.identical else "sham",
                "reference": plan.reference,
                **comparison_entry(comparison),
                "config_digest": config_digest,
            }


def row_entries(study: Study) -> Iterator[Record]:
    """Yield the trajectories as record files have them, with configuration and labels by action."""
    table, seen = study.table, Counter[tuple[str, str]]()
    for row in study.rows() if table is not None and study.info is not None else ():
        place = (str(row["vignette"]), str(row["condition"]))
        labels = {a: table.labels(*place, a)[seen[place]] for a in study.plan.actions}  # type: ignore[union-attr]
        seen[place] += 1
        yield {**row, "config": study.info.config_digest, "labels": labels}  # type: ignore[union-attr]


def condition_entries(studies: Iterable[Study]) -> dict[str, Record]:
    """Return kind, attribute and descriptor of every condition that was drawn, where known."""
    found: dict[str, Record] = {}
    for study in studies:
        for name in study.table.conditions if study.table else ():
            known = study.catalogue.conditions.get(name)
            if known is not None:
                found[name] = {
                    "kind": known.kind,
                    "attribute": known.attribute,
                    "descriptor": known.descriptor,
                }
    return found


def vignette_entries(studies: Iterable[Study]) -> dict[str, Record]:
    """Return labels, provenance and digest of every vignette. Its text is nowhere in a record."""
    return {
        name: {
            "domain": vignette.domain,
            "difficulty": vignette.difficulty,
            "provenance": vignette.provenance,
            "status": vignette.status,
            "licence": LICENCE if vignette.canary == CANARY else None,
            "digest": vignette.digest,
            **({"cluster": vignette.base} if vignette.base != name else {}),
        }
        for study in studies
        for name, vignette in sorted(study.vignettes.items())
    }


def budget_entry(runs: Sequence[Mapping[str, Any]]) -> Record:
    """Return what the runs took together. `usd` is None where no price is known, which is not 0."""
    prices = [run.get("spent_usd") for run in runs]
    known = [price for price in prices if price is not None]
    return {
        **{name: sum(run[name] for run in runs) for name in _SUMMED},
        "usd": sum(known) if known and len(known) == len(prices) else None,
    }


def deviation_entries(record: Record, options: Iterable[str] = ()) -> list[Record]:
    """Return what of the run was not as the plan has it.

    `options` tell, a line each, which of the plan's values were overridden by options.
    """
    found = [{"kind": "option", "text": text} for text in options]
    found += [{"kind": "selection", "text": text} for text in _not_run(record)]
    for run in record["runs"]:
        if not run["complete"]:
            text = f"the plan was not drawn to its end: {goes_on(run)} draws the rest"
            found.append({"kind": "incomplete", "text": run.get("ended") or text})
        told = looked_lines(run)
        found += [{"kind": "looks", "text": line} for line in told]
        if run["earlier_looks"] and not told:
            looks = ", ".join(f"R={r}" for r in run["earlier_looks"])
            text = f"this design was judged before at {looks}, and more was drawn after the look"
            found.append({"kind": "earlier looks", "text": text})
        if run["id"] is None and run["created"] is None:
            text = f"the trajectories were drawn before this plan was made: {run['model']}"
            found.append({"kind": "replayed", "text": text})
        elif not run["registered"]:
            found.append({"kind": "post hoc", "text": "the plan was made after the first trial"})
    return found


def interrupted_entry(record: Record) -> Record:
    """Have a record say that its run was interrupted, and return it."""
    text = "the run was interrupted: this record holds what was drawn until then"
    record["interrupted"] = True
    record["deviations"].insert(0, {"kind": "interrupted", "text": text})
    record["diagnostics"].append({"kind": "interrupted", "text": text})
    return record


def _not_run(record: Record) -> Iterator[str]:
    """Say for each family how many of its registered members were not run."""
    for family in record["plan"]["families"]:
        cases = len(family["vignettes"]) if family["per_vignette"] else 1
        size = len(family["swaps"]) * len(family["actions"]) * cases
        judged = (record.get(part, ()) for part in ("contrasts", "outcomes", "relations"))
        run = {
            (c["condition"], c["outcome"] if "outcome" in c else c["action"], c["vignette"])
            for c in chain(*judged)
            if c["family"] == family["name"]
        }
        if len(run) < size:
            yield (
                f"{len(run)} of the {size} contrasts registered in {family['name']} were run; the "
                "others count with p = 1"
            )
