"""Scaffolds: how the six-stage agent comes to a decision, and the files their words stand in."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_fairmedagent.agents.fields import Text
from pytest_fairmedagent.errors import PlanError, closest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAMES = ("direct", "reasoned", "panel")
CHARACTERS_PER_TOKEN = 2  # few (numerals have fewest), so that a text meets its own limit first
MOST_VOTES = 99


@dataclass(frozen=True)
class Scaffold:
    """One way to a decision: what it adds to the opening, and the texts written before deciding.

    The texts are part of the reply's schema and come before the decision. They are never outcomes.
    """

    name: str
    version: int
    asks: str
    texts: tuple[Text, ...]

    @property
    def more_tokens(self) -> int:
        """Tokens that the texts may take."""
        return sum(text.longest for text in self.texts) // CHARACTERS_PER_TOKEN


def words_of(name: str) -> Mapping[str, Any]:
    """Return the content of one of the prompt files of this package."""
    path = Path(__file__).parent / "texts" / f"{name}.toml"
    words: Mapping[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return words


@lru_cache
def scaffold_of(name: str) -> Scaffold:
    """Return a scaffold by its name, one of `NAMES`."""
    words = words_of(name)
    texts = tuple(Text(text["name"], text["longest"]) for text in words.get("text", ()))
    return Scaffold(name, words["version"], words["asks"], texts)


def parse_scaffold(text: str) -> tuple[str, int]:
    """Return scaffold and votes of `direct`, `reasoned`, `panel`, `vote:K` or `vote:K/SCAFFOLD`.

    Votes are 1 where nothing is voted on, else odd and from 3. Raises PlanError.
    """
    name, votes = text, 1
    if text.startswith("vote:"):
        number, _, name = text.removeprefix("vote:").partition("/")
        votes, name = int(number) if number.isascii() and number.isdigit() else 0, name or "direct"
        if votes % 2 == 0 or not 3 <= votes <= MOST_VOTES:
            raise PlanError(
                f"scaffold {text!r}: {number!r} votes, expected an odd number from 3 to "
                f"{MOST_VOTES}, such as vote:5 or vote:5/reasoned"
            )
    if name not in NAMES:
        raise PlanError(f"unknown scaffold {text!r}.{closest(name, (*NAMES, 'vote:K'))}")
    return name, votes
