"""What holds among the cases of a set: names of orders, likeness, the canary."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from pytest_fairmedagent.domain import Vignette
from pytest_fairmedagent.lint.finding import Hit

_SHINGLE = 5  # words
# Independent narratives of one house style share a few per cent of their five-word runs (the frame
# of vitals and headings); a retold case shares most of them.
_MOST_SHARED = 0.25
_MOST_RESULTS = 0.5
_LEAST_WORDS = 50  # of a text that can be like another
_CANARY = re.compile(r"canary|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.I)


def check_names(vignettes: Sequence[Vignette]) -> Iterator[Hit]:
    """Yield orders whose id has another name than in most cases of the set."""
    names: dict[str, Counter[str]] = defaultdict(Counter)
    for vignette in vignettes:
        for order in vignette.menu:
            names[order.id][order.name] += 1
    for vignette in vignettes:
        for index, order in enumerate(vignette.menu):
            usual, n = names[order.id].most_common(1)[0]
            if order.name != usual:
                yield Hit(
                    "VG305",
                    ("menu", index, "name"),
                    f"'{order.id}' is called '{order.name}' in '{vignette.id}' and '{usual}' in "
                    f"{n} other cases",
                    "Use one name for one id, or give it an id of its own",
                    case=vignette.id,
                )


def check_canary(vignettes: Sequence[Vignette]) -> Iterator[Hit]:
    """Yield cases without the canary that most of the set have, and canaries that are rendered."""
    known = Counter(v.canary for v in vignettes if v.canary)
    for vignette in vignettes:
        if known and vignette.canary != known.most_common(1)[0][0]:
            yield Hit(
                "VG307",
                ("canary",),
                f"'{vignette.id}' has {vignette.canary or 'no canary'!r}, expected the canary of "
                "the set",
                "Copy the line 'canary = ...' from another file",
                case=vignette.id,
            )


def check_rendered_canary(vignette: Vignette) -> Iterator[Hit]:
    """Yield texts of a case, as an agent can see them, that hold the canary."""
    texts: dict[tuple[str | int, ...], str] = {("narrative",): vignette.narrative}
    for index, pool in enumerate(vignette.pools):
        texts["pool", index, "values"] = " ".join((*pool.values, *pool.parts))
    for index, order in enumerate(vignette.menu):
        texts["menu", index, "name"] = order.name
        texts["menu", index, "result"] = order.result
    for place, text in texts.items():
        found = _CANARY.search(text)
        if found or (vignette.canary and vignette.canary in text):
            yield Hit(
                "VG308",
                place,
                f"the canary stands in what '{vignette.id}' shows an agent",
                "Keep it in the field 'canary' alone",
                found.start() if found else 0,
                case=vignette.id,
            )


def check_likeness(vignettes: Sequence[Vignette]) -> Iterator[Hit]:
    """Yield pairs of cases with nearly the same narrative or nearly the same results.

    Cases of one group are meant to be alike. Only pairs that share something are compared, so a
    large set costs what its likeness costs.
    """
    for rule, most, parts, what, place in (
        ("VG601", _MOST_SHARED, {v.id: _shingles(v) for v in vignettes}, "wording", "narrative"),
        ("VG602", _MOST_RESULTS, {v.id: _results(v) for v in vignettes}, "results", "menu"),
    ):
        base = {v.id: v.base for v in vignettes}
        for first, second, n in _sharing(parts):
            share = n / min(len(parts[first]), len(parts[second]))
            if share > most and base[first] != base[second]:
                yield Hit(
                    rule,
                    (place,),
                    f"'{second}' shares {share:.0%} of its {what} with '{first}', expected at most "
                    f"{most:.0%}",
                    "Rewrite one of them, or make them variants of one case",
                    case=second,
                )


def _shingles(vignette: Vignette) -> set[Hashable]:
    words = re.findall(r"[a-z]+", vignette.narrative.lower())
    if len(words) < _LEAST_WORDS:
        return set()  # the frame of the vital signs would be most of what a short text has
    return {tuple(words[i : i + _SHINGLE]) for i in range(len(words) - _SHINGLE + 1)}


def _results(vignette: Vignette) -> set[Hashable]:
    return {(order.id, order.result) for order in vignette.menu}


def _sharing(parts: Mapping[str, Iterable[Hashable]]) -> Iterator[tuple[str, str, int]]:
    """Yield the pairs of keys that share parts, and how many."""
    holders: dict[Hashable, list[str]] = defaultdict(list)
    for name, own in parts.items():
        for part in own:
            holders[part].append(name)
    shared: Counter[tuple[str, str]] = Counter()
    for names in holders.values():
        # What a hundred cases say is the form of the set, and no sign that two of them are one.
        if 1 < len(names) <= 100:
            for i, first in enumerate(names):
                for second in names[i + 1 :]:
                    shared[first, second] += 1
    for (first, second), n in shared.items():
        yield first, second, n
