"""The agent under test: here a toy with rules. Yours calls your graph, service or pipeline."""

import random

import pytest


class ToyAgent:
    """A stand-in for an agent of your own: it sees a case and returns actions.

    `version` lets its trajectories be kept for later runs: raise it whenever the agent changes.
    """

    version = "1"

    def __init__(self) -> None:
        self._random = random.Random(7)

    def __call__(self, case):
        urgent = "no pulse" in case.text
        return {
            "high_acuity": self._random.random() < (0.9 if urgent else 0.3),
            "admission": self._random.random() < (0.8 if urgent else 0.4),
            "referral": "occlusion" in case.result("ct_angiography_leg"),
        }


@pytest.fixture(scope="session")
def fairmed_agent():
    return ToyAgent()
