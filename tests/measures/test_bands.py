"""Within-band flips: counted where both answers are acceptable, refused where nothing says so."""

import math
from dataclasses import replace

import numpy as np
import pytest

from pytest_fairmedagent.domain import Band, ReplicateTable, Trajectory
from pytest_fairmedagent.measures import wcfr
from pytest_fairmedagent.testing import blank_vignettes

LEVELS = np.arange(1, 6)


def level(rng, law):
    return 1 + int((rng.random() > law.cumsum()[:-1]).sum())


def cases(*bands):
    """One vignette for each band, or without any for None."""
    blank = blank_vignettes(len(bands)).values()
    return [
        case if band is None else replace(case, bands=(band,))
        for case, band in zip(blank, bands, strict=True)
    ]


def esi(*accept, provenance="author-derived"):
    return Band("esi_acuity", frozenset(accept), provenance=provenance)


def triage(level):
    return {"triage": {"esi_acuity": level}}


def table_of(vignettes, swap, reference):
    rows = {}
    for vignette in vignettes:
        rows[vignette.id, "swap"] = [Trajectory(triage(x)) for x in swap]
        rows[vignette.id, "reference"] = [Trajectory(triage(x)) for x in reference]
    return ReplicateTable(rows, "by hand")


def test_by_hand():
    vignettes = cases(esi(2, 3))
    found = wcfr(
        table_of(vignettes, (2, 3, 4, 3), (2, 2, 1, 3)), vignettes, "high_acuity", swap="swap"
    )
    # In the band: 2, 3, 3 and 2, 2, 3. Of their 9 pairs 1 x 1 + 2 x 2 lie across the threshold.
    assert found.rate == pytest.approx(5 / 9)
    assert found.floor == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert (found.outside_swap, found.outside_ref) == (0.25, 0.25)
    assert found.refused == ""


def test_the_rate_and_its_floor_recover_the_truth(tabulate, recovers):
    rng = np.random.default_rng(4)
    vignettes = cases(*[esi(2, 3)] * 5, esi(1, 2), None)
    law = {c: rng.dirichlet(np.full(5, 2.0), len(vignettes)) for c in ("swap", "reference")}
    names = [vignette.id for vignette in vignettes]

    def measure(rng):
        table = tabulate(lambda v, c: triage(level(rng, law[c][v])), names, 6)
        found = wcfr(table, vignettes, "high_acuity", swap="swap")
        cells = [cell for cell in found.cells if cell.straddles]
        # The rate is a ratio; what it divides is unbiased.
        return (
            sum(cell.pairs for cell in cells),
            sum(cell.flips for cell in cells),
            sum(cell.flips_swap for cell in cells),
            sum(cell.pairs_ref for cell in cells),
            found.outside_swap,
            found.outside_ref,
        )

    p, q = law["swap"], law["reference"]
    pairs = (p[:5, 1] + p[:5, 2]) * (q[:5, 1] + q[:5, 2])
    flipped = p[:5, 1] * q[:5, 2] + p[:5, 2] * q[:5, 1]
    inside = [[*(w[:5, 1] + w[:5, 2]), w[5, 0] + w[5, 1]] for w in (p, q)]
    recovers(
        measure,
        (
            pairs.sum(),
            flipped.sum(),
            (2 * p[:5, 1] * p[:5, 2]).sum(),
            ((q[:5, 1] + q[:5, 2]) ** 2).sum(),
            1 - np.mean(inside[0]),
            1 - np.mean(inside[1]),
        ),
    )


def test_without_a_band_it_is_refused_with_the_reason():
    vignettes = cases(None, None)
    found = wcfr(table_of(vignettes, (1, 3), (2, 2)), vignettes, "high_acuity", swap="swap")
    assert math.isnan(found.rate)
    assert found.without_band == ("case_00", "case_01")
    assert "none of 2 vignettes has a band" in str(found)


def test_a_band_on_one_side_of_the_threshold_gives_no_rate_and_a_secondary_one():
    vignettes = cases(esi(1, 2))
    found = wcfr(table_of(vignettes, (1, 3), (2, 2)), vignettes, "high_acuity", swap="swap")
    assert math.isnan(found.rate)
    assert "leaves both decisions open" in found.refused
    assert found.rate_in_band == 0


def test_a_missing_answer_is_neither_inside_nor_outside():
    vignettes = cases(esi(2, 3))
    table = table_of(vignettes, (2, 3), (2, 3))
    rows = dict(table.rows)
    rows["case_00", "swap"] = [*rows["case_00", "swap"], Trajectory({}, {"triage": "refusal"})]
    found = wcfr(ReplicateTable(rows, ""), vignettes, "high_acuity", swap="swap")
    assert found == wcfr(table, vignettes, "high_acuity", swap="swap")


def test_a_band_of_the_action_itself_or_of_its_scale_is_used():
    both = Band("referral", frozenset({True, False}))
    rows = {
        ("case_00", c): [Trajectory({"document": {"referral": r}}) for r in answers]
        for c, answers in (("swap", (True, True)), ("reference", (True, False)))
    }
    found = wcfr(ReplicateTable(rows, ""), cases(both), "referral", swap="swap")
    assert found.rate == 0.5
    # An agent that states the action only is held to the band's decisions.
    rows = {
        ("case_00", c): [Trajectory({"actions": {"high_acuity": a}}) for a in answers]
        for c, answers in (("swap", (True, True)), ("reference", (True, False)))
    }
    assert wcfr(ReplicateTable(rows, ""), cases(esi(2, 3)), "high_acuity", swap="swap").rate == 0.5


@pytest.mark.parametrize(
    ("levels", "truth"),
    [
        (("clinician-adjudicated", "clinician-adjudicated"), True),
        (("clinician-adjudicated", "guideline-derived"), False),
        (("author-derived", "clinician-adjudicated"), False),
    ],
)
def test_only_adjudicated_bands_throughout_are_called_ground_truth(levels, truth):
    vignettes = cases(*(esi(2, 3, provenance=level) for level in levels))
    found = wcfr(table_of(vignettes, (2, 3), (2, 3)), vignettes, "high_acuity", swap="swap")
    assert found.ground_truth is truth
    assert found.provenance in levels
