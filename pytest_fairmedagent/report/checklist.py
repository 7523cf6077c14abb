"""Reporting data for a checklist of studies with language models, taken out of a record.

The topics are those that TRIPOD-LLM asks to be reported (Gallifant et al., Nature Medicine 2025,
"The TRIPOD-LLM reporting guideline for studies using large language models"), in words of our own.
What a record cannot know is marked: it is for the authors to state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

Record = Mapping[str, Any]

SOURCE = "topics of TRIPOD-LLM (Gallifant et al., Nature Medicine 2025), in our own words"
UNKNOWN = "unknown"
AUTHORS = "unknown: to be stated by the authors"

_UNATTESTED = ("unattested", "unknown", "unstated", "")
_STATED_BY_AUTHORS = (
    ("title and abstract", "that a language model was evaluated, on which task and population"),
    ("background", "clinical context, intended use, and who is meant to use it"),
    ("model", "training data, their cut-off, and whether the cases may be among them"),
    ("data", "consent and privacy where cases come from patients"),
    ("oversight", "who reads the output in use, and what they can overrule"),
    ("ethics", "approval, or why none is needed"),
    ("open science", "funding"),
    ("open science", "conflicts of interest"),
    ("open science", "protocol and registration outside this project"),
    ("open science", "availability of data and code"),
    ("involvement", "patients and public"),
    ("discussion", "limitations, and to whom the results do not apply"),
)


def checklist(record: Record) -> list[dict[str, Any]]:
    """Return entries with `topic`, `item`, `value` (text) and `known`, for a run or an analysis."""
    entries = [*_model(record), *_prompts(record), *_data(record), *_sample(record)]
    entries += [*_analysis(record), *_results(record), *_compute(record)]
    entries += [(topic, item, None) for topic, item in _STATED_BY_AUTHORS]
    topics = list(dict.fromkeys(topic for topic, _, _ in entries))
    entries.sort(key=lambda entry: topics.index(entry[0]))
    return [
        {"topic": topic, "item": item, "value": value or AUTHORS, "known": _known(value)}
        for topic, item, value in entries
    ]


_Entry = tuple[str, str, "str | None"]  # None where a record cannot know it


def _known(value: str | None) -> bool:
    return bool(value) and not str(value).startswith(UNKNOWN)


def _configurations(record: Record) -> list[tuple[str, Mapping[str, Any], str]]:
    """Return name, configuration and digest of every agent of a run's record or an analysis."""
    if "runs" in record:
        return [(r["model"], r["configuration"], r["config_digest"]) for r in record["runs"]]
    return [
        (file["model"], fields if file["declared"] else {}, digest)
        for file in record["files"]
        for digest, fields in file["configurations"].items()
    ]


def _each(record: Record, *names: str) -> str:
    """Return values of the configurations, by model where there are several; unknown ones so."""
    told = []
    for model, fields, _ in _configurations(record):
        parts = []
        for name in names:
            value = fields.get(name)
            gone = value is None or str(value) in _UNATTESTED
            parts.append(f"{name} {UNKNOWN if gone else _text(value)}")
        told.append((model, ", ".join(parts)))
    texts = list(dict.fromkeys(text for _, text in told))
    if len(texts) == 1:
        only = texts[0]
        return UNKNOWN if all(part.endswith(UNKNOWN) for part in only.split(", ")) else only
    return "; ".join(f"{model}: {text}" for model, text in told) or UNKNOWN


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k}={_text(v)}" for k, v in value.items()) or "nothing"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    text = str(value)
    return text if len(text) <= 64 else f"{text[:12]}…"


def _model(record: Record) -> Iterator[_Entry]:
    names = list(dict.fromkeys(model for model, _, _ in _configurations(record)))
    yield "model", "name as it was asked for", ", ".join(names) or UNKNOWN
    yield "model", "name and version as reported by the back end", _each(record, "backend", "model")
    yield "model", "server and its version", _each(record, "server")
    yield "model", "weights (digest, quantisation)", _each(record, "weights", "quantisation")
    unattested = [
        model
        for model, fields, _ in _configurations(record)
        if str(fields.get("weights", "")) in _UNATTESTED
    ]
    yield (
        "model",
        "what nobody attests",
        f"the weights of {', '.join(dict.fromkeys(unattested))}: a hosted or unstated model may "
        "change under its name"
        if unattested
        else "nothing: weights are known by their digest",
    )
    yield "decoding", "parameters sent (unset: the server's own)", _each(record, "decoding")
    yield "decoding", "context window", _each(record, "num_ctx", "window")
    if "runs" in record:
        seeds = ", ".join(str(run["seed"]) for run in record["runs"])
        yield "decoding", "seed of schedule and draws", UNKNOWN if "None" in seeds else seeds
    digests = list(dict.fromkeys(digest[:12] for _, _, digest in _configurations(record)))
    yield "model", "digest of the whole configuration", ", ".join(digests) or UNKNOWN


def _prompts(record: Record) -> Iterator[_Entry]:
    yield "prompting", "agent and scaffold, with version", _each(record, "agent", "scaffold")
    yield "prompting", "digest of the prompts", _each(record, "prompts")
    yield "prompting", "stages that see the descriptor", _each(record, "exposure")
    yield "output", "parser, protocol and repairs", _each(record, "parser", "protocol", "repairs")


def _data(record: Record) -> Iterator[_Entry]:
    cases = record.get("vignettes")
    if not isinstance(cases, Mapping):
        numbers = {arm["vignettes"] for arm in record["arms"]}
        yield "data", "number of cases", f"{max(numbers)}" if numbers else UNKNOWN
        for item in ("domains", "provenance of the cases", "licence", "digests"):
            yield "data", item, UNKNOWN
    else:
        yield "data", "number of cases", str(len(cases))
        yield "data", "domains", _counted(case.get("domain") for case in cases.values())
        yield (
            "data",
            "provenance of the cases",
            _counted(c.get("provenance") for c in cases.values()),
        )
        yield (
            "data",
            "who has checked them",
            _counted(case.get("status") for case in cases.values()),
        )
        yield "data", "licence", _counted(case.get("licence") for case in cases.values())
        digests = [str(case.get("digest", "")) for case in cases.values()]
        known = all(digests) and bool(digests)
        yield "data", "digests", f"{len(digests)}, in the record" if known else UNKNOWN
    conditions = record.get("conditions") or {arm["condition"] for arm in record["arms"]}
    yield "data", "conditions compared", ", ".join(sorted(conditions)) or UNKNOWN


def _counted(values: Any) -> str:
    """Return different values with how often each is there, the most frequent first."""
    found = Counter(str(value) if value else UNKNOWN for value in values)
    if not found or set(found) == {UNKNOWN}:
        return UNKNOWN
    return "; ".join(f"{value} ({n})" for value, n in found.most_common(6)) + (
        f"; {len(found) - 6} more" if len(found) > 6 else ""
    )


def _sample(record: Record) -> Iterator[_Entry]:
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
            "what it can find is stated with each contrast (smallest detectable gap)",
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


def _analysis(record: Record) -> Iterator[_Entry]:
    plan = record.get("plan")
    if isinstance(plan, Mapping):
        families = "; ".join(
            f"{f['name']}: {len(f['swaps'])} swaps x {len(f['actions'])} actions at {f['alpha']:g}"
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
    yield (
        "analysis",
        "methods",
        "exact stratified test of the signed gap against the measured instability floor, Holm "
        "within a family, two one-sided tests for equivalence",
    )
    deviations = record.get("deviations")
    if deviations is None:
        yield "analysis", "deviations from the plan", UNKNOWN
    else:
        told = "; ".join(found["text"] for found in deviations)
        yield "analysis", "deviations from the plan", told or "none known to the record"


def _results(record: Record) -> Iterator[_Entry]:
    counts = ", ".join(f"{n} {status}" for status, n in record["verdicts"].items() if n)
    yield "results", "verdicts", counts or "none"
    floors = [
        f"{arm['condition']} {arm['pooled']['floor']:.3f}"
        for arm in record["arms"]
        if arm["pooled"]["floor"] is not None
    ]
    yield "results", "instability floor by arm, pooled", ", ".join(floors) or UNKNOWN
    controls = list(dict.fromkeys(control["condition"] for control in record["controls"]))
    yield "results", "negative controls", ", ".join(controls) or "none"


def _compute(record: Record) -> Iterator[_Entry]:
    budget = record.get("budget")
    if budget is None:
        for item in ("calls and tokens", "cost", "when and where"):
            yield "compute", item, UNKNOWN
        return
    yield (
        "compute",
        "calls and tokens",
        f"{budget['calls']} calls, {budget['input_tokens']} + {budget['output_tokens']} tokens, "
        f"{budget['elapsed_s']:.0f} s",
    )
    usd = budget["usd"]
    yield "compute", "cost", UNKNOWN if usd is None else f"${usd:.2f} by price table"
    environment = record["environment"]
    yield (
        "compute",
        "when and where",
        f"{record['created']}, {record['generator']}, Python {environment.get('python')}",
    )


def checklist_lines(entries: list[dict[str, Any]]) -> list[str]:
    """Return the entries in lines of at most 80 columns; what is unknown begins with a "?"."""
    from pytest_fairmedagent.report.text import fitted

    lines, topic = [SOURCE], ""
    for entry in entries:
        if entry["topic"] != topic:
            topic = entry["topic"]
            lines += ["", topic]
        mark = " " if entry["known"] else "?"
        lines.append(f"{mark} {entry['item']}: {entry['value']}")
    unknown = sum(not entry["known"] for entry in entries)
    lines += ["", f"{unknown} of {len(entries)} entries are unknown to the record (marked ?)"]
    return [part for line in lines for part in fitted(line, 80)]
