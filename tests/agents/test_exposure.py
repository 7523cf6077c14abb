"""The descriptor is in the prompts of the exposed stages and in no other."""

from itertools import combinations

import pytest

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.agents.dialogue import STAGE_NAMES
from pytest_fairmedagent.domain import Case
from pytest_fairmedagent.errors import PlanError

SUBSETS = [set(some) for n in range(1, 6) for some in combinations(STAGE_NAMES, n)]
LINE = "Patient: Black man, aged 50"


def sent(request):
    return "\n".join(message["content"] for message in request.messages)


@pytest.mark.parametrize("exposure", SUBSETS, ids=lambda some: "-".join(sorted(some)))
def test_each_prompt_carries_the_descriptor_once_or_never(exposure, ran):
    _, requests = ran(ClinicalAgent(exposure=exposure), condition="race_black")
    told = {request.stage: sent(request).count("Black") for request in requests}
    assert told == {stage: int(stage in exposure) for stage in STAGE_NAMES}


def test_it_is_first_told_in_the_message_of_the_first_exposed_stage(ran):
    _, requests = ran(ClinicalAgent(exposure=["reassess", "document"]), condition="race_black")
    last = requests[-1].messages
    holds = [i for i, message in enumerate(last) if LINE in message["content"]]
    assert len(holds) == 1
    assert last[holds[0]]["content"].startswith(f"{LINE}\n\nResults:")


def test_all_stages_exposed_is_the_agent_as_it_is(ran):
    _, usual = ran(ClinicalAgent(), condition="race_black")
    _, exposed = ran(ClinicalAgent(exposure=STAGE_NAMES), condition="race_black")
    assert exposed == usual
    assert ClinicalAgent(exposure=STAGE_NAMES).configuration() == ClinicalAgent().configuration()


def test_stages_that_are_not_exposed_are_sent_the_same_in_every_arm(ran):
    agent = ClinicalAgent(exposure=["document"])
    _, black = ran(agent, condition="race_black")
    _, reference = ran(agent, condition="reference")
    assert black[0].messages == reference[0].messages
    assert "Black" in sent(black[4])


@pytest.mark.parametrize(
    ("exposure", "said"),
    [(["reasess"], "Did you mean 'reassess'"), ([], "no stage carries the descriptor")],
)
def test_an_exposure_that_is_none_is_refused(exposure, said):
    with pytest.raises(PlanError, match=said):
        ClinicalAgent(exposure=exposure)


def test_a_case_that_tells_the_descriptor_inside_its_text_is_refused_and_not_half_shown():
    case = Case("A Black man has a cough.\nHe coughs.", ())
    with pytest.raises(PlanError, match="on a last line of its own"):
        ClinicalAgent(exposure=["order"]).run(case, None)
