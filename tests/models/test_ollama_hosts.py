"""Several Ollama servers at once: alike or refused, and each asked its share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models.base import Decoding, Planned, Request
from tests.models.conftest import Answer, Provider

pytest.importorskip("ollama")
from pytest_fairmedagent.models.ollama import OllamaModel
from pytest_fairmedagent.models.ollama_host import Host

CHAT = "/api/chat"


def scripted(
    *,
    digest: str = "abc",
    quantisation: str = "Q4_K_M",
    version: str = "0.12.6",
    context: int = 8192,
    format_: str = "gguf",
) -> Provider:
    server = Provider()
    details = {"format": format_, "parameter_size": "8B", "quantization_level": quantisation}
    server.say("/api/show", {"details": details, "model_info": {"x.context_length": context}})
    server.say("/api/tags", {"models": [{"model": "m:latest", "digest": digest}]})
    server.say("/api/version", {"version": version})
    said = {"message": {"role": "assistant", "content": "{}"}, "done_reason": "stop"}

    def answer(body: Any) -> Answer:
        n_bytes = sum(len(message["content"]) for message in body["messages"])
        return Answer(json.dumps({**said, "prompt_eval_count": n_bytes // 4}).encode())

    server.rule(CHAT, answer)
    return server


@pytest.fixture
def make() -> Iterator[Callable[..., OllamaModel]]:
    made: list[Any] = []

    def make(*servers: Provider, **how: Any) -> OllamaModel:
        how = {"base_url": ", ".join(server.url for server in servers), **how}
        model = OllamaModel("m", decoding=Decoding(), **how)
        made.extend((model.close, *(server.stop for server in servers)))
        return model

    yield make
    for end in made:
        end()


def test_calls_are_spread_over_all_servers_and_none_gets_more_at_once_than_the_others(
    make: Callable[..., OllamaModel], request_: Request
) -> None:
    servers = [scripted(), scripted()]
    model = make(*servers, workers=3)
    model.open()
    model.prepare([Planned("a, b, stage triage", request_)])
    for server in servers:
        assert len(server.bodies(CHAT)) == 3  # warmed up, and both lengths counted
        server.asked.clear()
    assert model.workers == 6
    assert model.configuration()["hosts"] == 2
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(model.chat, [request_] * 6, range(6)))
    assert [len(server.bodies(CHAT)) for server in servers] == [3, 3]


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"digest": "abd"}, "differ in weights of m: abc and abd"),
        ({"quantisation": "Q8_0"}, "differ in quantisation of m: Q4_K_M and Q8_0"),
        ({"version": "0.5.1"}, "differ in server of m: ollama 0.12.6 and ollama 0.5.1"),
        ({"context": 4096}, "differ in trained of m: 8192 and 4096"),
    ],
)
def test_servers_that_differ_are_refused_with_what_differs(
    make: Callable[..., OllamaModel], other: dict[str, Any], difference: str
) -> None:
    servers = [scripted(), scripted(**other)]
    with pytest.raises(ModelError, match=difference) as caught:
        make(*servers).open()
    assert all(server.url in str(caught.value) for server in servers)
    assert all(server.bodies(CHAT) == [] for server in servers)


def test_the_environment_may_name_several(
    make: Callable[..., OllamaModel], monkeypatch: pytest.MonkeyPatch, request_: Request
) -> None:
    servers = [scripted(), scripted()]
    hosts = ",".join(server.url.removeprefix("http://") for server in servers)
    monkeypatch.setenv("OLLAMA_HOST", hosts)
    model = make(*servers, base_url=None)
    model.open()
    assert model.workers == 2
    assert sorted(model.endpoints) == sorted(server.url for server in servers)


def test_the_package_is_imported_whatever_the_environment_names() -> None:
    # It makes a client of the variable while it is imported, which fails for several hosts.
    several = {**os.environ, "OLLAMA_HOST": "localhost:1,localhost:2"}
    script = "import pytest_fairmedagent.models.ollama as m, os; print(os.environ['OLLAMA_HOST'])"
    ran = subprocess.run(
        [sys.executable, "-c", script], env=several, capture_output=True, text=True, check=False
    )
    assert (ran.stdout.strip(), ran.stderr) == ("localhost:1,localhost:2", "")


@pytest.mark.parametrize(
    ("named", "asked"),
    [
        ("", ["http://127.0.0.1:11434"]),
        (" , ", ["http://127.0.0.1:11434"]),
        ("box", ["http://box:11434"]),
        ("box:1234", ["http://box:1234"]),
        (":1234", ["http://127.0.0.1:1234"]),
        ("0.0.0.0", ["http://127.0.0.1:11434"]),
        ("::1", ["http://[::1]:11434"]),
        ("[::]:1234", ["http://[::1]:1234"]),
        ("box/ollama/", ["http://box:11434/ollama"]),
        ("http://box", ["http://box"]),
        ("https://box.example/", ["https://box.example"]),
        ("'box:1234' ", ["http://box:1234"]),
        ("a, b:2,a", ["http://a:11434", "http://b:2"]),
        ("localhost,127.0.0.1:11434", ["http://localhost:11434"]),
    ],
)
def test_the_variable_is_read_as_ollama_reads_it(
    make: Callable[..., OllamaModel],
    monkeypatch: pytest.MonkeyPatch,
    named: str,
    asked: list[str],
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", named)
    model = make(base_url=None)
    assert list(model.endpoints) == asked
    clients = [str(Host(url, (1, 1, 1, 1))._client._client.base_url) for url in asked]
    for url, client in zip(asked, clients, strict=True):
        assert client.rstrip("/").startswith(url)


@pytest.mark.parametrize("named", ["box:abc", "box:99999", "http://", "ftp://box", "unix:///x"])
def test_a_variable_that_names_no_host_is_an_error_that_names_it(
    make: Callable[..., OllamaModel], monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", named)
    with pytest.raises(ModelError, match=f"OLLAMA_HOST is '.*{named.partition(':')[2]}'"):
        make(base_url=None)


def test_a_server_that_is_named_twice_is_one(make: Callable[..., OllamaModel]) -> None:
    server = scripted()
    model = make(server, base_url=f"{server.url},{server.url}")
    assert model.workers == 1


def test_the_password_and_key_rules_hold_for_every_server(
    make: Callable[..., OllamaModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError, match="carries a user name or password"):
        make(base_url="localhost:1,http://me:hunter22@localhost:2")
    monkeypatch.setenv("OLLAMA_API_KEY", "ollama-key-5aXq")
    with pytest.raises(ModelError, match=r"--fairmed-base-url=http://elsewhere\.example"):
        make(base_url="localhost:1,http://elsewhere.example", base_url_trusted=False)
    monkeypatch.setenv("OLLAMA_HOST", "http://me:hunter22@localhost:2")
    with pytest.raises(ModelError, match="OLLAMA_HOST carries a user name") as caught:
        make(base_url=None)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("format_", ["", "cloud"])
def test_a_digest_without_a_file_of_weights_attests_nothing(
    make: Callable[..., OllamaModel], format_: str
) -> None:
    model = make(scripted(format_=format_))
    model.open()
    assert model.configuration()["weights"] == "unattested"
