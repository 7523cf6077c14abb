"""What a run will cost, said before the first call, and the budget that may end it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pytest_fairmedagent.agents.base import Agent
from pytest_fairmedagent.agents.clinical import REPAIRS
from pytest_fairmedagent.agents.rehearsal import expected_tokens
from pytest_fairmedagent.domain import Arm, Catalogue, Vignette, render
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.files.prices import price_of
from pytest_fairmedagent.files.settings import Settings
from pytest_fairmedagent.models.specs import ModelSpec
from pytest_fairmedagent.running.budget import Budget, Estimate, Spent

IN_PROCESS = ("embedded", "simulated", "recorded")  # nobody bills these


def budget(settings: Settings, spec: ModelSpec) -> Budget:
    """Return the budget of a run. Raises PlanError for dollars of a model without a price."""
    tables = (settings.prices,) if settings.prices else ()
    # What answers at a base URL is not the provider's model, whatever its name.
    known = price_of(f"{spec.backend}/{spec.name}", tables, shipped=not settings.base_url)
    if settings.max_usd is not None and known is None and spec.backend not in IN_PROCESS:
        raise PlanError(
            f"--fairmed-max-usd is {settings.max_usd:g}, and the price of {spec.backend}/"
            f"{spec.name} is unknown.\n  Give a price table with --fairmed-prices FILE, or limit "
            "the run with --fairmed-max-calls."
        )
    return Budget(settings.max_calls, settings.max_usd, known)


def estimate(
    agent: Agent, vignettes: Iterable[Vignette], catalogue: Catalogue, *, limited: bool
) -> Estimate:
    """Return what a trial of the agent takes, as a mean over the vignettes.

    Raises PlanError where a run is `limited` and the agent's calls are its own affair.
    """
    if agent.calls_per_trial is None:
        if limited:
            raise PlanError(
                "--fairmed-max-calls and --fairmed-max-usd count calls of --fairmed-model, and "
                "this agent makes its own.\n  Leave them out, or limit the agent itself."
            )
        return Estimate(calls=0)
    found = [expected_tokens(agent, render(v, catalogue.reference)) for v in vignettes]
    tokens = [pair for pair in found if pair is not None]
    n = max(1, len(tokens))
    mean = Spent(0, sum(i for i, _ in tokens) // n, sum(o for _, o in tokens) // n)
    return Estimate(agent.calls_per_trial * (1 + REPAIRS), mean)


def cost_line(
    settings: Settings,
    spec: ModelSpec,
    agent: Agent | None,
    arms: Iterable[Arm],
    vignettes: Mapping[str, Vignette],
    catalogue: Catalogue,
) -> str | None:
    """Return tokens and price of a plan; None where nothing is asked of a model, or unknown."""
    if agent is None or agent.calls_per_trial is None or spec.backend in ("simulated", "recorded"):
        return None
    trials: dict[str, int] = {}
    for arm in arms:
        trials[arm.vignette] = trials.get(arm.vignette, 0) + arm.replicates
    sent = got = 0
    for name, n_trials in trials.items():
        tokens = expected_tokens(agent, render(vignettes[name], catalogue.reference))
        if tokens is not None:
            sent, got = sent + n_trials * tokens[0], got + n_trials * tokens[1]
    line = f"fairmed: about {_round(sent)} tokens sent and at most {_round(got)} answered"
    if spec.backend in IN_PROCESS:
        return f"{line}; the model runs on this machine, so nobody bills them"
    known = budget(settings, spec).price
    if known is None:
        return f"{line}; their price is unknown (--fairmed-prices FILE names it)"
    usd = known.usd(sent, got)
    return f"{line}, ${usd:.2f} without caching and repairs ({known.source}, read {known.read})"


def _round(n: int) -> str:
    """Return a number of tokens with two digits that mean something."""
    if n < 1000:
        return str(n)
    return f"{n / 1e6:.2g} million" if n >= 1e6 else f"{n // 1000} thousand"
