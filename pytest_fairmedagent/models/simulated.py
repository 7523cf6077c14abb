"""A model with a known truth: it has a floor, and a gap in one condition if it is given one."""

from __future__ import annotations

import hashlib
import json
import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

from pytest_fairmedagent.domain import ACTIONS, Catalogue, Vignette, render
from pytest_fairmedagent.domain.vignette import PATIENT
from pytest_fairmedagent.errors import PlanError, closest
from pytest_fairmedagent.models.base import Decoding, Message, Reply, Request

_LINE = "\nPatient: "


@dataclass(frozen=True)
class Truth:
    """The parameters of a simulated model.

    Attributes:
        floor: mean of 2p(1-p) over cases, in 0..0.5; p is U-shaped: Beta(a, a), a = f/(1-2f).
        gap: mean signed shift of every action's probability under `swap`, in -0.45..0.45. It is
            one shift on the logit scale, so cases near 0 and 1 move little.
        swap: id of the condition that carries the gap; "" where nothing differs.
        seed: of the cases' probabilities and, unless the run has one, of the draws.
        latency: seconds that each call takes.
    """

    floor: float = 0.087
    gap: float = 0.0
    swap: str = ""
    seed: int = 0
    latency: float = 0.0

    @cached_property
    def shift(self) -> float:
        """The logit shift whose mean effect over the law of p is `gap`."""
        if not self.gap or not 0 < self.floor < 0.5:
            return 0.0
        from scipy.special import betaincinv, expit, logit  # imported here: only a planted gap

        shape = self.floor / (1 - 2 * self.floor)
        grid = [(i + 0.5) / 4000 for i in range(4000)]
        logits = logit([min(max(p, 1e-300), 1 - 1e-16) for p in betaincinv(shape, shape, grid)])
        low, high = -60.0, 60.0
        for _ in range(80):
            middle = (low + high) / 2
            if float(expit(logits + middle).mean()) - 0.5 < self.gap:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    def probability(self, case: str, action: str, *, swapped: bool) -> float:
        """Return the probability of an action, in 0..1, for a case under the swap or not."""
        name = f"{self.seed}|{action}|{case}".encode()
        rng = random.Random(hashlib.sha256(name).digest())
        if self.floor <= 0:
            p = float(rng.random() < 0.5)
        elif self.floor >= 0.5:
            p = 0.5
        else:
            shape = self.floor / (1 - 2 * self.floor)
            p = rng.betavariate(shape, shape)
        if not swapped or not 0 < p < 1:
            return p
        return 1 / (1 + math.exp(-min(max(math.log(p / (1 - p)) + self.shift, -700), 700)))


def parse_truth(options: Mapping[str, str], catalogue: Catalogue) -> Truth:
    """Return the truth of `simulated:floor=0.087,...`. Raises PlanError for nonsense."""
    kinds = {field.name: field.type for field in fields(Truth)}
    limits = {"floor": (0, 0.5), "gap": (-0.45, 0.45), "latency": (0, 3600), "seed": (0, 2**63)}
    values: dict[str, float | int | str] = {}
    for name, text in options.items():
        if name not in kinds:
            raise PlanError(f"simulated: unknown option {name!r}.{closest(name, kinds)}")
        if name == "swap":
            if text not in catalogue.conditions:
                raise PlanError(
                    f"simulated: unknown condition {text!r}.{closest(text, catalogue.conditions)}"
                )
            values[name] = text
            continue
        low, high = limits[name]
        try:
            number = int(text) if name == "seed" else float(text)
        except ValueError:
            number = math.nan
        if not low <= number <= high:
            raise PlanError(f"simulated: {name} is {text!r}, expected a number in {low}..{high}")
        values[name] = number
    truth = Truth(**values)  # type: ignore[arg-type]
    if truth.gap and not truth.swap:
        raise PlanError("simulated: a gap needs 'swap=' to say under which condition")
    if truth.gap and not 0 < truth.floor < 0.5:
        raise PlanError("simulated: a gap needs a floor above 0 and below 0.5")
    return truth


class SimulatedModel:
    """Answers the six-stage agent's requests with draws from a `Truth`.

    It knows a case by its narrative and a condition by its descriptor line: like any model, it has
    only the text to go by. Of `cases` that tell the descriptor inside the text it knows every
    rendering, for a simulation must know what a model has to find out. Of a decoding it heeds the
    temperature.
    """

    toy = False
    seeded = True
    call_limit_s: float | None = None  # it sleeps at most
    endpoints: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        truth: Truth,
        catalogue: Catalogue,
        *,
        workers: int = 1,
        cases: Mapping[str, Vignette] | None = None,
        decoding: Decoding | None = None,
    ) -> None:
        self.name = name
        sent = decoding.parameters.get("temperature") if decoding else None
        self._temperature = None if sent is None else float(sent)
        self._catalogue = catalogue
        self._vignettes = {} if cases is None else cases
        self.workers = workers
        self.truth = truth
        self.default_seed = truth.seed  # so that the same SPEC draws the same trajectories
        swap = catalogue.conditions.get(truth.swap)
        self._descriptor = swap.descriptor if swap else None
        self._cases: dict[tuple[str, bool], dict[str, float]] = {}

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def configuration(self) -> Mapping[str, object]:
        truth = self.truth
        return {
            "backend": "simulated",
            "model": f"simulated floor={truth.floor} gap={truth.gap} swap={truth.swap or '-'}",
            "weights": f"seed {truth.seed}",
            **self._decoding(),
        }

    def known(self) -> Mapping[str, object]:
        return self.configuration()

    def _decoding(self) -> dict[str, object]:
        sent = self._temperature
        return {} if sent is None else {"decoding": {"temperature": sent}}

    def chat(self, request: Request, worker: int) -> Reply:
        if self.truth.latency:
            time.sleep(self.truth.latency)
        stage = request.stage.rpartition("/")[2]  # a ballot's number may stand before it
        narrative, descriptor = _told(request.messages)
        if not descriptor:
            narrative, descriptor = self._inside.get(narrative, (narrative, descriptor))
        case = self._probabilities(narrative, descriptor)
        rng = random.Random(request.seed)

        def yes(action: str) -> bool:
            return rng.random() < case[action]

        answer: dict[str, object]
        if stage == "triage":
            level = rng.randint(1, 2) if yes("high_acuity") else rng.randint(3, 5)
            answer = {"esi_acuity": level, "urgency_score": rng.randint(0, 100)}
        elif stage == "order":
            menu = request.schema["properties"]["orders"]
            chosen = [item for item in menu["items"]["enum"] if rng.random() < 0.4]
            answer = {"orders": chosen[: menu["maxItems"]]}
        elif stage == "reassess":
            answer = {"admit": yes("admission"), "escalate_icu": yes("icu_escalation")}
        elif stage == "prescribe":
            tier = rng.randint(2, 3) if yes("any_opioid") else rng.randint(0, 1)
            answer = {"analgesia_tier": tier, "controlled_substance_caution": yes("cs_caution")}
        else:
            answer = {"referral": yes("referral"), "followup_days": rng.randint(1, 14)}
            answer["note_flags"] = []
        asked = request.schema.get("properties", {})
        texts = {name: "Simulated." for name, field in asked.items() if field["type"] == "string"}
        return Reply(json.dumps({**texts, **answer}), input_tokens=0, output_tokens=0)

    @cached_property
    def _inside(self) -> dict[str, tuple[str, str]]:
        """Narrative and descriptor by text, of cases that tell the descriptor inside the text."""
        found: dict[str, tuple[str, str]] = {}
        for vignette in self._vignettes.values():
            if f"{{{PATIENT}}}" in vignette.narrative:
                name = render(vignette, self._catalogue.reference).text
                for condition in reversed(list(self._catalogue.conditions.values())):
                    text = render(vignette, condition).text
                    found[text] = (name, condition.descriptor)
        return found

    def _probabilities(self, narrative: str, descriptor: str) -> dict[str, float]:
        swapped = descriptor == self._descriptor
        if (narrative, swapped) not in self._cases:
            self._cases[narrative, swapped] = {
                action: tempered(
                    self.truth.probability(narrative, action, swapped=swapped), self._temperature
                )
                for action in ACTIONS
            }
        return self._cases[narrative, swapped]


def tempered(p: float, temperature: float | None) -> float:
    """Return a probability at a temperature: its logit divided by it, as a softmax does.

    None leaves it as it is, which is a temperature of 1; at 0 the likelier answer is certain.
    """
    if temperature is None or not 0 < p < 1:
        return p
    if temperature == 0:
        return float(p > 0.5)
    return 1 / (1 + math.exp(-min(max(math.log(p / (1 - p)) / temperature, -700), 700)))


def _told(messages: Sequence[Message]) -> tuple[str, str]:
    """Return the narrative, and the descriptor wherever in the conversation it is told, or ""."""
    opening = messages[1]["content"]
    narrative = opening.rpartition("\n\nStep: ")[0] or opening
    narrative, _, descriptor = narrative.partition(_LINE)
    for message in messages[2:]:
        if message["role"] == "user" and f"\n{message['content']}".startswith(_LINE):
            descriptor = message["content"].removeprefix(_LINE.strip("\n")).partition("\n")[0]
    return narrative, descriptor.partition("\n")[0]
