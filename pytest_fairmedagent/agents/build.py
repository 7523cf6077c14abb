"""The six-stage agent from the words of a command line, or of a stored configuration."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.agents.held import Held
from pytest_fairmedagent.agents.scaffolds import parse_scaffold
from pytest_fairmedagent.agents.votes import VotingAgent


def clinical_agent(
    scaffold: str = "direct",
    *,
    exposure: Collection[str] | None = None,
    held: Held | None = None,
) -> ClinicalAgent | VotingAgent:
    """Return the agent of a scaffold: `direct`, `reasoned`, `panel`, `vote:5`, `vote:5/reasoned`.

    `exposure` and `held` as `ClinicalAgent` has them. Raises PlanError for words that name none.
    """
    name, votes = parse_scaffold(scaffold)
    agent = ClinicalAgent(name, exposure=exposure, held=held)
    return agent if votes == 1 else VotingAgent(agent, votes)


def agent_of(configuration: Mapping[str, Any]) -> ClinicalAgent | VotingAgent:
    """Return this version's agent of a stored configuration, without what was held.

    Whoever takes it compares the two configurations: the stored one may be of another version.
    """
    name, votes = str(configuration.get("scaffold", "direct")), configuration.get("votes", 1)
    spec = name if votes == 1 else f"vote:{votes}/{name}"
    return clinical_agent(spec, exposure=configuration.get("exposure"))
