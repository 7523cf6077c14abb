"""What a rule is, and what it finds."""

from __future__ import annotations

from dataclasses import dataclass

ERROR, WARNING = "error", "warning"

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Rule:
    """One promise that case files keep.

    What breaks an `error` makes a comparison of two arms say something else than it seems to, so a
    run does not start. A `warning` is bad workmanship that a run survives.
    """

    id: str
    severity: str
    says: str


@dataclass(frozen=True)
class Hit:
    """A place where a rule is broken, before file and line are looked up.

    `place` is the path of keys in the file, `offset` the distance in characters from the start of
    the text there. `message` says what stands there and what was expected, `advice` what to do.
    """

    rule: str
    place: Place
    message: str
    advice: str
    offset: int = 0
    severity: str = ""  # "" for that of the rule
    case: str = ""  # id of the vignette; "" for what concerns a catalogue


@dataclass(frozen=True)
class Finding:
    """A broken rule with its file and line, as it is shown."""

    rule: str
    severity: str
    file: str
    line: int
    message: str
    advice: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule} {self.message}. {self.advice}."

    def as_dict(self) -> dict[str, object]:
        return {
            "rule": self.rule,
            "severity": self.severity,
            "file": self.file,
            "line": self.line,
            "message": self.message,
            "advice": self.advice,
        }
