"""Whether the arms of a case differ in the descriptor alone."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from pytest_fairmedagent.domain import Case, Catalogue, Condition, Vignette, render
from pytest_fairmedagent.domain.pronouns import with_pronouns
from pytest_fairmedagent.domain.variants import n_variants, variants
from pytest_fairmedagent.domain.vignette import PATIENT, SLOT
from pytest_fairmedagent.lint.finding import Hit

Renderer = Callable[[Vignette, Condition], Case]

MASK = "\x1f"  # stands for the descriptor; in no text that people write


def check_arms(
    vignette: Vignette,
    catalogue: Catalogue,
    *,
    n: int = 1,
    seed: int = 0,
    renderer: Renderer = render,
    drawn: Sequence[Vignette] | None = None,
) -> Iterator[Hit]:
    """Yield where an arm differs from the reference arm outside its descriptor.

    Args:
        n: how many variants to render, as far as the pools give them.
        renderer: what renders a case, for tests of this check.
        drawn: the variants themselves, in place of drawing them.
    """
    if drawn is None:
        drawn = variants(vignette, min(n, n_variants(vignette)), seed)
    yield from _check_variants(vignette, drawn)
    conditions = conditions_of(vignette, catalogue)
    for variant in drawn:
        first: tuple[str, Case] | None = None
        for condition in conditions:
            case = renderer(variant, condition)
            masked = _masked(case, condition.descriptor_in(variant), variant)
            if first is None:
                first = (masked, case)
            elif masked != first[0] or case.menu != first[1].menu:
                here, there = difference(first[1], case)
                yield Hit(
                    "VG101",
                    ("narrative",),
                    f"'{variant.id}' under {condition.id} says {here!r} where the reference says "
                    f"{there!r}, beside the descriptor; masked digests {_digest(masked)} and "
                    f"{_digest(first[0])} were expected to be equal",
                    "Let the descriptor alone change",
                    case=vignette.id,
                )
                return


def conditions_of(vignette: Vignette, catalogue: Catalogue) -> list[Condition]:
    """Return the conditions that a case is rendered under, the reference first.

    A case that has descriptors of its own and no slot or line for others has these alone.
    """
    own = {name for name, _ in vignette.descriptors}
    found = [c for c in catalogue.conditions.values() if not own or c.id in own]
    return sorted(found, key=lambda condition: condition.kind != "reference")


def difference(reference: Case, case: Case) -> tuple[str, str]:
    """Return the words in which a case differs from the reference: its own, and theirs."""
    from difflib import SequenceMatcher

    there, here = _words(reference), _words(case)
    matcher = SequenceMatcher(None, there, here, autojunk=False)
    changed = [block for block in matcher.get_opcodes() if block[0] != "equal"]
    return (
        " ... ".join(" ".join(here[b[3] : b[4]]) for b in changed),
        " ... ".join(" ".join(there[b[1] : b[2]]) for b in changed),
    )


def _words(case: Case) -> list[str]:
    return " ".join([case.text, *(f"{o.id} {o.name} {o.result}" for o in case.menu)]).split()


def _masked(case: Case, descriptor: str, vignette: Vignette) -> str:
    """Return the text with its descriptor masked.

    The mask goes where the descriptor was put: at the end of the last line, or into the slot.
    Masking every occurrence would also hide a descriptor that has crept in somewhere else.
    """
    line = f"\nPatient: {descriptor}"
    if case.text == with_pronouns(f"{vignette.narrative.strip()}{line}", descriptor):
        return f"{vignette.narrative.strip()}\nPatient: {MASK}"
    if case.text.endswith(line):
        return f"{case.text[: -len(line)]}\nPatient: {MASK}"
    before, slot, after = vignette.narrative.strip().partition(f"{{{PATIENT}}}")
    for written in (descriptor, descriptor.removesuffix(".")) if slot else ():
        if case.text == with_pronouns(f"{before}{written}{after}", descriptor):
            return f"{before}{MASK}{after}"
    return case.text


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _check_variants(vignette: Vignette, drawn: Iterable[Vignette]) -> Iterator[Hit]:
    pattern = re.compile(
        "(.*?)".join(re.escape(part) for part in SLOT.split(vignette.template)[::2]), re.DOTALL
    )
    for variant in drawn:
        fits = not vignette.template or pattern.fullmatch(variant.narrative)
        if not fits or variant.menu != vignette.menu or variant.base != vignette.base:
            yield Hit(
                "VG102",
                ("narrative",),
                f"variant '{variant.id}' is not '{vignette.id}' with other values in its pools",
                "Change the pools only",
                case=vignette.id,
            )
