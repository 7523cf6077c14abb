"""An agent behind HTTP: each trial is a POST of the case, and its answer the actions."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

from pytest_fairmedagent.agents.fresh import AgentError
from pytest_fairmedagent.agents.user import AgentFault
from pytest_fairmedagent.agents.wire import Wire
from pytest_fairmedagent.domain import Case
from pytest_fairmedagent.errors import ModelError, PlanError, closest
from pytest_fairmedagent.models.hosts import check_base_url, plain

MOST_ROUNDS = 8  # requests of one trial: more than anyone orders in, and an end to those who loop
TIMEOUT_S = 180.0  # of a request: so long it may go without a byte
LONGEST_S = 600.0  # of all requests of a trial together; its lease in the store outlasts them
OPTIONS = ("version", "name", "results")  # that a URL on the command line may carry as #fragment
RESULTS = ("ordered", "all")


class HttpAgent:
    """An agent that answers POST requests at a URL; return one from the fixture `fairmed_agent`.

    The request is `{"text": ..., "menu": [{"id": ..., "name": ...}, ...]}`. The answer is actions
    (`{"admission": true}`), outputs by stage, or `{"orders": [ids]}` and nothing else: then the
    same request comes again, with a `result` at each order made so far. The service need remember
    nothing, and sees no result that it did not ask for.

    Args:
        url: where to post to. No user name or password may stand in it.
        version: which version of the agent answers; its trajectories then serve later runs too.
            Without one `GET URL/version` is asked once for `{"version": ...}` or `{"digest": ...}`.
        name: what the agent is called in records, in place of the URL.
        headers: sent with each request, such as a token. They are never stored or printed.
        results: "ordered", or "all" to send every result at once.
        timeout_s: after so many seconds without a byte a request is given up. A trial is given up
            after 10 minutes, whatever it is.
    """

    def __init__(
        self,
        url: str,
        *,
        version: str = "",
        name: str = "",
        headers: Mapping[str, str] | None = None,
        results: str = "ordered",
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        advice = "give it as headers=... of HttpAgent, in the fixture fairmed_agent, instead"
        check_base_url(url, option="the agent's URL", instead=advice)
        if results not in RESULTS:
            raise PlanError(f"results is {results!r}, expected 'ordered' or 'all'")
        parts = urlsplit(url)
        self._url = urlunsplit(parts._replace(fragment=""))
        self._at = urlunsplit(parts._replace(fragment="", query=""))  # a query may hold a token
        self._query = parts.query
        self._wire = Wire(self._url, self._at, dict(headers or {}), timeout_s)
        self._name, self._results = name, results
        self._version: str | None = version or None
        self._served_by: str | None = None
        self._lock = threading.Lock()
        self.call_limit_s = min(timeout_s * MOST_ROUNDS, LONGEST_S)
        self.endpoints = (self._at,)  # one run at a time asks a service of this machine

    @property
    def version(self) -> str:
        """What the service says of its version, "" if nothing. Asked once."""
        if self._version is None:
            self._version = self._ask_version()
        return self._version

    def configuration(self) -> Mapping[str, object]:
        where: dict[str, object] = {"endpoint": self._name or self._at, "results": self._results}
        if self._query and not self._name:
            where["query"] = hashlib.sha256(self._query.encode()).hexdigest()
        return where

    def __call__(self, case: Case) -> Mapping[str, object]:
        """Return what the service decided, with what it ordered.

        Raises ModelError where the service was not there and AgentFault where it answered wrongly.
        """
        ordered: list[str] = []
        for _ in range(MOST_ROUNDS):
            answer = self._post(case, ordered)
            if set(answer) != {"orders"}:
                return _with_orders(answer, ordered)
            new = [order for order in _orders(answer["orders"], case) if order not in ordered]
            if not new:
                raise AgentFault("answered with orders only, and none of them was new")
            ordered += new
        raise AgentFault(f"still ordered after {MOST_ROUNDS} requests, and decided nothing")

    def _post(self, case: Case, ordered: list[str]) -> dict[str, Any]:
        menu = [
            {"id": order.id, "name": order.name}
            | ({"result": order.result} if self._shows(order.id, ordered) else {})
            for order in case.menu
        ]
        body = json.dumps({"text": case.text, "menu": menu}).encode()
        status, headers, text = self._wire.send(self._url, body)
        if status >= 300:
            raise AgentFault(f"answered {status}")
        self._check_unchanged(headers.get("Agent-Version"))
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise AgentFault("answered no JSON object")
        return answer

    def _shows(self, order: str, ordered: list[str]) -> bool:
        return self._results == "all" or order in ordered

    def _check_unchanged(self, served_by: str | None) -> None:
        """Raise AgentError where another version answers than before: one table holds one agent."""
        if served_by is None:
            return
        with self._lock:
            first = self._served_by = self._served_by or served_by
        if served_by != first:
            raise AgentError(
                f"{self._at}: the service changed while it was measured: its header Agent-Version "
                f"was {plain(first)!r} and is {plain(served_by)!r}.\n  Measure one version at a "
                "time."
            )

    def _ask_version(self) -> str:
        parts = urlsplit(self._url)
        place = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/version"))
        status, _, text = self._wire.send(place, None)
        try:
            found = json.loads(text) if status == 200 else None
        except (ValueError, RecursionError):
            found = None
        stated = [found.get("version"), found.get("digest")] if isinstance(found, dict) else []
        return next((str(s) for s in stated if isinstance(s, (str, int, float)) and s), "")


def agent_at(spec: str) -> HttpAgent:
    """Return the agent that `--fairmed-agent=URL#version=...` names. Raises PlanError."""
    url, _, fragment = spec.partition("#")
    stated = parse_qs(fragment, keep_blank_values=True)
    options = {name: values[-1] for name, values in stated.items()}
    for name, value in options.items():
        if name not in OPTIONS:
            raise PlanError(
                f"--fairmed-agent: a URL has no option {name!r}.{closest(name, OPTIONS)}"
            )
        if not value:
            # Such as a variable of a script that is not set: it would be no version, unnoticed.
            raise PlanError(f"--fairmed-agent ends in #{fragment}, expected a value of {name}")
    try:
        return HttpAgent(url, **options)  # type: ignore[arg-type]
    except ModelError as error:
        raise PlanError(f"--fairmed-agent: {error}") from None


def _orders(value: object, case: Case) -> list[str]:
    known = {order.id for order in case.menu}
    if not isinstance(value, list) or not all(isinstance(order, str) for order in value):
        raise AgentFault("answered with orders that are no list of ids")
    if not known.issuperset(value):
        raise AgentFault("ordered what is not on the menu")
    return list(dict.fromkeys(value))


def _with_orders(answer: Mapping[str, object], ordered: list[str]) -> Mapping[str, object]:
    """Return an answer by stages, with what was ordered as the stage of that name."""
    if not ordered or not answer:
        return answer
    staged = all(isinstance(value, Mapping) for value in answer.values())
    return {"order": {"orders": ordered}, **(answer if staged else {"actions": answer})}
