"""One llama.cpp (xllamacpp) in a process of its own, asked by lines of JSON over its pipes.

Not in this process, for two loaded models share what llama.cpp keeps once for all of them: the
tokenizer of its grammars would be made anew, .4 s each time, whenever the other model was asked
last, by two threads that do not wait for each other. And a crash of llama.cpp is then an error of
one call and not the end of pytest.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

# One thread a process: two threads of one model wait for each other at every layer, and come to a
# crawl when anything else wants the cores. Two single-thread models scale.
THREADS = 1

# The child finds modules where this process does, wherever it was started.
_CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from pytest_fairmedagent.models.llama_process import serve; serve()"
)


class LlamaError(Exception):
    """What llama.cpp refused, or how its process ended."""


class LlamaProcess:
    """A loaded model. Everything raises LlamaError, `close` apart.

    One call at a time: a second waits for the first. The process ends with `close`, or when this
    one ends in whatever way.
    """

    def __init__(self, file: str, *, n_ctx: int) -> None:
        self.key = secrets.token_hex(16)
        self._lock = threading.Lock()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - what it writes to stderr
        self._process = subprocess.Popen(  # noqa: S603 - this very Python
            [sys.executable, "-c", _CHILD, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,  # a Ctrl-C is for this process, which ends that one when due
        )
        start = {"file": file, "n_ctx": n_ctx, "key": self.key}
        try:
            self.address = str(self._ask(start))  # of the port that llama.cpp always listens on
        except LlamaError:
            self.close()
            raise

    def chat(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return llama.cpp's answer to a chat completion."""
        answer: dict[str, Any] = self._ask({"chat": body})
        return answer

    def count(self, messages: Sequence[Mapping[str, str]]) -> int:
        """Return a prompt's length in tokens, template included, by the model's own tokenizer."""
        return int(self._ask({"count": list(messages)}))

    def close(self) -> None:
        """End the process, once the call under way has ended."""
        with self._lock:
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None  # noqa: S101 - both were asked for
                with suppress(OSError):  # a question that a dead process never took
                    pipe.close()
            self._process.wait()
            self._said.close()

    def _ask(self, question: Mapping[str, Any]) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None  # noqa: S101, PT018 - both were asked for
        with self._lock:
            if stdin.closed:
                raise LlamaError("the model is closed")
            try:
                stdin.write(json.dumps(question).encode() + b"\n")
                stdin.flush()
                line = stdout.readline()
            except OSError:  # it ended before it read the question
                line = b""
            except BaseException:
                self._process.kill()  # its answer would be taken for that to the next question
                raise
            if not line:
                raise LlamaError(self._end())
        answer = json.loads(line)
        if "error" in answer:
            raise LlamaError(str(answer["error"]))
        return answer["answer"]

    def _end(self) -> str:
        status = self._process.wait()
        self._said.seek(0)
        last = self._said.read().decode(errors="replace").strip().splitlines()[-1:]
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        return f"the process of llama.cpp was ended {how}{f': {last[0]}' if last else ''}"


def serve() -> None:
    """Load the model of the first line and answer the others, until there are no more."""
    start = json.loads(sys.stdin.readline())
    try:
        server = _load(start)
    except RuntimeError as error:
        return _tell({"error": str(error)})
    _tell({"answer": server.listening_address})
    for line in sys.stdin:
        question = json.loads(line)
        try:
            if "chat" in question:
                answer = server.handle_chat_completions(question["chat"])
            else:
                answer = _count(server.listening_address, start["key"], question["count"])
        except Exception as error:  # whatever it was, it is this question's
            _tell({"error": str(error) or repr(error)})
        else:
            _tell({"answer": answer})
    return None


def _tell(answer: Mapping[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def _load(start: Mapping[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = start["file"]
    params.n_ctx = start["n_ctx"]
    params.n_parallel = 1  # several slots make an answer depend on what shares its batch
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    params.warmup = False
    params.verbosity = 0
    # It keeps up to 8 GiB of old prompts otherwise, about 10 MiB each, and is no faster here: what
    # arms of one case share is still in the slot.
    params.cache_ram_mib = 0
    # Its code for CPUs is slow over few tokens and a long context, which is what stages are.
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    # llama.cpp always listens on a loopback port. The key shuts it to all but us.
    params.api_keys = [start["key"]]
    params.ui = params.endpoint_slots = params.endpoint_props = False
    params.n_threads_http = 1
    return xllamacpp.Server(params)


def _count(address: str, key: str, messages: Sequence[Mapping[str, str]]) -> int:
    parts = urlsplit(address)
    connection = HTTPConnection(parts.hostname or "127.0.0.1", parts.port, timeout=60)
    try:
        connection.request(
            "POST",
            "/v1/chat/completions/input_tokens",
            json.dumps({"messages": messages}),
            {"Content-Type": "application/json", "Authorization": f"Bearer {key}"},
        )
        return int(json.loads(connection.getresponse().read())["input_tokens"])
    finally:
        connection.close()
