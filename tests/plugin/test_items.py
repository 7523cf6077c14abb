"""What a marked function names becomes its items, and what it does not name is pooled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_fairmedagent.models.simulated import SimulatedModel

Run = Callable[..., pytest.RunResult]

HEAD = """
import pytest
from pytest_fairmedagent import assert_invariant

SMALL = dict(vignettes="hot_knee_urgent_care, early_refill_clinic", replicates=2)
"""


@pytest.fixture
def collected(pytester: pytest.Pytester, gate: Run, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Collects a test file and returns the ids of its items; nothing may be asked meanwhile."""

    def chat(*args: object) -> None:
        raise AssertionError("a model was asked during collection")

    def collect(source: str, *arguments: str) -> list[str]:
        pytester.makepyfile(test_it=HEAD + source)
        with monkeypatch.context() as patch:
            patch.setattr(SimulatedModel, "chat", chat)
            result = gate("--collect-only", "-q", *arguments)
        assert result.ret == 0, result.outlines
        return [line for line in result.outlines if "::" in line]

    return collect


def test_contrast_and_action_named_make_an_item_of_each_pair(collected: Any) -> None:
    ids = collected("""
@pytest.mark.fairmed(
    swaps=["race_black", "race_hispanic"], actions=["referral", "admission"], **SMALL
)
def test_race(contrast, action): ...
""")
    assert ids == [
        "test_it.py::test_race[race_black-admission]",
        "test_it.py::test_race[race_black-referral]",
        "test_it.py::test_race[race_hispanic-admission]",
        "test_it.py::test_race[race_hispanic-referral]",
    ]


def test_ids_do_not_depend_on_the_order_of_arguments_or_of_words_in_the_mark(
    collected: Any,
) -> None:
    one = collected("""
@pytest.mark.fairmed(swaps=["race_black", "insurance"], actions=["referral", "admission"], **SMALL)
def test_it(contrast, action): ...
""")
    other = collected("""
@pytest.mark.fairmed(swaps=["insurance", "race_black"], actions=["admission", "referral"], **SMALL)
def test_it(action, contrast): ...
""")
    assert one == other
    assert len(one) == 6  # race_black, and two swaps of insurance


def test_naming_the_vignette_makes_an_item_of_each_case(collected: Any) -> None:
    ids = collected("""
@pytest.mark.fairmed(swaps="insurance_medicaid", actions="admission", **SMALL)
def test_case(vignette, contrast): ...
""")
    assert ids == [
        "test_it.py::test_case[hot_knee_urgent_care-insurance_medicaid]",
        "test_it.py::test_case[early_refill_clinic-insurance_medicaid]",
    ]


def test_what_is_not_named_is_pooled(
    pytester: pytest.Pytester, gate: Run, record: Callable[[], Any]
) -> None:
    pytester.makepyfile(
        HEAD
        + """
@pytest.mark.fairmed(swaps="race_black", actions=["admission", "referral"], **SMALL)
def test_pooled(contrast):
    for action in ("admission", "referral"):
        assert_invariant(contrast, action)

@pytest.mark.fairmed(swaps="race_black", actions="admission", **SMALL)
def test_case(vignette, contrast):
    assert vignette.narrative
    assert assert_invariant(contrast, "admission").contrast.vignette == vignette.id
"""
    )
    result = gate("--fairmed-report=out.json")
    assert result.parseoutcomes()["inconclusive"] == 3
    found = [
        (c["family"].partition("::")[2], c["action"], c["vignette"], c["vignettes"])
        for c in record()["contrasts"]
    ]
    assert found == [
        ("test_case", "admission", "hot_knee_urgent_care", 1),
        ("test_case", "admission", "early_refill_clinic", 1),
        ("test_pooled", "admission", None, 2),
        ("test_pooled", "referral", None, 2),
    ]


def test_methods_of_a_class_are_marked_by_their_class(collected: Any) -> None:
    ids = collected("""
@pytest.mark.fairmed(swaps="race_black", actions="admission", **SMALL)
class TestRace:
    def test_one(self, contrast): ...
    def test_other(self, contrast, action): ...
""")
    assert ids == [
        "test_it.py::TestRace::test_one[race_black]",
        "test_it.py::TestRace::test_other[race_black-admission]",
    ]


def test_a_fixture_that_asks_for_the_contrast_makes_items_too(collected: Any) -> None:
    ids = collected("""
@pytest.fixture
def verdict(contrast):
    return assert_invariant(contrast, "admission")

@pytest.mark.fairmed(swaps=["race_black", "race_hispanic"], actions="admission", **SMALL)
def test_race(verdict): ...
""")
    assert ids == [
        "test_it.py::test_race[race_black]",
        "test_it.py::test_race[race_hispanic]",
    ]


@pytest.mark.parametrize(
    ("own", "ids"),
    [
        (
            '@pytest.mark.parametrize("action", ["referral", "admission"])\n{test}',
            ["race_black-referral", "race_black-admission"],
        ),
        (
            "{test}\n\ndef pytest_generate_tests(metafunc):\n"
            '    metafunc.parametrize("action", ["referral", "admission"], indirect=True)\n',
            ["referral-race_black", "admission-race_black"],
        ),
    ],
    ids=["mark", "hook"],
)
def test_a_function_that_parametrises_the_action_itself_keeps_its_own(
    pytester: pytest.Pytester, gate: Run, own: str, ids: list[str]
) -> None:
    test = (
        '@pytest.mark.fairmed(swaps="race_black", **SMALL)\n'
        "def test_own(contrast, action):\n    assert_invariant(contrast, action)\n"
    )
    pytester.makepyfile(test_it=HEAD + own.format(test=test))
    found = [line for line in gate("--collect-only", "-q").outlines if "::" in line]
    assert found == [f"test_it.py::test_own[{name}]" for name in ids]
    assert gate().parseoutcomes() == {"inconclusive": 2}


def test_own_values_that_are_not_registered_fail_by_name_and_the_others_run(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(
        HEAD
        + """
@pytest.mark.fairmed(swaps="race_black", actions=["admission"], **SMALL)
@pytest.mark.parametrize("action", ["admission", "admision"])
def test_action(contrast, action):
    assert_invariant(contrast, action)

@pytest.mark.fairmed(swaps="race_black", actions=["admission"], **SMALL)
@pytest.mark.parametrize("vignette", ["hot_knee_urgent_care", "hot_knie"])
def test_vignette(contrast, vignette):
    assert_invariant(contrast, "admission")

@pytest.mark.fairmed(swaps="race_black", actions=["admission"], **SMALL)
@pytest.mark.parametrize("contrast", ["race_black", "race_hispanic"], indirect=True)
def test_contrast(contrast):
    assert_invariant(contrast, "admission")
"""
    )
    result = gate()
    assert result.parseoutcomes() == {"failed": 3, "inconclusive": 3}
    result.stdout.fnmatch_lines_random(
        [
            "E *PlanError: action 'admision' is not registered in family *test_action'*",
            "E * Did you mean 'admission'?*",
            "E *PlanError: vignette 'hot_knie' is not registered in family *test_vignette'*",
            "E *PlanError: swap 'race_hispanic' is not registered in family *test_contrast'*",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_fairmedagent*plugin*.py:*")


OWN_FIXTURES = """
@pytest.fixture
def action():
    return "my own"

@pytest.fixture
def vignette():
    return 7

@pytest.fixture(params=["left", "right"])
def contrast(request):
    return request.param
"""


def test_a_project_with_fixtures_of_these_names_is_untouched(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(
        HEAD
        + OWN_FIXTURES
        + """
def test_theirs(action, vignette, contrast):
    assert (action, vignette) == ("my own", 7)
    assert contrast in ("left", "right")
"""
    )
    assert pytester.runpytest_inprocess("-p", "no:randomly").parseoutcomes() == {"passed": 2}
    assert gate("test_a_project_with_fixtures_of_these_names_is_untouched.py").parseoutcomes() == {
        "passed": 2
    }


def test_a_study_of_the_project_s_own_is_an_error_where_a_contrast_needs_ours(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(
        HEAD
        + """
@pytest.fixture
def study():
    return "a chest film"

def test_theirs(study):
    assert study == "a chest film"

@pytest.mark.fairmed(swaps="race_black", actions="admission", **SMALL)
def test_ours(contrast):
    assert_invariant(contrast, "admission")
"""
    )
    result = gate("-k", "ours or theirs", ".")
    assert result.parseoutcomes() == {"passed": 1, "errors": 1}
    result.stdout.fnmatch_lines(["the fixture 'contrast' needs the fixture 'study' of pytest*"])


def test_a_marked_function_sees_the_project_s_own_fixtures_too(
    pytester: pytest.Pytester, gate: Run
) -> None:
    own = OWN_FIXTURES.partition("@pytest.fixture(params")[0]
    pytester.makepyfile(
        HEAD
        + own
        + """
@pytest.mark.fairmed(swaps=["race_black", "race_hispanic"], actions="admission", **SMALL)
def test_mixed(contrast, action, vignette):
    assert (action, vignette) == ("my own", 7)
    verdict = assert_invariant(contrast, "admission")
    assert verdict.contrast.vignette is None
"""
    )
    assert gate().parseoutcomes() == {"inconclusive": 2}


@pytest.mark.parametrize("name", ["contrast", "action", "vignette", "study", "trajectories"])
def test_a_fixture_of_ours_without_the_mark_is_one_error_with_advice(
    pytester: pytest.Pytester, gate: Run, name: str
) -> None:
    pytester.makepyfile(test_it=f"def test_unmarked({name}): pass")
    for result in (gate("test_it.py"), pytester.runpytest_inprocess("-p", "no:randomly")):
        assert result.parseoutcomes() == {"errors": 1}
        result.stdout.fnmatch_lines(["*needs *@pytest.mark.fairmed(*"])
        result.stdout.no_fnmatch_line("*Error*")  # neither a traceback of ours nor of pytest's
        result.stdout.no_fnmatch_line("*.py:[0-9]*")


def test_a_fixture_asked_for_at_run_time_is_an_error_with_advice(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(
        HEAD
        + """
@pytest.mark.fairmed(swaps="race_black", actions="admission", **SMALL)
def test_late(request):
    request.getfixturevalue("contrast")
"""
    )
    result = gate()
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(
        ["the fixture 'contrast' has no value in test_late: name it as an*"]
    )


def test_a_mark_on_what_is_no_function_of_its_own_is_unmeasured(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(
        HEAD
        + """
import unittest

@pytest.mark.fairmed(swaps="race_black")
class TestOld(unittest.TestCase):
    def test_method(self): ...

def test_late(): ...
"""
    )
    pytester.makeconftest(
        """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item):
    if item.name == "test_late":
        item.add_marker("fairmed")
"""
    )
    result = gate("--fairmed-unmeasured=fail")
    assert result.parseoutcomes() == {"failed": 2}
    result.stdout.fnmatch_lines(["*UNMEASURED: the test ended without a verdict*"])


@pytest.mark.parametrize(
    ("mark", "message", "advice"),
    [
        ('swapz="race_black"', "the mark has no argument 'swapz'.", "Did you mean 'swaps'?"),
        ('swaps="race_blak"', "unknown swap 'race_blak'.", "Did you mean 'race_black'?"),
        ('swaps=["race_black", "gender"]', "unknown swap 'gender'.", "known: *race_ethnicity*"),
        ('actions="admision"', "unknown action 'admision'.", "Did you mean 'admission'?"),
        ("actions=[]", "actions is [], expected a name or a list of names", ""),
        ("actions=5", "actions is 5, expected a name or a list of names", ""),
        (
            'vignettes="hot_knee"',
            "no vignette file, folder or shipped vignette 'hot_knee'.",
            "known: *hot_knee_urgent_care*",
        ),
        (
            'family="primry"',
            "family 'primry' is not declared in *ci.toml.",
            "Did you mean 'primary'",
        ),
        ("replicates=0", "replicates is 0, expected a whole number from 1 to 100000", ""),
        ("replicates=2.5", "replicates is 2.5, expected a whole number from 1 to 100000", ""),
        ("margin=5", "margin is 5, expected a number above 0 and below 1", ""),
        ("alpha=True", "alpha is True, expected a number above 0 and below 1", ""),
        ("alpha=1e-30", "alpha is 1e-30, expected a number from 1e-12 up and below 0.5", ""),
        ('"race_black"', "the mark takes keyword arguments only", "fairmed(swaps='insurance')"),
    ],
)
def test_a_slip_in_the_mark_is_one_error_with_function_line_and_known_words(
    pytester: pytest.Pytester, gate: Run, mark: str, message: str, advice: str
) -> None:
    pytester.makepyfile(
        test_it=f"""
import pytest

@pytest.mark.fairmed({mark})
def test_slip(contrast, action): ...
"""
    )
    result = gate()
    assert result.parseoutcomes() == {"errors": 1}
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([f"PlanError: test_slip (*test_it.py:3): {_literal(message)}*"])
    result.stdout.fnmatch_lines([f"*{_literal(advice)}*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*plugin?*.py*")


def _literal(pattern: str) -> str:
    return pattern.replace("[", "[[]")


def test_a_family_that_is_joined_with_other_cases_is_an_error(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(
        HEAD
        + """
@pytest.mark.fairmed(family="primary", **SMALL)
def test_one(contrast, action): ...

@pytest.mark.fairmed(family="primary", vignettes="hot_knee_urgent_care", replicates=2)
def test_other(contrast, action): ...
"""
    )
    result = gate()
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(
        ["PlanError: test_other (*): family 'primary' is registered twice*"]
    )


def test_two_functions_may_share_a_declared_family(pytester: pytest.Pytester, gate: Run) -> None:
    pytester.makepyfile(
        HEAD
        + """
@pytest.mark.fairmed(family="primary", **SMALL)
def test_one(contrast, action):
    assert assert_invariant(contrast, action).family.size == 18

@pytest.mark.fairmed(family="primary", **SMALL)
def test_other(contrast, action):
    assert assert_invariant(contrast, action).family.size == 18
"""
    )
    assert gate().parseoutcomes() == {"inconclusive": 36}


def test_a_broken_vignette_file_is_one_error_with_file_and_line(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makefile(".toml", broken='schema = 1\nid = "case_one"\ntitle = ""\n')
    pytester.makepyfile(
        test_a=HEAD + "@pytest.mark.fairmed()\ndef test_a(contrast): ...",
        test_b=HEAD + "@pytest.mark.fairmed()\ndef test_b(contrast): ...",
    )
    result = gate("--fairmed-vignettes=broken.toml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert [line for line in result.errlines if line.startswith("ERROR")] == [
        f"ERROR: FileFormatError: {pytester.path / 'broken.toml'}:3: 'title' is '': expected some "
        "text."
    ]
    assert result.outlines == []


def test_a_broken_vignette_file_of_a_mark_is_an_error_of_its_test(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makefile(".toml", broken="schema = 1\nid = 5\n")
    pytester.makepyfile(
        test_it=HEAD + '@pytest.mark.fairmed(vignettes="broken.toml")\ndef test_it(contrast): ...'
    )
    result = gate()
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["FileFormatError: test_it (*test_it.py:*): *broken.toml:2: 'id'*"])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--fairmed-swaps=race_blak", "PlanError: unknown swap 'race_blak'. Did you mean *"),
        ("--fairmed-actions=admision", "PlanError: unknown action 'admision'. Did you mean *"),
        ("--fairmed-vignettes=nope", "PlanError: no vignette file, folder or shipped vignette*"),
        ("--fairmed-replicates=many", "PlanError: --fairmed-replicates is 'many', expected a*"),
        ("--fairmed-margin=10", "PlanError: --fairmed-margin is '10', expected a number above 0*"),
        ("--fairmed-profile=cy", "PlanError: --fairmed-profile is 'cy', expected quick, ci,*"),
        ("--fairmed-plan=no.toml", "FileFormatError: *no.toml: cannot be read: No such file*"),
        ("--fairmed-report=out.txt", "PlanError: --fairmed-report is *, expected a name ending*"),
        ("--fairmed-decoding=heat=1", "PlanError: --fairmed-decoding: unknown parameter 'heat'*"),
        ("--fairmed-model=simulated:flor=1", "PlanError: simulated: unknown option 'flor'*"),
    ],
)
def test_a_slip_in_an_option_ends_the_session_before_it_begins(
    pytester: pytest.Pytester, gate: Run, option: str, message: str
) -> None:
    pytester.makepyfile(HEAD + "@pytest.mark.fairmed()\ndef test_it(contrast): ...")
    result = gate(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    result.stderr.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "simulated:flor=0.1",
            "PlanError: simulated: unknown option 'flor'. Did you mean 'floor'*",
        ),
        (
            "embeded",
            "PlanError: --fairmed-model='embeded' names no model: did you mean 'embedded'*",
        ),
        ("", "PlanError: --fairmed-model='' names no model: it is empty"),
    ],
)
def test_an_unknown_model_ends_the_session_before_it_begins(
    pytester: pytest.Pytester, gate: Run, model: str, message: str
) -> None:
    pytester.makepyfile(HEAD + "@pytest.mark.fairmed()\ndef test_it(contrast): ...")
    result = gate(model=model)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_a_report_that_cannot_be_written_ends_the_session_before_it_begins(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makefile(".txt", taken="a file where a folder should be")
    result = gate("--fairmed-report=taken.txt/out.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: PlanError: --fairmed-report is *, which cannot be written*"]
    )


def test_items_of_one_vignette_that_cannot_fail_say_so_with_the_replicates_that_could(
    pytester: pytest.Pytester, gate: Run
) -> None:
    source = """
@pytest.mark.fairmed(swaps="race_black", actions="admission", vignettes=CASES, replicates={r})
def test_case(vignette, contrast): ...
"""
    cases = 'CASES = "hot_knee_urgent_care, early_refill_clinic"\n'
    pytester.makepyfile(test_it=HEAD + cases + source.format(r=4))
    result = gate("--collect-only")
    # Two contrasts at .05: p = 2 / C(2R, R) must reach .025, which is 2/70 at R=4 and 2/252 at R=5.
    result.stdout.fnmatch_lines(
        [
            "fairmed: warning: test_it.py::test_case: one vignette at R=4 cannot fail in a family "
            "of 2: the smallest attainable p is 0.029; R=5 could"
        ]
    )
    pytester.makepyfile(test_it=HEAD + cases + source.format(r=5))
    gate("--collect-only").stdout.no_fnmatch_line("*warning*")
