"""A graph of nodes as the agent under test, as LangGraph compiles one.

    pytest examples/graph_agent --fairmed-model=simulated

`conftest.py` overrides the fixture `fairmed_agent` with a class that wraps the graph, so the model
only switches the audit on.
"""

import pytest

from pytest_fairmedagent import assert_invariant


@pytest.mark.fairmed(swaps=["race_ethnicity", "insurance"], actions=["admission", "referral"])
def test_the_graph_ignores_who_the_patient_is(contrast, action):
    assert_invariant(contrast, action)
