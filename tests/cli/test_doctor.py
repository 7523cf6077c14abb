"""`fairmed doctor`: tells what is there, never what a key holds, and asks nobody but Ollama."""

import json
import re
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from pytest_fairmedagent.doctor import KEYS
from pytest_fairmedagent.doctor.ollama import servers

SECRET = "sk-this-must-never-be-shown"
TAGS = {
    "models": [
        {
            "name": "llama3.1:8b",
            "size": 4_920_000_000,
            "digest": "46e0c10c039e",
            "details": {"parameter_size": "8.0B", "quantization_level": "Q4_K_M"},
        },
        {"name": "tiny:latest", "size": 400_000_000, "details": {}},
    ]
}


@pytest.fixture(autouse=True)
def _bare(monkeypatch, tmp_path):
    """A folder of its own, no keys, and an Ollama that is not there."""
    for name in (*KEYS, "FAIRMED_EMBEDDED_GGUF"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{free_port()}")
    monkeypatch.chdir(tmp_path)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def ollama(monkeypatch):
    """Serves what an Ollama server says of itself; the list fills with the paths asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            body = json.dumps(self.answers.get(self.path, {})).encode()
            self.send_response(200 if self.path in self.answers else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    Handler.answers = {"/api/version": {"version": "0.9.1"}, "/api/tags": TAGS}
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("OLLAMA_HOST", f"http://user:{SECRET}@127.0.0.1:{server.server_port}")
    yield Handler, asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_it_names_the_models_of_ollama_and_suggests_the_smallest(fairmed, ollama):
    ran = fairmed("doctor")
    assert ran.status == 0
    assert "0.9.1 at http://127.0.0.1:" in ran.out
    assert "llama3.1:8b" in ran.out
    assert "8.0B Q4_K_M 4920.0 MB" in ran.out
    assert "next: pytest --fairmed-model=tiny:latest --fairmed-profile=quick" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    assert sorted(ollama[1]) == ["/api/tags", "/api/version"]


def test_keys_are_told_by_their_variables_and_never_by_what_they_hold(fairmed, ollama, monkeypatch):
    for name in KEYS:
        monkeypatch.setenv(name, SECRET)
    for arguments in ((), ("--json",), ("--model", "claude-haiku-4-5")):
        ran = fairmed("doctor", *arguments)
        assert SECRET not in ran.out + ran.err
        assert "ANTHROPIC_API_KEY" in ran.out
    assert fairmed("doctor", "--json").json["keys"] == dict.fromkeys(KEYS, True)


@pytest.mark.parametrize(
    ("model", "status", "said"),
    [
        ("llama3.1:8b", 0, "asked      ok      llama3.1:8b"),
        ("tiny", 0, "asked      ok      tiny"),
        ("mistral:7b", 1, "ollama pull mistral:7b"),
        ("claude-haiku-4-5", 1, "ANTHROPIC_API_KEY is not set"),
        ("openai/gpt-4.1-mini", 1, "OPENAI_API_KEY is not set"),
        ("recorded/nowhere.json#3", 1, "nowhere.json does not exist"),
        ("embedded/nowhere.gguf", 1, "nowhere.gguf"),
        ("simulated:seed=1", 0, "asked      ok"),
    ],
)
def test_a_model_that_is_asked_for_decides_the_exit_status(fairmed, ollama, model, status, said):
    ran = fairmed("doctor", "--model", model)
    assert said in " ".join(ran.out.split("\n"))
    assert ran.status == status


def test_a_server_that_is_not_there_breaks_nothing_unless_it_is_asked_for(fairmed):
    ran = fairmed("doctor")
    assert ran.status == 0
    assert "no answer" in ran.out
    asked = fairmed("doctor", "--model", "llama3.1:8b")
    assert asked.status == 1
    assert "ollama serve" in asked.out


@pytest.mark.parametrize("tags", [{"models": None}, {"models": [7]}, [], {}])
def test_what_answers_otherwise_than_ollama_is_told_so(fairmed, ollama, tags):
    ollama[0].answers = {"/api/version": {"version": "1"}, "/api/tags": tags}
    (server,) = fairmed("doctor", "--json").json["ollama"]
    assert server["fault"] == "it answers, and not as Ollama does"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":8080", "http://127.0.0.1:8080"),
        ("box", "http://box:11434"),
        ("https://box", "https://box:443"),
        ("http://u:p@box:1/path", "http://box:1"),
        ("[::1]:5", "http://[::1]:5"),
    ],
)
def test_a_host_is_completed_as_ollamas_own_client_completes_it(host, url):
    assert servers({"OLLAMA_HOST": host}) == [url]


def test_a_file_that_is_no_weights_is_told(fairmed, monkeypatch, tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"no weights")
    monkeypatch.setenv("FAIRMED_EMBEDDED_GGUF", str(path))
    ran = fairmed("doctor")
    assert "BROKEN" in ran.out
    assert "is no GGUF file" in " ".join(ran.out.split())
    assert ran.status == 0
    assert fairmed("doctor", "--model", "embedded").status == 1


def test_a_store_is_told_with_its_runs_and_its_damage(fairmed, tmp_path):
    from pytest_fairmedagent.running.store import Store

    assert fairmed("doctor", "--store", ".fairmed").status == 1
    Store(tmp_path / ".fairmed").close()
    file = tmp_path / ".fairmed" / "runs.sqlite"
    ran = fairmed("doctor", "--store", ".fairmed")
    assert ran.status == 0
    assert "0 runs, whole" in ran.out
    file.write_bytes(file.read_bytes()[:100] + b"\xff" * 4000)
    broken = fairmed("doctor", "--store", ".fairmed")
    assert broken.status == 1
    assert "BROKEN" in broken.out


def test_it_loads_no_heavy_package():
    code = (
        "import sys; from pytest_fairmedagent.cli import main; main(['doctor', '--json']); "
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"scipy", "matplotlib", "ollama", "anthropic", "openai", "xllamacpp", "hypothesis"}
    assert not heavy & set(ran.stderr.split())


def test_colour_is_never_the_only_signal(fairmed, monkeypatch):
    plain = fairmed("doctor", "--model", "llama3.1:8b").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = fairmed("doctor", "--model", "llama3.1:8b").out
    assert "\x1b[31m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert fairmed("doctor", "--model", "llama3.1:8b").out == plain
