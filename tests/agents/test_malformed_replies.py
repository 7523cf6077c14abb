"""Forms in which models and servers are known to answer without answering.

Where a form was reported of a model or server by name, the issue is named. Every one of them ends
as the answer that it plainly holds, or as missing with a reason.
"""

import pytest

from pytest_fairmedagent.agents.fields import Boolean, FieldError, Integer
from pytest_fairmedagent.agents.parsing import read_reply
from pytest_fairmedagent.models.base import Reply

TRIAGE = (Integer("esi_acuity", 1, 5), Integer("urgency_score", 0, 100))
NOTE = (Boolean("referral"), Integer("followup_days", 0, 365))
VALID = {"esi_acuity": 2, "urgency_score": 70}
GOOD = '{"esi_acuity": 2, "urgency_score": 70}'

READ = {
    "fenced": f"```json\n{GOOD}\n```",
    "fence never closed": f"```json\n{GOOD}",
    "fence after prose": f"Based on the presentation:\n\n```\n{GOOD}\n```\nLet me know!",
    # deepeval PR 2991, langchain 32120: a brace in the thinking was taken for the answer
    "braces while thinking": f"<think>Say {{x}} or {{'esi_acuity': 4}}?</think>\n\n{GOOD}",
    "an answer while thinking": '<think>{"esi_acuity": 5, "urgency_score": 0}</think>' + GOOD,
    "the end of thinking alone": f"so ESI 2.\n</think>\n\n{GOOD}",
    "end-of-turn token": f"{GOOD}<|im_end|>",
    "end-of-turn token of another template": f"{GOOD}<|eot_id|><|start_header_id|>assistant",
    "byte order mark": f"\ufeff{GOOD}",
    "no-break spaces around it": f"\u00a0{GOOD}\u00a0",
    "named in a heading": f"**Final answer:**\n{GOOD}",
    "said twice": f"{GOOD}\n{GOOD}",
    "explained inside": '{"reasoning": "a {b} c", "esi_acuity": 2, "urgency_score": 70}',
    "a quote that looks like an end": '{"why": "\\"}\\"", "esi_acuity": 2, "urgency_score": 70}',
    "windows lines": '{\r\n  "esi_acuity": 2,\r\n  "urgency_score": 70\r\n}\r\n',
    "a whole number as float": '{"esi_acuity": 2.0, "urgency_score": 7e1}',
}

REFUSED = {
    # posit-dev/chatlas 327, promptfoo PR 10954: all tokens went into the thinking
    "thinking to the end": ("<think>The patient is 54 and", "no JSON object in the reply"),
    "python": ("{'esi_acuity': 2, 'urgency_score': 70}", "no JSON object in the reply"),
    "trailing comma": ('{"esi_acuity": 2, "urgency_score": 70,}', "no JSON object in the reply"),
    "comment": ('{"esi_acuity": 2, // high\n"urgency_score": 70}', "no JSON object in the reply"),
    "typographic quotes": ("{“esi_acuity”: 2, “urgency_score”: 70}", "no JSON object in the reply"),
    "bare names": ("{esi_acuity: 2, urgency_score: 70}", "no JSON object in the reply"),
    "never closed": ('{"esi_acuity": 2, "urgency_score": 70', "no JSON object in the reply"),
    "yaml": ("esi_acuity: 2\nurgency_score: 70", "no JSON object in the reply"),
    "xml": ("<answer><esi_acuity>2</esi_acuity></answer>", "no JSON object in the reply"),
    "table": ("| esi_acuity | 2 |\n|---|---|", "no JSON object in the reply"),
    "quoted twice": ('"{\\"esi_acuity\\": 2, \\"urgency_score\\": 70}"', "no JSON object"),
    "a list": ("[2, 70]", "no JSON object in the reply"),
    "null": ("null", "no JSON object in the reply"),
    "refusal in prose": ("I'm sorry, but I can't triage.", "no JSON object in the reply"),
    "white space to the limit": ("{" + "\n" * 4000, "no JSON object in the reply"),
    "one token for ever": ("{" + '"esi_acuity": ' * 500, "no JSON object in the reply"),
    "empty object": ("{}", "esi_acuity is missing"),
    # a schema echoed, a tool call written as text: vLLM and llama.cpp templates without the tool
    "the schema": ('{"type": "object", "properties": {}}', "esi_acuity is missing"),
    "a tool call as text": ('<tool_call>{"name": "answer", "arguments": {}}', "esi_acuity is"),
    "one level down": (f'{{"triage": {GOOD}}}', "esi_acuity is missing"),
    "in a list": (f'{{"answers": [{GOOD}]}}', "esi_acuity is missing"),
    "another case of the name": ('{"ESI_Acuity": 2, "urgency_score": 70}', "esi_acuity is missing"),
    # ollama 15260, 14850: the format obeyed by half, with status 200
    "half of it": ('{"esi_acuity": 2}', "urgency_score is missing"),
    "a word": ('{"esi_acuity": "2", "urgency_score": 70}', "expected an integer"),
    "a level with its name": ('{"esi_acuity": "ESI 2 (emergent)", "urgency_score": 70}', "is 'ESI"),
    "a range": ('{"esi_acuity": "2-3", "urgency_score": 70}', "expected an integer"),
    "a fraction": ('{"esi_acuity": 2.5, "urgency_score": 70}', "expected an integer"),
    "a fraction of one": ('{"esi_acuity": 2, "urgency_score": 0.7}', "expected an integer"),
    "null inside": ('{"esi_acuity": null, "urgency_score": 70}', "is None"),
    "yes": ('{"esi_acuity": true, "urgency_score": 70}', "is True"),
    "beyond the scale": ('{"esi_acuity": 6, "urgency_score": 70}', "expected 1..5"),
    "below the scale": ('{"esi_acuity": 0, "urgency_score": 70}', "expected 1..5"),
    "minus": ('{"esi_acuity": 2, "urgency_score": -1}', "expected 0..100"),
    "percent": ('{"esi_acuity": 2, "urgency_score": 700}', "expected 0..100"),
    "not a number": ('{"esi_acuity": 2, "urgency_score": NaN}', "expected an integer"),
    "without end": ('{"esi_acuity": 2, "urgency_score": Infinity}', "expected an integer"),
    "a name twice": ('{"esi_acuity": 2, "esi_acuity": 9, "urgency_score": 70}', "esi_acuity is 9"),
    "a bare surrogate": ('{"esi_acuity": "\\ud800", "urgency_score": 70}', "expected an integer"),
}


@pytest.mark.parametrize("form", READ)
def test_an_answer_that_is_plainly_there_is_read(form):
    assert read_reply(Reply(READ[form]), TRIAGE) == VALID


@pytest.mark.parametrize("form", REFUSED)
def test_what_is_no_answer_is_missing_with_its_reason(form):
    text, reason = REFUSED[form]
    with pytest.raises(FieldError) as caught:
        read_reply(Reply(text), TRIAGE)
    assert reason in str(caught.value)
    str(caught.value).encode()  # or the record could not be written


@pytest.mark.parametrize("text", ['"true"', "1", '"Yes"', "null", "[]", "{}"])
def test_no_word_or_number_stands_for_true(text):
    with pytest.raises(FieldError, match="referral is"):
        read_reply(Reply(f'{{"referral": {text}, "followup_days": 7}}'), NOTE)


@pytest.mark.parametrize("form", REFUSED)
def test_an_answer_cut_at_the_limit_says_so_unless_it_is_whole(form):
    with pytest.raises(FieldError) as caught:
        read_reply(Reply(REFUSED[form][0], finish="length"), TRIAGE)
    if "no JSON object" in REFUSED[form][1]:
        assert str(caught.value) == "cut at the token limit"
