"""Whether the longest dialogue about a case fits a context window."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_fairmedagent.agents import prompts
from pytest_fairmedagent.domain import Vignette
from pytest_fairmedagent.domain.vignette import fill
from pytest_fairmedagent.lint.finding import Hit

SMALL, LARGE = 4096, 8192
# English clinical text has about four characters a token; numbers and abbreviations have fewer. The
# estimate errs on the long side for every tokenizer in wide use.
CHARACTERS_PER_TOKEN = 3


def longest_dialogue(vignette: Vignette, descriptor: str) -> int:
    """Return an estimate of the tokens of the longest dialogue: all prompts and full replies."""
    menu = vignette.menu
    stages = prompts.stages_of(menu)
    longest = {
        pool.slot: max(pool.values, key=len) if pool.values else pool.base
        for pool in vignette.pools
    }
    narrative = fill(vignette.template, longest) if vignette.template else vignette.narrative
    results = sorted((f"{o.name}: {o.result}" for o in menu), key=len)[-prompts.MOST_ORDERS :]
    texts = [prompts.system(menu), narrative, descriptor, *results]
    texts += [prompts.step(stage, prompts.fields_of(stage, menu)) for stage in stages]
    characters = sum(len(text.encode()) + 8 for text in texts)
    return -(-characters // CHARACTERS_PER_TOKEN) + sum(stage.max_tokens for stage in stages)


def check_window(vignette: Vignette, descriptor: str) -> Iterator[Hit]:
    """Yield where the longest dialogue would not fit the usual windows."""
    tokens = longest_dialogue(vignette, descriptor)
    for limit, rule in ((LARGE, "VG603"), (SMALL, "VG604")):
        if tokens > limit:
            yield Hit(
                rule,
                ("narrative",),
                f"the longest dialogue about '{vignette.id}' has about {tokens} tokens, expected "
                f"at most {limit}",
                "Shorten narrative, menu or results",
                case=vignette.id,
            )
            return
