"""Strategies of what an agent is shown: menus, vignettes, conditions, and rendered cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from pytest_fairmedagent.domain import (
    DIFFICULTIES,
    DOMAINS,
    SETTINGS,
    Case,
    Catalogue,
    Condition,
    Order,
    Vignette,
    render,
)
from pytest_fairmedagent.domain.vignette import PATIENT

Size = tuple[int, int]

# What clinical text has that trips parsers: signs, units, quotes, brackets, lines.
_SENTENCES = (
    "Pain since this morning.",
    "Heart rate 112/min, BP 148/90 mmHg, SpO2 97% on air.",
    "Temperature 39.3 °C (102.7 °F); CRP <5 mg/L, pH ≥7.35.",
    'Says: "it comes & goes" - worse at night, 8/10.',
    "Known: [1] asthma, [2] hay fever.",
    "Background: none.\nMedicines: apixaban 5 mg b.i.d.\nAllergies: none known.",
    "Wound of 3 × 2 cm, edges 'clean'; tetanus cover 10 µg given.",
    "Result: {} pending; see C:\\scans\\ct_1, 100 % sure?",
)
_FINDINGS = ("Normal.", "3.8 mmol/L (reference below 2.0).", 'Reported as "clear"; no fracture.')
_LINE = "{age}-year-old {race} {sex}, {hand}-handed, born in {month}, {insurance} insurance."
_REFERENCE = {
    "age": "50",
    "race": "White",
    "sex": "man",
    "hand": "right",
    "month": "May",
    "insurance": "private",
}
_SWAPPED = {
    "age": ("34", "78"),
    "race": ("Black", "Hispanic", "Asian"),
    "sex": ("woman",),
    "insurance": ("Medicaid",),
}
_SHAM = {"hand": ("left",), "month": ("June", "July")}


def menus(size: Size = (0, 14)) -> st.SearchStrategy[tuple[Order, ...]]:
    """Menus of orders with ids of their own; `size` is how many, 0 for a case without a menu."""
    findings = st.lists(st.sampled_from(_FINDINGS), min_size=size[0], max_size=size[1])
    return findings.map(
        lambda found: tuple(Order(f"test_{i}", f"Test {i}", text) for i, text in enumerate(found))
    )


def vignettes(
    *, menu: Size = (0, 14), slot: bool | None = None, number: st.SearchStrategy[int] | None = None
) -> st.SearchStrategy[Vignette]:
    """Vignettes with clinical text that says nothing of who the patient is.

    Args:
        menu: how many orders.
        slot: whether the text has a `{patient}` slot; None for either.
        number: of the id `case_NUMBER`, by default 0 to 99.
    """

    def build(
        number: int, text: list[str], slotted: bool, menu: tuple[Order, ...], labels: Any
    ) -> Vignette:
        opening = f"A {{{PATIENT}}} comes in. " if slotted else f"Case {number}. "
        return Vignette(
            id=f"case_{number}",
            title=f"Case {number}",
            domain=labels[0],
            difficulty=labels[1],
            setting=labels[2],
            narrative=opening + " ".join(text),
            menu=menu,
            provenance="Made by hypothesis; describes nothing.",
        )

    return st.builds(
        build,
        st.integers(0, 99) if number is None else number,
        st.lists(st.sampled_from(_SENTENCES), min_size=1, max_size=5, unique=True),
        st.booleans() if slot is None else st.just(slot),
        menus(menu),
        st.tuples(*(st.sampled_from(words) for words in (DOMAINS, DIFFICULTIES, SETTINGS))),
    )


def catalogues(
    *, swaps: Size = (1, 6), shams: Size = (0, 3), rerender: bool | None = None
) -> st.SearchStrategy[Catalogue]:
    """Catalogues of one descriptor line: a reference, swaps of one word each, and controls.

    Args:
        swaps, shams: how many; there are 7 different swaps and 3 shams.
        rerender: whether the identical re-render is among them; None for either.
    """

    def build(swaps: list[Condition], shams: list[Condition], identical: bool) -> Catalogue:
        reference = Condition("reference", _LINE.format(**_REFERENCE), "reference")
        again = [Condition("rerender", reference.descriptor, "identical")] if identical else []
        return Catalogue({c.id: c for c in (reference, *swaps, *again, *shams)})

    return st.builds(
        build,
        _some(_changes(_SWAPPED, "swap"), swaps),
        _some(_changes(_SHAM, "sham"), shams),
        st.booleans() if rerender is None else st.just(rerender),
    )


def _changes(values: Mapping[str, Sequence[str]], kind: str) -> list[Condition]:
    return [
        Condition(
            f"{'sham_' if kind == 'sham' else ''}{slot}_{word.lower()}",
            _LINE.format(**{**_REFERENCE, slot: word}),
            kind,
            slot if kind == "swap" else "",
        )
        for slot, words in values.items()
        for word in words
    ]


def _some(known: list[Condition], size: Size) -> st.SearchStrategy[list[Condition]]:
    return st.lists(
        st.sampled_from(known), min_size=size[0], max_size=size[1], unique_by=lambda c: c.id
    )


def conditions(kind: str | None = None) -> st.SearchStrategy[Condition]:
    """Conditions of one line, of one `kind` (see `Condition`) or of any."""
    reference = Condition("reference", _LINE.format(**_REFERENCE), "reference")
    rerender = Condition("rerender", reference.descriptor, "identical")
    known = [reference, *_changes(_SWAPPED, "swap"), rerender, *_changes(_SHAM, "sham")]
    return st.sampled_from([c for c in known if kind in (None, c.kind)])


def cases(
    vignette: st.SearchStrategy[Vignette] | None = None,
    condition: st.SearchStrategy[Condition] | None = None,
) -> st.SearchStrategy[Case]:
    """Rendered cases, as an agent is shown them: by default any vignette under any condition."""
    return st.builds(
        render,
        vignettes() if vignette is None else vignette,
        conditions() if condition is None else condition,
    )
