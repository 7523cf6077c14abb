"""The table `[inspect]` of a rules file: where a log of inspect_ai has what a row needs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pytest_fairmedagent.files.toml import Strict
from pytest_fairmedagent.files.types import Text


class InspectField(Strict):
    """A field of the outputs: its stage and name, and where the log has it.

    `values` says what the log's words stand for, such as `{ C = true, I = false }`; a word that it
    does not name is missing. Without it the value is taken as it stands.
    """

    stage: Text
    field: Text
    at: Text
    values: Annotated[dict[str, bool | int | float | str], Field(default_factory=dict)]


class InspectTable(Strict):
    """Places in a sample, written `metadata.case`; one that begins with `eval` is of the log."""

    vignette: Text = "metadata.vignette"
    condition: Text = "metadata.condition"
    field: Annotated[list[InspectField], Field(min_length=1)]
