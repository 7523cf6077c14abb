"""A server of this machine is asked by one run at a time, and the other is told by whom."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models.base import Decoding
from pytest_fairmedagent.running.endpoints import Turns, held

URL = "http://127.0.0.1:11434"
HOLD = f"""
import sys
from pytest_fairmedagent.running.endpoints import Turns, held
with held(["{URL}"], start=sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def other():
    """Starts a process that asks the server until it is told to end."""
    processes = []

    def begin(start="other"):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield begin
    for process in processes:
        process.communicate("")


def test_a_second_run_is_refused_with_the_process_that_asks_and_the_way_round_it(other):
    process, told = other(), []
    with (
        pytest.raises(ModelError) as caught,
        held([URL], start="mine", on_wait=told.append, wait_s=0.3),
    ):
        pytest.fail("two runs asked one server")
    first, *advice = str(caught.value).splitlines()
    assert first.startswith(
        f"the server at localhost:11434 is being asked by another run: process {process.pid}, "
    )
    assert "--fairmed-share-server" in advice[-1]
    assert told
    assert all(f"process {process.pid}," in holder for holder in told)


def test_a_run_that_ends_soon_is_waited_for(other):
    process = other()
    threading.Timer(0.3, process.stdin.close).start()
    with held([URL], start="mine", wait_s=30) as others:
        assert others == []
        assert process.wait(20) == 0
    process.stdin = None


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_a_killed_run_blocks_nobody_and_leaves_nothing(other, tmp_path):
    process = other()
    process.send_signal(signal.SIGKILL)
    process.wait(20)
    with held([URL], start="mine", wait_s=0):
        pass
    assert [path.name for path in tmp_path.rglob("*-*") if path.is_file()] == []


def test_the_processes_of_one_start_are_one_run_as_long_as_any_of_them_lives(other):
    first, second = other("xdist"), other("xdist")
    first.communicate("")
    with pytest.raises(ModelError, match=f"process {second.pid},"), held([URL], start="", wait_s=0):
        pytest.fail("two runs asked one server")


def test_who_shares_knowingly_is_told_with_whom(other):
    process = other()
    with held([URL], start="mine", share=True) as others:
        assert len(others) == 1
        assert f"process {process.pid}," in others[0]


@pytest.mark.parametrize(
    "url", ["http://localhost:11434/v1", "0.0.0.0:11434", "[::1]:11434", "127.0.0.9:11434"]
)
def test_another_name_of_the_same_port_is_the_same_server(url):
    with (
        held([URL], start="a"),
        pytest.raises(ModelError, match="another run"),
        held([url], start="b", wait_s=0),
    ):
        pytest.fail("two runs asked one server")


def test_other_ports_and_other_machines_are_other_servers():
    with held([URL], start="a"), held(["http://127.0.0.1:8080"], start="b", wait_s=0):
        pass
    with (
        held(["https://api.example.org"], start="a"),
        held(["https://api.example.org"], start="b", wait_s=0),
    ):
        pass


def test_two_runs_that_want_the_same_two_servers_do_not_wait_for_each_other_for_ever():
    urls, ended = ["localhost:1001", "localhost:1002"], []

    def run(start, servers):
        with held(servers, start=start, wait_s=60):
            time.sleep(0.02)
        ended.append(start)

    threads = [
        threading.Thread(target=run, args=(str(i), urls[:: 1 if i % 2 else -1])) for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(ended) == ["0", "1", "2", "3"]


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_only_this_user_can_read_who_asks(tmp_path):
    with held([URL], start="a"):
        [file] = [path for path in tmp_path.rglob("*-*") if path.is_file()]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parents[1].stat().st_mode) == 0o700


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no users")
def test_a_link_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / f"fairmed-{os.getuid()}").symlink_to(tmp_path)
    with pytest.raises(ModelError, match="belongs to somebody else"), held([URL], start="a"):
        pytest.fail("a link was followed")


def test_every_backend_with_a_server_names_it(monkeypatch):
    from pytest_fairmedagent.models.anthropic import AnthropicModel
    from pytest_fairmedagent.models.ollama import OllamaModel

    for name in ("OLLAMA_HOST", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    backends = [(OllamaModel, "OLLAMA_HOST"), (AnthropicModel, "ANTHROPIC_BASE_URL")]
    if pytest.importorskip("openai"):
        from pytest_fairmedagent.models.openai_compatible import OpenAICompatibleModel

        backends.append((OpenAICompatibleModel, "OPENAI_BASE_URL"))
    for backend, variable in backends:
        given = backend("m", decoding=Decoding(), base_url="http://localhost:1234/x")
        assert [url.rstrip("/") for url in given.endpoints] == ["http://localhost:1234/x"]
        with monkeypatch.context() as patch:
            patch.setenv(variable, "http://localhost:4321")
            found = backend("m", decoding=Decoding()).endpoints
            assert [url.rstrip("/") for url in found] == ["http://localhost:4321"]
    assert OllamaModel("m", decoding=Decoding()).endpoints[0].endswith("127.0.0.1:11434")


def test_no_more_take_turns_at_once_than_may_and_everyone_gets_one():
    under_way, most, ended = 0, 0, []
    count = threading.Lock()

    def ask(number):
        nonlocal under_way, most
        # As other processes do: a lock of one's own descriptor is shut to this process, too.
        with Turns(["http://a:1", "http://b:2"], 2).one(lambda: False):
            with count:
                under_way += 1
                most = max(most, under_way)
            time.sleep(0.02)
            with count:
                under_way -= 1
                ended.append(number)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 2
    assert sorted(ended) == list(range(6))


def test_turns_at_other_servers_are_others_and_a_stopped_run_waits_for_none():
    with Turns(["http://a:1"], 1).one(lambda: False):
        with Turns(["http://a:2"], 1).one(lambda: pytest.fail("it waits")):
            pass
        asked = []
        with Turns(["http://a:1"], 1).one(lambda: bool(asked) or asked.append(1)):
            assert asked
