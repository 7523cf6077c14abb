"""The embedded backend with the real small model, where runtime and weights are installed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models import weights
from pytest_fairmedagent.models.base import OVER_WINDOW, Decoding, Planned, Reply, Request

pytest.importorskip("xllamacpp", reason="the embedded runtime xllamacpp is not installed")
from pytest_fairmedagent.models.embedded import EmbeddedModel


def installed_weights() -> str:
    try:
        return str(weights.find_weights(""))
    except ModelError as error:
        pytest.skip(str(error).splitlines()[0])


@pytest.fixture(scope="module")
def model() -> Iterator[EmbeddedModel]:
    path = installed_weights()
    model = EmbeddedModel(path, decoding=Decoding({"temperature": 1.0, "num_ctx": 512}), workers=2)
    model.open()
    yield model
    model.close()


def test_two_workers_answer_at_once_each_within_the_schema(
    model: EmbeddedModel, request_: Request
) -> None:
    with ThreadPoolExecutor(2) as pool:
        replies = list(pool.map(model.chat, [request_, request_], [0, 1]))
    for reply in replies:
        answer = json.loads(reply.text)
        assert set(answer) == {"esi_acuity", "admit", "orders"}
        assert 1 <= answer["esi_acuity"] <= 5
        assert isinstance(answer["admit"], bool)
        assert set(answer["orders"]) <= {"ecg", "ct_head"}
        assert len(answer["orders"]) <= 2
        # White space would cost half the tokens of a small model, and then the end of its answer.
        assert reply.text == json.dumps(answer, separators=(",", ":"))
        assert reply.finish == "stop"
        assert reply.input_tokens > 20
        assert 5 < reply.output_tokens < 60
    assert replies[0].response_id != replies[1].response_id


def test_a_call_leaves_the_interpreter_to_others(model: EmbeddedModel, request_: Request) -> None:
    # Were the interpreter held, workers would not run side by side and Ctrl-C would wait.
    thread = threading.Thread(target=model.chat, args=(request_, 0))
    thread.start()
    steps = 0
    while thread.is_alive():
        time.sleep(0.001)
        steps += 1
    assert steps > 20


def test_an_answer_that_reaches_its_limit_is_cut(model: EmbeddedModel, request_: Request) -> None:
    short = Request("triage", request_.messages, request_.schema, 1, 3)
    assert model.chat(short, 0).finish == "length"


def test_a_prompt_over_the_window_is_refused_before_the_first_draw_and_says_how_to_widen_it(
    model: EmbeddedModel,
) -> None:
    fits = Request("order", ({"role": "user", "content": "pain " * 100},), {}, 1, 1)
    assert 100 < model.chat(fits, 0).input_tokens < 200  # more bytes than tokens in the window
    long = Request("order", ({"role": "user", "content": "pain " * 600},), {}, 1, 90)
    assert model.chat(long, 0) == Reply("", OVER_WINDOW)
    model.prepare([Planned("ankle, reference, stage order", fits)])
    with pytest.raises(
        ModelError, match=r"chest, race_black, stage order has \d+ tokens"
    ) as caught:
        model.prepare([Planned("a, b", fits), Planned("chest, race_black, stage order", long)])
    assert "with 90 for the answer it would be cut at the window of 512" in str(caught.value)
    assert "--fairmed-decoding num_ctx=" in str(caught.value)
    assert not caught.value.transient


def test_the_configuration_says_which_weights_and_runtime_answer(model: EmbeddedModel) -> None:
    said = model.configuration()
    assert said["weights"] == f"sha256:{weights.digest(weights.find_weights(model._path))}"
    assert str(said["server"]).startswith("xllamacpp 20")
    assert (said["workers"], said["threads_per_worker"], said["context"]) == (2, 1, 512)
    decoding = said["decoding"]
    assert isinstance(decoding, dict)
    assert decoding["temperature"] == 1.0
    assert decoding["top_p"] == "unset"
    assert model.toy


def test_its_loopback_port_is_shut_to_everyone_else(model: EmbeddedModel) -> None:
    for server in model._servers:
        address = urlsplit(server.address)
        connection = HTTPConnection(str(address.hostname), address.port, timeout=10)
        connection.request("POST", "/v1/chat/completions", '{"messages": []}')
        assert connection.getresponse().status == 401
        connection.close()
        assert server.key not in json.dumps(model.configuration())


def test_a_file_that_llama_cpp_cannot_load_is_named(tmp_path: Any) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF and then nothing")
    with pytest.raises(ModelError, match=r"llama.cpp cannot load .*broken.gguf"):
        EmbeddedModel(str(broken), decoding=Decoding()).open()


INTERRUPTED = """
import os, queue, signal, sys, threading
from pytest_fairmedagent.models.base import Decoding, Request
from pytest_fairmedagent.models.embedded import EmbeddedModel

model = EmbeddedModel(sys.argv[1], decoding=Decoding(), workers=1)
model.open()
ended = queue.Queue()
story = Request("x", ({"role": "user", "content": "Tell a long story."},), {}, 1, 60)
begun = threading.Event()

def tell():
    begun.set()
    ended.put(model.chat(story, 0))

threading.Thread(target=tell, daemon=True).start()
begun.wait()
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    ended.get()
    print("ended before it was interrupted")
except KeyboardInterrupt:
    print("interrupted", ended.empty())
model.close()
print("whole", ended.get(timeout=60).output_tokens > 1)
"""


def test_ctrl_c_during_a_call_is_seen_at_once_and_closing_waits_for_the_call() -> None:
    # That nothing is on stderr shows that llama.cpp keeps its logs to itself, too.
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, installed_weights()],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["interrupted", "True", "whole", "True"]


def test_a_process_of_llama_cpp_that_is_killed_is_an_error_of_that_call(
    request_: Request,
) -> None:
    model = EmbeddedModel(installed_weights(), decoding=Decoding(), workers=1)
    model.open()
    [server] = model._servers
    os.kill(server._process.pid, signal.SIGKILL)
    server._process.wait()
    with pytest.raises(ModelError, match=r"process of llama\.cpp was ended by signal 9"):
        model.chat(request_, 0)
    model.close()
    with pytest.raises(ModelError, match="the model is closed"):
        model.chat(request_, 0)


ABANDONED = """
import os, signal, sys
from pytest_fairmedagent.models.base import Decoding
from pytest_fairmedagent.models.embedded import EmbeddedModel

model = EmbeddedModel(sys.argv[1], decoding=Decoding(), workers=1)
model.open()
print(model._servers[0].address, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_no_process_of_llama_cpp_outlives_a_run_that_is_killed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ABANDONED, installed_weights()],
        stdout=subprocess.PIPE,
        text=True,
        timeout=240,
        check=False,
    )
    port = urlsplit(done.stdout.strip()).port
    assert port
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.05)
    pytest.fail("it still listens")
