"""Whether the frozen text of a case says who the patient is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pytest_fairmedagent.domain import Catalogue, Vignette
from pytest_fairmedagent.lint.arms import conditions_of
from pytest_fairmedagent.lint.characters import strange
from pytest_fairmedagent.lint.cues import Cue, attributes, cues, of_another, undone
from pytest_fairmedagent.lint.differing import FEMALE, MALE, difference
from pytest_fairmedagent.lint.finding import ERROR, WARNING, Hit
from pytest_fairmedagent.lint.language import is_english
from pytest_fairmedagent.lint.names import names_in
from pytest_fairmedagent.lint.texts import Piece

RULE_OF = {
    "pronoun": "VG201",
    "sex": "VG202",
    "anatomy": "VG203",
    "obstetrics": "VG203",
    "family": "VG204",
    "partner": "VG204",
    "age": "VG205",
    "race": "VG206",
    "immigration": "VG206",
    "insurance": "VG207",
    "housing": "VG208",
    "work": "VG209",
    "income": "VG209",
    "education": "VG209",
    "language": "VG210",
    "religion": "VG211",
    "hand": "VG212",
    "month": "VG213",
    "disability": "VG214",
    "identity": "VG215",
    "orientation": "VG216",
    "name": "VG217",
    "custody": "VG223",
    "weight": "VG224",
    "psychiatric": "VG225",
}
# These mean something beside a descriptor that states them, and are ordinary history otherwise.
_ONLY_IF_STATED = {"hand", "month", "weight", "psychiatric"}

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
def _varied(reference: str, others: tuple[str, ...]) -> frozenset[str]:
    """Return the attributes in which lines differ from the reference line, word against word.

    A line in other words altogether (a paraphrase, no descriptor) changes none.
    """
    found: set[str] = set()
    for line in others:
        if len(line.split()) == len(reference.split()) and not _is_other(reference, line):
            found |= difference(reference, line).attributes
    return frozenset(found)


def _is_other(reference: str, line: str) -> bool:
    before, after = _tokens(reference), _tokens(line)
    return 2 * sum(a != b for a, b in zip(before, after, strict=False)) > max(len(before), 3)


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


@dataclass(frozen=True)
class _Arms:
    """What the arms of a case state, what they change, and the words that they swap."""

    reference: str
    stated: frozenset[str]
    varied: frozenset[str]
    telling: re.Pattern[str]


def _arms(vignette: Vignette, catalogue: Catalogue, *, ours: bool) -> _Arms:
    conditions = conditions_of(vignette, catalogue)
    lines = tuple(c.descriptor_in(vignette) for c in conditions)
    free = {c.descriptor_in(vignette) for c in conditions if c.kind == "sham" and not c.changes}
    others = tuple(dict.fromkeys(line for line in lines[1:] if line not in free))
    own = bool(vignette.descriptors)
    varied = _stated(lines) if own else _varied(lines[0], others)
    # A day or month that a control changes contradicts no case of other people.
    swaps = (
        lines
        if ours
        else tuple(c.descriptor_in(vignette) for c in conditions if c.kind in ("reference", "swap"))
    )
    return _Arms(lines[0], _stated(lines), varied, _telling_words(lines[0], swaps))


def check_frozen(
    vignette: Vignette,
    catalogue: Catalogue,
    texts: Sequence[Piece],
    *,
    errors_only: bool = False,
    ours: bool = True,
) -> Iterator[Hit]:
    """Yield the words of `texts`, the pieces of a case, that say who the patient is.

    What some arm changes is an error in frozen text, for there it contradicts an arm. What all arms
    state alike is a warning, and in a case of ours so is any other cue: there the descriptor alone
    says who it is. With `errors_only` words that are no cue but have a meaning are not looked for.

    Args:
        ours: whether the case is held to the workmanship of this format. Other people's cases tell
            of relatives, of ages long past, and of an anatomy that no arm changes.
    """
    arms = _arms(vignette, catalogue, ours=ours)
    english = is_english(vignette.narrative)
    if not english:
        yield Hit(
            "VG318",
            ("narrative",),
            f"'{vignette.id}' is not in English, so nothing tells whether its words say who the "
            "patient is",
            "Have somebody who reads it look, and silence the rule",
            case=vignette.id,
        )
    for piece in texts:
        told: set[int] = set()
        found = [*cues(piece.text), *(Cue("name", *hit) for hit in names_in(piece.text))]
        for cue in found if english else ():
            if not piece.holds(cue.start, cue.end):
                continue
            severity = _severity(cue, piece.text, arms, vignette, ours=ours)
            if severity:
                told.update(range(cue.start, cue.end))
                yield _cue_hit(vignette, piece, cue, severity)
        for hit in arms.telling.finditer(piece.text):
            if hit.start() in told or undone(piece.text, *hit.span()):
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
        for start, end, what in strange(piece.text):
            if piece.holds(start, end):
                yield Hit(
                    "VG314",
                    piece.place,
                    f"{what}, in '{vignette.id}'",
                    "Write it in plain characters",
                    max(0, start - piece.start),
                    case=vignette.id,
                )
        for rule, pattern, why, advice in _MEANINGS[:1] if errors_only else _MEANINGS:
            if rule == "VG219" and "hand" not in arms.stated:
                continue
            if rule == "VG220" and not ours and not {"age", "sex", "race"} & arms.varied:
                continue
            for hit in pattern.finditer(piece.text):
                if piece.holds(*hit.span()):
                    message = f"'{hit.group()}' in '{vignette.id}' {why}"
                    offset = hit.start() - piece.start
                    yield Hit(rule, piece.place, message, advice, offset, case=vignette.id)


def _severity(cue: Cue, text: str, arms: _Arms, vignette: Vignette, *, ours: bool) -> str:
    """Return how much a cue weighs: an error, a warning, or "" for nothing."""
    stated = cue.attribute in arms.stated
    if cue.kind in _ONLY_IF_STATED and not stated:
        return ""
    if vignette.descriptors and not stated:
        return ""  # the texts of a ready pair say who it is, and only the pair is swapped
    person = {"sex", "race", "age", "name", "orientation"}
    about = {"name": person, "partner": {"sex", "orientation"}, "family": person & {"sex"}}
    fights = cue.attribute in arms.varied or bool(about.get(cue.kind, set()) & arms.varied)
    if not ours and not vignette.descriptors:
        if (
            cue.kind == "month"
            or of_another(text, cue)
            or (cue.kind == "name" and "name" not in arms.stated)
        ):
            return ""
        if not fights:
            return WARNING if stated and _contradicts(cue, arms.reference) else ""
        return ERROR
    # What a pair leaves contradictory is told by the rules of pairs; "insurance" may well stand
    # beside the word for it that is swapped.
    lightly = bool(vignette.descriptors) or cue.text.lower() in _NEUTRAL
    return ERROR if fights and not lightly and not of_another(text, cue) else WARNING


def _contradicts(cue: Cue, reference: str) -> bool:
    """Return whether a cue says another thing than the line, which all arms have alike."""
    if cue.kind in ("sex", "pronoun"):
        word = cue.text.lower()
        other = FEMALE if MALE.fullmatch(word) else MALE if FEMALE.fullmatch(word) else None
        return bool(other) and any(
            other.fullmatch(w)  # type: ignore[union-attr]
            for w in re.findall(r"\w+", reference.lower())
        )
    if cue.kind in ("anatomy", "obstetrics", "family", "partner"):
        return False
    return not set(re.findall(r"\w+", cue.text.lower())) & set(
        re.findall(r"\w+", reference.lower())
    )


def _cue_hit(vignette: Vignette, piece: Piece, cue: Cue, severity: str) -> Hit:
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
