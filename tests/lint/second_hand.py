"""Faults that a second hand plants, and how many of them the linter finds.

    python tests/lint/second_hand.py [held_out | tuned]

prints the faults by kind, and those that are missed.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.cases import read_vignette
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.toml import TomlFile
from pytest_fairmedagent.files.vignettes import case_files, shipped_vignettes
from pytest_fairmedagent.lint import check_cases
from pytest_fairmedagent.lint.files import check_file, check_swaps

HERE = Path(__file__).with_name("planted")
SHIPPED = shipped_vignettes()
FILES = [f for f in case_files(SHIPPED) if f.parent != SHIPPED]


class Fault(NamedTuple):
    """A fault of some kind, and whether the linter finds it when it is planted."""

    kind: str
    says: str
    is_found: Callable[[Path], bool]


@lru_cache(maxsize=1)
def catalogue():
    return read_swaps()


def of_case(path: Path) -> set[tuple[str, str]]:
    try:
        vignette = read_vignette(path)
    except FileFormatError as error:
        return {("format", str(error))}
    hits = [*check_cases([vignette], catalogue()), *check_file(path, vignette)]
    return {(hit.rule, hit.message) for hit in hits}


def of_swaps(path: Path) -> set[tuple[str, str]]:
    try:
        return {(hit.rule, hit.message) for hit in check_swaps(path, read_swaps(path))}
    except FileFormatError as error:
        return {("format", str(error))}


before = lru_cache(maxsize=None)(of_case)


def new_rules(path: Path, text: str, folder: Path) -> set[str]:
    """Return the rules that a changed case breaks and the file did not."""
    copy = folder / path.name
    copy.write_text(text, encoding="utf-8")
    return {rule for rule, _ in of_case(copy) - before(path)}


def faults(name: str) -> Iterator[Fault]:
    """Yield every fault of a half: each sentence in a narrative and in a result."""
    data = TomlFile(HERE / f"{name}.toml").data
    for kind in data["kind"]:
        rules = tuple(kind["rules"])
        for sentence in kind.get("say", ()):
            for place in ("narrative", "result"):
                yield Fault(kind["name"], f"{place}: {sentence}", _said(place, sentence, rules))
        for old, new in kind.get("edit", ()):
            yield Fault(kind["name"], f"{old} -> {new}", _edited(old, new, rules))
    for kind, half, spoil, rules in _SPOILS:
        if half == name:
            for number in range(8):
                says = f"{spoil.__name__} {number}"
                yield Fault(kind, says, _spoilt(spoil, number, rules))


def _said(place: str, sentence: str, rules: tuple[str, ...]) -> Callable[[Path], bool]:
    def is_found(folder: Path) -> bool:
        rng = random.Random(f"{place} {sentence}")
        path = rng.choice(FILES)
        text = path.read_text(encoding="utf-8")
        escaped = sentence.replace("\\", "\\\\").replace('"', '\\"')
        if place == "narrative":
            spoilt = text.replace("Background:", f"{escaped} Background:", 1)
        else:
            hit = rng.choice(list(re.finditer(r'^result = "(.*)"$', text, re.MULTILINE)))
            spoilt = f"{text[: hit.end() - 1]} {escaped}{text[hit.end() - 1 :]}"
        assert spoilt != text
        return any(rule.startswith((*rules, "format")) for rule in new_rules(path, spoilt, folder))

    return is_found


def _edited(old: str, new: str, rules: tuple[str, ...]) -> Callable[[Path], bool]:
    def is_found(folder: Path) -> bool:
        for name in ("swaps.toml", "names.toml"):
            text = (SHIPPED / name).read_text(encoding="utf-8")
            if old in text:
                copy = folder / name
                copy.write_text(text.replace(old, new, 1), encoding="utf-8")
                found = of_swaps(copy) - of_swaps(SHIPPED / name)
                return any(rule.startswith(rules) for rule, _ in found)
        raise AssertionError(f"{old!r} stands in no catalogue")

    return is_found


Spoil = Callable[[str, random.Random], "str | None"]


def _spoilt(spoil: Spoil, number: int, rules: tuple[str, ...]) -> Callable[[Path], bool]:
    def is_found(folder: Path) -> bool:
        rng = random.Random(f"{spoil.__name__} {number}")
        for path in rng.sample(FILES, len(FILES)):
            text = path.read_text(encoding="utf-8")
            spoilt = spoil(text, rng)
            if spoilt is not None and spoilt != text:
                new = new_rules(path, spoilt, folder)
                return any(rule.startswith(rules) for rule in new)
        raise AssertionError(f"{spoil.__name__} fits no case")

    return is_found


def _result_of(text: str, order: str) -> re.Match[str] | None:
    return re.search(rf'^id = "{order}"\nname = ".*"\nresult = "(.*)"$', text, re.MULTILINE)


def _swapped(text: str, one: str, other: str) -> str | None:
    first, second = _result_of(text, one), _result_of(text, other)
    if not first or not second:
        return None
    a, b = first[1], second[1]
    return text.replace(f'"{a}"', '"\0"', 1).replace(f'"{b}"', f'"{a}"', 1).replace("\0", b)


def swap_cbc_and_metabolic(text: str, rng: random.Random) -> str | None:
    return _swapped(text, "cbc", "basic_metabolic_panel")


def swap_ecg_and_troponin(text: str, rng: random.Random) -> str | None:
    return _swapped(text, "ecg", "troponin")


def swap_cbc_and_chest_film(text: str, rng: random.Random) -> str | None:
    return _swapped(text, "cbc", "chest_xray")


def swap_lactate_and_crp(text: str, rng: random.Random) -> str | None:
    return _swapped(text, "lactate", "crp")


def swap_ecg_and_d_dimer(text: str, rng: random.Random) -> str | None:
    return _swapped(text, "ecg", "d_dimer")


def swap_liver_and_urine(text: str, rng: random.Random) -> str | None:
    return _swapped(text, "liver_panel", "urinalysis")


def other_side_in_a_part_of_the_examination(text: str, rng: random.Random) -> str | None:
    return _other_side(text, rng, r'^    ".*\b([Ll]eft|[Rr]ight) (?:knee|ankle|leg|kidney|lung|foot'
                       r'|calf|eye|flank|shin|heel|ear|base|groin)\b.*"')  # fmt: skip


def other_side_in_a_result(text: str, rng: random.Random) -> str | None:
    return _other_side(text, rng, r'^result = ".*\b([Ll]eft|[Rr]ight) (?:knee|ankle|leg|kidney|lung'
                       r'|foot|hip|calf|eye|flank|shin|heel|ear|pleura|base)\b.*"$')  # fmt: skip


def other_side_in_the_narrative(text: str, rng: random.Random) -> str | None:
    start, end = text.index('narrative = """'), text.index('"""', text.index('"""') + 3)
    spoilt = _other_side(text[start:end], rng, r"\b([Ll]eft|[Rr]ight) (?:knee|ankle|leg|kidney"
                         r"|foot|calf|eye|flank|shin|heel)\b")  # fmt: skip
    return spoilt and text[:start] + spoilt + text[end:]


_SIDES = {"left": "right", "right": "left", "Left": "Right", "Right": "Left"}


def _other_side(text: str, rng: random.Random, pattern: str) -> str | None:
    hits = list(re.finditer(pattern, text, re.MULTILINE))
    if not hits:
        return None
    hit = rng.choice(hits)
    return text[: hit.start(1)] + _SIDES[hit[1]] + text[hit.end(1) :]


def _narrative(text: str, change: Callable[[str], str]) -> str:
    pattern = r'(?<=narrative = """\n).*?(?=\n""")'
    return re.sub(pattern, lambda hit: change(hit.group()), text, count=1, flags=re.DOTALL)


def narrative_without_its_last_words(text: str, rng: random.Random) -> str:
    return _narrative(text, lambda t: " ".join(t.split(" ")[:-3]))


def narrative_without_its_full_stop(text: str, rng: random.Random) -> str:
    return _narrative(text, lambda t: t.rstrip("."))


def result_without_its_full_stop(text: str, rng: random.Random) -> str | None:
    hit = rng.choice(list(re.finditer(r'\."$', text, re.MULTILINE)))
    if 'result = "' not in text[text.rfind("\n", 0, hit.start()) : hit.start()]:
        return None
    return f'{text[: hit.start()]}"{text[hit.end() :]}'


def result_cut_in_the_middle(text: str, rng: random.Random) -> str | None:
    hits = [h for h in re.finditer(r'^result = "(.*)"$', text, re.MULTILINE) if " " in h[1]]
    hit = rng.choice(hits)
    words = hit[1].split()
    cut = " ".join(words[: len(words) // 2])
    return None if cut.endswith((".", ";")) else text[: hit.start(1)] + cut + text[hit.end(1) :]


def result_of_sixty_words(text: str, rng: random.Random) -> str | None:
    hit = rng.choice(list(re.finditer(r'^result = "(.*)"$', text, re.MULTILINE)))
    return text[: hit.end(1)] + " Nothing else of note was seen here." * 9 + text[hit.end(1) :]


def result_with_an_open_bracket(text: str, rng: random.Random) -> str | None:
    hits = list(re.finditer(r'^result = ".*\(.*\).*"$', text, re.MULTILINE))
    if not hits:
        return None
    hit = rng.choice(hits)
    return text[: hit.start()] + hit.group().replace(")", "", 1) + text[hit.end() :]


_SPOILS: tuple[tuple[str, str, Spoil, tuple[str, ...]], ...] = (
    ("result of another order", "tuned", swap_cbc_and_metabolic, ("VG",)),
    ("result of another order", "tuned", swap_ecg_and_troponin, ("VG",)),
    ("result of another order", "held_out", swap_cbc_and_chest_film, ("VG",)),
    ("result of another order", "held_out", swap_lactate_and_crp, ("VG",)),
    ("result of another order", "held_out", swap_ecg_and_d_dimer, ("VG",)),
    ("result of another order", "held_out", swap_liver_and_urine, ("VG",)),
    ("side", "tuned", other_side_in_a_part_of_the_examination, ("VG",)),
    ("side", "held_out", other_side_in_a_result, ("VG",)),
    ("side", "held_out", other_side_in_the_narrative, ("VG",)),
    ("end of a text", "tuned", narrative_without_its_full_stop, ("VG3",)),
    ("end of a text", "tuned", result_cut_in_the_middle, ("VG3",)),
    ("end of a text", "held_out", narrative_without_its_last_words, ("VG3",)),
    ("end of a text", "held_out", result_without_its_full_stop, ("VG3",)),
    ("end of a text", "held_out", result_of_sixty_words, ("VG3",)),
    ("end of a text", "held_out", result_with_an_open_bracket, ("VG3",)),
)


def main(name: str, *, tell: bool = True) -> None:
    import tempfile
    from collections import Counter

    found: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for fault in faults(name):
            tried[fault.kind] += 1
            if fault.is_found(Path(folder)):
                found[fault.kind] += 1
            elif tell:
                print(f"missed  {fault.kind}: {fault.says}")
    for kind, n in tried.items():
        print(f"{kind}: {found[kind]} of {n}")
    print(f"all: {found.total()} of {tried.total()} ({found.total() / tried.total():.1%})")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "tuned", tell="quiet" not in sys.argv)
