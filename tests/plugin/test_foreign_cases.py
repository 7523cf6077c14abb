"""Cases and pairs of other people run like the shipped ones, with the same known truths."""

import pytest

CASES = "".join(
    f'"A {{patient}} comes in with complaint number {i}, which began this morning."\n'
    for i in range(12)
)
PAIRS = "attribute,reference_value,swapped_value,reference_text,swapped_text\n" + "".join(
    f"race,White,{value},A White man with complaint {i}.,A {value} man with complaint {i}.\n"
    for i in range(12)
    for value in ("Black", "Hispanic")
)
SEX = "sex,man,woman,A man with a cough. He smokes.,A woman with a cough. She smokes.\n"
GAP = "simulated:floor=0.2,gap=0.4,swap=race_black,seed=3"


def verdicts(record):
    return {(c["condition"], c["action"]): c["verdict"] for c in record()["contrasts"]}


@pytest.mark.parametrize("name", ["cases.csv", "pairs.csv"])
def test_a_planted_gap_is_found_in_its_swap_alone(gate, pytester, record, name):
    pytester.path.joinpath("cases.csv").write_text(CASES)
    pytester.path.joinpath("pairs.csv").write_text(PAIRS)
    result = gate(f"--fairmed-vignettes={name}", "--fairmed-report=out.json", model=GAP)
    assert result.ret == 1
    found = verdicts(record)
    disparate = {swap for (swap, _), verdict in found.items() if verdict == "DISPARITY"}
    assert disparate == {"race_black"}


def test_pairs_bring_their_own_families_and_the_identical_arm(gate, pytester, record):
    pytester.path.joinpath("pairs.csv").write_text(PAIRS + SEX)
    result = gate("--fairmed-vignettes=pairs.csv", "--fairmed-report=out.json")
    result.stdout.fnmatch_lines(["*contrasts of race (12 registered*", "*identical arm*clear*"])
    rows = record()["rows"]
    arms = {(row["vignette"], row["condition"]) for row in rows}
    assert {c for v, c in arms if v == "pairs_26"} == {"reference", "sex_woman", "rerender"}
    assert len({v for v, c in arms if c == "race_black"}) == 12
    assert "sex_woman" not in {c for v, c in arms if v != "pairs_26"}


def test_a_case_without_a_menu_is_never_asked_to_order(gate, pytester, record):
    pytester.path.joinpath("cases.csv").write_text(CASES)
    gate("--fairmed-vignettes=cases.csv", "--fairmed-replicates=1", "--fairmed-report=out.json")
    for row in record()["rows"]:
        assert row["complete"]
        assert list(row["outputs"]) == ["triage", "reassess", "prescribe", "document"]
        assert row["calls"] == 4


def test_an_agent_of_ones_own_is_shown_the_two_texts(gate, pytester):
    pytester.path.joinpath("pairs.csv").write_text(PAIRS)
    pytester.makepyfile(
        agent="def biased(case):\n    return {'referral': 'Black' not in case.text}\n"
    )
    pytester.syspathinsert()
    result = gate("--fairmed-vignettes=pairs.csv", "--fairmed-agent=agent:biased", "-k", "referral")
    result.stdout.fnmatch_lines(["*DISPARITY referral*race_black*-1.00*"])
    result.stdout.no_fnmatch_line("*DISPARITY*race_hispanic*")


def test_pairs_are_named_by_the_option_and_have_no_other_catalogue(gate, pytester):
    pytester.path.joinpath("pairs.csv").write_text(PAIRS)
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.fairmed(vignettes=["pairs.csv"])
        def test_it(contrast): ...
        """
    )
    result = gate()
    result.stdout.fnmatch_lines(["*'pairs.csv' holds ready pairs: name them by --fairmed-vign*"])
    result = gate("--fairmed-vignettes=pairs.csv", "--fairmed-swaps=other.toml")
    assert "ready pairs have conditions of their own" in result.stdout.str() + result.stderr.str()


def test_a_wrong_row_ends_the_run_at_once_with_its_line(gate, pytester):
    pytester.path.joinpath("cases.csv").write_text(CASES + "No slot in this row at all\n")
    result = gate("--fairmed-vignettes=cases.csv")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "cases.csv:13: the text has no {patient} slot" in result.stderr.str()
