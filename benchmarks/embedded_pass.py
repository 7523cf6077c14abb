"""One pass of the embedded model over every shipped case: are its replies valid throughout?

Every case once, under the reference, with the six-stage agent and two workers. Prints the share of
complete trajectories, the calls and repairs they took, and the reasons of what is missing.
`python -m benchmarks embedded_pass 8` takes the first eight cases only.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections import Counter

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import Trajectory, render
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import read_vignettes, shipped_vignettes
from pytest_fairmedagent.models.base import Decoding, Message, Reply, Request, Schema
from pytest_fairmedagent.models.specs import open_model, parse_spec

WORKERS = 2


class Asker:
    """Asks the model without a store."""

    replicate = 0

    def __init__(self, model, worker: int) -> None:
        self._model, self._worker = model, worker

    def __call__(
        self,
        stage: str,
        attempt: int,
        messages: tuple[Message, ...],
        schema: Schema,
        max_tokens: int,
    ) -> Reply:
        return self._model.chat(Request(stage, messages, schema, 7, max_tokens), self._worker)


def main() -> None:
    cases = list(read_vignettes([shipped_vignettes()]).values())
    cases = cases[: int(sys.argv[1])] if len(sys.argv) > 1 else cases
    reference = read_swaps().reference
    model = open_model(
        parse_spec("embedded"),
        decoding=Decoding(),
        base_url=None,
        base_url_trusted=False,
        workers=WORKERS,
    )
    model.open()
    todo: queue.SimpleQueue = queue.SimpleQueue()
    for case in cases:
        todo.put(case)
    found: list[Trajectory] = []
    start = time.monotonic()

    def work(worker: int) -> None:
        agent, ask = ClinicalAgent(), Asker(model, worker)
        while True:
            try:
                case = todo.get_nowait()
            except queue.Empty:
                return
            found.append(agent.run(render(case, reference), ask))
            print(f"\r{len(found)}/{len(cases)}", end="", file=sys.stderr, flush=True)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    model.close()
    reasons = Counter(reason for t in found for reason in t.missing.values())
    print(
        f"\n{sum(t.complete for t in found)} of {len(found)} trajectories complete, "
        f"{sum(t.calls for t in found)} calls, {sum(t.repairs for t in found)} repairs, "
        f"{time.monotonic() - start:.0f} s"
    )
    for reason, count in reasons.most_common():
        print(f"  {count} x {reason}")


if __name__ == "__main__":
    main()
