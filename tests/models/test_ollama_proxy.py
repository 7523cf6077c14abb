"""The Ollama backend against `ollama-proxy-plus` in front of llama.cpp: servers of other people.

The proxy speaks Ollama's protocol and drops `seed`, `num_ctx`, `truncate` and why an answer ended;
it counts words for tokens and makes up digests. What comes of that must be sound or said.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models import weights
from pytest_fairmedagent.models.base import OVER_WINDOW, Decoding, Planned, Request
from tests.models.conftest import free_port

pytest.importorskip("ollama")
from pytest_fairmedagent.models.ollama import OllamaModel

NAME = "local/smollm2"
N_CTX = 512


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A proxy in a process of its own, in front of a llama.cpp in this one."""
    xllamacpp = pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    # A Python that has the package, since it need not share this one's environment.
    python = os.environ.get("TEST_PROXY_PYTHON") or sys.executable
    if python == sys.executable and importlib.util.find_spec("ollama_proxy") is None:
        pytest.skip("ollama-proxy-plus is not installed: pip install ollama-proxy-plus")
    try:
        path = weights.find_weights("")
    except ModelError as error:
        pytest.skip(str(error).splitlines()[0])
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel, params.warmup, params.verbosity = N_CTX, 1, False, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    port = free_port()
    environment = {
        **os.environ,
        "PROVIDERS_LOCAL_API_KEY": "none",
        "PROVIDERS_LOCAL_BASE_URL": f"{server.listening_address}/v1",
        "EXTRA_MODELS": NAME,
    }
    command = "uvicorn ollama_proxy.server:app --host 127.0.0.1 --log-level warning --port"
    folder = tmp_path_factory.mktemp("proxy")
    with (folder / "log").open("wb") as log:
        proxy = subprocess.Popen(
            [python, "-m", *command.split(), str(port)],
            env=environment,
            cwd=folder,
            stdout=log,
            stderr=log,
        )
    try:
        _wait_for(f"http://127.0.0.1:{port}/api/version", proxy, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        proxy.kill()
        proxy.wait()
        del server


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    while process.poll() is None:
        try:
            with urlopen(url) as answer:
                answer.read()
        except URLError:
            time.sleep(0.05)
        else:
            return
    pytest.fail(f"the proxy ended: {log.read_text()}")


@pytest.fixture
def model(url: str) -> Iterator[OllamaModel]:
    # Greedy, so that no unlucky draw of white space runs into the limit.
    model = OllamaModel(NAME, decoding=Decoding({"temperature": 0.0}), base_url=url)
    model.open()
    yield model
    model.close()


def test_an_answer_is_held_to_the_schema(model: OllamaModel, request_: Request) -> None:
    reply = model.chat(request_, 0)
    assert set(json.loads(reply.text)) == {"esi_acuity", "admit", "orders"}
    assert reply.finish == "stop"
    assert reply.output_tokens > 0


def test_what_the_proxy_makes_up_attests_nothing(model: OllamaModel) -> None:
    said = model.configuration()
    assert (said["weights"], said["context_trained"]) == ("unattested", "unattested")
    # Its digest is another one after every start: a run could never be resumed.
    assert "sha256" not in json.dumps(said)


def test_a_prompt_that_the_server_behind_has_no_room_for_is_found_before_the_first_draw(
    model: OllamaModel, request_: Request
) -> None:
    long = Request("order", ({"role": "user", "content": "The pain is worse. " * 200},), {}, 1, 9)
    planned = [Planned("ankle, reference, stage triage", request_)]
    model.prepare(planned)
    assert model.configuration()["prompts_counted"] is False  # it counts words
    refused = r"refuses the prompt of chest, race_black, stage order at num_ctx=8192"
    with pytest.raises(ModelError, match=refused) as caught:
        model.prepare([*planned, Planned("chest, race_black, stage order", long)])
    assert "the server does not obey num_ctx" in str(caught.value)


def test_a_prompt_that_turns_out_too_long_is_no_answer_and_is_not_tried_again(
    model: OllamaModel,
) -> None:
    # The proxy hands llama.cpp's 400 on as 502, which is otherwise a fault that may pass.
    long = Request("order", ({"role": "user", "content": "The pain is worse. " * 200},), {}, 1, 9)
    reply = model.chat(long, 0)
    assert (reply.text, reply.finish) == ("", OVER_WINDOW)


def test_an_answer_cut_at_its_limit_is_not_valid_json_though_the_proxy_says_it_ended(
    model: OllamaModel, request_: Request
) -> None:
    short = Request("triage", request_.messages, request_.schema, 1, 4)
    reply = model.chat(short, 0)
    assert reply.finish == "stop"
    with pytest.raises(json.JSONDecodeError):
        json.loads(reply.text)


def test_an_unknown_model_is_an_error(url: str) -> None:
    model = OllamaModel("nowhere/at-all", decoding=Decoding(), base_url=url)
    with pytest.raises(ModelError, match=r"answered 404: .*'nowhere/at-all' not found"):
        model.open()
