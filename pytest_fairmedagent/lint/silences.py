"""Silences: a rule that is not to be applied to a case, with a reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from pytest_fairmedagent.domain import Vignette
from pytest_fairmedagent.domain.vignette import Silence
from pytest_fairmedagent.errors import closest
from pytest_fairmedagent.lint.finding import Hit
from pytest_fairmedagent.lint.rules import RULES

_LEAST_WORDS = 3  # of a reason; "ok" is none


def unsilenced(hits: Iterable[Hit], vignettes: Sequence[Vignette]) -> list[Hit]:
    """Return the hits that no case silences, and what is wrong with the silences."""
    by_case: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        by_case[hit.case].append(hit)
    wrong: list[Hit] = []
    for vignette in vignettes:
        left = by_case[vignette.id] if vignette.silences else []
        for index, silence in enumerate(vignette.silences):
            kept = [hit for hit in left if not _covers(silence, hit)]
            used = len(kept) < len(left)
            for rule, message, advice in _faults(silence, used=used):
                place = ("silence", index)
                message = f"{message}, in '{vignette.id}'"
                wrong.append(Hit(rule, place, message, advice, case=vignette.id))
            left = kept
        if vignette.silences:
            by_case[vignette.id] = left
    return [*(hit for case in by_case.values() for hit in case), *wrong]


def _covers(silence: Silence, hit: Hit) -> bool:
    return hit.rule == silence.rule and silence.match in hit.message


def _faults(silence: Silence, *, used: bool) -> Iterator[tuple[str, str, str]]:
    if silence.rule not in RULES:
        hint = closest(silence.rule, RULES).split("\n")[0].strip()
        advice = hint or "fairmed validate --rules lists the rules"
        yield "VG902", f"there is no rule '{silence.rule}' to silence", advice
        return
    if len(silence.reason.split()) < _LEAST_WORDS:
        message = f"{silence.rule} is silenced with the reason {silence.reason!r}"
        yield "VG902", message, "Say why the finding is no fault of the case"
    if not used and not silence.everywhere:
        about = f" matching {silence.match!r}" if silence.match else ""
        yield "VG901", f"{silence.rule}{about} is silenced and finds nothing", "Remove the silence"
