"""The agent under test: a service behind HTTP, here one that the fixture starts itself.

Yours runs somewhere already. Without a fixture, name it by option, with its version behind a #:

    pytest --fairmed-model=simulated --fairmed-agent="http://localhost:8000/decide#version=3"
"""

import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pytest_fairmedagent import HttpAgent


class Service(BaseHTTPRequestHandler):
    """Orders an ECG first, where there is one, and decides when it has its result."""

    def do_POST(self):
        case = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        ecg = next((order for order in case["menu"] if order["id"] == "ecg"), None)
        if ecg and "result" not in ecg:
            self.answer({"orders": ["ecg"]})
        else:
            urgent = any(pain in case["text"] for pain in ("8/10", "9/10", "10/10"))
            admit = random.random() < (0.8 if urgent else 0.3)
            self.answer({"admission": admit, "high_acuity": urgent})

    def do_GET(self):
        self.answer({"version": "3"})  # asked once, at /decide/version

    def answer(self, content):
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def fairmed_agent():
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        # The port is another each time, so the agent has a name: by it a later run knows it again.
        yield HttpAgent(f"http://127.0.0.1:{server.server_port}/decide", name="example service")
        server.shutdown()
