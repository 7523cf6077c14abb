"""Reporting data for a checklist of studies with language models, taken out of a record.

The topics are those that TRIPOD-LLM asks to be reported (Gallifant et al., Nature Medicine 2025,
"The TRIPOD-LLM reporting guideline for studies using large language models"), in words of our own.
What a record cannot know is marked: it is for the authors to state.
"""

from __future__ import annotations

from typing import Any

from pytest_fairmedagent.report import checklist_setup as setup
from pytest_fairmedagent.report import checklist_study as study
from pytest_fairmedagent.report.checklist_setup import UNKNOWN, Entry, Record
from pytest_fairmedagent.report.text import fitted

SOURCE = "topics of TRIPOD-LLM (Gallifant et al., Nature Medicine 2025), in our own words"
AUTHORS = "unknown: to be stated by the authors"

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
    entries: list[Entry] = [*setup.model(record), *setup.prompts(record), *setup.data(record)]
    entries += [*study.sample(record), *study.analysis(record)]
    entries += [*study.results(record), *study.compute(record)]
    entries += [(topic, item, None) for topic, item in _STATED_BY_AUTHORS]
    topics = list(dict.fromkeys(topic for topic, _, _ in entries))
    entries.sort(key=lambda entry: topics.index(entry[0]))
    return [
        {"topic": topic, "item": item, "value": value or AUTHORS, "known": _known(value)}
        for topic, item, value in entries
    ]


def _known(value: str | None) -> bool:
    return bool(value) and not str(value).startswith(UNKNOWN)


def checklist_lines(entries: list[dict[str, Any]]) -> list[str]:
    """Return the entries in lines of at most 80 columns; what is unknown begins with a "?"."""
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
