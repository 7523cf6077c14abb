"""What the fields of files may hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator


def _slug(value: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]{1,47}", value):
        raise ValueError(
            "expected an id of 2 to 48 lower-case letters, digits and '_', starting with a letter"
        )
    return value


def one_of(known: Sequence[str]) -> AfterValidator:
    """Return the check that a text is one of the known words."""

    def check(value: str) -> str:
        if value not in known:
            raise ValueError(f"expected one of {', '.join(known)}")
        return value

    return AfterValidator(check)


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("expected some text")
    return value.strip()


Slug = Annotated[str, AfterValidator(_slug)]
Text = Annotated[str, AfterValidator(_text)]
