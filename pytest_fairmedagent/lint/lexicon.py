"""The lexicons: data files of words and phrases by kind, and a reader that finds them in a text.

A file holds `[[row]]` tables, each with the `kind` that its words say, its `source`, and

- `words`: words parted by spaces; `stem*` stands for every word that begins so; a word with a
  capital is matched with it alone.
- `phrases`: words in a row; `a/b` stands for either, `#` for a number in digits or words, `_` for
  any word, and a word that ends in `?` may be left out. Spaces, hyphens and slashes part words.
- `unless_before`, `unless_after`: words which, next to a hit, make it none.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pytest_fairmedagent.lint.spelled import NUMBER_WORDS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TOKEN = re.compile(r"[^\W\d_]+(?:['’](?:s|t|d|ll|ve|re)\b)?|\d+")
_FOLDER = Path(__file__).with_name("lexicons")


@dataclass(frozen=True)
class Entry:
    """A word or phrase of a row: its elements, each a tuple of alternatives, and what undoes a hit.

    `extra` holds what else a row says, such as the preferred wording.
    """

    kind: str
    elements: tuple[tuple[str, ...], ...]
    optional: tuple[bool, ...]
    unless_before: frozenset[str]
    unless_after: frozenset[str]
    extra: Mapping[str, str]
    anchor: int  # the first element that is neither a number nor any word
    plain: bool  # one word that is matched with or without a capital


@dataclass(frozen=True)
class Match:
    """An entry found in a text, from `start` to `end`."""

    entry: Entry
    start: int
    end: int


class Lexicon:
    """Entries by the words they begin with. Looking up a text takes time linear in its length."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._whole: dict[str, list[Entry]] = defaultdict(list)
        self._stems: dict[str, list[Entry]] = defaultdict(list)
        for entry in entries:
            for word in entry.elements[entry.anchor]:
                key, table = word.lower(), self._whole
                if key.endswith("*"):
                    key, table = key[:-1], self._stems
                table[key].append(entry)
        self._longest = max(map(len, self._stems), default=0)
        self._known: dict[str, tuple[Entry, ...]] = {}

    def _of(self, word: str) -> tuple[Entry, ...]:
        bare = word.removesuffix("'s")
        found = list(self._whole.get(bare, ()))
        if bare != word:
            found += self._whole.get(word, ())
        for n in range(2, min(len(bare), self._longest) + 1):
            found += self._stems.get(bare[:n], ())
        return tuple(found)

    def find(self, text: str) -> Iterator[Match]:
        """Yield what the text says, in order of the words that say it."""
        tokens = [(hit.group(), hit.start(), hit.end()) for hit in _TOKEN.finditer(text)]
        lower = [token[0].lower() for token in tokens]
        known = self._known
        for i, word in enumerate(lower):
            entries = known.get(word)
            if entries is None:
                entries = known[word] = self._of(word)
            for entry in entries:
                if entry.plain:
                    first, end = i, i + 1
                else:
                    first = i - entry.anchor
                    found = _match(entry, text, tokens, lower, first)
                    if found is None:
                        continue
                    end = found
                if (
                    end < len(tokens)
                    and lower[end] in entry.unless_before
                    and _near(text, tokens[end - 1][2], tokens[end][1])
                ):
                    continue
                if first and lower[first - 1] in entry.unless_after:
                    continue
                yield Match(entry, tokens[first][1], tokens[end - 1][2])

    def words(self) -> set[str]:
        """Return the words that entries of one word have, and the stems of others."""
        return {
            word.removesuffix("*")
            for table in (self._whole, self._stems)
            for entries in table.values()
            for entry in entries
            if len(entry.elements) == 1
            for word in entry.elements[0]
        }

    def knows(self, word: str) -> tuple[str, ...]:
        """Return the kinds that a word has on its own."""
        return tuple(m.entry.kind for m in self.find(word) if m.end - m.start == len(word))


def _near(text: str, start: int, end: int) -> bool:
    """Return whether two words stand side by side: a space, hyphen or slash between them."""
    return end - start <= 2 and not text[start:end].strip(" -/'’–\n")


def _match(
    entry: Entry,
    text: str,
    tokens: Sequence[tuple[str, int, int]],
    lower: Sequence[str],
    first: int,
) -> int | None:
    """Return the index after the last token of an entry that begins at `first`, else None."""
    if first < 0:
        return None
    at = first
    for element, optional in zip(entry.elements, entry.optional, strict=True):
        fits = (
            at < len(tokens)
            and (at == first or _near(text, tokens[at - 1][2], tokens[at][1]))
            and any(_says(word, tokens[at][0], lower[at]) for word in element)
        )
        if fits:
            at += 1
        elif not optional:
            return None
    return at


def _says(wanted: str, word: str, lower: str) -> bool:
    if wanted == "_":
        return word[0].isalpha()
    if wanted == "#":
        return lower[0].isdigit() or lower in NUMBER_WORDS
    if wanted.endswith("*"):
        stem = wanted[:-1]
        return word.startswith(stem) if stem[0].isupper() else lower.startswith(stem)
    if wanted != wanted.lower():
        return word.removesuffix("'s") == wanted or (len(word) > 3 and word == wanted.upper())
    return wanted in (lower, lower.removesuffix("'s"))


def read_lexicon(*names: str) -> Lexicon:
    """Return the entries of the named files, `person` for `lexicons/person.toml`."""
    return Lexicon(entry for name in names for row in rows(name) for entry in _entries(row))


def rows(name: str) -> tuple[Mapping[str, object], ...]:
    """Return the rows of one data file, as they are written."""
    return tables(name, "row")


@lru_cache(maxsize=32)
def tables(name: str, key: str) -> tuple[Mapping[str, object], ...]:
    """Return the tables of one key of a data file."""
    return tuple(_read(name)[key])


@lru_cache(maxsize=16)
def _read(name: str) -> Mapping[str, list[Mapping[str, object]]]:
    text = (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    found: dict[str, list[Mapping[str, object]]] = tomllib.loads(text)
    return found


def _entries(row: Mapping[str, object]) -> Iterator[Entry]:
    before = frozenset(str(row.get("unless_before", "")).lower().split())
    after = frozenset(str(row.get("unless_after", "")).lower().split())
    extra = {k: str(v) for k, v in row.items() if k in ("source", "preferred", "where")}
    phrases = row.get("phrases", ())
    assert isinstance(phrases, (list, tuple))  # noqa: S101 - our own files
    for text in (*str(row.get("words", "")).split(), *phrases):
        parts = text.split()
        elements = tuple(tuple(part.removesuffix("?").split("/")) for part in parts)
        yield Entry(
            str(row.get("kind", "")),
            elements,
            tuple(part.endswith("?") for part in parts),
            before,
            after,
            extra,
            next(i for i, e in enumerate(elements) if not {"#", "_"} >= set(e)),
            len(elements) == 1 and text == text.lower(),
        )
