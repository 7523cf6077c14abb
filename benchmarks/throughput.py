"""Calls a second with 32 in flight against a server that takes 200 ms: the ideal is 160.

The server runs in a process of its own; the client is the official openai package through this
project's backend, and every call ends in the store. Prints the rate and the CPU that a call takes,
and for comparison that of the client alone. `python -m benchmarks throughput 96` draws 96 trials of
five calls; the default is 768, 24 for each of the 32.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import ACTIONS, Family, Plan
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.base import ChatModel, Decoding, Request
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes

LATENCY_S = 0.2
IN_FLIGHT = 32


def through_the_runner(model: ChatModel, n_trials: int) -> tuple[float, float]:
    """Return calls a second and CPU seconds a call of a whole run."""
    cases = blank_vignettes(4)
    replicates = max(2, n_trials // 12)
    family = Family("f", ("race_black",), tuple(ACTIONS), tuple(cases), replicates=replicates)
    plan = Plan((family,), "reference", ("rerender",))
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        study = Study(plan, cases, read_swaps(), ClinicalAgent(), model, store, seed=1)
        start, cpu = time.monotonic(), time.process_time()
        study.sample(family.members)
        elapsed, cpu = time.monotonic() - start, time.process_time() - cpu
        store.close()
    assert study.info is not None
    assert study.info.complete
    return study.info.calls / elapsed, cpu / study.info.calls


def client_alone(model: ChatModel, n_calls: int) -> tuple[float, float]:
    """Return calls a second and CPU seconds a call of the same client without runner or store."""
    schema = {"type": "object", "properties": {"referral": {"type": "boolean"}}}
    text = "Case number 0, for tests only.\nPatient: x\n" * 20
    messages = ({"role": "system", "content": "x"}, {"role": "user", "content": text})
    each = n_calls // IN_FLIGHT

    def work(worker: int) -> None:
        for i in range(each):
            model.chat(Request("document", messages, schema, worker * each + i, 100), worker)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(IN_FLIGHT)]
    start, cpu = time.monotonic(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed, cpu = time.monotonic() - start, time.process_time() - cpu
    return each * IN_FLIGHT / elapsed, cpu / (each * IN_FLIGHT)


def main() -> None:
    from pytest_fairmedagent.models.openai_compatible import OpenAICompatibleModel

    n_trials = int(sys.argv[1]) if len(sys.argv) > 1 else 768
    server = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.servers.chat", str(LATENCY_S)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        model = OpenAICompatibleModel("m", decoding=Decoding(), base_url=url, workers=IN_FLIGHT)
        model.open()
        client_alone(model, 2 * IN_FLIGHT)  # connects, and warms both sides up
        ideal = IN_FLIGHT / LATENCY_S
        for name, (rate, cpu) in (
            ("client alone", client_alone(model, 5 * n_trials)),
            ("whole run", through_the_runner(model, n_trials)),
        ):
            print(
                f"{name:<13} {rate:6.1f} calls/s, {rate / ideal:.1%} of the ideal {ideal:.0f}; "
                f"{cpu * 1000:.2f} ms of CPU a call"
            )
        model.close()
    finally:
        server.communicate("")


if __name__ == "__main__":
    main()
