"""Whether the frozen text of a case says who the patient is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pytest_fairmedagent.domain import Catalogue, Vignette
from pytest_fairmedagent.lint.arms import conditions_of
from pytest_fairmedagent.lint.cues import Cue, attributes, cues, is_thing
from pytest_fairmedagent.lint.finding import ERROR, WARNING, Hit
from pytest_fairmedagent.lint.names import names_in
from pytest_fairmedagent.lint.texts import Piece

RULE_OF = {
    "pronoun": "VG201",
    "sex": "VG202",
    "anatomy": "VG203",
    "family": "VG204",
    "age": "VG205",
    "race": "VG206",
    "insurance": "VG207",
    "housing": "VG208",
    "work": "VG209",
    "language": "VG210",
    "religion": "VG211",
    "hand": "VG212",
    "month": "VG213",
    "disability": "VG214",
    "identity": "VG215",
    "orientation": "VG216",
    "name": "VG217",
}
# These mean something beside a descriptor that states them, and are ordinary history otherwise.
_ONLY_IF_STATED = {"anatomy", "hand", "month", "disability"}
# "they" is no sex; still it is a word for a person that the descriptor may contradict.
_NEUTRAL = {"they", "them", "their", "theirs", "themself", "themselves"}

_HAND = re.compile(r"\b(?:hands?|wrists?|fingers?|thumbs?|arms?|forearms?|elbows?)\b")
_COMPUTED = re.compile(
    r"\be?GFR\b|% (?:of )?predicted|\bpredicted (?:value|FEV1|peak)|\bpercentile\b|\b[zt]-score\b"
    r"|\bage-adjusted\b|\brace-adjusted\b|\bCHA2DS2|\bQRISK|\bASCVD\b|\bideal body weight\b"
    r"|\bHEART score\b|\bCURB-65\b|\bPERC\b|\bCrCl\b|\bcreatinine clearance\b",
    re.IGNORECASE,
)
_IDENTIFIES = re.compile(
    r"\b(?:19|20)\d\d-\d\d-\d\d\b|\b\d{1,2}/\d{1,2}/(?:19|20)\d\d\b|\b(?:MRN|SSN|NHS number)\b"
    r"|\b\d{3}-\d{2}-\d{4}\b|\b\(?\d{3}\)?[- ]\d{3}-\d{4}\b|\b[\w.]+@[\w-]+\.\w{2,}\b|https?://"
    r"|\b\d+ \w+ (?:Street|Avenue|Road|Boulevard)\b"
)

# Rule, pattern, what is wrong, what to do. The first is an error, the others warnings.
_MEANINGS = (
    ("VG222", _IDENTIFIES, "may identify somebody", "Remove it, or say it in general terms"),
    (
        "VG220",
        _COMPUTED,
        "is computed from age, sex or race, which the arms change",
        "State what was measured instead",
    ),
    (
        "VG219",
        _HAND,
        "gives the handedness of the descriptor a meaning for care",
        "Choose another part of the body, or silence the rule",
    ),
)


@lru_cache(maxsize=8)
def _stated(descriptors: tuple[str, ...]) -> frozenset[str]:
    return frozenset().union(*map(attributes, descriptors))


@lru_cache(maxsize=8)
def _telling_words(reference: str, descriptors: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of the words that swaps replace or put in, ordinary words left out.

    A line in other words altogether (a paraphrase, no descriptor) swaps nothing.
    """
    before = _tokens(reference)
    found: set[str] = set()
    for line in descriptors:
        after = _tokens(line)
        changed = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
        if len(after) == len(before) and 2 * len(changed) <= len(before):
            found.update(word for pair in changed for word in pair)
    words = [w for w in sorted(found) if re.match(r"[A-Z]", w) or re.search(r"\w-[a-z]", w)]
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words)) or '(?!)'})\b")


def _tokens(line: str) -> list[str]:
    return [word.strip(".,;:") for word in line.split()]


def check_frozen(
    vignette: Vignette,
    catalogue: Catalogue,
    texts: Sequence[Piece],
    *,
    errors_only: bool = False,
) -> Iterator[Hit]:
    """Yield the words of `texts`, the pieces of a case, that say who the patient is.

    What the descriptors state is an error in frozen text, for there it contradicts some arm; other
    cues are warnings, since they are the same in every arm. With `errors_only` words that are no
    cue but have a meaning are not looked for.
    """
    conditions = conditions_of(vignette, catalogue)
    lines = tuple(c.descriptor_in(vignette) for c in conditions)
    stated = _stated(lines)
    telling = _telling_words(lines[0], lines)
    for piece in texts:
        told: set[int] = set()
        for cue in [*cues(piece.text), *(Cue("name", *hit) for hit in names_in(piece.text))]:
            if not piece.holds(cue.start, cue.end):
                continue
            if cue.kind in _ONLY_IF_STATED and cue.attribute not in stated:
                continue
            if vignette.descriptors and cue.attribute not in stated:
                continue  # the texts of a ready pair say who it is, and only the pair is swapped
            told.update(range(cue.start, cue.end))
            yield _cue_hit(vignette, piece, cue, stated)
        for hit in telling.finditer(piece.text):
            if is_thing(piece.text, hit.end()) or hit.start() in told:
                continue
            if piece.holds(*hit.span()):
                yield Hit(
                    "VG218",
                    piece.place,
                    f"'{hit[0]}' stands in the frozen text of '{vignette.id}', and the catalogue "
                    "swaps it",
                    "Say it otherwise, for in some arm it contradicts the descriptor",
                    hit.start() - piece.start,
                    case=vignette.id,
                )
        for rule, pattern, why, advice in _MEANINGS[:1] if errors_only else _MEANINGS:
            if rule == "VG219" and "hand" not in stated:
                continue
            for hit in pattern.finditer(piece.text):
                if piece.holds(*hit.span()):
                    message = f"'{hit.group()}' in '{vignette.id}' {why}"
                    offset = hit.start() - piece.start
                    yield Hit(rule, piece.place, message, advice, offset, case=vignette.id)


def _cue_hit(vignette: Vignette, piece: Piece, cue: Cue, stated: frozenset[str]) -> Hit:
    person = {"sex", "race", "age", "name", "orientation"} & stated
    against = cue.attribute in stated or (cue.kind in ("name", "family") and bool(person))
    # What a pair leaves contradictory is told by the rules of pairs; "insurance" may well stand
    # beside the word for it that is swapped.
    lightly = bool(vignette.descriptors) or cue.text.lower() in _NEUTRAL
    severity = ERROR if against and not lightly else WARNING
    return Hit(
        RULE_OF[cue.kind],
        piece.place,
        f"'{cue.text}' tells the {cue.attribute} of the patient of '{vignette.id}' in frozen text, "
        "where the descriptor alone was expected to say who it is",
        "Reword it, as in 'the patient'",
        cue.start - piece.start,
        severity,
        vignette.id,
    )
