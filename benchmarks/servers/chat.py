"""A chat server on loopback that answers from a truth and fails on order.

It speaks OpenAI's API and Anthropic's, the latter with the seed as `metadata.user_id`.

`python -m benchmarks.servers.chat LATENCY_S` serves in a process of its own and prints its URL.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections import Counter
from typing import Any

from benchmarks.servers.faults import CONTENT, FaultOf, no_faults
from pytest_fairmedagent.agents import prompts
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.base import Request
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth

STAGE_OF = {stage.fields[0].name: stage.name for stage in prompts.STAGES if stage.fields}
DRIP_S = 0.1


class ChatServer:
    """Serves from a thread of its own until it is stopped.

    By the seed of a request, `tries` counts how often it came and `asked` is when it last did, in
    seconds since the epoch. Once `healed`, nothing fails any more. `slots` are answered at once and
    others wait; `n_warm_up` counts the requests that belong to no stage.
    """

    def __init__(
        self,
        truth: Truth,
        *,
        latency_s: float = 0.0,
        fault_of: FaultOf = no_faults,
        slots: int = 10_000,
    ) -> None:
        self.model = SimulatedModel("simulated", truth, read_swaps())
        self.tries: Counter[int] = Counter()
        self.asked: dict[int, float] = {}
        self.healed = False
        self.n_warm_up = 0
        self.at_once = self.most_at_once = 0  # requests that were waiting for their answers
        self._latency_s = latency_s
        self._slots = asyncio.Semaphore(slots)
        self._fault_of = fault_of
        self._loop = asyncio.new_event_loop()
        listening = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(listening,), daemon=True)
        self._thread.start()
        listening.wait()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self, listening: threading.Event) -> None:
        async def listen() -> None:
            server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
            listening.set()

        self._loop.run_until_complete(listen())
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                if head.startswith(b"get "):  # what a model can do: no server of ours tells
                    await _send(writer, 404, b"{}")
                    continue
                length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                body = _alike(json.loads(await reader.readexactly(length)))
                await self._answer(body, writer)
        except (asyncio.IncompleteReadError, ConnectionError, _HangUp, asyncio.CancelledError):
            pass  # the client has gone, or is to think that we have, or the server is stopped
        finally:
            writer.transport.abort()

    async def _answer(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        seed = body["seed"]
        self.tries[seed] += 1
        self.asked[seed] = time.time()
        if self._latency_s:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            async with self._slots:
                await asyncio.sleep(self._latency_s)
            self.at_once -= 1
        fault = None if self.healed else self._fault_of(seed)
        name = fault.name if fault else ""
        if name in CONTENT:
            answer = _whole(body, CONTENT[name](self.say(body)))
        elif fault and self.tries[seed] <= fault.tries:
            await _fail(name, _whole(body, self.say(body)), writer)
            return
        else:
            answer = _whole(body, self.say(body))
        if name == "slow body":
            await _send(writer, 200, answer, n_first=len(answer) // 2)
            await asyncio.sleep(DRIP_S)
            writer.write(answer[len(answer) // 2 :])
        else:
            await _send(writer, 200, answer)
        await writer.drain()

    def say(self, body: dict[str, Any]) -> str:
        """Return what the truth answers to a request."""
        schema = body["response_format"]["json_schema"]["schema"]
        first = next(iter(schema["properties"]))
        if first not in STAGE_OF and first != "orders":
            self.n_warm_up += 1
            return json.dumps(dict.fromkeys(schema["properties"], 1))
        stage = STAGE_OF.get(first, "order")
        messages = tuple(body["messages"])
        return self.model.chat(Request(stage, messages, schema, body["seed"], 100), 0).text


class _HangUp(Exception):
    """The connection ends here, in the middle of things."""


def _text(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _alike(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request of Anthropic's API as one of OpenAI's, and others as they are."""
    if "tools" not in body:
        return body
    system = {"role": "system", "content": body["system"][0]["text"]}
    schema = body["tools"][0]["input_schema"]
    return {
        "seed": int(body["metadata"]["user_id"]),
        "messages": [system, *({**m, "content": _text(m["content"])} for m in body["messages"])],
        "response_format": {"json_schema": {"schema": schema}},
        "anthropic": True,
    }


def _block(text: str) -> dict[str, Any]:
    """Return what a model of Anthropic's says: the tool's input if it is some, else prose."""
    try:
        return {"type": "tool_use", "id": "t", "name": "answer", "input": json.loads(text)}
    except ValueError:
        return {"type": "text", "text": text}


def _whole(body: dict[str, Any], text: str) -> bytes:
    if "anthropic" in body:
        usage = {"input_tokens": 1, "output_tokens": 1}
        said = {"content": [_block(text)], "stop_reason": "end_turn", "usage": usage}
        return json.dumps({"id": f"msg_{body['seed']}", **said}).encode()
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1}
    whole = {"id": f"chatcmpl-{body['seed']}", "choices": [choice], "usage": usage}
    return json.dumps(whole).encode()


async def _fail(name: str, answer: bytes, writer: asyncio.StreamWriter) -> None:
    def error(kind: str, message: str) -> bytes:
        return json.dumps({"error": {"type": kind, "message": message}}).encode()

    if name == "429":
        await _send(writer, 429, error("rate_limit_error", "Too many requests"))
    elif name == "429 with retry-after":
        text = error("rate_limit_error", "Too many requests")
        await _send(writer, 429, text, more="retry-after: 0.3\r\n")
    elif name == "529":
        await _send(writer, 529, error("overloaded_error", "Overloaded"))
    elif name == "overload under 400":
        await _send(writer, 400, error("api_error", "Overloaded"))
    elif name == "500":
        await _send(writer, 500, error("api_error", "Internal server error"))
    elif name == "half a JSON":
        await _send(writer, 200, answer[: len(answer) // 2])
    elif name == "no choices":
        await _send(writer, 200, b'{"object": "chat.completion"}')
    elif name == "body cut short":
        await _send(writer, 200, answer, n_first=len(answer) // 2)
        raise _HangUp
    elif name == "hang":
        await asyncio.sleep(3600)
    elif name == "dripping body":
        await _send(writer, 200, answer, n_first=0)
        for _ in range(36_000):  # white space: a JSON that begins and never comes
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(DRIP_S)
    else:
        raise _HangUp


async def _send(
    writer: asyncio.StreamWriter,
    status: int,
    body: bytes,
    *,
    n_first: int | None = None,
    more: str = "",
) -> None:
    """Send an answer, or its head and the first bytes of its body."""
    n_announced = len(body) if n_first != 0 else 1_000_000
    head = f"HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\n{more}"
    writer.write(f"{head}content-length: {n_announced}\r\n\r\n".encode() + body[:n_first])
    await writer.drain()


if __name__ == "__main__":
    print(ChatServer(Truth(), latency_s=float(sys.argv[1])).url, flush=True)
    sys.stdin.read()  # until whoever started it is gone
