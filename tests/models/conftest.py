"""A server of scripted answers, built from what the providers document, for their own clients."""

from __future__ import annotations

import json
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pytest_fairmedagent.models.base import Request

PROVIDERS = ("ANTHROPIC_", "OPENAI_", "OLLAMA_", "FAIRMED_")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


@dataclass
class Asked:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Answer:
    """One scripted answer. `cut` sends half of what was announced, `hang_up` sends nothing."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0
    cut: bool = False
    hang_up: bool = False


class Provider:
    """Listens on loopback. A path's answers are given in turn, and the last one from then on."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._answers: dict[str, list[Answer]] = {}
        self._rules: dict[str, Callable[[Any], Answer]] = {}
        self._stopped = threading.Event()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or each answer waits 40 ms for its second packet

            def do_GET(self) -> None:
                provider._handle(self)

            do_POST = do_GET

            def log_message(self, *args: object) -> None:
                pass

        class Listener(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *args: object) -> None:
                pass  # clients that have hung up are what some tests are about

        self._http = Listener(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def say(self, path: str, body: object, **how: Any) -> None:
        """Script one more answer: a value that becomes JSON, or raw bytes."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._answers.setdefault(path, []).append(Answer(raw, **how))

    def rule(self, path: str, answer: Callable[[Any], Answer]) -> None:
        """Answer every request of a path by its body."""
        self._rules[path] = answer

    def bodies(self, path: str) -> list[Any]:
        return [asked.body for asked in self.asked if asked.path == path]

    def forget(self) -> None:
        self.asked.clear()
        self._answers.clear()
        self._rules.clear()

    def stop(self) -> None:
        self._stopped.set()
        self._http.shutdown()
        self._http.server_close()

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        raw = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        body = json.loads(raw) if raw else None
        self.asked.append(Asked(handler.command, handler.path, headers, body))
        script = self._answers.get(handler.path)
        if handler.path in self._rules:
            answer = self._rules[handler.path](body)
        elif not script:
            answer = Answer(b'{"error": "no such path"}', 404)
        else:
            answer = script.pop(0) if len(script) > 1 else script[0]
        end = time.monotonic() + answer.delay_s
        while time.monotonic() < end and not self._stopped.is_set():
            time.sleep(0.01)
        if answer.hang_up:
            handler.close_connection = True
            return
        handler.send_response(answer.status)
        headers = {"content-type": "application/json", **answer.headers}
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(answer.body)))
        handler.end_headers()
        handler.wfile.write(answer.body[: len(answer.body) // 2] if answer.cut else answer.body)
        handler.close_connection = handler.close_connection or answer.cut


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def server() -> Iterator[Provider]:
    provider = Provider()
    yield provider
    provider.stop()


@pytest.fixture(autouse=True)
def _no_keys_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for name in [n for n in os.environ if n.startswith(PROVIDERS) or n in PROXIES]:
        monkeypatch.delenv(name)
    # The anthropic package finds whoever is logged in on this machine there.
    monkeypatch.setenv("HOME", str(tmp_path_factory.getbasetemp()))


@pytest.fixture(autouse=True)
def _no_trust_store(monkeypatch: pytest.MonkeyPatch) -> None:
    # No test here speaks TLS, and reading the store is most of the time that a client takes.
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *args, **how: None)


@pytest.fixture(scope="session")
def request_() -> Request:
    """One stage's request: a system prompt, a case, one answer and what follows."""
    return Request(
        stage="triage",
        messages=(
            {"role": "system", "content": "You triage."},
            {"role": "user", "content": "Chest pain for two hours."},
            {"role": "assistant", "content": '{"esi_acuity":2}'},
            {"role": "user", "content": "Results are back."},
        ),
        schema={
            "type": "object",
            "properties": {
                "esi_acuity": {"type": "integer", "minimum": 1, "maximum": 5},
                "admit": {"type": "boolean"},
                "orders": {
                    "type": "array",
                    "items": {"type": "string", "enum": ["ecg", "ct_head"]},
                    "maxItems": 2,
                },
            },
            "required": ["esi_acuity", "admit", "orders"],
            "additionalProperties": False,
        },
        seed=7,
        max_tokens=90,
    )
