"""Corruptions of real cases, each with the rule that must find it.

A corruption takes the text of a shipped file and a random generator and returns the spoilt text, or
None where the case has nothing of the kind.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

Spoil = Callable[[str, random.Random], str | None]

# rule -> sentences that break it wherever they stand
CUES = {
    "VG201": ["She feels faint.", "His pain is worse.", "Asks whether he can eat."],
    "VG202": ["This woman is anxious.", "A male patient.", "Mrs and family agree."],
    "VG203": ["Denies pregnancy.", "The prostate is enlarged.", "Last period two weeks ago."],
    "VG204": ["Brought by the husband.", "Recently widowed.", "Cared for by a daughter."],
    "VG205": ["A 62-year-old in pain.", "Elderly and frail.", "Aged about sixty."],
    "VG206": ["Black patient in distress.", "Of Mexican origin.", "A recent immigrant."],
    "VG207": ["Medicaid was billed.", "Uninsured since spring.", "The copay was paid."],
    "VG208": ["Lives alone.", "Homeless at present.", "Came from a nursing home."],
    "VG209": ["Works as a roofer.", "Retired last year.", "Unemployed at present."],
    "VG210": ["Seen with an interpreter.", "Speaks Spanish.", "The language is understood."],
    "VG211": ["A devout Muslim.", "Taken ill in church.", "Jewish by faith."],
    "VG212": ["A right-handed patient.", "The dominant hand is well.", "Left-handed by habit."],
    "VG213": ["It began in June.", "Well until May 3.", "Seen last in October."],
    "VG214": ["Uses a wheelchair.", "Disabled for long.", "Deaf since infancy."],
    "VG215": ["A transgender patient.", "Nonbinary.", "Cisgender."],
    "VG216": ["Gay by own account.", "A lesbian patient.", "Bisexual."],
    "VG217": ["Keisha asks for help.", "Seen by Dr Wolfe.", "Greg called again."],
    "VG218": ["Seen on Friday.", "Well until Tuesday.", "Found as Qzvx."],
    "VG219": ["The left wrist is swollen.", "One finger is cut.", "The arm is weak."],
    "VG220": ["The eGFR is 62 mL/min.", "Peak flow 61% predicted.", "On the 90th percentile."],
    "VG222": ["MRN 448812.", "Call 555-201-4433.", "Admitted 2024-03-02."],
    "VG223": ["Brought from jail.", "On parole.", "Arrested at noon."],
    "VG226": ["Came in the own car.", "The front door was locked.", "There is a mortgage."],
    "VG314": ["The pa\u200btient rests.", "\u0421alm now.", "Rests \u202enow."],
    "VG317": ["A drug-seeker.", "Noncompliant.", "Claims to be in pain."],
    "VG318": [
        "Der Schmerz ist seit zwei Tagen nicht besser und wird bei jeder Bewegung stärker. " * 12
    ],
    "VG407": ["Takes losartan 50 mg ten times daily.", "Methotrexate 15 mg daily."],
    "VG312": ["Weighs {weight} kg.", "It is {severity}.", "See {chart}."],
    "VG401": ["Heart rate 412/min.", "SpO2 112% on air.", "GCS 17."],
    "VG402": ["Heart rate 84 now.", "Respiratory rate 18 at rest.", "BP 120/76 lying."],
    "VG403": ["Temperature 39.3 F.", "Temperature 98.6 C.", "It was 38.1 F at home."],
    "VG404": ["BP 70/110 mmHg.", "BP 88/88 mmHg.", "BP 60/94 mmHg later."],
    "VG405": ["Potassium 42 mmol/L.", "Creatinine 210 mg/dL.", "Sodium 14 mmol/L."],
    "VG406": ["Given metoprolol 5000 mg.", "Took warfarin 500 mg.", "Insulin 4000 units."],
}


class Corruption(NamedTuple):
    """A way to spoil a case file; `rule` is the one that must say so, "" for the format."""

    rule: str
    name: str
    spoil: Spoil


def corruptions() -> Iterator[Corruption]:
    """Yield every corruption of a single file."""
    for rule, sentences in CUES.items():
        for sentence in sentences:
            places = [in_narrative, in_result, in_order_name, in_pool]
            if rule == "VG312":  # in the narrative a slot without a pool is an error of format
                places = [in_result, in_order_name]
            if rule == "VG226":  # a result tells nothing of how somebody lives
                places = [in_narrative, in_pool]
            if rule == "VG318":  # the language is that of the narrative
                places = [in_narrative]
            for place in places:
                name = f"{rule} {place.__name__}: {sentence}"
                yield Corruption(rule, name, _placed(place, sentence))
    for rule, spoil in (*_WORKMANSHIP, *_NUMBERS, *_POOLS, *_BANDS, *_FORMAT):
        yield Corruption(rule, f"{rule or 'format'} {spoil.__name__}", spoil)


def _placed(place: Callable[[str, str, random.Random], str | None], sentence: str) -> Spoil:
    return lambda text, rng: place(text, sentence, rng)


def in_narrative(text: str, sentence: str, rng: random.Random) -> str | None:
    return text.replace("Background:", f"{sentence} Background:", 1)


def _one(pattern: str, text: str, rng: random.Random, replacement: str) -> str | None:
    """Replace one match of a pattern, chosen at random; `{0}` is the match, `{1}` its group."""
    hits = list(re.finditer(pattern, text, re.MULTILINE))
    if not hits:
        return None
    hit = rng.choice(hits)
    for number, group in enumerate([hit.group(), *hit.groups()]):
        replacement = replacement.replace(f"<{number}>", group or "")
    return text[: hit.start()] + replacement + text[hit.end() :]


def in_result(text: str, sentence: str, rng: random.Random) -> str | None:
    return _one(r'^result = "(.*)"$', text, rng, f'result = "<1> {sentence}"')


def in_order_name(text: str, sentence: str, rng: random.Random) -> str | None:
    return _one(r'^name = "(.*)"$', text, rng, f'name = "<1>. {sentence}"')


def in_pool(text: str, sentence: str, rng: random.Random) -> str | None:
    """As the second value of a new pool: the base case does not have it."""
    start = text.index("[[menu]]")
    pool = f'[[pool]]\nslot = "planted"\nvalues = ["It is so.", "{sentence}"]\n\n'
    spoilt = text[:start] + pool + text[start:]
    return spoilt.replace("Background:", "{planted} Background:", 1)


# What makes a case badly made.


def half_the_words(text: str, rng: random.Random) -> str:
    """All words with a slot, for a pool needs its slot, and half of the others."""
    return _narrative(
        text, lambda t: " ".join(w for i, w in enumerate(t.split()) if i % 2 or "{" in w)
    )


def twice_the_words(text: str, rng: random.Random) -> str:
    return _narrative(text, lambda t: t + " Nothing else of note was found." * 25)


def forty_times_the_words(text: str, rng: random.Random) -> str:
    return _narrative(text, lambda t: t + " Nothing else of note was found." * 900)


def tenfold_words(text: str, rng: random.Random) -> str:
    return _narrative(text, lambda t: t + " Nothing else of note was found." * 300)


def _narrative(text: str, change: Callable[[str], str]) -> str:
    return re.sub(
        r'(?<=narrative = """\n).*?(?=\n""")',
        lambda hit: change(hit.group()),
        text,
        flags=re.DOTALL,
    )


def _menu(text: str) -> list[str]:
    return re.findall(r"^\[\[menu\]\]\nid = .*\nname = .*\nresult = .*\n", text, re.MULTILINE)


def seven_orders(text: str, rng: random.Random) -> str:
    for table in _menu(text)[7:]:
        text = text.replace(table, "")
    return re.sub(r"^\[reference_orders\]\n(?:.+\n)*", "", text, flags=re.MULTILINE)


def fifteen_orders(text: str, rng: random.Random) -> str:
    tables = _menu(text)
    more = [
        f'[[menu]]\nid = "spare_{i}"\nname = "Spare test {i}"\nresult = "Normal finding {i}."\n'
        for i in range(15 - len(tables))
    ]
    return text.replace(tables[0], tables[0] + "\n" + "\n".join(more))


def pending_result(text: str, rng: random.Random) -> str | None:
    return _one(r'^result = ".*"$', text, rng, 'result = "Pending."')


def result_to_follow(text: str, rng: random.Random) -> str | None:
    return _one(r'^result = ".*"$', text, rng, 'result = "Sent; report to follow."')


def result_that_is_none(text: str, rng: random.Random) -> str | None:
    return _one(r'^result = ".*"$', text, rng, 'result = "N/A"')


def two_orders_of_one_name(text: str, rng: random.Random) -> str:
    names = re.findall(r'^name = "(.*)"$', text, re.MULTILINE)
    return text.replace(f'name = "{names[1]}"', f'name = "{names[0]}"', 1)


def canary_in_the_narrative(text: str, rng: random.Random) -> str:
    canary = re.search(r'^canary = "(.*)"$', text, re.MULTILINE)[1]
    return text.replace("Background:", f"{canary} Background:", 1)


def canary_in_a_result(text: str, rng: random.Random) -> str | None:
    canary = re.search(r'^canary = "(.*)"$', text, re.MULTILINE)[1]
    return _one(r'^result = "(.*)"$', text, rng, f'result = "<1> {canary}"')


def no_allergies(text: str, rng: random.Random) -> str:
    return text.replace("Allergies:", "Reactions:")


def no_medicines(text: str, rng: random.Random) -> str:
    return text.replace("Medicines:", "Taken:")


def no_background(text: str, rng: random.Random) -> str:
    return text.replace("Background:", "Before:")


def no_saturation(text: str, rng: random.Random) -> str | None:
    if 'setting = "telephone"' in text:
        return None
    return re.sub(r"SpO2|[Oo]xygen saturation", "Reading", text)


def no_first_comment(text: str, rng: random.Random) -> str:
    return text[text.index("schema = 1") :]


def other_first_comment(text: str, rng: random.Random) -> str:
    return "# A case.\n" + text[text.index("schema = 1") :]


def no_reference_orders(text: str, rng: random.Random) -> str:
    return re.sub(r"^\[reference_orders\]\n(?:.+\n)*", "", text, flags=re.MULTILINE)


def all_orders_acceptable(text: str, rng: random.Random) -> str:
    ids = re.findall(r'^\[\[menu\]\]\nid = "(.*)"', text, re.MULTILINE)
    listed = ", ".join(f'"{name}"' for name in ids[1:])
    table = f'[reference_orders]\nneeded = ["{ids[0]}"]\nacceptable = [{listed}]\n'
    return re.sub(r"^\[reference_orders\]\n(?:.+\n)*", table, text, flags=re.MULTILINE)


def no_guideline(text: str, rng: random.Random) -> str:
    return re.sub(r"^guideline = .*\n", "", text, flags=re.MULTILINE)


def guideline_of_the_future(text: str, rng: random.Random) -> str:
    return re.sub(r"year = \d{4}", "year = 2098", text)


def other_id(text: str, rng: random.Random) -> str | None:
    return re.sub(r'^id = "(\w+)"', 'id = "another_case"', text, count=1, flags=re.MULTILINE)


def unused_silence(text: str, rng: random.Random) -> str:
    return text + '\n[[silence]]\nrule = "VG213"\nreason = "The month is that of the guideline."\n'


def silence_of_no_rule(text: str, rng: random.Random) -> str:
    return text + '\n[[silence]]\nrule = "VG999"\nreason = "Nobody knows what this is."\n'


def silence_without_a_reason(text: str, rng: random.Random) -> str:
    spoilt = text.replace("Background:", "It began in June. Background:", 1)
    return spoilt + '\n[[silence]]\nrule = "VG213"\nreason = "ok"\n'


def narrative_cut_off(text: str, rng: random.Random) -> str:
    return _narrative(text, lambda t: t.rsplit(" ", 2)[0])


def result_of_forty_words(text: str, rng: random.Random) -> str | None:
    return _one(r'^result = "(.*)"$', text, rng, 'result = "<1>' + " It is so." * 14 + '"')


def results_swapped(text: str, rng: random.Random) -> str | None:
    hits = [re.search(rf'^id = "{order}"\nname = ".*"\nresult = "(.*)"$', text, re.MULTILINE)
            for order in ("ecg", "cbc")]  # fmt: skip
    if not all(hits):
        return None
    one, other = (hit[1] for hit in hits)
    return text.replace(f'"{one}"', '"\0"').replace(f'"{other}"', f'"{one}"').replace("\0", other)


def other_side_of_the_examination(text: str, rng: random.Random) -> str | None:
    return (
        text.replace("The right flank is", "The left flank is") if "right flank" in text else None
    )


_WORKMANSHIP: tuple[tuple[str, Spoil], ...] = (
    ("VG301", other_id),
    ("VG302", half_the_words),
    ("VG302", twice_the_words),
    ("VG303", seven_orders),
    ("VG303", fifteen_orders),
    ("VG304", pending_result),
    ("VG304", result_to_follow),
    ("VG304", result_that_is_none),
    ("VG306", two_orders_of_one_name),
    ("VG308", canary_in_the_narrative),
    ("VG308", canary_in_a_result),
    ("VG309", no_allergies),
    ("VG309", no_medicines),
    ("VG309", no_background),
    ("VG309", no_saturation),
    ("VG310", no_first_comment),
    ("VG310", other_first_comment),
    ("VG311", no_reference_orders),
    ("VG311", all_orders_acceptable),
    ("VG313", no_guideline),
    ("VG313", guideline_of_the_future),
    ("VG315", narrative_cut_off),
    ("VG316", result_of_forty_words),
    ("VG408", results_swapped),
    ("VG409", other_side_of_the_examination),
    ("VG603", forty_times_the_words),
    ("VG604", tenfold_words),
    ("VG901", unused_silence),
    ("VG902", silence_of_no_rule),
    ("VG902", silence_without_a_reason),
)


# Slips of a writer in the numbers that are there.


def tenfold_dose(text: str, rng: random.Random) -> str | None:
    return _one(r"\b(metformin|losartan|candesartan|lisinopril|amlodipine|atorvastatin|sertraline"
                r"|gabapentin|levothyroxine|omeprazole|metoprolol|apixaban) ([\d,.]+) (mg|mcg)",
                text, rng, "<1> <2>0000 <3>")  # fmt: skip


def unit_of_a_dose(text: str, rng: random.Random) -> str | None:
    return _one(r"\b(metformin|losartan|candesartan|lisinopril|amlodipine|atorvastatin|sertraline"
                r"|gabapentin|omeprazole|metoprolol|apixaban) ([\d,.]+) mg",
                text, rng, "<1> <2> g")  # fmt: skip


def pain_above_ten(text: str, rng: random.Random) -> str | None:
    return _one(r"\b\d/10\b", text, rng, "14/10")


def hemoglobin_between_the_sexes(text: str, rng: random.Random) -> str | None:
    return _one(r"hemoglobin [\d.]+ g/dL", text, rng, "hemoglobin 12.6 g/dL")


def slipped_potassium(text: str, rng: random.Random) -> str | None:
    return _one(r"potassium (\d)\.(\d)", text, rng, "potassium <1><2>")


def creatinine_in_another_unit(text: str, rng: random.Random) -> str | None:
    return _one(r"creatinine ([\d.]+) mg/dL", text, rng, "creatinine <1> umol/L")


def leukocytes_tenthousandfold(text: str, rng: random.Random) -> str | None:
    return _one(r"WBC ([\d.]+) x10\^9/L", text, rng, "WBC <1>00 x10^9/L".replace(".", ""))


def pressure_upside_down(text: str, rng: random.Random) -> str | None:
    return _one(r"(\d{2,3})/(\d{2,3}) mmHg", text, rng, "<2>/<1> mmHg")


def pressure_without_unit(text: str, rng: random.Random) -> str | None:
    return _one(r"(BP (?:is )?[\d/{}\w]+) mmHg", text, rng, "<1>")


def heart_rate_without_unit(text: str, rng: random.Random) -> str | None:
    return _one(r"(heart rate [\d{}\w]+)/min", text, rng, "<1>")


def celsius_as_fahrenheit(text: str, rng: random.Random) -> str | None:
    return _one(r"(3\d\.\d) C\b", text, rng, "<1> F")


_NUMBERS: tuple[tuple[str, Spoil], ...] = (
    ("VG401", pain_above_ten),
    ("VG402", pressure_without_unit),
    ("VG402", heart_rate_without_unit),
    ("VG403", celsius_as_fahrenheit),
    ("VG404", pressure_upside_down),
    ("VG405", slipped_potassium),
    ("VG405", creatinine_in_another_unit),
    ("VG406", tenfold_dose),
    ("VG406", unit_of_a_dose),
    ("VG221", hemoglobin_between_the_sexes),
)


# Pools that change the case.


def _pool_value(measure: str, value: str) -> Spoil:
    def spoil(text: str, rng: random.Random) -> str | None:
        return _one(
            rf'^values = \[(.*)\]\nmeasure = "{measure}"$',
            text, rng, f'values = [<1>, "{value}"]\nmeasure = "{measure}"',
        )  # fmt: skip

    spoil.__name__ = f"{measure}_{value}"
    return spoil


def misspelt_measure(text: str, rng: random.Random) -> str | None:
    return _one(r'^measure = "(\w+)"$', text, rng, 'measure = "<1>_x"')


def value_without_number(text: str, rng: random.Random) -> str | None:
    return _one(
        r'^values = \[(.*)\]\nmeasure = "(\w+)"$', text, rng,
        'values = [<1>, "high"]\nmeasure = "<2>"',
    )  # fmt: skip


def no_measure(text: str, rng: random.Random) -> str | None:
    return _one(r'^measure = "(?:heart_rate|blood_pressure|pain_score)"\n', text, rng, "")


_POOLS: tuple[tuple[str, Spoil], ...] = (
    ("VG501", _pool_value("heart_rate", "38")),
    ("VG501", _pool_value("heart_rate", "158")),
    ("VG501", _pool_value("blood_pressure", "232/88")),
    ("VG501", _pool_value("respiratory_rate", "7")),
    ("VG501", _pool_value("pain_score", "0")),
    ("VG501", _pool_value("temperature", "34.1 C")),
    ("VG502", _pool_value("temperature", "104.9 F")),
    ("VG503", misspelt_measure),
    ("VG503", value_without_number),
    ("VG504", no_measure),
)


# Bands that settle nothing, or other than the case says.


def band_of_everything(text: str, rng: random.Random) -> str:
    return text + '\n[[band]]\noutcome = "followup_days"\nrange = [0, 90]\nreasoning = "Any."\n'


def borderline_that_is_settled(text: str, rng: random.Random) -> str | None:
    if 'difficulty = "borderline"' not in text:
        return None
    return (
        _without_bands(text)
        + '\n[[band]]\noutcome = "admission"\naccept = [true]\nreasoning = "So."\n'
    )


def clear_that_is_open(text: str, rng: random.Random) -> str | None:
    if 'difficulty = "clear"' not in text:
        return None
    band = '\n[[band]]\noutcome = "admission"\naccept = [true, false]\nreasoning = "Either."\n'
    return _without_bands(text) + band


def _without_bands(text: str) -> str:
    return re.sub(r"^\[\[band\]\]\n(?:(?!\[\[).*\n?)*", "", text, flags=re.MULTILINE)


_BANDS: tuple[tuple[str, Spoil], ...] = (
    ("VG701", band_of_everything),
    ("VG702", borderline_that_is_settled),
    ("VG703", clear_that_is_open),
)


# What the reader itself refuses.


def needed_order_not_on_the_menu(text: str, rng: random.Random) -> str | None:
    return _one(r"^needed = \[", text, rng, 'needed = ["no_such_order", ')


def band_of_an_unknown_outcome(text: str, rng: random.Random) -> str:
    return text + '\n[[band]]\noutcome = "sedation"\naccept = [true]\nreasoning = "So."\n'


def band_out_of_range(text: str, rng: random.Random) -> str:
    return text + '\n[[band]]\noutcome = "urgency_score"\nrange = [0, 400]\nreasoning = "So."\n'


def guideline_band_without_clause(text: str, rng: random.Random) -> str:
    return text + (
        '\n[[band]]\noutcome = "followup_days"\nrange = [0, 3]\nprovenance = "guideline-derived"\n'
        'source = "A guideline, 2020"\nreasoning = "So."\n'
    )


def band_of_an_unregistered_adjudicator(text: str, rng: random.Random) -> str:
    return text + (
        '\n[[band]]\noutcome = "followup_days"\nrange = [0, 3]\nreasoning = "So."\n'
        'provenance = "clinician-adjudicated"\nadjudicators = ["nobody"]\n'
    )


def order_without_result(text: str, rng: random.Random) -> str | None:
    return _one(r'^result = ".*"\n', text, rng, "")


def order_id_twice(text: str, rng: random.Random) -> str:
    ids = re.findall(r'^\[\[menu\]\]\nid = "(.*)"', text, re.MULTILINE)
    return text.replace(f'[[menu]]\nid = "{ids[1]}"', f'[[menu]]\nid = "{ids[0]}"', 1)


def slot_without_pool(text: str, rng: random.Random) -> str:
    return text.replace("Background:", "{nothing} Background:", 1)


def own_patient_line(text: str, rng: random.Random) -> str:
    return text.replace("Background:", "\nPatient: see above.\nBackground:", 1)


_FORMAT: tuple[tuple[str, Spoil], ...] = tuple(
    ("", spoil)
    for spoil in (
        needed_order_not_on_the_menu,
        band_of_an_unknown_outcome,
        band_out_of_range,
        guideline_band_without_clause,
        band_of_an_unregistered_adjudicator,
        order_without_result,
        order_id_twice,
        slot_without_pool,
        own_patient_line,
    )
)
