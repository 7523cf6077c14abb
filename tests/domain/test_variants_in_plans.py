"""A plan with variants: rows of their own, one vignette in everything that is counted."""

from dataclasses import replace

from pytest_fairmedagent.domain import Arm, Confounded, Contrast, Family, Plan
from pytest_fairmedagent.relations.certify import certification

PLAIN = Family("f", ("race_black",), ("referral",), ("knee", "hip"), 4, margin=0.1)
KNEES = ("knee", (("knee", "d1"), ("knee-v2", "d2"), ("knee-v3", "d3")))
VARIED = replace(PLAIN, variants=(KNEES,))
POOLED = Contrast("f", "race_black", "referral")
OF_KNEE = Contrast("f", "race_black", "referral", "knee")


def test_a_contrast_pools_over_all_variants_and_one_of_a_vignette_over_its_own():
    plan = Plan((VARIED,), "reference")
    assert plan.judged(POOLED) == ("knee", "knee-v2", "knee-v3", "hip")
    assert plan.judged(OF_KNEE) == ("knee", "knee-v2", "knee-v3")
    assert [arm for arm in plan.arms([OF_KNEE]) if arm.condition == "reference"] == [
        Arm(name, "reference", 4) for name in ("knee", "knee-v2", "knee-v3")
    ]


def test_members_are_counted_by_vignette_and_pairs_by_variant():
    per_vignette = replace(VARIED, per_vignette=True)
    assert (VARIED.size, per_vignette.size) == (1, 2)
    assert [member.vignette for member in per_vignette.members] == ["knee", "hip"]
    assert (VARIED.n_pooled, per_vignette.n_pooled) == (4, 1)
    # Two cases in two variants are four rows to pool over, as good as four cases.
    plain, varied = (
        certification(Plan((family,), "reference"), family, floor=0.1, target=0.8)
        for family in (PLAIN, VARIED)
    )
    assert varied.needed < plain.needed
    assert varied.replicates == plain.replicates == 4


def test_what_is_confounded_on_a_vignette_is_left_out_in_all_its_variants():
    found = Confounded("race_black", "referral", ("knee", "knee-v2", "knee-v3"), ())
    plan = Plan((VARIED,), "reference", confounded=(found,))
    assert plan.judged(POOLED) == ("hip",)
    assert plan.confounding(OF_KNEE) == found


def test_the_digest_holds_the_texts_of_the_variants_and_nothing_where_there_are_none():
    plain, varied = Plan((PLAIN,), "reference"), Plan((VARIED,), "reference")
    other = (KNEES[0], (*KNEES[1][:2], ("knee-v3", "edited")))
    edited = Plan((replace(PLAIN, variants=(other,)),), "reference")
    assert len({plan.digest for plan in (plain, varied, edited)}) == 3
    assert "variants" not in plain._content()["families"][0]
