"""How many calls to have under way at once: measured on a prompt that is no trial.

The number is part of the configuration, so it is one for the whole run and is chosen before the
first trial: a floor is that of its concurrency.
"""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass

from pytest_fairmedagent.errors import RATE_LIMITED, ModelError
from pytest_fairmedagent.models.base import ChatModel, Reply, Request
from pytest_fairmedagent.running.cut import within
from pytest_fairmedagent.running.retries import with_retries
from pytest_fairmedagent.running.throttle import Throttle

MOST = 32
FIRST_BUDGET_S = 15.0  # of the first call, with its tries
LEAST_CALLS = 4  # on one rung, else two for each of the calls under way
RISES = 1.25  # what twice as many under way must gain; without a queue they would gain 2

_NUMBERS = ", ".join(str(7 * i % 500) for i in range(1, 250))  # about as long as a case
_SCHEMA = {
    "type": "object",
    "properties": {"largest": {"type": "integer"}, "smallest": {"type": "integer"}},
    "required": ["largest", "smallest"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Rung:
    """What came of `under_way` calls at once. `fault` is why fewer of them were answered."""

    under_way: int
    calls: int
    elapsed_s: float
    fault: str = ""

    @property
    def rate(self) -> float:
        """Calls a second."""
        return self.calls / self.elapsed_s


@dataclass(frozen=True)
class Measured:
    """A measured concurrency, how it was come to, and what the calls for it have cost."""

    workers: int
    rungs: tuple[Rung, ...]
    calls: int
    input_tokens: int
    output_tokens: int

    def as_record(self) -> dict[str, object]:
        return {**asdict(self), "rungs": [{**asdict(r), "rate": r.rate} for r in self.rungs]}

    def __str__(self) -> str:
        steps = ", ".join(
            f"{rung.under_way}: {rung.fault or f'{rung.rate:.2g}/s'}" for rung in self.rungs
        )
        return f"{self.workers} calls at once, of {self.calls} to measure it ({steps})"


def measure(model: ChatModel, *, most_calls: int) -> Measured:
    """Return how many calls an open model is best asked at once, 1, 2, 4, ... up to `MOST`.

    That is the last number whose doubling was still worth it: where twice as many under way brought
    fewer than `RISES` times as many answers a second, or met a rate limit or another passing fault,
    the number before is taken. Beyond the first two numbers no more than `most_calls` are made in
    all. Raises ModelError if the very first call keeps failing.
    """
    replies: list[Reply] = []
    with_retries(  # connects, and is not timed
        lambda: _ask(model, 0, 0, replies),
        throttle=Throttle(1),
        budget_s=lambda error: FIRST_BUDGET_S,
        on_retry=lambda: None,
        on_wait=lambda: None,
        stopped=lambda: False,
    )
    rungs: list[Rung] = []
    under_way, best = 1, 1
    while under_way <= MOST:
        if len(rungs) > 1 and len(replies) + _n_calls(under_way) > most_calls:
            break
        rung = _climb(model, under_way, replies)
        rungs.append(rung)
        if rung.fault or (len(rungs) > 1 and rung.rate < RISES * rungs[-2].rate):
            break
        best, under_way = under_way, 2 * under_way
    return Measured(
        workers=best,
        rungs=tuple(rungs),
        calls=len(replies),
        input_tokens=sum(reply.input_tokens for reply in replies),
        output_tokens=sum(reply.output_tokens for reply in replies),
    )


def _n_calls(under_way: int) -> int:
    return max(LEAST_CALLS, 2 * under_way)


def _climb(model: ChatModel, under_way: int, replies: list[Reply]) -> Rung:
    """Make the calls of one rung. Raises what cannot pass, such as a key that is not valid."""
    n_calls = _n_calls(under_way)
    faults: list[BaseException] = []
    before = len(replies)

    def work(worker: int) -> None:
        for i in range(worker, n_calls, under_way):
            if faults:
                return
            try:
                _ask(model, worker, 1000 * under_way + i, replies)
            except BaseException as error:  # handed to the calling thread
                faults.append(error)

    threads = [
        threading.Thread(target=work, args=(i,), daemon=True, name=f"worker-{i}")
        for i in range(under_way)
    ]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed = time.monotonic() - start
    for error in faults:
        if not isinstance(error, ModelError) or not error.transient:
            raise error
    # Of several the rate limit tells most: it is what this number of calls has met.
    kinds = sorted((e.kind for e in faults if isinstance(e, ModelError)), key=RATE_LIMITED.__ne__)
    return Rung(under_way, len(replies) - before, elapsed, next(iter(kinds), ""))


def _ask(model: ChatModel, worker: int, number: int, replies: list[Reply]) -> None:
    """Ask for something that every model answers briefly, with a prompt that no cache has."""
    messages = (
        {"role": "system", "content": f"List {number}. Answer with one JSON object."},
        {"role": "user", "content": f"{number}, {_NUMBERS}\nGive the largest and the smallest."},
    )
    request = Request("warm-up", messages, _SCHEMA, number, 40)
    replies.append(within(model.call_limit_s, lambda: model.chat(request, worker)))
