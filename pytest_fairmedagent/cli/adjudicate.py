"""`fairmed adjudicate`: forms on which clinicians judge cases, and what they say together."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from pytest_fairmedagent.cli.printing import OK, harmless_lines
from pytest_fairmedagent.errors import FairmedError


def add(commands: Any) -> None:
    """Declare the command."""
    adjudicate = commands.add_parser(
        "adjudicate",
        help="make forms on which clinicians judge cases, and read them back",
        description="With --rater, write a form (CSV and HTML) for each rater, the cases in an "
        "order of their own and without any description of the patient. With --read, say how far "
        "the raters agree, and with --write fill the bands of the case files.",
    )
    adjudicate.add_argument("cases", nargs="+", type=Path, metavar="PATH", help="case files")
    adjudicate.add_argument("--rater", action="append", default=[], metavar="ID", help="who judges")
    adjudicate.add_argument("--out", type=Path, default=Path("forms"), help="folder of the forms")
    adjudicate.add_argument("--seed", type=int, default=0, help="of the order of cases")
    adjudicate.add_argument(
        "--read", nargs="+", type=Path, default=[], metavar="CSV", help="sheets that came back"
    )
    adjudicate.add_argument(
        "--write", action="store_true", help="write what they say into the bands of the files"
    )
    adjudicate.add_argument("--json", action="store_true", help="print for programs")
    adjudicate.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent.files.adjudication import read_sheet, write_forms
    from pytest_fairmedagent.files.vignettes import read_vignettes

    if bool(arguments.rater) == bool(arguments.read):
        raise FairmedError("adjudicate was given neither --rater nor --read, or both: give one")
    vignettes = read_vignettes(arguments.cases)
    if arguments.rater:
        for rater in arguments.rater:
            for path in write_forms(vignettes, rater, arguments.out, arguments.seed):
                print(path)
        return OK
    judged = [one for path in arguments.read for one in read_sheet(path, vignettes)]
    if not judged:
        raise FairmedError("the sheets hold no answer: expected yes, no or either")
    _print_agreement(judged, as_json=arguments.json)
    if arguments.write:
        _write(arguments.cases, judged)
    return OK


def _print_agreement(judged: Any, *, as_json: bool) -> None:
    from pytest_fairmedagent.domain import ACTIONS
    from pytest_fairmedagent.files.adjudication import ANSWERS
    from pytest_fairmedagent.stats.gwet import ac1

    raters = sorted({one.rater for one in judged})
    told = {(one.case, one.outcome, one.rater): one.answer for one in judged}
    record = []
    for action in ACTIONS:
        cases = sorted({one.case for one in judged if one.outcome == action})
        answers = [[told.get((case, action, rater)) for rater in raters] for case in cases]
        found = ac1(answers, list(ANSWERS))
        low, high = found.interval()
        # JSON has no nan: where no case has two answers there is no figure.
        value = None if found.n == 0 else round(found.value, 4)
        record.append({"action": action, "cases": found.n, "ac1": value, "interval": [low, high]})
        if not as_json:
            text = str(found) if found.n else "no case was judged by two raters"
            print(harmless_lines(f"{action}: {text}"))
    if as_json:
        print(json.dumps({"raters": raters, "actions": record}, indent=1))


def _write(paths: list[Path], judged: Any) -> None:
    """Write bands into the files, and say which claim clinicians and which stay the author's."""
    from pytest_fairmedagent.domain.band import ADJUDICATED
    from pytest_fairmedagent.files.adjudication import bands_of, with_bands
    from pytest_fairmedagent.files.adjudicators import adjudicators_of
    from pytest_fairmedagent.files.cases import read_vignette
    from pytest_fairmedagent.files.vignettes import case_files

    for path in paths:
        for file in case_files(path):
            case = read_vignette(file)
            mine = [one for one in judged if one.case == case.id]
            if not mine:
                continue
            bands = bands_of(mine, list(adjudicators_of(file)))
            text = file.read_text(encoding="utf-8")
            new = with_bands(text, {outcome: band for (_, outcome), band in bands.items()}, case)
            file.write_text(new, encoding="utf-8")
            n = sum(ADJUDICATED in band for band in bands.values())
            print(f"{file}: {len(bands)} bands, {n} of them {ADJUDICATED}")
