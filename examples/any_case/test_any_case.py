"""Your agent reads any case and any reply: property tests, without a model and without a call.

    pytest examples/any_case

`prompt_of` and `actions_of` stand for the two ends of an agent of yours: what it makes of a case,
and what it makes of a model's reply. Between them lies the model, which is not tested here.
"""

import json
import re

from hypothesis import given

from pytest_fairmedagent import strategies


def prompt_of(case):
    orders = "\n".join(f"[{order.id}] {order.name}" for order in case.menu)
    return f"{case.text}\n\nOrders you may give, by the id in brackets:\n{orders}"


def ordered_in(text, case):
    """The orders that a text names in brackets. Cases have brackets of their own."""
    known = {order.id for order in case.menu}
    return [name for name in re.findall(r"\[(\w+)\]", text) if name in known]


def actions_of(reply):
    stages = json.loads(reply)
    return {
        "high_acuity": stages["triage"]["esi_acuity"] <= 2,
        "admission": stages["reassess"]["admit"],
    }


@given(strategies.cases())
def test_any_rendered_case_is_parsed(case):
    prompt = prompt_of(case)
    assert case.text in prompt
    assert ordered_in(prompt, case) == [order.id for order in case.menu]


@given(strategies.trajectories(complete=True))
def test_any_reply_gives_every_action(trajectory):
    actions = actions_of(json.dumps(trajectory.outputs))
    assert all(isinstance(value, bool) for value in actions.values())
