"""What an agent's exception tells of: a server that was not there, or the agent's own fault."""

from __future__ import annotations

import asyncio

from pytest_fairmedagent.errors import CONNECTION_LOST, REFUSED, TIMEOUT, ModelError
from pytest_fairmedagent.models.faults import kind_of_refusal, passes, read_error, retry_after_s
from pytest_fairmedagent.models.hosts import plain

# Of httpx, requests, aiohttp, and the packages of Anthropic and OpenAI, none of which is imported.
_LATE = {"APITimeoutError", "TimeoutException", "Timeout", "ServerTimeoutError"}
_LOST = {"APIConnectionError", "TransportError", "ConnectionError", "ClientConnectionError"}


def outage(error: BaseException) -> ModelError | None:
    """Return the fault of the infrastructure that an exception tells of; None for any other.

    It is read by type where Python has one, else by the names and attributes that HTTP clients have
    in common. A key or account that is not valid ends the run, as it does for a model; any other
    status that another try would only repeat (400, 404) is the agent's fault: it asked wrongly.
    """
    advised, transient = None, True
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    if isinstance(status, int):
        said, words = read_error(getattr(error, "body", None) or str(error))
        said, words = said.lower(), words.lower()
        kind, transient = kind_of_refusal(status, said, words), passes(status, said, words)
        barred = status in (401, 402, 403) or (status == 429 and kind == REFUSED)
        if status < 400 or not (transient or barred):
            return None
        headers = getattr(response, "headers", None) or {}
        advised = retry_after_s({str(k).lower(): str(v) for k, v in dict(headers).items()})
    else:
        names = {base.__name__ for base in type(error).__mro__}
        if isinstance(error, (TimeoutError, asyncio.TimeoutError)) or names & _LATE:
            kind = TIMEOUT
        elif isinstance(error, ConnectionError) or names & _LOST:
            kind = CONNECTION_LOST
        else:
            return None
    told = plain(f"{type(error).__name__}: {error}")
    return ModelError(
        f"a server that the agent asks: {told}",
        kind=kind,
        transient=transient,
        retry_after_s=advised,
    )
