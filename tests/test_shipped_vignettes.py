"""The shipped cases keep what their data sheet says of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_fairmedagent.domain import (
    DOMAINS,
    SETTINGS,
    Order,
    Vignette,
    n_variants,
    render,
    variants,
)
from pytest_fairmedagent.files.cases import read_vignette
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import (
    CANARY,
    case_files,
    read_vignettes,
    shipped_vignettes,
)

VIGNETTES = read_vignettes([shipped_vignettes()])
CATALOGUE = read_swaps()
OWN_LINES = ("no_descriptor", "paraphrase")
NAMES = read_swaps(shipped_vignettes() / "names.toml")
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
    """Yield every text of a case that an agent can come to see, in any of its variants."""
    yield vignette.narrative
    for pool in vignette.pools:
        yield from (*pool.values, *pool.parts)
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


def file_of(vignette: Vignette) -> Path:
    return shipped_vignettes() / vignette.domain / f"{vignette.id}.toml"


def text_of(vignette: Vignette) -> str:
    return file_of(vignette).read_text(encoding="utf-8")


def test_every_action_domain_has_as_many_cases_and_every_setting_has_some():
    domains = Counter(v.domain for v in VIGNETTES.values())
    assert set(domains) == set(DOMAINS)
    assert len(set(domains.values())) == 1
    assert {v.setting for v in VIGNETTES.values()} == set(SETTINGS)


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_domain_has_every_difficulty(domain):
    found = {v.difficulty for v in VIGNETTES.values() if v.domain == domain}
    assert found == {"clear", "intermediate", "borderline"}


@each
def test_the_id_is_the_file_name_and_the_domain_its_folder(vignette: Vignette):
    assert read_vignette(file_of(vignette)) == vignette


@each
def test_the_file_says_first_what_is_settled_and_what_is_open(vignette: Vignette):
    said = {
        "clear": "# Clear: ",
        "intermediate": "# Intermediate: ",
        "borderline": "# Borderline: guidelines leave room. ",
    }
    assert text_of(vignette).startswith(said[vignette.difficulty])


@each
def test_the_canary_stands_in_the_file_and_in_nothing_an_agent_sees(vignette: Vignette):
    assert vignette.canary == CANARY
    assert text_of(vignette).count(CANARY) == 1
    assert not any("canary" in text for text in shown_texts(vignette))


@each
def test_the_narrative_is_120_to_220_words_in_every_variant(vignette: Vignette):
    for variant in (vignette, *variants(vignette, min(n_variants(vignette), 12), seed=1)):
        assert 120 <= len(variant.narrative.split()) <= 220


@each
def test_a_case_has_five_variants_that_differ_in_the_narrative_alone(vignette: Vignette):
    assert n_variants(vignette) >= 5
    drawn = variants(vignette, 5, seed=1)
    assert len({v.narrative for v in drawn}) == 5
    assert {(v.base, v.menu, v.bands) for v in drawn} == {
        (vignette.id, vignette.menu, vignette.bands)
    }


@each
def test_the_pools_hold_vitals_and_the_order_of_findings(vignette: Vignette):
    measures = {pool.measure for pool in vignette.pools}
    assert {"heart_rate", "blood_pressure", "temperature"} <= measures
    assert any(pool.parts for pool in vignette.pools)


@each
def test_a_case_settles_some_actions_and_says_why(vignette: Vignette):
    assert len(vignette.bands) >= 3
    assert all(len(band.reasoning.split()) >= 4 for band in vignette.bands)
    assert vignette.band("high_acuity") or vignette.band("admission")


@each
def test_needed_orders_are_few_enough_to_be_ordered_at_once(vignette: Vignette):
    from pytest_fairmedagent.agents.prompts import MOST_ORDERS

    orders = vignette.reference_orders
    assert orders is not None
    assert len(orders.needed) <= MOST_ORDERS
    assert len(orders.needed) + len(orders.acceptable) < len(vignette.menu)


@each
@pytest.mark.parametrize(
    "needed",
    [
        r"BP \d{2,3}/\d{2,3} mmHg",
        r"(?:heart rate|pulse) \d{2,3}/min",
        r"respiratory rate .*?\d{2}/min",
        r"SpO2 \d{2}%",
        r"temperature (?:3\d\.\d C|\d{2,3}\.\d F)",
        r"\d0?/10",
        r"Background: .+\. Medicines: .+\. Allergies: ",
    ],
)
def test_the_narrative_states_vitals_with_units_pain_and_background(
    vignette: Vignette, needed: str
):
    assert re.search(needed, vignette.narrative, re.IGNORECASE)


def test_no_two_narratives_begin_alike():
    starts = {tuple(v.narrative.split()[:3]) for v in VIGNETTES.values()}
    assert len(starts) == len(VIGNETTES)


@each
def test_a_menu_holds_8_to_14_orders_and_results_of_at_most_20_words(vignette: Vignette):
    assert 8 <= len(vignette.menu) <= 14
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
                if own.id == order.id:
                    assert own.name == order.name


@each
def test_nothing_but_the_descriptor_line_says_who_the_patient_is(vignette: Vignette):
    assert cues(vignette) == []


@each
def test_no_word_that_a_condition_swaps_stands_in_a_case(vignette: Vignette):
    others = [c for c in CATALOGUE.conditions.values() if c.id not in OWN_LINES]
    lines = [set(c.descriptor.split()) for c in others]
    swapped = set.union(*lines) - set.intersection(*lines)
    assert {"White", "Black", "straight", "housed,"} <= swapped
    for text in shown_texts(vignette):
        for word in swapped:
            assert not re.search(rf"(?<!\w){re.escape(word.strip(',.'))}(?!\w)", text, re.I), word


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
@pytest.mark.parametrize("catalogue", [CATALOGUE, NAMES], ids=["swaps", "names"])
def test_two_conditions_differ_in_the_descriptor_line_alone(vignette: Vignette, catalogue):
    for variant in variants(vignette, 3, seed=2):
        reference = render(variant, catalogue.reference)
        *before, last = reference.text.split("\n")
        assert last == f"Patient: {catalogue.reference.descriptor_in(variant)}"
        for condition in catalogue.conditions.values():
            case = render(variant, condition)
            *lines, line = case.text.split("\n")
            assert lines == before
            assert line == f"Patient: {condition.descriptor_in(variant)}"
            assert (line == last) == (condition.kind in ("reference", "identical"))
            assert case.menu == reference.menu


@each
@pytest.mark.parametrize("catalogue", [CATALOGUE, NAMES], ids=["swaps", "names"])
def test_all_conditions_of_a_case_have_the_same_number_of_words_but_the_one_without_descriptor(
    vignette: Vignette, catalogue
):
    counts = {
        len(render(vignette, c).text.split())
        for c in catalogue.conditions.values()
        if c.id != "no_descriptor"
    }
    assert len(counts) == 1


@each
def test_the_data_sheet_lists_the_case_as_its_file_does(vignette: Vignette):
    sheet = (shipped_vignettes() / "README.md").read_text(encoding="utf-8")
    row = f"| `{vignette.id}` | {vignette.domain} | {vignette.difficulty} |"
    assert sheet.count(row) == 1


def test_the_folder_holds_cases_and_the_four_files_that_are_none():
    assert len(list(case_files(shipped_vignettes()))) == len(VIGNETTES)
    others = {path.name for path in shipped_vignettes().glob("*.toml")}
    assert others == {"swaps.toml", "names.toml", "confounding.toml", "adjudicators.toml"}
