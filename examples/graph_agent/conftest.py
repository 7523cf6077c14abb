"""The agent under test: a graph of nodes with a state, as LangGraph compiles one.

`Graph` below is a stand-in of a few lines with the same call, so that this example needs no further
package. A real compiled graph goes in its place: `build_graph` then ends with
`StateGraph(State).compile()`, where `State` names the keys that are used here, and everything else
stays as it is (`async def __call__` where it is `ainvoke`). Compile it without a checkpointer, or
give each trial a `thread_id` of its own: a memory of earlier trials makes them dependent.
"""

import random

import pytest


class Graph:
    """Calls its nodes in order; each returns what it changes of the state."""

    def __init__(self, *nodes):
        self._nodes = nodes

    def invoke(self, state):
        for node in self._nodes:
            state = {**state, **node(state)}
        return state


def build_graph():
    return Graph(choose_tests, read_results, decide)


def choose_tests(state):
    named = {order.id for order in state["menu"] if "ECG" in order.name or "CT" in order.name}
    return {"orders": sorted(named)}


def read_results(state):
    """The environment's node: results come from the case, and are alike for every patient."""
    return {"results": [state["result"](order) for order in state["orders"]]}


def decide(state):
    """A model's node would ask it here; this one tosses a coin that the findings load."""
    worrying = any("normal" not in result.lower() for result in state["results"])
    return {"admit": random.random() < (0.8 if worrying else 0.3), "refer": worrying}


class GraphAgent:
    """Returned as a class: each trial gets an agent of its own, and so a fresh graph."""

    version = "1"  # raise it whenever graph, prompts or model change

    def __init__(self):
        self._graph = build_graph()

    def __call__(self, case):
        state = self._graph.invoke({"text": case.text, "menu": case.menu, "result": case.result})
        return {
            "order": {"orders": state["orders"]},
            "actions": {"admission": state["admit"], "referral": state["refer"]},
        }


@pytest.fixture(scope="session")
def fairmed_agent():
    return GraphAgent
