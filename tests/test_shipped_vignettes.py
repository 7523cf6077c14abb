"""The shipped cases keep what their data sheet says of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from pytest_fairmedagent.domain import DOMAINS, Order, Vignette, render
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import read_vignettes, shipped_vignettes

VIGNETTES = read_vignettes([shipped_vignettes()])
CATALOGUE = read_swaps()
each = pytest.mark.parametrize("vignette", VIGNETTES.values(), ids=list(VIGNETTES))

# What would tell an agent, beside the descriptor line, who the patient is. Whole words: "her" is a
# cue and "other" is none. "right" and "left" are anatomy, so only "-handed" and "dominant" count.
# The cases do without the verbs "may" and "march": as months they would be cues. Forms of address
# count with their capital only, for "ms" is a unit and MR an image.
CUES = {
    "pronoun": r"he|she|him|his|hers?|they|them|theirs?|(?:him|her|them)sel(?:f|ves)",
    "sex or gender": r"(?:wo)?m[ae]n|(?:fe)?males?|lad(?:y|ies)|gentlem[ae]n|boys?|girls?|guys?"
    r"|(?-i:Mrs?|Ms|Miss)|sir|madam|transgender|nonbinary|sex|gender",
    "sex-specific": r"pregnan\w*|gravid\w*|postpartum|menstru\w*|menopaus\w*|periods?|contracept\w*"
    r"|prostat\w*|psa|hcg|ovar\w*|uter\w*|cervi(?:x|cal os)|vagin\w*|vulv\w*|testic\w*|testes"
    r"|scrot\w*|penis|penile|breasts?",
    "family": r"wi(?:fe|ves)|husbands?|spouses?|partners?|(?:grand|step)?(?:mother|father|son"
    r"|daughter|child|parent)(?:s|ren)?|mom|dad|sisters?|brothers?|aunts?|uncles?|widow\w*"
    r"|married|divorced|unmarried|famil(?:y|ies)",
    "age": r"age|aged|ages|years?[- ]olds?|elderly|geriatric\w*|young\w*|old|older|teen\w*"
    r"|adolescen\w*|middle-aged|born|birth\w*",
    "race or nationality": r"white|black|hispanic|latin[aox]|african\w*|american|asian|caucasian"
    r"|native|indigenous|indian|arab\w*|mexican|chinese|european|immigrant\w*|refugee\w*"
    r"|foreigners?|rac(?:e|ial)|ethnic\w*",
    "insurance": r"insur\w*|uninsur\w*|medicaid|medicare|copay\w*|self-pay|private|payer",
    "housing": r"homeless\w*|hous(?:e|ed|ing)|unhoused|apartment|lives|living|nursing home|shelter",
    "work or class": r"employ\w*|unemploy\w*|occupation\w*|jobs?|works|worker|retire\w*|income"
    r"|veteran|student|teacher|executive|laborer|construction",
    "language": r"english|spanish|languages?|fluent\w*|interpret\w*|translat\w*|speaks?|spoken",
    "religion": r"religio\w*|church|mosque|christian\w*|muslim\w*|jew\w*|hindu\w*|catholic\w*",
    "hand or month": r"\w*-?handed|dominant|january|february|march|april|may|june|july|august"
    r"|september|october|november|december",
}
PATTERNS = {kind: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for kind, words in CUES.items()}


def shown_texts(vignette: Vignette) -> Iterator[str]:
    """Yield every text of a case that an agent can come to see."""
    yield vignette.narrative
    for order in vignette.menu:
        yield from (order.id.replace("_", " "), order.name, order.result)


def cues(vignette: Vignette) -> list[str]:
    """Return the demographic cues of a case, as `kind: word`."""
    return [
        f"{kind}: {hit.group()}"
        for text in shown_texts(vignette)
        for kind, pattern in PATTERNS.items()
        for hit in pattern.finditer(text)
    ]


def test_eight_cases_two_in_each_action_domain():
    assert Counter(v.domain for v in VIGNETTES.values()) == dict.fromkeys(DOMAINS, 2)


def test_every_difficulty_is_there_and_borderline_cases_are_the_most():
    counts = Counter(v.difficulty for v in VIGNETTES.values())
    assert counts["clear"] >= 2
    assert counts["intermediate"] >= 2
    assert counts["borderline"] >= 3


@each
def test_the_id_is_the_file_name(vignette: Vignette):
    path = shipped_vignettes() / f"{vignette.id}.toml"
    assert read_vignettes([path]) == {vignette.id: vignette}


@each
def test_a_borderline_file_says_first_where_guidelines_leave_room(vignette: Vignette):
    text = (shipped_vignettes() / f"{vignette.id}.toml").read_text(encoding="utf-8")
    said = text.startswith("# Borderline: guidelines leave room.")
    assert said == (vignette.difficulty == "borderline")


@each
def test_the_narrative_is_90_to_130_words(vignette: Vignette):
    assert 90 <= len(vignette.narrative.split()) <= 130


@each
@pytest.mark.parametrize(
    "needed",
    [
        r"BP \d{2,3}/\d{2,3} mmHg",
        r"(?:heart rate|pulse) \d{2,3}/min",
        r"respiratory rate .*?\d{2}/min",
        r"SpO2 \d{2}%",
        r"temperature 3\d\.\d C",
        r"\d0?/10",
        r"Background: .+\. Medicines: .+\. Allergies: ",
    ],
)
def test_the_narrative_states_vitals_with_units_pain_and_background(
    vignette: Vignette, needed: str
):
    assert re.search(needed, vignette.narrative, re.IGNORECASE)


def test_no_two_narratives_begin_alike():
    starts = {v.narrative.split()[0] for v in VIGNETTES.values()}
    assert len(starts) == len(VIGNETTES)


@each
def test_a_menu_holds_8_to_10_orders_and_results_of_at_most_20_words(vignette: Vignette):
    assert 8 <= len(vignette.menu) <= 10
    assert len({order.name for order in vignette.menu}) == len(vignette.menu)
    for order in vignette.menu:
        assert len(order.result.split()) <= 20, order.id
        assert order.result.endswith("."), order.id


@each
def test_every_result_is_a_finding_and_none_is_still_to_come(vignette: Vignette):
    for order in vignette.menu:
        assert not re.search(r"await|pending|to follow|not available", order.result, re.I), order.id


@each
def test_an_order_has_the_same_name_in_every_case(vignette: Vignette):
    for other in VIGNETTES.values():
        for order in other.menu:
            for own in vignette.menu:
                if own.id == order.id and own.id != "ct_abdomen_pelvis":  # its contrast differs
                    assert own.name == order.name


@each
def test_nothing_but_the_descriptor_line_says_who_the_patient_is(vignette: Vignette):
    assert cues(vignette) == []


@each
def test_no_word_that_a_condition_swaps_stands_in_a_case(vignette: Vignette):
    lines = [set(c.descriptor.split()) for c in CATALOGUE.conditions.values()]
    swapped = set.union(*lines) - set.intersection(*lines)
    assert {"White", "Black"} <= swapped
    for text in shown_texts(vignette):
        for word in swapped:
            assert not re.search(rf"(?<!\w){re.escape(word.strip(','))}(?!\w)", text, re.I), word


@each
def test_no_hand_or_arm_is_hurt_since_that_would_give_the_handedness_control_a_meaning(
    vignette: Vignette,
):
    for text in shown_texts(vignette):
        assert not re.search(
            r"\b(?:hands?|wrists?|fingers?|arms?|elbows?|shoulders?)\b", text, re.I
        )


@each
def test_no_result_is_computed_from_age_sex_or_race(vignette: Vignette):
    for order in vignette.menu:
        assert not re.search(r"gfr|predicted|percentile|z-score", order.result, re.I), order.id


@each
def test_hemoglobin_lies_where_the_ranges_of_men_and_women_overlap(vignette: Vignette):
    # Outside 13.5 to 15.5 g/dL one result would be anemia under one descriptor and none under
    # another: a decision that follows it would be right to differ.
    found = re.search(r"hemoglobin (\d+\.\d) g/dL", "; ".join(o.result for o in vignette.menu))
    assert found is None or 13.5 <= float(found[1]) <= 15.5


@pytest.mark.parametrize(
    "planted",
    [
        "She feels faint.",
        "His pain is worse.",
        "THEY came by car.",
        "A 62-year-old with pain.",
        "An elderly patient.",
        "Brought by the husband.",
        "The pain began in June.",
        "This right-handed patient fell.",
        "Seen with an interpreter.",
        "Medicaid was billed.",
        "Black patient in distress.",
        "Denies pregnancy.",
        "Homeless at present.",
        "Ms Doe called.",
        "Retired last year.",
    ],
)
@pytest.mark.parametrize("place", ["narrative", "order name", "order result"])
def test_a_planted_cue_is_caught(planted: str, place: str):
    vignette = next(iter(VIGNETTES.values()))
    order = vignette.menu[0]
    changed = {
        "narrative": replace(vignette, narrative=f"{vignette.narrative}\n{planted}"),
        "order name": replace(vignette, menu=(Order(order.id, planted, order.result),)),
        "order result": replace(vignette, menu=(Order(order.id, order.name, planted),)),
    }[place]
    assert cues(changed)


def test_words_that_only_contain_a_cue_are_no_cue():
    text = "Other than thermal pain there, no foreign body; sheath, penicillin; MR, QTc 428 ms."
    harmless = replace(next(iter(VIGNETTES.values())), narrative=text, menu=())
    assert cues(harmless) == []


@each
def test_two_conditions_differ_in_the_descriptor_line_alone(vignette: Vignette):
    reference = render(vignette, CATALOGUE.reference)
    *before, last = reference.text.split("\n")
    assert last == f"Patient: {CATALOGUE.reference.descriptor}"
    for condition in CATALOGUE.conditions.values():
        case = render(vignette, condition)
        *lines, line = case.text.split("\n")
        assert lines == before
        assert line == f"Patient: {condition.descriptor}"
        assert (line == last) == (condition.kind in ("reference", "identical"))
        assert case.menu == reference.menu


@each
def test_all_conditions_of_a_case_have_the_same_number_of_words(vignette: Vignette):
    counts = {len(render(vignette, c).text.split()) for c in CATALOGUE.conditions.values()}
    assert len(counts) == 1


@each
def test_the_data_sheet_lists_the_case_as_its_file_does(vignette: Vignette):
    sheet = (shipped_vignettes() / "README.md").read_text(encoding="utf-8")
    row = f"| `{vignette.id}` | {vignette.domain} | {vignette.difficulty} |"
    assert sheet.count(row) == 1
