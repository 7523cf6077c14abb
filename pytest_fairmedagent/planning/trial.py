"""What one trial takes: calls, tokens, dollars and seconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_fairmedagent.agents.build import clinical_agent
from pytest_fairmedagent.agents.clinical import REPAIRS
from pytest_fairmedagent.agents.rehearsal import expected_tokens
from pytest_fairmedagent.domain import Catalogue, Vignette, render
from pytest_fairmedagent.files.prices import Price

IN_PROCESS = ("embedded", "simulated", "recorded")  # nobody bills these


@dataclass(frozen=True)
class TrialCost:
    """A trial's means. `most_calls` counts a repair of every call, as the budget of a run does.

    `usd` and `seconds` are None where nobody knows them, which is not 0. `seconds` is wall-clock
    time of a run divided by its trials, so it holds for the concurrency that it was measured with.
    """

    calls: float
    most_calls: float
    input_tokens: float
    output_tokens: float
    usd: float | None
    seconds: float | None
    tokens_from: str
    price_from: str


def trial_cost(
    vignettes: Iterable[Vignette],
    catalogue: Catalogue,
    *,
    scaffold: str = "direct",
    backend: str = "",
    price: Price | None = None,
    seconds: float | None = None,
    tokens: tuple[float, float] | None = None,
) -> TrialCost:
    """Return what a trial of the six-stage agent takes, as a mean over the vignettes.

    `tokens` (sent, answered) are measured ones; without, they are expected from the length of the
    texts, answers at their longest. Raises PlanError for an unknown scaffold.
    """
    agent = clinical_agent(scaffold)
    cases = [render(vignette, catalogue.reference) for vignette in vignettes]
    origin = "measured" if tokens else f"expected from {len(cases)} texts"
    if tokens is None:
        found = [pair for case in cases if (pair := expected_tokens(agent, case)) is not None]
        n = max(1, len(found))
        tokens = sum(sent for sent, _ in found) / n, sum(got for _, got in found) / n
    usd = price.usd(round(tokens[0]), round(tokens[1])) if price else None
    if backend in IN_PROCESS:
        usd = 0.0
    return TrialCost(
        calls=agent.calls_per_trial,
        most_calls=agent.calls_per_trial * (1 + REPAIRS),
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        usd=usd,
        seconds=seconds,
        tokens_from=origin,
        price_from=str(price) if price else "",
    )
