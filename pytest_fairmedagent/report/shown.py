"""The contents of a store in lines for people.

Replies are text that a model wrote: they are printed behind a bar and without control characters,
so that they can neither move the cursor nor give a command to a CI log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_fairmedagent.report.text import clean, file_size, harmless

Record = dict[str, Any]


def store_lines(record: Record) -> list[str]:
    """Return the list of runs."""
    n_runs = f"{len(record['runs'])} {'run' if len(record['runs']) == 1 else 'runs'}"
    lines = [f"store  {record['store']}, {file_size(record['bytes'])}, {n_runs}"]
    if record["damage"] is not None:
        lines += [f"damage {found}" for found in record["damage"]] or ["check  nothing is damaged"]
    if record["runs"]:
        lines += ["", f"{'run':>4}  {'begun':<16}  {'config':<12}  {'trials':<36}  model"]
        lines += [
            f"{run['id']:>4}  {_minute(run['created'])}  {run['config_digest'][:12]:<12}  "
            f"{_trials(run):<36}  {run['model']}{' (imported)' if run['imported'] else ''}"
            for run in record["runs"]
        ]
    return _safe(lines)


def run_lines(record: Record) -> list[str]:
    """Return a run with its configuration and its arms."""
    run = record["run"]
    finished = f"finished {_minute(run['finished'])}" if run["finished"] else "not finished"
    lines = [
        f"run     {run['id']} of {record['store']}, begun {_minute(run['created'])}, "
        + (f"imported {_minute(run['finished'])}" if run["imported"] else finished),
        f"model   {run['model']}, series {run['series']}, seed {run['seed']}",
        f"plan    {run['plan_digest'][:12] or 'not stated'}, {run['replicates']} replicates",
        f"trials  {_trials(run)}",
        f"config  {run['config_digest'][:12]}",
        *(f"        {k}: {_value(v)}" for k, v in sorted(run["configuration"].items())),
    ]
    for condition, reasons in record["missing"].items():
        lines += [f"missing {condition}: {n} x {reason}" for reason, n in sorted(reasons.items())]
    lines += ["", f"{'done':>5} {'failed':>6} {'open':>5}  arm (--trial ARM/REPLICATE)"]
    lines += [
        f"{a['done']:>5} {a['failed']:>6} {a['open']:>5}  {a['vignette']}/{a['condition']}"
        for a in record["arms"]
    ]
    return _safe(lines)


def trial_lines(record: Record) -> list[str]:
    """Return one trajectory with its calls."""
    trial, run = record["trial"], record["run"]
    when = f", drawn by run {trial['drawn_by_run']}" if trial["drawn_by_run"] else ""
    when += f" at {_minute(trial['finished'])}" if trial["finished"] else ""
    lines = [
        f"trial   {trial['vignette']}/{trial['condition']}/{trial['replicate']}: {trial['state']}"
        f"{when}",
        f"run     {run['id']} of {record['store']}, {run['model']}, config "
        f"{run['config_digest'][:12]}",
        f"key     {trial['key'][:12]}, draw {trial['draw']}",
    ]
    for stage, fields in record["outputs"].items():
        lines.append(f"output  {stage}: {_value(fields)}")
    lines += [f"missing {stage}: {reason}" for stage, reason in record["missing"].items()]
    labels = {True: "yes", False: "no", None: "missing"}
    found = [f"{action} {labels[label]}" for action, label in record["labels"].items()]
    lines += [f"labels  {', '.join(found)}"] if found else []
    lines.append(f"prompts {record['prompts']}")
    if record["case"] and not any(call["messages"] for call in record["calls"]):
        lines += _quoted("case", record["case"])
    shown: Sequence[Record] = ()
    for call in record["calls"]:
        lines += ["", *_call(call, shown)]
        shown = call["messages"] or ()
    if not record["calls"]:
        lines.append("calls   none: the agent makes none, or raw replies were not to be kept")
    return _safe(lines)


def _call(call: Record, shown: Sequence[Record]) -> Iterator[str]:
    yield (
        f"call    {call['stage']}, attempt {call['attempt']}: {call['finish']}, "
        f"{call['input_tokens']} + {call['output_tokens']} tokens, {call['duration_s']:.2f} s, "
        f"seed {call['seed']}" + (f", id {call['response_id']}" if call["response_id"] else "")
    )
    messages = call["messages"] or ()
    same = 0  # the conversation grows: what the call before has shown is not shown again
    while same < min(len(shown), len(messages)) and shown[same] == messages[same]:
        same += 1
    if same:
        yield f"  ... {same} messages as before"
    for message in messages[same:]:
        yield from _quoted(message["role"], message["content"])
    yield from _quoted("reply", call["text"])


def _quoted(name: str, text: str) -> Iterator[str]:
    for index, line in enumerate(text.expandtabs(4).splitlines() or [""]):
        yield f"  {name if not index else '':>9} | {line}"


def _safe(lines: Sequence[str]) -> list[str]:
    return [harmless(clean(line)).rstrip() for line in lines]


def _trials(run: Record) -> str:
    states = run["trials"]
    return f"{states['done']} done, {states['failed']} failed, {states['open']} open"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _minute(stamp: str) -> str:
    return f"{stamp[:10]} {stamp[11:16]}"
