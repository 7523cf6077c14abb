"""Ollama's native API, through the `ollama` package.

Not its OpenAI-compatible route: that one drops `num_ctx` and `think` without a word.

What is known of prompts that do not fit, from Ollama's source (server/prompt.go, server/routes.go,
runner/ollamarunner, llm/llama_server.go): unless told otherwise, a server leaves out whole messages
from the front, the system message and the last one aside, until the rest fits `num_ctx`. The first
to go is the case. If even that does not fit, it drops tokens behind the first few, down to the
window or, in versions that run llama-server, to half of it. It answers 200 all the same, so that
`prompt_eval_count` may have any value up to the window. `truncate: false` and `shift: false` make
an error of it; older versions pass over both. `prompt_eval_count` counts tokens from the prompt
cache too in every version that knows schemas (0.5 and later); before, it left them out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pytest_fairmedagent.errors import TOO_LONG, ModelError
from pytest_fairmedagent.models.base import OVER_WINDOW, Decoding, Planned, Reply, Request
from pytest_fairmedagent.models.faults import as_reply
from pytest_fairmedagent.models.ollama_host import UNATTESTED, Host, Timeout, alike, urls
from pytest_fairmedagent.models.window import Ruler, extremes

N_CTX = 8192
KEEP_ALIVE = "30m"

# Loading a large model from disk takes minutes, and a client that gives up earlier cancels the
# load: no number of retries would then ever succeed.
TIMEOUT_S = (10.0, 300.0, 30.0, 300.0)
WARM_UP_TIMEOUT_S = (10.0, 1200.0, 30.0, 1200.0)
# Those start anew with every byte: a body that drips in is cut by this one.
CALL_LIMIT_S = 360.0


class OllamaModel:
    """Answers through one Ollama server or several alike, each asked one thing at a time.

    Unless told otherwise: `workers` is how many requests a server is sent at once.
    """

    toy = False
    seeded = True
    call_limit_s: float | None = CALL_LIMIT_S

    def __init__(
        self,
        name: str,
        *,
        decoding: Decoding,
        base_url: str | None = None,
        base_url_trusted: bool = True,
        workers: int | None = None,
        timeout_s: Timeout = TIMEOUT_S,
        warm_up_timeout_s: Timeout = WARM_UP_TIMEOUT_S,
    ) -> None:
        self.name = name
        self._urls = urls(base_url, trusted=base_url_trusted)
        # Ollama answers one after the other unless it was started otherwise: more requests only
        # wait, and then time out.
        self.workers = (workers or 1) * len(self._urls)
        self._decoding = decoding
        self._timeout_s = timeout_s
        self._warm_up_timeout_s = warm_up_timeout_s
        self._hosts: list[Host] = []
        self._think: bool | None = False
        self._n_ctx = 0
        self._ruler = Ruler()

    @property
    def endpoints(self) -> tuple[str, ...]:
        """The servers that are asked."""
        return tuple(self._urls)

    def open(self) -> None:
        """Identify the model, choose its window and load it, on every server."""
        if self._hosts:
            return
        hosts = [Host(url, self._timeout_s) for url in self._urls]
        try:
            self._identity = alike(self.name, hosts)
            self._n_ctx = self._window(0)
            for host in hosts:
                self._warm_up(host)
        except BaseException:
            for host in hosts:
                host.close()
            raise
        self._hosts = hosts

    def prepare(self, planned: Sequence[Planned]) -> None:
        """Choose the window that the longest prompt needs, and see whether a server reads it whole.

        Two prompts are sent for their length alone: the shortest, which gives tokens per byte, and
        the longest, which must come to as many as that foretells.
        """
        short, _ = extremes(planned, Ruler())
        counted: list[tuple[Request, int]] = []
        self._n_ctx = self._window(max(Ruler().need(p.request) for p in planned))
        self._refuse(short, Ruler())
        for host in self._hosts:
            shortest = self._count(host, short)
            ruler = Ruler.of([(short.request, shortest)])
            if shortest and not ruler.measured and self._identity.weights != UNATTESTED:
                raise self._cut(host, short, shortest)
            _, long = extremes(planned, ruler)
            self._refuse(long, ruler)
            longest = self._count(host, long)
            if longest < ruler.at_least(long.request):
                raise self._cut(host, long, longest)
            if longest + long.request.max_tokens > self._n_ctx:
                raise self._too_long(long, str(longest))
            counted += [(short.request, shortest), (long.request, longest)]
        self._ruler = Ruler.of(counted)

    def configuration(self) -> Mapping[str, object]:
        """Return what identifies weights, servers and decoding."""
        identity = asdict(self._identity)
        trained = identity.pop("trained")
        return {
            "backend": "ollama",
            "model": self.name,
            **identity,
            "hosts": len(self._urls),
            "context": self._n_ctx,
            "context_trained": trained or "unattested",
            "prompts_counted": self._ruler.measured,
            "workers": self.workers,
            "schema_mode": "format",
            "think": "unsupported" if self._think is None else self._think,
            "seed": "sent",
            "decoding": self._decoding.describe(),
        }

    def known(self) -> Mapping[str, object]:
        """Return what is sent of the decoding."""
        return {"decoding": self._decoding.describe()}

    def chat(self, request: Request, worker: int) -> Reply:
        """Return the model's answer. What it thought is no part of it."""
        if self._ruler.need(request) > self._n_ctx:
            return Reply("", finish=OVER_WINDOW)
        body = {
            **self._body(num_predict=request.max_tokens, seed=request.seed),
            "messages": [dict(message) for message in request.messages],
            "format": dict(request.schema),
        }
        try:
            host = self._hosts[worker % len(self._hosts)]
            answer = host.chat(self.name, body)
            host.look_again(self.name, self._identity.weights)
        except ModelError as error:
            return as_reply(error)
        n_prompt = answer.prompt_eval_count or 0
        finish = answer.done_reason or "stop"
        full = n_prompt > self._n_ctx - request.max_tokens
        if full or 0 < n_prompt < self._ruler.at_least(request):
            # A cut that hits one arm alone looks like bias: what was answered is no answer.
            finish = OVER_WINDOW
        return Reply(
            text="" if finish == OVER_WINDOW else answer.message.content or "",
            finish=finish,
            input_tokens=n_prompt,
            output_tokens=answer.eval_count or 0,
        )

    def close(self) -> None:
        """Close the connections. The servers unload the model by themselves."""
        for host in self._hosts:
            host.close()
        self._hosts = []

    def _window(self, need: int) -> int:
        """Return the window for prompts of this length: as told, else a default doubled to fit.

        In few sizes, since another window is another configuration.
        """
        trained = self._identity.trained
        told = self._decoding.parameters.get("num_ctx")
        if told is None:
            window = N_CTX
            while window < need:
                window *= 2
            return min(window, trained or window)
        if trained is not None and int(told) > trained:
            raise ModelError(
                f"Ollama: num_ctx is {told}, but {self.name} was trained with {trained}, "
                f"and the server would silently take that\n"
                f"  give at most: --fairmed-decoding num_ctx={trained}"
            )
        return int(told)

    def _warm_up(self, host: Host) -> None:
        """Load the model as the calls will want it, and find out whether `think` may be sent.

        Where it may, it is false: a model that thinks spends its tokens on that and then often
        answers nothing.
        """
        hello = [{"role": "user", "content": "Hello."}]
        host.wait_at_most(self._warm_up_timeout_s)
        try:
            host.chat(self.name, {**self._body(num_predict=1, seed=0), "messages": hello})
        except ModelError as error:
            if "support thinking" not in str(error):
                raise
            self._think = None  # the server refuses the word itself for this model
            host.chat(self.name, {**self._body(num_predict=1, seed=0), "messages": hello})
        host.wait_at_most(self._timeout_s)

    def _count(self, host: Host, planned: Planned) -> int:
        """Return the tokens that a server counts in a prompt; 0 where it does not tell."""
        messages = [dict(message) for message in planned.request.messages]
        host.wait_at_most(self._warm_up_timeout_s)  # another window loads the model anew
        try:
            body = {**self._body(num_predict=1, seed=0), "messages": messages}
            return host.chat(self.name, body).prompt_eval_count or 0
        except ModelError as error:
            if error.kind != TOO_LONG:
                raise
            words = str(error).splitlines()[0]
            raise ModelError(
                f"Ollama refuses the prompt of {planned.where} at num_ctx={self._n_ctx}: {words}\n"
                "  the server does not obey num_ctx; see what its own settings allow",
                kind=TOO_LONG,
            ) from None
        finally:
            host.wait_at_most(self._timeout_s)

    def _body(self, *, num_predict: int, seed: int) -> dict[str, Any]:
        return {
            "stream": False,
            "keep_alive": KEEP_ALIVE,
            "truncate": False,
            "shift": False,
            "options": {
                "num_ctx": self._n_ctx,
                "num_predict": num_predict,
                "seed": seed,
                **self._decoding.sampling(),
            },
            **({} if self._think is None else {"think": self._think}),
        }

    def _refuse(self, planned: Planned, ruler: Ruler) -> None:
        if ruler.need(planned.request) > self._n_ctx:
            raise self._too_long(planned, f"up to {ruler.at_most(planned.request)}")

    def _cut(self, host: Host, planned: Planned, tokens: int) -> ModelError:
        return ModelError(
            f"Ollama ({host.url}) read {tokens} tokens of the prompt of {planned.where}, which is "
            "far fewer than it has: it was cut\n"
            "  the server does not obey num_ctx; see what its own settings allow",
            kind=TOO_LONG,
        )

    def _too_long(self, planned: Planned, tokens: str) -> ModelError:
        trained = self._identity.trained
        advice = "shorten the case"
        if trained is None or self._n_ctx < trained:
            larger = "give a larger window: --fairmed-decoding num_ctx=..."
            if "num_ctx" in self._decoding.parameters:
                larger = "leave num_ctx out of --fairmed-decoding, and one that fits is chosen"
            advice = f"{larger}, or {advice}"
        return ModelError(
            f"Ollama: the prompt of {planned.where} has {tokens} tokens; with "
            f"{planned.request.max_tokens} for the answer it would be cut at num_ctx={self._n_ctx}"
            f"\n  {advice}",
            kind=TOO_LONG,
        )
