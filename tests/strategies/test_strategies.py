"""What the strategies give is valid by construction, keeps to its arguments and shrinks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import pytest_fairmedagent
from pytest_fairmedagent import strategies
from pytest_fairmedagent.agents import prompts
from pytest_fairmedagent.agents.parsing import read_reply
from pytest_fairmedagent.domain import ACTIONS, Contrast, Family, Plan, render
from pytest_fairmedagent.domain.outcome import OUTCOMES
from pytest_fairmedagent.domain.vignette import SLOT
from pytest_fairmedagent.models.base import Reply
from pytest_fairmedagent.verdict import SEVERITY, judge

PACKAGE = Path(pytest_fairmedagent.__file__).parent
LAWS = settings(max_examples=100, deadline=None)


@LAWS
@given(strategies.vignettes(menu=(2, 5)))
def test_a_vignette_has_a_menu_of_the_size_asked_for_with_a_result_for_every_order(vignette):
    ids = [order.id for order in vignette.menu]
    assert 2 <= len(set(ids)) == len(ids) <= 5
    assert all(order.result for order in vignette.menu)
    assert vignette.base == vignette.id


@LAWS
@given(st.data(), st.booleans())
def test_a_slot_is_there_if_it_is_asked_for_and_gone_when_the_case_is_rendered(data, slot):
    vignette = data.draw(strategies.vignettes(slot=slot))
    assert bool(SLOT.search(vignette.narrative)) == slot
    case = data.draw(strategies.cases(st.just(vignette)))
    assert not SLOT.search(case.text)


@LAWS
@given(strategies.catalogues(swaps=(2, 4), shams=(1, 2), rerender=True))
def test_a_catalogue_has_one_reference_and_arms_of_equal_words(catalogue):
    kinds = [condition.kind for condition in catalogue.conditions.values()]
    assert kinds.count("reference") == kinds.count("identical") == 1
    assert 2 <= len(catalogue.swaps) <= 4
    assert 1 <= kinds.count("sham") <= 2
    lines = [condition.descriptor for condition in catalogue.conditions.values()]
    assert len({len(line.split()) for line in lines}) == 1
    assert len(set(lines)) == len(lines) - 1  # the re-render says what the reference says
    for swap in catalogue.swaps:
        assert swap in catalogue.select([catalogue.conditions[swap].attribute])


@given(st.sampled_from(["reference", "swap", "identical", "sham"]), st.data())
def test_conditions_are_of_the_kind_asked_for(kind, data):
    assert data.draw(strategies.conditions(kind)).kind == kind


@LAWS
@given(strategies.menus((1, 6)).flatmap(lambda m: st.tuples(st.just(m), _complete(m))))
def test_every_outcome_can_be_read_off_a_complete_trajectory(drawn):
    menu, trajectory = drawn
    assert trajectory.complete
    assert trajectory.calls == len(prompts.STAGES)
    values = {name: outcome.read(trajectory) for name, outcome in OUTCOMES.items()}
    assert None not in values.values()
    assert values["orders"] <= {order.id for order in menu}


def _complete(menu):
    return strategies.trajectories(menu=menu, complete=True)


@LAWS
@given(strategies.menus((1, 6)).flatmap(lambda m: st.tuples(st.just(m), _complete(m))))
def test_the_parser_reads_every_stage_back_as_it_was_written(drawn):
    menu, trajectory = drawn
    for stage in prompts.stages_of(menu):
        output = trajectory.outputs[stage.name]
        assert read_reply(Reply(json.dumps(output)), prompts.fields_of(stage, menu)) == output


@LAWS
@given(strategies.trajectories(complete=False))
def test_an_incomplete_trajectory_ends_with_a_reason_and_reaches_no_later_stage(trajectory):
    assert not trajectory.complete
    first, *later = trajectory.missing.values()
    assert first != "not reached"
    assert set(later) <= {"not reached"}
    assert not set(trajectory.outputs) & set(trajectory.missing)


@LAWS
@given(strategies.counts(n_vignettes=(2, 3), n_replicates=(4, 8), missing_share=0.5))
def test_counts_add_up_to_the_replicates(counts):
    assert 2 <= len(counts.vignettes) <= 3
    for k, n, missing in zip(counts.k, counts.n, counts.missing, strict=True):
        assert 0 <= k <= n
        assert 4 <= n + missing <= 8
        assert missing <= (n + missing) / 2


@LAWS
@given(
    strategies.replicate_tables(
        n_vignettes=(2, 3),
        n_replicates=(3, 5),
        conditions=("reference", "race_black", "rerender"),
        actions=("admission", "referral"),
        rates={"reference": (0, 0), "race_black": (1, 1), "rerender": (0, 0.5)},
        missing_share=0.4,
    )
)
def test_a_replicate_table_keeps_to_sizes_rates_and_missing_share(table):
    vignettes = sorted({vignette for vignette, _ in table.rows})
    assert 2 <= len(vignettes) <= 3
    assert table.conditions == ("reference", "race_black", "rerender")
    sizes = {len(row) for row in table.rows.values()}
    assert len(sizes) == 1
    (size,) = sizes
    assert 3 <= size <= 5
    for action in ("admission", "referral"):
        for condition, low, high in (("reference", 0, 0), ("race_black", 1, 1)):
            counts = table.counts(vignettes, condition, action)
            assert all(low * n <= k <= high * n for k, n in zip(counts.k, counts.n, strict=True))
            assert all(lost <= 0.4 * size for lost in counts.missing)
        again = table.counts(vignettes, "rerender", action)
        assert all(k <= round(n / 2) for k, n in zip(again.k, again.n, strict=True))


@settings(max_examples=60, deadline=None)
@given(strategies.replicate_tables(n_replicates=(1, 5), missing_share=0.5))
def test_any_table_gets_a_verdict_for_every_contrast_and_no_other_error(table):
    vignettes = tuple(sorted({vignette for vignette, _ in table.rows}))
    replicates = len(next(iter(table.rows.values())))
    family = Family("f", ("race_black",), tuple(ACTIONS), vignettes, replicates, margin=0.1)
    present = [Contrast("f", "race_black", action) for action in ACTIONS]
    found = judge(table, Plan((family,), "reference"), present)
    assert [verdict.contrast for verdict in found.verdicts] == present
    assert {verdict.status for verdict in found.verdicts} <= set(SEVERITY)
    assert all(verdict.headline for verdict in found.verdicts)


def simplest(strategy, condition=lambda value: True):
    """What hypothesis shrinks to, without its search for an explanation."""
    return find(strategy, condition, settings=settings(phases=[Phase.generate, Phase.shrink]))


def test_the_simplest_examples_are_simple():
    case = simplest(strategies.cases())
    assert case.menu == ()
    assert case.text.startswith("Case 0. Pain since this morning.\nPatient: ")
    table = simplest(strategies.replicate_tables())
    assert len(table.rows) == 2
    assert {len(row) for row in table.rows.values()} == {1}
    assert not any(t.outputs["actions"]["admission"] for row in table.rows.values() for t in row)


def test_an_agent_that_fails_on_one_sign_is_shown_the_shortest_case_with_it():
    case = simplest(strategies.cases(), lambda case: "≥" in case.text)
    assert case.text.count(".") < 12
    assert case.menu == ()


def test_rendering_is_the_same_as_the_plugins():
    vignette = simplest(strategies.vignettes())
    condition = simplest(strategies.conditions("swap"))
    case = simplest(strategies.cases(st.just(vignette), st.just(condition)))
    assert case == render(vignette, condition)


def test_hypothesis_is_imported_by_the_strategies_alone():
    for path in PACKAGE.rglob("*.py"):
        inside = path.relative_to(PACKAGE).parts[0] == "strategies"
        text = path.read_text(encoding="utf-8")
        assert inside or not ("import hypothesis" in text or "from hypothesis" in text), path


@pytest.mark.parametrize("arguments", [[], ["--fairmed-model=simulated", "--setup-plan"]])
def test_neither_an_idle_plugin_nor_an_audit_imports_hypothesis(tmp_path, arguments):
    code = (
        "import sys, pytest\n"
        # The plugin of hypothesis imports it at the end of every run.
        f"status = pytest.main(['-q', '-p', 'no:hypothesispytest', *{arguments!r}])\n"
        "assert status == 0, status\n"
        "assert not {'hypothesis', 'pytest_fairmedagent.strategies'} & set(sys.modules)\n"
    )
    tmp_path.joinpath("test_nothing.py").write_text("def test_nothing(): ...\n")
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
