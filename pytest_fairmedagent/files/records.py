"""Record files: trajectories as JSON Lines, or as one JSON object with `rows`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_fairmedagent.domain import Trajectory, Trial
from pytest_fairmedagent.errors import FileFormatError, StoreError


class Row(BaseModel):
    """One trajectory. `replicate` counts from 1; further keys are kept out, not refused."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    vignette: str
    condition: str
    replicate: Annotated[int, Field(ge=1)]
    outputs: dict[str, dict[str, Any]]
    complete: bool | None = None
    missing: dict[str, str] | None = None
    calls: int = 0
    retries: int = 0


class RecordFile:
    """The trajectories of one file. Raises FileFormatError with file and row."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._header: dict[str, Any] = {}
        self._rows: dict[tuple[str, str, int], Trajectory] = {}
        for place, data in self._read():
            row = _row(place, data)
            key = (row.vignette, row.condition, row.replicate)
            if key in self._rows:
                raise FileFormatError(
                    f"{place}: {row.vignette}, {row.condition}, replicate {row.replicate} stands "
                    "twice. A copy of a trajectory is no replicate."
                )
            self._rows[key] = _trajectory(row)
        if not self._rows:
            raise FileFormatError(f"{path}: holds no trajectories. Expected rows of a record file.")

    def _read(self) -> Iterator[tuple[str, Any]]:
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise FileFormatError(f"{self.path}: cannot be read: {error}") from error
        if self.path.suffix == ".jsonl":
            for number, line in enumerate(text.splitlines(), start=1):
                if line.strip():
                    yield f"{self.path}:{number}", _json(f"{self.path}:{number}", line)
            return
        whole = _json(str(self.path), text)
        if not isinstance(whole, dict) or not isinstance(whole.get("rows"), list):
            raise FileFormatError(f"{self.path}: expected one JSON object with a list 'rows'")
        self._header = {k: v for k, v in whole.items() if k != "rows"}
        for index, data in enumerate(whole["rows"]):
            yield f"{self.path}: rows[{index}]", data

    def configuration(self) -> Mapping[str, object]:
        """Return what the file says of its configuration; else it counts as one, as declared."""
        declared = self._header.get("configuration")
        if isinstance(declared, dict):
            return declared
        return {"declared by": self.path.name, "model": str(self._header.get("model", "unknown"))}

    def trajectory(self, trial: Trial) -> Trajectory:
        """Return a recorded trajectory. Raises StoreError for one that is not there."""
        found = self._rows.get((trial.vignette, trial.condition, trial.replicate + 1))
        if found is None:
            vignettes = {vignette for vignette, _, _ in self._rows}
            conditions = sorted({condition for _, condition, _ in self._rows})
            raise StoreError(
                f"{self.path}: holds no trajectory of {trial.vignette}, {trial.condition}, "
                f"replicate {trial.replicate + 1}.\n  It has {len(self._rows)} trajectories of "
                f"{len(vignettes)} vignettes under {', '.join(conditions)}. A recorded run is "
                "never completed with calls: select what is there with --fairmed-vignettes, "
                "--fairmed-swaps and --fairmed-replicates."
            )
        return found


def _json(place: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise FileFormatError(f"{place}: not valid JSON: {error}") from error


def _row(place: str, data: Any) -> Row:
    try:
        return Row.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"])) or "row"
        raise FileFormatError(f"{place}: '{name}': {first['msg']}.") from None


def _trajectory(row: Row) -> Trajectory:
    missing = dict(row.missing or {})
    if row.complete is False and not missing:
        missing = {"trial": "recorded as incomplete"}
    return Trajectory(row.outputs, missing, calls=row.calls, repairs=row.retries)
