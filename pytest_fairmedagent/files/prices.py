"""Price tables: what a provider asks for a million tokens, with the source and its date."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pytest_fairmedagent.files.toml import Strict, TomlFile
from pytest_fairmedagent.files.types import Text

Usd = Annotated[float, Field(ge=0, le=10_000)]

SHIPPED = Path(__file__).with_name("prices.toml")


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens of one model.

    `cache_read` and `cache_write` are for input tokens that a prompt cache had or took; they count
    as plain input where the table does not say. `source` and `read` tell where the figures are from
    and when they were read there.
    """

    model: str
    input: float
    output: float
    cache_read: float
    cache_write: float
    source: str
    read: str

    def usd(
        self, input_tokens: int, output_tokens: int, *, cache_read: int = 0, cache_write: int = 0
    ) -> float:
        """US dollars for so many tokens; `input_tokens` holds the cached ones too."""
        plain = input_tokens - cache_read - cache_write
        parts = (
            plain * self.input,
            output_tokens * self.output,
            cache_read * self.cache_read,
            cache_write * self.cache_write,
        )
        return sum(parts) / 1e6

    def __str__(self) -> str:
        return f"{self.model}: {self.source}, read {self.read}"


class PriceTable(Strict):
    model: Text
    input: Usd
    output: Usd
    cache_read: Usd | None = None
    cache_write: Usd | None = None
    source: Text
    read: date


class PricesFile(Strict):
    """The fields of a price table; `schema` is the version of this format."""

    schema_version: Annotated[int, Field(alias="schema", ge=1, le=1)]
    price: Annotated[list[PriceTable], Field(min_length=1)]


def price_of(model: str, tables: tuple[Path, ...] = (), *, shipped: bool = True) -> Price | None:
    """Return the price of `BACKEND/NAME`, or None where no table knows it: unknown is never 0.

    The user's `tables` come before the `shipped` one. An entry is for the very name, and for that
    name with a date or "-latest" behind it. Raises FileFormatError with file and line.
    """
    for path in (*tables, SHIPPED) if shipped else tables:
        for entry in TomlFile(path).parse(PricesFile).price:
            if re.fullmatch(
                rf"{re.escape(entry.model)}(-\d{{8}}|-\d{{4}}-\d\d-\d\d|-latest)?", model
            ):
                return Price(
                    model=entry.model,
                    input=entry.input,
                    output=entry.output,
                    cache_read=entry.input if entry.cache_read is None else entry.cache_read,
                    cache_write=entry.input if entry.cache_write is None else entry.cache_write,
                    source=entry.source,
                    read=entry.read.isoformat(),
                )
    return None
