"""A server of this machine, asked by runs of pytest: one measurement, and one run at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_fairmedagent.models.simulated import Truth
from pytest_fairmedagent.running import endpoints

pytestmark = pytest.mark.slow

pytest.importorskip("openai", reason="drives the openai package")
chat = pytest.importorskip("benchmarks.servers.chat", reason="run from the repository's root")

FEW = """
    import pytest
    from pytest_fairmedagent import assert_invariant

    @pytest.mark.fairmed(swaps="race_black", vignettes="rib_fractures_ward", replicates=4)
    def test_it(contrast, action):
        assert_invariant(contrast, action)
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    found = chat.ChatServer(Truth(seed=1), slots=2, latency_s=0.01)
    yield found
    found.stop()


def test_the_workers_of_xdist_measure_once_and_divide_the_number(
    pytester: pytest.Pytester, server: Any, record: Callable[..., dict[str, Any]]
) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(FEW)
    arguments = (
        *("--fairmed-model=openai/m", f"--fairmed-base-url={server.url}", "-p", "no:randomly"),
        *("--fairmed-concurrency=auto", "--fairmed-report=out.json", "-n", "2"),
    )
    pytester.runpytest_subprocess(*arguments)
    [run] = record()["runs"]
    assert server.n_warm_up == run["concurrency"]["measured"]["calls"]
    assert run["workers"] == run["concurrency"]["measured"]["workers"]
    assert run["drawn"] + run["earlier"] == 4 * len(record()["arms"])


def test_more_processes_than_requests_take_turns_and_draw_what_one_process_would(
    pytester: pytest.Pytester, server: Any, record: Callable[..., dict[str, Any]]
) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(FEW)
    arguments = (
        *("--fairmed-model=openai/m", f"--fairmed-base-url={server.url}", "-p", "no:randomly"),
        *("--fairmed-concurrency=1", "--fairmed-report=out.json"),
    )
    pytester.runpytest_subprocess(*arguments, "-n", "3")
    assert server.most_at_once == 1
    [three] = record()["runs"]
    n_asked = len(server.tries)
    assert (three["workers"], n_asked) == (1, 5 * 4 * len(record()["arms"]))
    pytester.runpytest_inprocess(*arguments)
    [one] = record()["runs"]
    assert (len(server.tries), one["drawn"]) == (n_asked, 0)
    assert one["config_digest"] == three["config_digest"]


def test_a_run_on_a_server_that_another_asks_names_its_process_and_asks_nothing(
    pytester: pytest.Pytester,
    server: Any,
    gate: Callable[..., pytest.RunResult],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(endpoints, "WAIT_S", 0.0)
    pytester.makepyfile(FEW)
    with endpoints.held([server.url], start="another"):
        result = gate(f"--fairmed-base-url={server.url}", model="openai/m")
    result.stdout.fnmatch_lines(
        ["*ModelError: the server at localhost:* is being asked by another*"]
    )
    assert not server.tries


def test_what_one_process_drew_two_read_and_offline_nobody_is_asked_for_it(
    pytester: pytest.Pytester, server: Any, record: Callable[..., dict[str, Any]]
) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(FEW)
    arguments = (
        *("--fairmed-model=openai/m", f"--fairmed-base-url={server.url}", "-p", "no:randomly"),
        "--fairmed-report=out.json",
    )
    pytester.runpytest_inprocess(*arguments)
    [drawn], n_asked = record()["runs"], len(server.tries)
    assert (drawn["workers"], n_asked) == (4, 5 * drawn["drawn"])
    pytester.runpytest_subprocess(*arguments, "-n", "2")
    assert record()["runs"][0]["config_digest"] == drawn["config_digest"]
    assert len(server.tries) == n_asked
    server.stop()
    result = pytester.runpytest_inprocess(*arguments, "--fairmed-offline")
    result.stdout.fnmatch_lines(["calls * offline: no server was asked; *that of run 1, 20*"])
    assert record()["runs"][0]["drawn"] == 0
