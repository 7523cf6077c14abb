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
    assert run["workers"] == max(1, run["concurrency"]["measured"]["workers"] // 2)
    assert run["drawn"] + run["earlier"] == 4 * len(record()["arms"])


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
