"""Whether the names of a roster are those of the group that it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pytest_fairmedagent.domain import Catalogue
from pytest_fairmedagent.files.swaps import SwapsFile
from pytest_fairmedagent.files.toml import TomlFile
from pytest_fairmedagent.lint.catalogue import check_catalogue
from pytest_fairmedagent.lint.finding import Hit
from pytest_fairmedagent.lint.names import groups

MOST_APART = 2  # characters by which two names at one place of the rosters may differ


def check_swaps(path: Path, catalogue: Catalogue) -> list[Hit]:
    """Return what is wrong with a catalogue and with the rosters of its file."""
    return [*check_catalogue(catalogue), *check_rosters(path)]


def check_rosters(path: Path) -> Iterator[Hit]:
    """Yield names of the rosters of a file that are of another group, gender or length."""
    rosters = TomlFile(path).parse(SwapsFile).roster
    for index, roster in enumerate(rosters):
        for name in roster.values:
            for message in _not_of(name, roster.perceived):
                yield Hit(
                    "SW112",
                    ("roster", index, "values"),
                    f"'{name}' of roster '{roster.id}' ({roster.perceived}): {message}",
                    "Choose a name of the group, or say otherwise whom the roster stands for",
                )
    for place, names in enumerate(zip(*(roster.values for roster in rosters), strict=False)):
        sizes = [len(name) for name in names]
        usual = sorted(sizes)[len(sizes) // 2]
        words = sorted(len(name.split()) for name in names)
        for index, name in enumerate(names):
            if abs(len(name) - usual) > MOST_APART or len(name.split()) != words[len(words) // 2]:
                yield Hit(
                    "SW113",
                    ("roster", index, "values"),
                    f"'{name}' has {len(name)} characters in {len(name.split())} words, and the "
                    f"names at place {place + 1} of the rosters have {usual} in "
                    f"{words[len(words) // 2]}",
                    f"Match it: at most {MOST_APART} characters apart",
                )


def _not_of(name: str, perceived: str) -> Iterator[str]:
    """Yield in what a name is not as it is said to be perceived."""
    given, surnames = groups()
    first, _, last = name.partition(" ")
    wanted = set(re.findall(r"[\w-]+", perceived))
    gender = {"woman", "man"} & {word.lower() for word in wanted}
    kinds = given.get(first)
    if re.fullmatch(r"[A-Z]\.?", first):
        yield "an initial tells no group"
    elif kinds:
        known = {group for group, _ in kinds if group}
        if known and not known & wanted:
            yield f"'{first}' is a {' or '.join(sorted(known))} name"
        sexes = {sex for _, sex in kinds if sex}
        if gender and sexes and not sexes & gender:
            yield f"'{first}' is the name of a {' or '.join(sorted(sexes))}"
    of_last = {group for group, _ in surnames.get(last, ())}
    if of_last and "" not in of_last and not of_last & wanted:
        yield f"'{last}' is a {' or '.join(sorted(of_last))} name"
