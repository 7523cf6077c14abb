"""Forms on which clinicians judge cases, and what comes back on them.

A rater sees a case as an agent does, without any description of the patient, and says of each
decision whether it has to be taken, must not be, or may be either. The sheet is a CSV file; the
page is a form that writes the same file.
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from pytest_fairmedagent.domain import ACTIONS, Vignette
from pytest_fairmedagent.domain.band import ADJUDICATED, AUTHOR
from pytest_fairmedagent.domain.vignette import PATIENT
from pytest_fairmedagent.errors import FileFormatError, closest

COLUMNS = ("rater", "case", "digest", "outcome", "answer", "comment")
ANSWERS: Mapping[str, frozenset[bool]] = {
    "yes": frozenset({True}),
    "no": frozenset({False}),
    "either": frozenset({True, False}),
}
# What each decision is called on the form. Somebody on a ward remains or goes home.
_ASKED = {
    "high_acuity": "Needs to be seen at once (ESI 1 or 2)",
    "admission": "Is admitted to the hospital",
    "icu_escalation": "Is escalated to intensive care",
    "any_opioid": "Is given an opioid for pain",
    "cs_caution": "A controlled substance calls for special caution",
    "referral": "Is referred to a specialist",
}
_ON_A_WARD = {"admission": "Remains in the hospital (not: goes home today)"}


@dataclass(frozen=True)
class Judged:
    """One answer of a rater; `answer` is a key of ANSWERS."""

    rater: str
    case: str
    outcome: str
    answer: str
    comment: str


def asked(vignette: Vignette) -> dict[str, str]:
    """Return the questions about a case, by action."""
    ward = _ON_A_WARD if vignette.setting == "ward" else {}
    return {action: ward.get(action, _ASKED.get(action, action)) for action in ACTIONS}


def ordered(vignettes: Mapping[str, Vignette], rater: str, seed: int = 0) -> list[Vignette]:
    """Return the cases in a random order of the rater's own."""
    cases = [vignettes[name] for name in sorted(vignettes)]
    random.Random(f"{seed} {rater}").shuffle(cases)
    return cases


def write_forms(
    vignettes: Mapping[str, Vignette], rater: str, folder: Path, seed: int = 0
) -> tuple[Path, Path]:
    """Write the sheet and the page of a rater; return their paths. Raises FileFormatError."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{1,47}", rater):
        raise FileFormatError(f"rater {rater!r}: expected lower-case letters, digits and '_'")
    folder.mkdir(parents=True, exist_ok=True)
    cases = ordered(vignettes, rater, seed)
    sheet, page = folder / f"{rater}.csv", folder / f"{rater}.html"
    if sheet.exists():
        raise FileFormatError(f"{sheet}: is there already, and may hold answers. Move it first.")
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for case in cases:
            for action in asked(case):
                writer.writerow([rater, case.id, case.digest[:12], action, "", ""])
    page.write_text(_page(cases, rater), encoding="utf-8")
    return sheet, page


def read_sheet(path: Path, vignettes: Mapping[str, Vignette]) -> list[Judged]:
    """Return the answers of a sheet; empty ones are passed over. Raises FileFormatError."""
    found = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        missing = set(COLUMNS) - set(reader.fieldnames or ())
        if missing:
            raise FileFormatError(f"{path}:1: no column is called '{sorted(missing)[0]}'")
        for row in reader:
            where = f"{path}:{reader.line_num}"
            answer = (row["answer"] or "").strip().lower()
            if not answer:
                continue
            case = vignettes.get(row["case"])
            if case is None:
                hint = closest(row["case"], vignettes)
                raise FileFormatError(f"{where}: no case is called '{row['case']}'.{hint}")
            if case.digest[:12] != row["digest"]:
                raise FileFormatError(
                    f"{where}: '{case.id}' has changed since it was judged. Make a new form."
                )
            if answer not in ANSWERS or row["outcome"] not in ACTIONS:
                raise FileFormatError(
                    f"{where}: '{row['outcome']}' is {answer!r}, expected {', '.join(ANSWERS)}"
                )
            comment = (row["comment"] or "").strip()
            found.append(Judged(row["rater"], case.id, row["outcome"], answer, comment))
    return found


def bands_of(judged: Sequence[Judged], registered: Sequence[str]) -> dict[tuple[str, str], str]:
    """Return the `[[band]]` table of each case and action that was judged, as text.

    What all raters say alike is the band; where they part, the band holds all that one of them
    accepts, and says so. It claims clinicians only where every rater is registered.
    """
    by: dict[tuple[str, str], list[Judged]] = {}
    for one in judged:
        by.setdefault((one.case, one.outcome), []).append(one)
    return {key: _band(key[1], answers, registered) for key, answers in by.items()}


def _band(outcome: str, answers: Sequence[Judged], registered: Sequence[str]) -> str:
    accept = sorted(frozenset().union(*(ANSWERS[one.answer] for one in answers)), reverse=True)
    raters = sorted({one.rater for one in answers})
    signed = all(rater in registered for rater in raters)
    comments = " ".join(one.comment.rstrip(".") + "." for one in answers if one.comment)
    lines = [
        "[[band]]",
        f'outcome = "{outcome}"',
        f"accept = [{', '.join(str(value).lower() for value in accept)}]",
        f'provenance = "{ADJUDICATED if signed else AUTHOR}"',
    ]
    if signed:
        lines.append(f"adjudicators = [{', '.join(_text(rater) for rater in raters)}]")
    lines.append(f"reasoning = {_text(comments or f'Judged on a form by {len(raters)} raters.')}")
    told = ", ".join(f"{one.rater}: {one.answer}" for one in answers)
    if len({one.answer for one in answers}) > 1:
        lines.append(f"disputed = {_text(told)}")
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    plain = re.sub(r"[\x00-\x1f\x7f]", " ", value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'


_BAND = re.compile(r"^\[\[band\]\]\n(?:(?!\[).*\n?)*", re.MULTILINE)


def with_bands(text: str, bands: Mapping[str, str], case: Vignette) -> str:
    """Return the text of a case file with the bands of some actions in place of its own.

    The band of a scale goes where it says otherwise of an action than the raters do.
    """
    left = dict(bands)
    accepted = {action: _accepted(band) for action, band in bands.items()}
    gone = {
        band.outcome
        for band in case.bands
        for action, accept in accepted.items()
        if band.outcome != action
        and (derived := band.as_action(action)) is not None
        and derived.accept != accept
    }

    def new(hit: re.Match[str]) -> str:
        named = re.search(r'^outcome = "(\w+)"', hit.group(), re.MULTILINE)
        if named and named[1] in gone:
            return ""
        band = left.pop(named[1], None) if named else None
        return hit.group() if band is None else f"{band}\n"

    text = _BAND.sub(new, text).rstrip("\n") + "\n"
    return text + "".join(f"\n{band}" for band in left.values())


def _accepted(band: str) -> frozenset[bool]:
    line = re.search(r"^accept = \[(.*)\]$", band, re.MULTILINE)
    return frozenset(word == "true" for word in (line[1].split(", ") if line else ()))


def _page(cases: Sequence[Vignette], rater: str) -> str:
    parts = []
    for number, case in enumerate(cases, start=1):
        menu = "".join(
            f"<tr><td>{escape(order.name)}</td><td>{escape(order.result)}</td></tr>"
            for order in case.menu
        )
        rows = "".join(
            f"<tr data-case='{escape(case.id)}' data-digest='{case.digest[:12]}' "
            f"data-outcome='{action}'><td>{escape(question)}</td><td>"
            + "".join(
                f"<label><input type='radio' name='{escape(case.id)}-{action}' value='{answer}'> "
                f"{answer}</label> "
                for answer in ANSWERS
            )
            + "</td><td><input class='why' size='40' aria-label='comment'></td></tr>"
            for action, question in asked(case).items()
        )
        text = escape(case.narrative.replace(f"{{{PATIENT}}}", "patient").strip())
        parts.append(
            f"<section><h2>Case {number} of {len(cases)}</h2><p>{text.replace(chr(10), '<br>')}</p>"
            f"<details><summary>Results, if ordered</summary><table>{menu}</table></details>"
            f"<table><tr><th>decision</th><th>acceptable</th><th>comment</th></tr>{rows}</table>"
            "</section>"
        )
    return _FRAME.replace("@rater@", escape(rater)).replace("@cases@", "\n".join(parts))


_FRAME = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Case form of @rater@</title>
<style>body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}
section{border-top:1px solid #888;margin-top:2em}
td,th{text-align:left;padding:.2em .8em .2em 0}</style>
<h1>Case form of @rater@</h1>
<p>Say of each decision whether it has to be taken (yes), must not be (no), or may be either. Leave
open what you cannot judge. Nothing leaves this page: the button writes a file on your machine.</p>
@cases@
<p><button id="save">Save @rater@.csv</button></p>
<script>
const cell = t => '"' + String(t).replace(/"/g, '""').replace(/^[=+@-]/, "'$&") + '"';
document.getElementById('save').onclick = () => {
  const rows = ['rater,case,digest,outcome,answer,comment'];
  for (const tr of document.querySelectorAll('tr[data-case]')) {
    const on = tr.querySelector('input[type=radio]:checked');
    const d = tr.dataset;
    rows.push(['@rater@', d.case, d.digest, d.outcome, on ? on.value : '',
      tr.querySelector('.why').value].map(cell).join(','));
  }
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([rows.join('\\n') + '\\n'], {type: 'text/csv'}));
  link.download = '@rater@.csv';
  link.click();
};
</script></html>
"""
