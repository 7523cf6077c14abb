"""What a record knows of the set-up that a reporting checklist asks for: model, prompts, data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

Record = Mapping[str, Any]
Entry = tuple[str, str, "str | None"]  # topic, item, value: None where a record cannot know it

UNKNOWN = "unknown"

_UNATTESTED = ("unattested", "unknown", "unstated", "")


def model(record: Record) -> Iterator[Entry]:
    """Yield what is known of models, decoding and configuration."""
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
        else "nothing: simulated answers come from no weights"
        if {f.get("backend") for _, f, _ in _configurations(record)} == {"simulated"}
        else "nothing: weights are known by their digest",
    )
    yield "decoding", "parameters sent (unset: the server's own)", _each(record, "decoding")
    yield "decoding", "context window", _each(record, "num_ctx", "window")
    if "runs" in record:
        seeds = ", ".join(str(run["seed"]) for run in record["runs"])
        yield "decoding", "seed of schedule and draws", UNKNOWN if "None" in seeds else seeds
    digests = list(dict.fromkeys(digest[:12] for _, _, digest in _configurations(record)))
    yield "model", "digest of the whole configuration", ", ".join(digests) or UNKNOWN


def prompts(record: Record) -> Iterator[Entry]:
    """Yield what is known of agent, prompts and parser."""
    stated = {name for _, fields, _ in _configurations(record) for name in fields}
    names = [n for n in ("agent_version", "scaffold", "scaffold_version") if n in stated]
    yield "prompting", "agent and scaffold, with version", _each(record, "agent", *names)
    yield "prompting", "digest of the prompts", _each(record, "prompts")
    yield "prompting", "stages that see the descriptor", _each(record, "exposure")
    yield "output", "parser, protocol and repairs", _each(record, "parser", "protocol", "repairs")


def data(record: Record) -> Iterator[Entry]:
    """Yield what is known of cases and conditions."""
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


def _counted(values: Any) -> str:
    """Return different values with how often each is there, the most frequent first."""
    found = Counter(str(value) if value else UNKNOWN for value in values)
    if not found or set(found) == {UNKNOWN}:
        return UNKNOWN
    return "; ".join(f"{value} ({n})" for value, n in found.most_common(6)) + (
        f"; {len(found) - 6} more" if len(found) > 6 else ""
    )
