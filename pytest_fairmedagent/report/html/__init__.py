"""The report as one page: no network, no script needed, made from a run record alone."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_fairmedagent.report import numbers
from pytest_fairmedagent.report.html.page import page
from pytest_fairmedagent.report.text import tame
from pytest_fairmedagent.report.wholes import notes_of, said_of

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent


def html_report(record: dict[str, Any]) -> str:
    """Return the page of a record. Equal records give equal pages: its clock is the record's."""
    style, script = (_read(name) for name in ("style.css", "script.js"))
    environment = _environment()
    return environment.get_template("page.html.j2").render(
        **page(record),
        style=_trusted(style),
        script=_trusted(script),
        policy=_policy(script),
    )


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        signed=numbers.signed,
        measured=numbers.measured,
        in_units=_in_units,
        by_kind=_by_kind,
        ends=numbers.ends,
        rate=numbers.rate,
        amount=numbers.amount,
        chance=numbers.chance,
        said_of=said_of,
        notes_of=notes_of,
        whole=numbers.whole,
        registered=numbers.registered,
        breakable=_breakable,
    )
    return environment


def _finalize(value: object) -> object:
    """Tame whatever the page shows: it may be a model's or a stranger's text."""
    if type(value) is str:  # markup of ours is a subclass
        return tame(value)
    return value


def _in_units(value: float | None, unit: str) -> str:
    """Return a gap without its unit, which the table has in a column of its own."""
    return numbers.measured(value, unit).split(" ")[0]


def _by_kind(value: float | None, kind: str) -> str:
    """Return a reading of a comparison: a gap has a sign, a floor or rate has none."""
    return numbers.signed(value) if kind == "gap" else numbers.rate(value)


def _breakable(text: str) -> Any:
    """Return a name that a narrow line may break behind its signs."""
    from markupsafe import escape

    parts = re.split(r"(?<=[_,:/=])(?=\w)", tame(text))
    return _trusted("<wbr>").join(escape(part) for part in parts)


def _trusted(text: str) -> Any:
    """Return text that this package ships, or has drawn, as markup."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - nothing of a record's is in it unescaped


def _policy(script: str) -> Any:
    """Return a content policy under which no other script runs and nothing is fetched."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _trusted(f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'")


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8").strip()
