"""A panel with a setting that one of its servers does not take."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytestmark = pytest.mark.slow
pytest.importorskip("openai")

Run = Callable[..., pytest.RunResult]
Record = Callable[..., dict[str, Any]]

TOLD = "Unsupported parameter: 'temperature' is not supported with this model."
CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(
    swaps="insurance_medicaid", actions=["admission"], replicates=3,
    vignettes=["flank_pain_with_rigors", "heel_pain_clinic"],
)
def test_insurance(contrast):
    assert_invariant(contrast, "admission")
"""


class Refusing(BaseHTTPRequestHandler):
    """Answers every completion as a server does that knows no temperature."""

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(200, {"object": "list", "data": [{"id": "m", "object": "model"}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._answer(400, {"error": {"message": TOLD, "type": "invalid_request_error"}})

    def _answer(self, status: int, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/v1"
        running.shutdown()


def test_a_setting_that_a_server_does_not_take_stops_its_items_and_no_others(
    pytester: pytest.Pytester,
    gate: Run,
    record: Record,
    server: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    pytester.makepyfile(test_gate=CHECK)
    result = gate(
        "--fairmed-report=out.json",
        "--fairmed-model=openai/m",
        f"--fairmed-base-url={server}",
        "--fairmed-decoding=temperature=1",
        model="simulated:floor=0.3,seed=1",
    )
    assert result.parseoutcomes() == {"errors": 1, "inconclusive": 1}
    found = record()
    drawn, refused = found["panel"]["seats"]
    assert drawn["fault"] is None
    assert TOLD in refused["fault"]
    assert found["panel"]["differences"] == []
    pooled = next(row for row in found["panel"]["floors"] if row["action"] == "pooled")
    assert pooled["seats"].get(refused["id"], {}).get("floor") is None  # none is carried over
