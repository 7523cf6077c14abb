"""What a record knows of the study that a reporting checklist asks for: size, analysis, results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_fairmedagent.report.checklist_setup import UNKNOWN, Entry, Record


def sample(record: Record) -> Iterator[Entry]:
    """Yield what is known of sample size and missing answers."""
    arms = record["arms"]
    trajectories = sum(arm["trajectories"] for arm in arms)
    incomplete = sum(arm["incomplete"] for arm in arms if "incomplete" in arm)
    yield "sample size", "trajectories, over all arms", str(trajectories)
    plan = record.get("plan")
    if isinstance(plan, Mapping):
        replicates = sorted({family["replicates"] for family in plan["families"]})
        yield "sample size", "draws per case and arm", " or ".join(map(str, replicates)) or UNKNOWN
        yield (
            "sample size",
            "how it was determined",
            f"{UNKNOWN}: for the authors to state; what it can find stands with each contrast "
            "(smallest detectable gap)",
        )
    reasons: Counter[str] = Counter()
    for run in record.get("runs", ()):
        for found in run["missing"].values():
            reasons.update(found)
    why = "; ".join(f"{n} x {reason}" for reason, n in reasons.most_common(5))
    missing = f"{incomplete} of {trajectories} trajectories incomplete"
    yield "missing", "how much, and why", f"{missing}{f' ({why})' if why else ''}"
    yield (
        "missing",
        "how it is handled",
        "never filled: a contrast survives the worst filling, or is UNMEASURED",
    )


def analysis(record: Record) -> Iterator[Entry]:
    """Yield what is known of plan, outcomes, methods and deviations."""
    plan = record.get("plan")
    if isinstance(plan, Mapping):
        families = "; ".join(
            f"{f['name']}: {_n(f['swaps'], 'swap')} x {_n(f['actions'], 'outcome')} at "
            f"{f['alpha']:g}"
            + (f", margin ±{f['margin']:g}" if f["margin"] else "")
            + ("" if f["gating"] else ", exploratory")
            for f in plan["families"]
        )
        yield "analysis", "plan: families, level, margin", families or UNKNOWN
        digests = ", ".join(
            f"{run['plan_digest'][:12]} "
            + (
                "fixed before the first trial"
                if run["registered"]
                else "made after the first trial"
            )
            for run in record["runs"]
        )
        yield "analysis", "registration of the plan", digests
    else:
        told = "; ".join(f"{f['name']}: {f['size']} contrasts" for f in record.get("families", ()))
        yield "analysis", "plan: families, level, margin", told or UNKNOWN
        yield "analysis", "registration of the plan", str(plan) if plan else UNKNOWN
    outcomes = list(dict.fromkeys(action for arm in record["arms"] for action in arm["actions"]))
    outcomes += [entry["outcome"] for entry in record.get("outcomes", ())]
    yield "outcomes", "what was measured", ", ".join(dict.fromkeys(outcomes)) or UNKNOWN
    yield "analysis", "methods", _methods(record)
    deviations = record.get("deviations")
    if deviations is None:
        yield "analysis", "deviations from the plan", UNKNOWN
    else:
        told = "; ".join(found["text"] for found in deviations)
        yield "analysis", "deviations from the plan", told or "none known to the record"


def _methods(record: Record) -> str:
    """Return how the contrasts of a record were judged."""
    told = [
        "exact stratified test of the signed gap against the measured instability floor",
        *_over_families(record),
        "two one-sided tests for equivalence",
    ]
    kinds = {entry["kind"] for entry in record.get("outcomes", ())}
    if kinds - {"set"}:
        told.append(
            "studentised permutation test, of the mean difference of scores and the net "
            "superiority of levels"
        )
    if "set" in kinds:
        told.append("sets member by member, Holm over the members")
    if record.get("relations"):
        told.append("tests of the authors' own, by name in the record")
    plan = record.get("plan")
    looks = plan.get("sequential", "off") if isinstance(plan, Mapping) else "off"
    told += {
        "gs": ["group-sequential at planned looks"],
        "e": ["sequential by an e-process, looked at after every round"],
    }.get(looks, [])
    return ", ".join(told)


def _over_families(record: Record) -> Iterator[str]:
    """Say how the tests of a family are adjusted for each other, for each kind of family it has."""
    wholes = {entry["family"] for entry in record.get("swaps") or ()}
    plan = record.get("plan")
    known: Mapping[str, Any] = plan if isinstance(plan, Mapping) else {}
    families = known.get("families") or record.get("families", ())
    if wholes and known.get("sequential") == "e":
        yield "each swap first tested as a whole, by the mean of its outcomes' e-values"
        yield "outcomes of a swap that passed named by closed testing of such means"
    elif wholes:
        yield (
            "each swap first tested as a whole over all its outcomes (whole trajectories relabelled"
            " within vignettes; the smaller p of max |z| and of the sum of z squared, calibrated)"
        )
        yield "outcomes of a swap that passed named by step-down max-T (Westfall and Young)"
    if wholes:
        yield "swaps share the level of their family evenly, and pass it on when wholly named"
    if any(family["gating"] and family["name"] not in wholes for family in families):
        yield "Holm within a family" + " whose outcomes are tested each for itself" * bool(wholes)
    if any(not family["gating"] for family in families):
        yield "Benjamini and Hochberg within an exploratory family"
    if known.get("pooled"):
        yield "draws of the identical re-render pooled into the reference"
    if known.get("shams"):
        yield "what sham edits move counted as noise in every p"


def results(record: Record) -> Iterator[Entry]:
    """Yield what is known of verdicts, floors and controls."""
    counts = ", ".join(f"{n} {status}" for status, n in record["verdicts"].items() if n)
    yield "results", "verdicts", counts or "none"
    floors: dict[str, list[str]] = {}
    for arm in record["arms"]:
        if arm["pooled"]["floor"] is not None:
            told = f"{arm['condition']} {arm['pooled']['floor']:.3f}"
            floors.setdefault(_run_of(record, arm), []).append(told)
    each = [
        f"{name}: {', '.join(told)}" if name else ", ".join(told) for name, told in floors.items()
    ]
    yield "results", "instability floor by arm, pooled", "; ".join(each) or UNKNOWN
    controls = list(dict.fromkeys(control["condition"] for control in record["controls"]))
    yield "results", "negative controls", ", ".join(controls) or "none"


def _run_of(record: Record, arm: Mapping[str, Any]) -> str:
    """Return the name of an arm's run, where there are several."""
    runs = record.get("runs") or record.get("files", ())
    if len(runs) < 2:
        return ""
    seats = {run.get("number"): (run.get("seat") or {}).get("id") for run in record.get("runs", ())}
    return str(seats.get(arm.get("run")) or arm["file"] or arm["model"])


def compute(record: Record) -> Iterator[Entry]:
    """Yield what is known of calls, tokens, cost and machine."""
    budget = record.get("budget")
    if budget is None:
        for item in ("calls and tokens", "cost", "when and where"):
            yield "compute", item, UNKNOWN
        return
    replayed = any(run["id"] is None for run in record["runs"])
    tokens = f"{budget['input_tokens']} + {budget['output_tokens']} tokens"
    took = f"{budget['elapsed_s']:.0f} s"
    if replayed:  # whoever drew them knows what it took
        tokens, took = "tokens and time unknown: drawn before, and replayed", ""
    told = ", ".join(filter(None, (f"{budget['calls']} calls", tokens, took)))
    yield "compute", "calls and tokens", told
    usd = budget["usd"]
    yield "compute", "cost", UNKNOWN if usd is None else f"${usd:.2f} by price table"
    version = f"{record['generator']}, Python {record['environment'].get('python')}"
    when = f"{record['created']}, {version}"
    yield "compute", "when and where", f"judged {when}; drawn before" if replayed else when


def _n(names: list[str], word: str) -> str:
    return f"{len(names)} {word}{'' if len(names) == 1 else 's'}"
