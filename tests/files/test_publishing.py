"""What the case set is published with is made from the files, and says what they say."""

from __future__ import annotations

import hashlib
import json

import pytest

from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.files.publishing import (
    EDITION,
    LICENSE,
    card_lines,
    change_lines,
    croissant_text,
)
from pytest_fairmedagent.files.settings import resolve
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import (
    CANARY,
    read_vignettes,
    select_vignettes,
    shipped_vignettes,
)

FOLDER = shipped_vignettes()
AGAIN = "write it anew: fairmed validate vignettes --sheet"


def test_the_description_and_the_card_are_those_of_the_files():
    assert (FOLDER / "croissant.json").read_text("utf-8") == croissant_text(FOLDER), AGAIN
    card = "\n".join(card_lines(FOLDER)) + "\n"
    assert (FOLDER / "CARD.md").read_text("utf-8") == card, AGAIN
    assert CANARY in card
    assert "license: cc-by-4.0" in card


def test_the_description_has_every_case_with_its_digest():
    data = json.loads((FOLDER / "croissant.json").read_text("utf-8"))
    files = {part["@id"]: part["sha256"] for part in data["distribution"] if "sha256" in part}
    assert len(files) == len(read_vignettes([FOLDER]))
    for name, digest in files.items():
        assert hashlib.sha256((FOLDER / name).read_text("utf-8").encode()).hexdigest() == digest
    assert (data["license"], data["version"]) == (LICENSE, f"{EDITION}.0.0")
    assert "CC-BY-4.0" in (FOLDER / "LICENSE.txt").read_text("utf-8")


def test_what_changed_since_the_edition_before_is_told_by_case():
    lines = list(change_lines(FOLDER))
    assert "new      minimal.toml" in lines
    assert "changed  swaps.toml" in lines
    assert "labels   triage_escalation/acetaminophen_tally_telephone.toml" in lines
    assert not [line for line in lines if line.startswith(("text", "gone"))]


def test_the_split_parts_the_set_and_stays_with_the_base():
    held = select_vignettes("split:held", FOLDER)
    tune = select_vignettes("split:tune", FOLDER)
    assert not set(held) & set(tune)
    assert len(held) + len(tune) == 64
    assert 10 <= len(held) <= 22
    with pytest.raises(PlanError, match="split:test"):
        select_vignettes("split:test", FOLDER)


@pytest.mark.parametrize("name", ["minimal", "full"])
def test_a_catalogue_of_the_project_is_named_without_a_path(name, tmp_path):
    given = {"swaps": f"{name},race_black"}
    settings = resolve(given.get, lambda key: "", root=tmp_path)
    assert settings.swaps_file == FOLDER / f"{name}.toml"
    assert settings.swaps == ("race_black",)


def test_the_short_line_is_short_and_its_shams_stand_beside_race():
    minimal = read_swaps(FOLDER / "minimal.toml")
    assert len(minimal.reference.descriptor.split()) <= 10
    assert "left-handed White man" in minimal.conditions["sham_left_handed"].descriptor
    assert "Qzvx-handed White man" in minimal.conditions["rare_token"].descriptor


def test_the_long_catalogue_has_every_cell_of_its_intersections():
    full = read_swaps(FOLDER / "full.toml")
    for parts in (("black", "woman", "medicaid", "limited_english"),):
        for a in range(len(parts)):
            for b in range(a + 1, len(parts)):
                assert f"{parts[a]}_{parts[b]}" in full.conditions
        assert "_".join(parts) in full.conditions
    attributes = {condition.attribute for condition in full.conditions.values()}
    assert {"income", "education", "occupation", "immigration", "incarceration"} <= attributes
    assert {"body_weight", "psychiatric_history"} <= attributes
