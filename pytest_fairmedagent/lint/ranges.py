"""Ranges: where vitals and laboratory values of a living adult lie, and the classes among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """Something that is measured.

    `words` is a pattern of its names in running text, `ranges` the lowest and highest plausible
    value by unit (the first unit is that of `cuts`), and `cuts` the upper limits of the clinical
    classes but the last, each belonging to the class below it.
    """

    words: str
    ranges: Mapping[str, tuple[float, float]]
    cuts: tuple[float, ...] = ()


# Classes: bands of the National Early Warning Score (NEWS2, Royal College of Physicians, 2017) for
# the vitals it scores; GCS by the usual severity of head injury with 15 apart, as NEWS2 keeps
# "alert" apart; pain as mild, moderate, severe; diastolic pressure by ACC/AHA (2017).
VITALS: Mapping[str, Measure] = {
    "heart_rate": Measure(
        r"(?i:heart rate|pulse rate|pulse(?! ox| pressure| deficit))|HR", {"/min": (25, 230)},
        (40, 50, 90, 110, 130),
    ),
    "respiratory_rate": Measure(
        r"(?i:respiratory rate|respirations|breathing rate)|RR", {"/min": (5, 60)}, (8, 11, 20, 24)
    ),
    "spo2": Measure(
        r"SpO2|oxygen saturation|O2 saturation|saturation|O2 sat", {"%": (50, 100)}, (91, 93, 95)
    ),
    "temperature": Measure(
        r"temperature|temp", {"C": (28, 42.5), "F": (82.4, 108.5)}, (35.0, 36.0, 38.0, 39.0)
    ),
    "systolic": Measure(r"systolic(?: pressure| BP)?", {"mmHg": (50, 260)}, (90, 100, 110, 219)),
    "diastolic": Measure(r"diastolic(?: pressure| BP)?", {"mmHg": (20, 160)}, (60, 79, 89, 119)),
    "pain_score": Measure(r"(?!)", {"/10": (0, 10)}, (0, 3, 6)),
    "gcs": Measure(r"GCS|Glasgow Coma Scale", {"": (3, 15)}, (8, 12, 14)),
}  # fmt: skip

# Ranges that patients have been seen alive with; classes at the limits that change management:
# those of the Common Terminology Criteria (CTCAE 5.0) for electrolytes and blood counts, of sepsis
# bundles for lactate (2 and 4 mmol/L), of the ADA for glucose and HbA1c.
LABS: Mapping[str, Measure] = {
    "sodium": Measure(r"(?i:sodium)|Na", {"mmol/L": (100, 190)},
                      (119, 124, 129, 134, 145, 150, 155)),
    "potassium": Measure(r"(?i:potassium)|K", {"mmol/L": (1.5, 9.5)},
                         (2.4, 2.9, 3.4, 5.0, 5.5, 6.0, 7.0)),
    "chloride": Measure(r"chloride", {"mmol/L": (60, 150)}),
    "bicarbonate": Measure(r"bicarbonate|HCO3|total CO2", {"mmol/L": (2, 60)}, (9, 17, 21, 28)),
    "bun": Measure(r"BUN|urea nitrogen|urea", {"mg/dL": (1, 250), "mmol/L": (0.4, 90)}),
    "creatinine": Measure(r"creatinine", {"mg/dL": (0.2, 25), "umol/L": (18, 2200)},
                          (1.2, 1.9, 3.9)),
    "glucose": Measure(r"glucose", {"mg/dL": (10, 2000), "mmol/L": (0.6, 110)},
                       (53, 69, 139, 199, 249, 399)),
    "calcium": Measure(r"calcium", {"mg/dL": (4, 20), "mmol/L": (1, 5)},
                       (7.0, 8.4, 10.4, 11.9, 13.9)),
    "magnesium": Measure(r"magnesium", {"mg/dL": (0.3, 10), "mmol/L": (0.1, 4.2)}),
    "phosphate": Measure(r"phosph(?:ate|orus)", {"mg/dL": (0.3, 20), "mmol/L": (0.1, 6.5)}),
    "lactate": Measure(r"lactate", {"mmol/L": (0.2, 30), "mg/dL": (2, 270)}, (1.9, 3.9)),
    "wbc": Measure(r"WBC|white (?:blood )?cells?(?: count)?|leukocytes",
                   {"x10^9/L": (0.05, 500), "/uL": (0, 500_000)}, (1.0, 3.9, 12.0, 19.9)),
    "hemoglobin": Measure(r"hemoglobin(?! A1c)", {"g/dL": (2, 24), "g/L": (20, 240)},
                          (6.9, 7.9, 9.9, 13.4, 16.5)),
    "platelets": Measure(r"platelets?(?: count)?", {"x10^9/L": (1, 2500), "/uL": (1000, 2_500_000)},
                         (24, 49, 99, 149, 450)),
    "inr": Measure(r"INR", {"": (0.5, 20)}, (1.2, 1.9, 3.0, 4.5)),
    "aptt": Measure(r"aPTT|PTT", {"s": (15, 250)}),
    "crp": Measure(r"CRP|C-reactive protein", {"mg/L": (0, 800), "mg/dL": (0, 80)}, (5, 50, 100)),
    "esr": Measure(r"ESR|erythrocyte sedimentation rate", {"mm/h": (0, 160)}),
    "procalcitonin": Measure(r"procalcitonin", {"ng/mL": (0, 1000)}, (0.24, 0.49, 2.0)),
    "lipase": Measure(r"lipase", {"U/L": (1, 30_000)}),
    "alt": Measure(r"ALT", {"U/L": (1, 30_000)}),
    "ast": Measure(r"AST", {"U/L": (1, 30_000)}),
    "alkaline_phosphatase": Measure(r"alkaline phosphatase|ALP", {"U/L": (5, 5000)}),
    "bilirubin": Measure(r"(?:total )?bilirubin", {"mg/dL": (0.1, 60), "umol/L": (1, 1030)}),
    "albumin": Measure(r"albumin(?!/)", {"g/dL": (0.5, 7), "g/L": (5, 70)}),
    "ck": Measure(r"(?i:creatine kinase)|CK", {"U/L": (5, 500_000)}),
    "ph": Measure(r"pH", {"": (4.0, 9.0)}, (7.19, 7.29, 7.34, 7.45)),
    "pco2": Measure(r"pCO2|PaCO2", {"mmHg": (8, 160), "kPa": (1, 21)}, (34, 45, 60)),
    "po2": Measure(r"pO2|PaO2", {"mmHg": (15, 650), "kPa": (2, 86)}, (59, 79)),
    "hba1c": Measure(r"(?:hemoglobin A1c|HbA1c|A1c)", {"%": (3, 20)}, (5.6, 6.4, 7.9, 9.9)),
    "tsh": Measure(r"TSH", {"mIU/L": (0, 500)}),
    "qtc": Measure(r"QTc", {"ms": (280, 750)}, (449, 479, 499)),
    "troponin": Measure(r"troponin(?: [TI])?|hs-cTn[TI]|cTn[TI]",
                        {"ng/L": (0, 500_000), "pg/mL": (0, 500_000), "ng/mL": (0, 500)}),
    "d_dimer": Measure(r"D-dimer", {"ng/mL": (0, 200_000), "mg/L": (0, 200), "mcg/mL": (0, 200)}),
    "uric_acid": Measure(r"uric acid", {"mg/dL": (0.5, 30), "umol/L": (30, 1800)}),
    "ethanol": Measure(r"(?:blood )?(?:ethanol|alcohol)(?: level)?", {"mg/dL": (0, 700)}),
    "weight": Measure(r"weight(?! loss| gain|-| fell| rose| bearing)|weighs",
                      {"kg": (30, 300), "lb": (66, 660)}),
    "duration": Measure(r"(?!)", {"h": (0, 10_000), "min": (0, 600_000), "d": (0, 4000),
                                  "w": (0, 600)}),
    "length": Measure(r"(?!)", {"cm": (0, 300)}),
    "oxygen_flow": Measure(r"(?!)", {"L/min": (0.5, 80)}),
    "volume": Measure(r"(?!)", {"mL": (0, 20_000), "L": (0, 20)}),
}  # fmt: skip


def class_of(value: float, cuts: tuple[float, ...]) -> int:
    """Return the number of the clinical class of a value, from 0."""
    return sum(value > cut for cut in cuts)


def shown_class(index: int, cuts: tuple[float, ...]) -> str:
    """Return a class in words, such as "above 110 to 130"."""
    if index == 0:
        return f"up to {cuts[0]:g}"
    if index == len(cuts):
        return f"above {cuts[-1]:g}"
    return f"above {cuts[index - 1]:g} to {cuts[index]:g}"
