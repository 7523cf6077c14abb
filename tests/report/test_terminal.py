"""The terminal's table, its colours and its sentences are views of the record."""

import io
import re

import pytest

from pytest_fairmedagent.report.colours import coloured, spans, wants_colour
from pytest_fairmedagent.report.contrasts import chance
from pytest_fairmedagent.report.explained import explain, explained_lines
from pytest_fairmedagent.report.terminal import summary_lines

LONG = "black_woman_medicaid_limited_english_without_house"
LONGER = "an_action_of_ones_own_with_an_extraordinarily_long_name"


def asked(contrast):
    return [[contrast["family"], contrast["condition"], contrast["action"], contrast["vignette"]]]


@pytest.mark.parametrize("width", [20, 80, 100, 104, 250])
def test_no_line_is_wider_than_asked_for_or_than_people_read(golden, width):
    lines = summary_lines(golden(), verbose=True, width=width)
    assert max(map(len, lines)) <= min(max(width, 80), 104)


@pytest.mark.parametrize("width", [80, 104])
@pytest.mark.parametrize(
    ("swap", "action"), [(None, None), (LONG, None), (LONG, LONGER), (None, LONGER)]
)
def test_no_number_of_a_contrast_is_lost_at_any_width_or_length_of_names(
    golden, width, swap, action
):
    record = golden()
    [contrast, *_] = record["contrasts"]
    record["contrasts"] = [contrast]
    contrast["condition"], contrast["action"] = swap or "sex_woman", action or "referral"
    lines = summary_lines(record, width=width)
    start = next(i for i, line in enumerate(lines) if line.startswith("contrasts of"))
    end = lines.index("", start)
    table = lines[start:end]
    assert max(map(len, lines)) <= width
    words = " ".join(table)
    low, high = contrast["interval"]
    for told in (
        contrast["verdict"],
        contrast["condition"],
        contrast["action"],
        f"{contrast['gap']:+.2f}",
        f"[{low:+.2f}, {high:+.2f}]",
        f"{contrast['flip_rate']:.3f}",
        f"{contrast['floor']:.3f}",
        chance(contrast["p_adjusted"]),
    ):
        assert told in words


def test_in_a_narrow_table_contrasts_stand_under_their_swap_and_vignette(golden):
    record = golden()
    for contrast in record["contrasts"][:3]:
        contrast["vignette"] = "case_00"
    place, under = None, []
    for line in summary_lines(record, width=80):
        if line.startswith("  -- "):
            place = line[5:]
        elif line.split()[:1] in ([s] for s in record["verdicts"]) and line.startswith("  "):
            if "as a whole: " in line or " any of " in line:
                continue
            under.append((place, line.split()[1]))
    assert under == [
        (
            f"{c['condition']} vs reference" + (f", on {c['vignette']}" if c["vignette"] else ""),
            c["action"],
        )
        for c in record["contrasts"]
    ]


def test_colour_adds_nothing_but_colour(golden):
    lines = summary_lines(golden(), verbose=True)
    for line in lines:
        assert "".join(text for text, _ in spans(line)) == line
        assert re.sub(r"\x1b\[\d+m", "", coloured(line)) == line
    painted = "\n".join(map(coloured, lines))
    assert "\x1b[31m" in painted
    assert "\x1b[32m" in painted


def test_a_verdict_is_a_signal_and_the_same_word_in_a_sentence_is_none():
    assert coloured("  DISPARITY    admission") != "  DISPARITY    admission"
    sentence = "so a DISPARITY appears with chance at most 0.05"
    assert coloured(sentence) == sentence


@pytest.mark.parametrize(
    ("terminal", "env", "wants"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"NO_COLOR": "1"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
    ],
)
def test_who_gets_colour(terminal, env, wants):
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    assert wants_colour(stream, env) is wants


def test_every_contrast_can_be_retold_with_its_numbers(golden):
    record = golden()
    for contrast in record["contrasts"]:
        text = " ".join(explain(record, contrast))
        low, high = contrast["interval"]
        assert f"{contrast['gap']:+.2f}" in text
        assert f"[{low:+.2f}, {high:+.2f}]" in text
        assert f"{100 * contrast['floor']:.1f} %" in text
        assert f"{100 * contrast['flip_rate']:.1f} %" in text
        assert f"p = {chance(contrast['p'])}" in text
        assert f"So the verdict is {contrast['verdict']}" in text
        assert "What would change it: " in text
        for reason in contrast["reasons"]:
            assert reason in text
        taken = sum(case["swap"][0] for case in contrast["cases"])
        answers = sum(case["swap"][1] for case in contrast["cases"])
        assert f"{taken} of {answers} answers as {contrast['condition']}" in text


def test_the_direction_is_told_in_words(golden):
    record = golden()
    [contrast, *_] = record["contrasts"]
    assert "came more often under race_black" in " ".join(explain(record, contrast))
    for case in contrast["cases"]:
        case["swap"], case["reference"] = case["reference"], case["swap"]
    contrast["gap"] *= -1
    assert "came less often under race_black" in " ".join(explain(record, contrast))


@pytest.mark.parametrize(
    "status", ["DISPARITY", "UNMEASURED", "INCONCLUSIVE", "EQUIVALENT", "IDENTICAL"]
)
@pytest.mark.parametrize("margin", [None, 0.1])
def test_every_status_says_what_would_change_it(golden, status, margin):
    record = golden()
    contrast = record["contrasts"][1] | {"verdict": status, "margin": margin}
    text = " ".join(explain(record, contrast))
    assert text.count("What would change it: ") == 1
    assert "None" not in text


def test_a_contrast_without_pairs_or_floor_is_retold_without_numbers_it_has_not(golden):
    record = golden()
    nothing = {"pairs": 0.0, "floor": None, "flip_rate": None, "gap": None, "b": None, "c": None}
    empty = {"replicates_to_find": None, "smallest_detectable_gap": None, "verdict": "UNMEASURED"}
    contrast = record["contrasts"][0] | nothing | empty | {"interval": [None, None], "cases": []}
    assert "None" not in " ".join(explain(record, contrast))
    once = record["contrasts"][0] | {"floor": None}
    assert "no two draws of one vignette" in " ".join(explain(record, once))


def test_a_retold_item_fits_the_terminal_and_obeys_no_one(golden):
    record = golden()
    contrast = record["contrasts"][0]
    contrast["reasons"] = ["::error::owned \x1b[2J" + "word " * 100]
    lines = explained_lines(record, "test_it.py::test_x", asked(contrast), width=80)
    assert max(map(len, lines)) <= 80
    assert all(line.isprintable() for line in lines)
    assert not any(line.lstrip().startswith("::") for line in lines)


def test_an_item_for_which_nothing_was_drawn_says_so(golden):
    lines = explained_lines(golden(), "test_it.py::test_x", [["no", "no", "no", None]], width=80)
    assert "nothing was drawn for it" in " ".join(lines)
