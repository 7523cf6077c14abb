"""A key goes to a server that a person named, never to one that a project's files name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("openai", reason="drives the openai package")

Run = Callable[..., pytest.RunResult]
ABROAD = "https://elsewhere.invalid/v1"
ONE = """
    import pytest
    from pytest_fairmedagent import assert_invariant

    @pytest.mark.fairmed(swaps="race_black", vignettes="rib_fractures_ward", replicates=1)
    def test_it(contrast, action):
        assert_invariant(contrast, action)
"""
REFUSED = "comes from project configuration and is not on this machine, so OPENAI_API_KEY is not"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The servers that a client with the key was made for."""
    import openai

    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-of-a-person")
    urls: list[str] = []

    def made(**options: object) -> None:
        urls.append(str(options["base_url"]))
        raise openai.OpenAIError("no client here")

    monkeypatch.setattr(openai, "OpenAI", made)
    return urls


@pytest.mark.parametrize("ini", ["addopts = --fairmed-base-url=", "fairmed_base_url = "])
def test_a_url_of_the_project_s_configuration_gets_no_key(
    pytester: pytest.Pytester, gate: Run, asked: list[str], ini: str
) -> None:
    pytester.makeini(f"[pytest]\n{ini}{ABROAD}\n")
    pytester.makepyfile(ONE)
    result = gate(model="openai/m")
    result.stdout.fnmatch_lines([f"*{ABROAD} {REFUSED}*"])
    assert asked == []


@pytest.mark.slow
def test_workers_of_xdist_know_a_url_of_addopts_from_a_typed_one(
    pytester: pytest.Pytester, gate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xdist")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-of-a-person")
    pytester.makeini(f"[pytest]\naddopts = --fairmed-base-url={ABROAD}\n")
    pytester.makepyfile(ONE)
    result = gate("-n", "1", model="openai/m")
    result.stdout.fnmatch_lines([f"*{ABROAD} {REFUSED}*"])


@pytest.mark.parametrize("place", ["typed", "PYTEST_ADDOPTS", "FAIRMED_BASE_URL"])
def test_a_url_of_the_person_gets_the_key_also_where_the_project_names_another(
    pytester: pytest.Pytester,
    gate: Run,
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    place: str,
) -> None:
    option = f"--fairmed-base-url={ABROAD}"
    if place == "FAIRMED_BASE_URL":
        monkeypatch.setenv(place, ABROAD)
    else:
        pytester.makeini("[pytest]\naddopts = --fairmed-base-url=https://other.invalid/v1\n")
        if place == "PYTEST_ADDOPTS":
            monkeypatch.setenv(place, option)
    pytester.makepyfile(ONE)
    gate(*([option] if place == "typed" else []), model="openai/m")
    assert set(asked) == {ABROAD}
