"""10,000 malformed replies through the whole clinical agent: no crash, no default, a reason each.

Of every trajectory one stage is answered by the fuzzer, the others as they should be. The fuzzer is
hypothesis: arbitrary text, arbitrary JSON under the right names, right answers that were cut,
doubled, spliced or wrapped, and the corpus `tests/agents/replies.json`, whole or spliced. What the
agent makes of a reply is held against the text by a reading of its own, `unfounded`.
`python -m benchmarks fuzz_replies 500` reads 500. Two runs read the same replies.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from pytest_fairmedagent.agents import prompts
from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import Trajectory, render
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.base import Message, Reply, Schema
from pytest_fairmedagent.testing import blank_vignettes

CORPUS = Path(__file__).parents[1] / "tests" / "agents" / "replies.json"
BATCH = 500
STAGES = tuple(stage.name for stage in prompts.STAGES)
FINISHES = (*("stop",) * 12, "length", "length", "refusal", "tool_use", "")

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_AROUND = (
    *(("```json\n", "\n```"), ("```", ""), ("<think>{", "}</think>"), ("<think>", "</think>")),
    *(("Answer: ", ""), ("", " {"), ("{", ""), ("", "}"), ("\ufeff", ""), ("", "\x00"), ("[", "]")),
    *(('{"answer": ', "}"), ('{"draft": ', ', "x'), ("{{", "}}"), ("'", "'"), ("<think>", "")),
)
_TOKENS = (
    *("1e400", "-1e400", "NaN", "Infinity", "-0", "02", "2.0", "2.5", "1e0", "0x2", "+2", "٢"),
    *("true", "True", '"true"', '"2"', "null", "None", "[]", "[2]", "{}", '""', "", "2 3", "2,0"),
    *("9" * 400, "9" * 5000, "-1", "101", '"\\ud800"', "\ud800", '"\x00"', "// 2", "undefined"),
)


@dataclass
class Fuzzed:
    """What came of the replies. `wrong` tells of each that broke a rule which one it was."""

    n_replies: int = 0
    n_read: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def fuzz(n_replies: int) -> Fuzzed:
    """Return what the agent made of at least so many replies."""
    entries = json.loads(CORPUS.read_text(encoding="utf-8"))
    corpus = tuple(entry["text"] for entry in entries)
    case = render(blank_vignettes(1)["case_00"], read_swaps().conditions["reference"])
    found = Fuzzed()
    batch = 0
    while found.n_replies < n_replies:
        most = min(BATCH, n_replies - found.n_replies)

        @seed(batch)
        @settings(
            max_examples=most, database=None, deadline=None, suppress_health_check=HealthCheck
        )
        @given(st.sampled_from(STAGES), st.data())
        def attack(stage: str, data: st.DataObject) -> None:
            fuzzer = _Fuzzer(stage, data, corpus)
            try:
                trajectory = ClinicalAgent().run(case, fuzzer)
            except Exception as error:  # that none comes is what is shown
                found.wrong.append(f"{stage}: {error!r} of {fuzzer.replies}")
            else:
                _judge(fuzzer, trajectory, found)

        attack()
        batch += 1
    return found


class _Fuzzer:
    """Answers one stage with what hypothesis draws, and the others as their schemas ask."""

    replicate = 0

    def __init__(self, stage: str, data: st.DataObject, corpus: tuple[str, ...]) -> None:
        self.stage, self.schema = stage, {}
        self.replies: list[Reply] = []
        self.told: list[str] = []  # why a reply was not taken, as the next prompt says it
        self._data, self._corpus = data, corpus

    def __call__(
        self,
        stage: str,
        attempt: int,
        messages: tuple[Message, ...],
        schema: Schema,
        max_tokens: int,
    ) -> Reply:
        json.dumps(messages, ensure_ascii=False).encode()  # as the clients send them
        if stage != self.stage:
            return Reply(json.dumps(valid(schema)))
        self.schema = dict(schema)
        if attempt:
            self.told.append(messages[-1]["content"])
        finish = self._data.draw(st.sampled_from(FINISHES))
        reply = Reply(self._data.draw(_texts(json.dumps(valid(schema)), self._corpus)), finish)
        self.replies.append(reply)
        return reply


def valid(schema: Schema) -> dict[str, Any]:
    """Return an answer that a stage's schema allows."""
    return {
        name: kind["items"]["enum"][:1] if kind["type"] == "array" else kind.get("minimum", True)
        for name, kind in schema["properties"].items()
    }


@cache
def _texts(whole: str, corpus: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Return what may come in the place of an answer, given as JSON."""
    answer = json.loads(whole)
    first, *others = answer  # the corpus speaks of two fields of the first stage
    forms = [
        text.replace("esi_acuity", first).replace("urgency_score", others[0] if others else "why")
        for text in corpus
    ]
    known = st.just(whole) | st.sampled_from(forms)
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
        ),
        max_leaves=6,
    )
    return st.one_of(
        st.text(max_size=200),
        st.text(alphabet='{}[]":,\\ \n0123e-truefalsn<think>/', max_size=80),
        known,
        st.fixed_dictionaries(dict.fromkeys(answer, values)).map(json.dumps),
        st.tuples(st.sampled_from(list(answer)), st.sampled_from(_TOKENS)).map(
            lambda bent: _text({**answer, bent[0]: _Raw(bent[1])})
        ),
        st.sampled_from(list(answer)).map(
            lambda name: f'{whole[:-1]}, "{name}": {json.dumps(answer[name])}}}'
        ),
        st.tuples(known, st.integers(0, 99)).map(lambda cut: cut[0][: len(cut[0]) * cut[1] // 99]),
        st.tuples(known, known, st.integers(0, 99), st.integers(0, 99)).map(
            lambda two: two[0][: len(two[0]) * two[2] // 99] + two[1][len(two[1]) * two[3] // 99 :]
        ),
        st.tuples(st.just(whole), st.integers(0, len(whole)), st.characters()).map(
            lambda put: put[0][: put[1]] + put[2] + put[0][put[1] :]
        ),
        st.tuples(st.lists(st.sampled_from(_AROUND), max_size=3), known).map(_wrapped),
    )


class _Raw(str):
    """Text that stands for a value as it is, not in quotes."""


def _text(answer: dict[str, Any]) -> str:
    parts = (f'"{n}": {v if isinstance(v, _Raw) else json.dumps(v)}' for n, v in answer.items())
    return f"{{{', '.join(parts)}}}"


def _wrapped(layers: tuple[list[tuple[str, str]], str]) -> str:
    text = layers[1]
    for before, after in layers[0]:
        text = f"{before}{text}{after}"
    return text


def _judge(fuzzer: _Fuzzer, trajectory: Trajectory, found: Fuzzed) -> None:
    """Count how the replies of a trajectory ended, and note what should not be."""
    stage, replies = fuzzer.stage, fuzzer.replies
    output, reason = trajectory.outputs.get(stage), trajectory.missing.get(stage, "")
    found.n_replies += len(replies)
    found.n_read += output is not None
    reasons = [*fuzzer.told, *([reason] if output is None else [])]
    found.reasons.update(_kind(text) for text in reasons)
    if (output is None) != bool(reason) or reason == "not reached":
        found.wrong.append(f"{stage}: {output} and the reason {reason!r} of {replies}")
    if len(reasons) + (output is not None) != len(replies):
        found.wrong.append(f"{stage}: {len(reasons)} reasons of {replies}")
    if output is not None and (why := unfounded(output, replies[-1], fuzzer.schema)):
        found.wrong.append(f"{stage}: {output} of {replies[-1]}: {why}")
    for at, other in enumerate(STAGES):
        reached = output is not None or at < STAGES.index(stage)
        if other != stage and reached != (other in trajectory.outputs):
            found.wrong.append(f"{stage}: {other} is {trajectory.outputs.get(other)}")
        if other not in trajectory.outputs and not trajectory.missing.get(other):
            found.wrong.append(f"{stage}: {other} is missing without a reason")
    json.dumps([trajectory.outputs, trajectory.missing], ensure_ascii=False).encode()


def unfounded(output: dict[str, object], reply: Reply, schema: Schema) -> str:
    """Return why an output cannot come of a reply: "" where all of it is said there, in range."""
    if reply.finish == "refusal":
        return "the model refused"
    text = _ESCAPE.sub(lambda code: chr(int(code[1], 16)), reply.text)
    numbers = {float(number) for number in _NUMBER.findall(text)}
    if set(output) != set(schema["properties"]):
        return "other fields than were asked for"
    for name, value in output.items():
        kind = schema["properties"][name]
        if f'"{name}"' not in text:
            return f"{name} is not in it"
        if isinstance(value, bool):
            if kind["type"] != "boolean" or str(value).lower() not in text:
                return f"{name} is not in it"
        elif isinstance(value, int):
            if value not in numbers or not kind["minimum"] <= value <= kind["maximum"]:
                return f"{name} is not in it, or out of range"
        elif not all(item in kind["items"]["enum"] and f'"{item}"' in text for item in value):
            return f"{name} is not in it, or not on the menu"
    return ""


def _kind(reason: str) -> str:
    """Return what a reason is of, without names and values."""
    for words in (
        *("no JSON object", "empty reply", "cut at the token limit", "refusal", "given twice"),
        *("expected an integer", "expected true or false", "expected a list", "not on the menu"),
        *("is missing", "expected at most"),
    ):
        if words in reason:
            return words
    return "out of range" if re.search(r"expected \d+\.\.\d+", reason) else "other"


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    start = time.monotonic()
    found = fuzz(n)
    print(f"{found.n_replies} replies in {time.monotonic() - start:.0f} s: {found.n_read} read")
    for kind, count in found.reasons.most_common():
        print(f"  {count:5} not read: {kind}")
    print(f"crashes, defaults, missing without a reason: {len(found.wrong)}")
    for line in found.wrong[:20]:
        print(f"  {ascii(line)[:400]}")
    if found.wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
