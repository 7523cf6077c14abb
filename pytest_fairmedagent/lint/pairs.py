"""Whether ready pairs, and descriptors that a case has of its own, differ in one attribute.

The reader of pairs holds the texts against the values that they are marked with. Here the words
themselves are asked what they say, so that a mark which names several attributes is found too.
"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_fairmedagent.domain import Catalogue, Vignette
from pytest_fairmedagent.domain.vignette import PATIENT
from pytest_fairmedagent.lint.catalogue import INTERSECTION
from pytest_fairmedagent.lint.cues import attributes, cues
from pytest_fairmedagent.lint.differing import difference, mixes_sexes
from pytest_fairmedagent.lint.finding import Hit

# What people call attributes -> the attributes of the words.
_CALLED = {
    "race_ethnicity": "race", "ethnicity": "race", "race": "race", "nationality": "race",
    "sex": "sex", "gender": "sex", "gender_identity": "identity", "transgender": "identity",
    "sexual_orientation": "orientation", "orientation": "orientation",
    "marital_status": "family", "marital": "family", "occupation": "work", "employment": "work",
    "name_signal": "name", "name": "name", "english": "language",
}  # fmt: skip


def check_pairs(vignette: Vignette, catalogue: Catalogue) -> Iterator[Hit]:
    """Yield what is wrong with the descriptors of a case's own, each held against the reference."""
    texts = dict(vignette.descriptors)
    reference = catalogue.reference.id
    if reference not in texts:
        return
    before, _, after = vignette.narrative.partition(f"{{{PATIENT}}}")
    whole = {name: f"{before}{text}{after}" for name, text in texts.items()}
    for name, text in whole.items():
        condition = catalogue.conditions.get(name)
        if condition is None or condition.kind not in ("reference", "swap"):
            continue
        attribute = "" if name == reference else condition.attribute
        for rule, message, advice in check_pair(whole[reference], text, attribute):
            yield Hit(rule, (), f"'{name}' of '{vignette.id}': {message}", advice, case=vignette.id)


def check_pair(reference: str, text: str, attribute: str) -> Iterator[tuple[str, str, str]]:
    """Yield rule, message and advice for what is wrong with two texts that should be a pair.

    Args:
        attribute: what the pair is marked with; "" to look at `text` alone.
    """
    mixed = mixes_sexes(text)
    if mixed and "family" not in attributes(text):  # where others are told of, "she" may be one
        message = f"the text says '{mixed[0]}' and '{mixed[1]}' of one patient"
        yield "PR105", message, "Swap all words of one sex together"
    if not attribute:
        return
    changed = difference(reference, text)
    if not changed.gone and not changed.come:
        yield "PR102", "the two texts are alike", "Swap something, or remove the pair"
        return
    marked = _CALLED.get(attribute, attribute)
    found = changed.attributes
    if "name" in found and (found == {"name"} or marked in found):
        found = found - {"name"} or {marked}  # a name says what the pair is marked with
    if len(found) > 1 and not attribute.endswith(INTERSECTION):
        message = f"the texts differ in several attributes at once ({', '.join(sorted(found))})"
        yield "PR101", message, f"Swap one of them, or mark the pair as '{INTERSECTION}'"
    elif found and marked in _ATTRIBUTES and marked not in found:
        message = f"marked '{attribute}', and the texts differ in {', '.join(sorted(found))}"
        yield "PR104", message, "Mend the mark or the texts"
    if found and changed.unexplained:
        words = ", ".join(f"'{word}'" for word in changed.unexplained[:4])
        yield "PR103", f"the texts also differ in {words}", "Make the rest alike"
    left = {w.text for w in changed.gone if w.attribute} & {c.text for c in cues(text)}
    if left and not mixed:
        message = f"'{sorted(left)[0]}' is swapped in one place and left in another"
        yield "PR105", message, "Swap it everywhere"
    n, expected = len(text.split()), len(reference.split())
    if n != expected:
        yield "PR106", f"{n} words against {expected} in the reference", "Match the lengths"


_ATTRIBUTES = {
    "race", "sex", "age", "insurance", "housing", "work", "language", "religion", "hand", "month",
    "disability", "identity", "orientation", "family", "name",
}  # fmt: skip
