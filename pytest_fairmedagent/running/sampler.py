"""Drawing the trials of a plan with a few workers, each finished call on disk at once."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TypeVar

from pytest_fairmedagent.agents.base import Agent
from pytest_fairmedagent.domain import Case, Trajectory
from pytest_fairmedagent.errors import OVERLOADED, RATE_LIMITED, ModelError
from pytest_fairmedagent.files.prices import Price
from pytest_fairmedagent.models.base import ChatModel, Message, Reply, Request, Schema
from pytest_fairmedagent.running.budget import spent_by
from pytest_fairmedagent.running.cut import within
from pytest_fairmedagent.running.endpoints import Turns
from pytest_fairmedagent.running.retries import Stopped, with_retries
from pytest_fairmedagent.running.schedule import Block, seed_of
from pytest_fairmedagent.running.store import LEASE_S, Draw, Run, Store
from pytest_fairmedagent.running.throttle import Throttle

POLL_S = 0.25
LOST_IN_A_ROW = 5  # trials lost to the infrastructure one after another: the server is gone
BUDGET_S = 180.0  # of one call, with its tries: an overload lasts minutes more often than seconds
FIRST_BUDGET_S = 15.0  # a server that has not answered yet is more likely down than busy

T = TypeVar("T")


@dataclass
class Progress:
    """What a run has done so far.

    `note` is said in place of all else, before the first trial. `waiting` are trials that another
    process is drawing. `usd_before` was spent by earlier starts
    of the run, `usd_now` by this process; neither is known without a `price`.
    """

    total: int
    from_before: int = 0
    done: int = 0
    calls: int = 0
    retries: int = 0
    failed: int = 0
    waiting: int = 0
    note: str = ""
    throttle: Throttle | None = None
    price: Price | None = None
    usd_before: float = 0.0
    usd_now: float = 0.0
    started: float = field(default_factory=time.monotonic)

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.started

    @property
    def spent_usd(self) -> float | None:
        """US dollars spent by this run so far; None where price or tokens are not known."""
        if self.price is None:
            return None
        spent = self.usd_before + self.usd_now
        return spent if spent or not self.done else None

    def add(self, trajectory: Trajectory) -> None:
        """Count a trial that this process has drawn."""
        self.done += 1
        self.failed += trajectory.infrastructure
        if self.price is not None:
            self.usd_now += spent_by([trajectory])[0].usd(self.price)

    @property
    def left_s(self) -> float | None:
        """Seconds left at the rate so far; None before the first trial is done."""
        drawn = self.done - self.from_before
        return (self.total - self.done) * self.elapsed_s / drawn if drawn > 0 else None


class Sampler:
    """Draws blocks of trials; `sample` returns when all are there, and may be called again.

    Args:
        progress: counted on; shared by all calls of `sample`.
        cases: the rendered case of every (vignette, condition).
        on_progress: called from the calling thread, a few times a second.
        turns: that a trial needs, where other processes draw too.
    """

    def __init__(
        self,
        *,
        agent: Agent,
        model: ChatModel,
        store: Store,
        run: Run,
        cases: Mapping[tuple[str, str], Case],
        progress: Progress,
        on_progress: Callable[[Progress], None],
        turns: Turns | None = None,
    ) -> None:
        self._agent, self._model = agent, model
        self._store, self._run = store, run
        self._cases = cases
        self.progress = progress
        self._report = on_progress
        self._turns = turns
        self._stop = threading.Event()
        self._idle = threading.Event()
        self._lock = threading.Lock()
        self._throttle = progress.throttle = Throttle(model.workers)
        self._lost_in_a_row = 0
        self._answered = False
        self._error: BaseException | None = None

    def sample(self, blocks: Sequence[Block], done: set[Draw]) -> None:
        """Draw every trial of the blocks that is not in `done`.

        Raises ModelError when the server is gone, and KeyboardInterrupt after the calls under way
        have ended; in both cases all that is finished is in the store.
        """
        todo = [tuple(d for d in block if d not in done) for block in blocks]
        self._idle.clear()
        pending: queue.SimpleQueue[Block] = queue.SimpleQueue()
        for block in filter(None, todo):
            pending.put(block)
        self._elsewhere: queue.SimpleQueue[Draw] = queue.SimpleQueue()
        threads = [
            # An agent can read the name of its thread: it tells nothing of what this is about.
            threading.Thread(target=self._work, args=(pending, i), daemon=True, name=f"worker-{i}")
            for i in range(self._model.workers)
        ]
        # Waited for through an event and never with Thread.join(timeout): before Python 3.13 a
        # Ctrl-C inside that marks a running thread as ended, and the store closes under it.
        self._working = len(threads)
        try:
            for thread in threads:
                thread.start()
            while not self._idle.wait(POLL_S):
                self._report(self.progress)
        except BaseException:
            self._stop.set()
            self._idle.wait()  # the calls under way end, and are kept
            raise
        if self._error is not None:
            raise self._error
        self._wait_for_others()
        self._report(self.progress)

    def _work(self, pending: queue.SimpleQueue[Block], worker: int) -> None:
        try:
            while not self._stop.is_set():
                try:
                    block = pending.get_nowait()
                except queue.Empty:
                    return
                for draw in block:
                    if not self._drawn(draw, worker):
                        self._elsewhere.put(draw)
                    if self._stop.is_set():
                        return
        except BaseException as error:  # handed to the calling thread, which raises it
            self._error = self._error or error
            self._stop.set()
        finally:
            with self._lock:
                self._working -= 1
                if not self._working:
                    self._idle.set()

    def _drawn(self, draw: Draw, worker: int) -> bool:
        """Draw a trial, and return whether it was this process' to draw."""
        turn = self._turns.one(self._stop.is_set) if self._turns else nullcontext()
        with turn:
            mine = not self._stop.is_set() and self._store.claim(self._run, draw)
            if mine:
                self._draw(draw, worker)
        return mine

    def _draw(self, draw: Draw, worker: int) -> None:
        trial = draw.trial
        ask = _Asker(self, draw, worker)
        try:
            trajectory = self._agent.run(self._cases[trial.vignette, trial.condition], ask)
        except ModelError as error:
            if self._stop.is_set():
                self._store.release(self._run, draw)
                return
            trajectory = ask.lost(error)
            self._lost(error)
        except Stopped:
            self._store.release(self._run, draw)
            return
        except BaseException:
            self._store.release(self._run, draw)
            raise
        else:
            self._lost_in_a_row = 0
        self._store.complete(self._run, draw, trajectory)
        with self._lock:
            self.progress.add(trajectory)

    def _lost(self, error: ModelError) -> None:
        with self._lock:
            self._lost_in_a_row += 1
            most = LOST_IN_A_ROW if self._answered else 1
            if not error.transient or self._lost_in_a_row >= most:
                self._error = self._error or error
                self._stop.set()

    def _wait_for_others(self) -> None:
        """Wait for the trials that other processes have, and take over those they give up."""
        others = []
        while not self._elsewhere.empty():
            others.append(self._elsewhere.get())
        while others:
            there = self._store.load(self._run, others, failed=True)
            with self._lock:
                self.progress.done += len(there)
            others = [draw for draw in others if draw not in there]
            self.progress.waiting = len(others)
            self._report(self.progress)
            if not others:
                return
            self._store.release_dead()
            taken = set()
            for draw in others:
                if self._drawn(draw, 0):
                    taken.add(draw)
                if self._error is not None:
                    raise self._error
            others = [draw for draw in others if draw not in taken]
            time.sleep(POLL_S)


class _Asker:
    """Asks the model for one trial: from the store if this very request was answered before."""

    def __init__(self, sampler: Sampler, draw: Draw, worker: int) -> None:
        self._sampler, self._draw, self._worker = sampler, draw, worker
        self._before = sampler._store.replies(sampler._run, draw)
        self._leased = time.monotonic()
        self._replies: list[Reply] = []

    def lost(self, error: ModelError) -> Trajectory:
        """Return the trajectory of a trial that a fault ended: what was answered is paid for."""
        return Trajectory(
            {},
            {"trial": error.reason},
            calls=len(self._replies),
            input_tokens=sum(reply.input_tokens for reply in self._replies),
            output_tokens=sum(reply.output_tokens for reply in self._replies),
            cache_read_tokens=sum(reply.cache_read_tokens for reply in self._replies),
            cache_write_tokens=sum(reply.cache_write_tokens for reply in self._replies),
            infrastructure=True,
        )

    @property
    def replicate(self) -> int:
        return self._draw.trial.replicate

    def __call__(
        self,
        stage: str,
        attempt: int,
        messages: tuple[Message, ...],
        schema: Schema,
        max_tokens: int,
    ) -> Reply:
        s = self._sampler
        seed = seed_of(s._run.seed, self._draw, stage, attempt)
        request = Request(stage, messages, schema, seed, max_tokens)
        before = self._before.get((stage, attempt))
        if before is not None and before[0] == request.digest:
            self._replies.append(before[1])
            return before[1]
        reply, duration = self._tried(lambda: self._call(request))
        s._store.keep(s._run, self._draw, stage, attempt, request.digest, seed, reply, duration)
        self._replies.append(reply)
        self._renew()
        s._throttle.count(self._draw.trial.condition)
        with s._lock:
            s.progress.calls += 1
        return reply

    def patiently(self, call: Callable[[], T], limit_s: float | None = None) -> T:
        return self._tried(lambda: within(limit_s, call, on_wait=self._renew))

    def _tried(self, call: Callable[[], T]) -> T:
        s = self._sampler
        answer = with_retries(
            call,
            throttle=s._throttle,
            budget_s=self._budget_s,
            on_retry=self._count_retry,
            on_wait=self._renew,
            stopped=s._stop.is_set,
            sleep=s._stop.wait,
        )
        s._answered = True
        return answer

    def _call(self, request: Request) -> tuple[Reply, float]:
        model = self._sampler._model
        start = time.monotonic()
        limit_s, chat = model.call_limit_s, lambda: model.chat(request, self._worker)
        reply = within(limit_s, chat, on_wait=self._renew)
        return reply, time.monotonic() - start

    def _budget_s(self, error: ModelError) -> float:
        # A server that says it has too much to do is there.
        there = self._sampler._answered or error.kind in (OVERLOADED, RATE_LIMITED)
        return BUDGET_S if there else FIRST_BUDGET_S

    def _count_retry(self) -> None:
        self._renew()
        with self._sampler._lock:
            self._sampler.progress.retries += 1

    def _renew(self) -> None:
        if time.monotonic() - self._leased > LEASE_S / 3:
            self._sampler._store.renew(self._sampler._run, self._draw)
            self._leased = time.monotonic()
