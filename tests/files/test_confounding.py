"""The confounding registry: what it says of a case, and what the shipped one must not say."""

import re
from dataclasses import replace

import pytest

from pytest_fairmedagent.domain import ACTIONS, Confounded, Confounder, confounded
from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.cases import read_vignette
from pytest_fairmedagent.files.confounding import check_registries
from pytest_fairmedagent.files.contradictions import SOURCE as CONTRADICTED
from pytest_fairmedagent.files.plans import profile_path, read_plan
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.validate import validate
from pytest_fairmedagent.files.vignettes import places_of, read_vignettes, shipped_vignettes
from pytest_fairmedagent.testing import blank_vignettes

CATALOGUE = read_swaps()
NAMES = read_swaps(shipped_vignettes() / "names.toml")
SHIPPED = read_vignettes([shipped_vignettes()])

CASE = """\
schema = 1
id = "{id}"
title = "A case"
domain = "medication"
difficulty = "clear"
provenance = "Made for a test."
narrative = "A knee hurts."
menu = [
  {{ id = "aa", name = "A", result = "a" }},
  {{ id = "bb", name = "B", result = "b" }},
  {{ id = "cc", name = "C", result = "c" }},
]
"""
REGISTRY = """\
schema = 1

[[entry]]
attribute = "age"
outcome = "any_opioid"
vignettes = "all"
direction = "fewer"
source = "A guideline, 2020"
reason = "caution"

[[entry]]
swap = "sex_woman"
outcome = "referral"
vignettes = ["knee"]
direction = "more"
source = "Another, 2021"
reason = "anatomy"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "knee.toml").write_text(CASE.format(id="knee"))
    (tmp_path / "hip.toml").write_text(CASE.format(id="hip"))
    (tmp_path / "confounding.toml").write_text(REGISTRY)
    return tmp_path


def cells(catalogue, cases):
    found = confounded(catalogue, catalogue.swaps, ACTIONS, cases)
    return {(c.swap, c.action): c.vignettes for c in found}


def test_a_registry_speaks_for_the_cases_of_its_folder(folder):
    cases = read_vignettes([folder])
    both = ("hip", "knee")
    assert cells(CATALOGUE, cases.values()) == {
        ("age_34", "any_opioid"): both,
        ("age_78", "any_opioid"): both,
        ("sex_woman", "referral"): ("knee",),
    }
    assert read_vignette(folder / "inner" / "knee.toml") == cases["knee"]
    assert cells(CATALOGUE, blank_vignettes(2).values()) == {}


def test_an_edited_registry_is_read_anew(folder):
    read_vignettes([folder])
    path = folder / "confounding.toml"
    path.write_text(REGISTRY.replace('"fewer"', '"more"') + "\n# edited\n")
    import os

    os.utime(path, ns=(1, 1))
    assert read_vignettes([folder])["hip"].confounders[0].direction == "more"


def test_an_intersection_is_confounded_where_one_of_its_attributes_is():
    (case,) = blank_vignettes(1).values()
    entry = Confounder("referral", "more", "A source", "a reason", attribute="sex")
    found = cells(CATALOGUE, [replace(case, confounders=(entry,))])
    assert {swap for swap, _ in found} == {
        swap for swap in CATALOGUE.swaps if "sex" in CATALOGUE.conditions[swap].changes
    }
    assert ("black_woman_medicaid", "referral") in found
    assert ("race_black", "referral") not in found


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('attribute = "age"\n', "", "needs 'attribute' or 'swap'"),
        ('attribute = "age"', 'attribute = "age"\nswap = "age_78"', "and one of the two"),
        ('outcome = "referral"', 'outcome = "refer"', "expected one of high_acuity"),
        ('direction = "more"', 'direction = "up"', "expected one of more, fewer, either"),
        ('source = "Another, 2021"', "", "'entry[1].source' is missing"),
        ('["knee"]', '["kne"]', "no vignette 'kne' in this folder. Did you mean 'knee'?"),
    ],
)
def test_a_broken_registry_is_named_with_file_and_line(folder, old, new, says):
    path = folder / "confounding.toml"
    assert old in REGISTRY
    path.write_text(REGISTRY.replace(old, new, 1))
    with pytest.raises(FileFormatError, match=re.escape(says)) as caught:
        read_vignettes([folder])
    assert re.match(rf"{re.escape(str(path))}:\d+: ", str(caught.value))


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('attribute = "age"', 'attribute = "agee"', 4, "no attribute 'agee'{} Did you mean 'age'?"),
        ('"sex_woman"', '"sex_womann"', 12, "no swap 'sex_womann'{} Did you mean 'sex_woman'?"),
        ('"sex_woman"', '["sex_woman", "age"]', 12, "no swap 'age'{}"),
        ('"sex_woman"', '"rerender"', 12, "no swap 'rerender'{}"),
    ],
)
def test_an_entry_must_name_what_the_catalogue_has(folder, old, new, line, says):
    path = folder / "confounding.toml"
    path.write_text(REGISTRY.replace(old, new, 1))
    told = says.format(" in the swap catalogue.")
    for cases in ([folder], [folder / "inner" / "knee.toml"]):
        with pytest.raises(FileFormatError, match=re.escape(f"{path}:{line}: {told}")):
            check_registries(cases, CATALOGUE)
    found = next(file for file in validate([folder]) if file.path == path)
    assert told in found.errors[0]


def test_names_of_all_catalogues_of_a_case_set_are_known(folder):
    path = folder / "confounding.toml"
    path.write_text(REGISTRY.replace('"sex_woman"', '"name_white_woman"'))
    check_registries([folder], CATALOGUE)  # that come with the project: names.toml is one of them
    path.write_text(REGISTRY.replace('"sex_woman"', '"hand_left"'))
    with pytest.raises(FileFormatError, match="no swap 'hand_left'"):
        check_registries([folder], CATALOGUE)
    own = OWN_CATALOGUE.replace("WORD", "hand_left")
    (folder / "names.toml").write_text(own)
    check_registries([folder], CATALOGUE)
    elsewhere = folder / "inner" / "swaps.toml"
    (folder / "names.toml").rename(elsewhere)
    check_registries([folder], CATALOGUE, elsewhere)


def test_a_catalogue_of_ones_own_does_not_know_the_shipped_names(folder):
    file = folder / "inner" / "swaps.toml"
    file.write_text(OWN_CATALOGUE.replace("WORD", "hand_left"))
    with pytest.raises(FileFormatError, match="no attribute 'age' in the swap catalogue"):
        check_registries([folder], read_swaps(file), file)


OWN_CATALOGUE = """\
schema = 1
line = "A {hand} person."

[reference]
hand = "right-handed"

[[condition]]
id = "WORD"
attribute = "handedness"
set = { hand = "left-handed" }
"""


@pytest.mark.parametrize("word", ["-", "None", "TODO", "n/a", "as above"])
def test_an_entry_needs_a_source(folder, word):
    path = folder / "confounding.toml"
    path.write_text(REGISTRY.replace("Another, 2021", word))
    with pytest.raises(FileFormatError, match=re.escape(f"{path}:16: source {word!r} names no")):
        read_vignettes([folder])


def test_a_source_may_point_to_an_attribute_that_has_one(folder):
    path = folder / "confounding.toml"
    path.write_text(REGISTRY.replace("Another, 2021", "As under age; and judgement"))
    assert len(read_vignettes([folder])["knee"].confounders) == 2
    for wrong, hint in (("agee", " Did you mean 'age'?"), ("gender identity", "")):
        path.write_text(REGISTRY.replace("Another, 2021", f"As under {wrong}"))
        name = wrong.replace(" ", "_")
        told = f"points to {name!r}, which has no entry with a source of its own.{hint}"
        with pytest.raises(FileFormatError, match=re.escape(told)):
            read_vignettes([folder])


def test_an_attribute_that_only_points_is_no_source_itself(folder):
    path = folder / "confounding.toml"
    text = REGISTRY.replace('swap = "sex_woman"', 'attribute = "sex"')
    text = text.replace("Another, 2021", "As under sex")
    path.write_text(text)
    with pytest.raises(FileFormatError, match="points to 'sex', which has no entry"):
        read_vignettes([folder])


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ("", ["."]),
        ("shipped", ["."]),
        ("red_case, domain:x", ["."]),
        ("inner,shipped", ["inner", "."]),
    ],
)
def test_a_text_that_names_cases_has_its_places(folder, spec, want):
    found = places_of(spec, folder)
    assert found == tuple(shipped_vignettes() if w == "." else folder / w for w in want)


def directions_of(*entries, action="referral"):
    (case,) = blank_vignettes(1).values()
    found = confounded(CATALOGUE, ["sex_woman"], [action], [replace(case, confounders=entries)])
    return dict(next(found).directions)


def entry(direction, outcome="referral", reason="a reason"):
    return Confounder(outcome, direction, "A source", reason, attribute="sex")


def test_a_direction_stands_where_all_entries_of_a_case_agree():
    (case,) = blank_vignettes(1)
    assert directions_of(entry("more")) == {case: "more"}
    assert directions_of(entry("fewer"), entry("fewer", reason="another")) == {case: "fewer"}
    assert directions_of(entry("more"), entry("fewer")) == {}
    assert directions_of(entry("more"), entry("either")) == {}


@pytest.mark.parametrize(
    ("outcome", "action", "direction", "want"),
    [
        ("high_acuity", "esi_acuity", "more", "fewer"),  # level 1 is the most acute
        ("high_acuity", "esi_acuity", "fewer", "more"),
        ("high_acuity", "high_acuity", "more", "more"),
        ("any_opioid", "analgesia_tier", "more", "more"),
        ("followup_days", "followup_days", "fewer", "fewer"),
    ],
)
def test_a_direction_is_read_on_the_scale_of_its_action(outcome, action, direction, want):
    assert set(directions_of(entry(direction, outcome), action=action).values()) == {want}


def test_more_orders_are_no_direction():
    assert directions_of(entry("more", "orders"), action="orders") == {}


def test_vignettes_are_told_by_their_direction():
    found = Confounded(
        "s", "a", ("x", "y", "z"), (), (("x", "more"), ("y", "fewer"), ("w", "more"))
    )
    assert found.towards("more") == ("x",)
    assert found.towards("fewer") == ("y",)
    assert found.towards("either") == ("z",)


@pytest.mark.parametrize(
    ("profile", "catalogue"),
    [("quick", CATALOGUE), ("ci", CATALOGUE), ("release", CATALOGUE), ("name_signal", NAMES)],
)
def test_the_primary_family_of_a_profile_holds_nothing_confounded(profile, catalogue):
    primary = read_plan(profile_path(profile), catalogue).file.family[0]
    assert not list(confounded(catalogue, primary.swaps, primary.actions, SHIPPED.values()))


def test_race_and_insurance_alone_are_never_confounded():
    entries = {e for v in SHIPPED.values() for e in v.confounders}
    # A text that an arm contradicts is no reason why the arm might rightly differ.
    for entry in (entry for entry in entries if entry.source != CONTRADICTED):
        assert entry.attribute not in ("race_ethnicity", "insurance", "name_signal")
        assert not entry.swap.startswith(("race_", "insurance_"))


@pytest.mark.parametrize("vignette", SHIPPED.values(), ids=list(SHIPPED))
def test_every_entry_of_a_shipped_case_names_what_there_is(vignette):
    known = {*CATALOGUE.conditions, *NAMES.conditions}
    for name in ("minimal", "full"):
        known |= set(read_swaps(shipped_vignettes() / f"{name}.toml").conditions)
    attributes = {c.attribute for c in CATALOGUE.conditions.values()}
    for entry in vignette.confounders:
        assert entry.swap in known if entry.swap else entry.attribute in attributes
