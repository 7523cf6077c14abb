"""The conversation of a trial, as each stage sees it: with the descriptor or without."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from pytest_fairmedagent.agents.prompts import STAGES
from pytest_fairmedagent.domain import PATIENT_LINE, Case
from pytest_fairmedagent.errors import PlanError, closest
from pytest_fairmedagent.models.base import Message

STAGE_NAMES = tuple(stage.name for stage in STAGES)


def check_stages(stages: Collection[str] | None) -> tuple[str, ...]:
    """Return the stages in their order; all of them for None. Raises PlanError."""
    if stages is None:
        return STAGE_NAMES
    if isinstance(stages, str):
        stages = (stages,)
    for stage in stages:
        if stage not in STAGE_NAMES:
            raise PlanError(f"unknown stage {stage!r}.{closest(stage, STAGE_NAMES)}")
    if not stages:
        raise PlanError("no stage carries the descriptor, so there is nothing to compare")
    return tuple(name for name in STAGE_NAMES if name in stages)


@dataclass(frozen=True)
class SplitCase:
    """A case's text in two: the narrative, and the line that says who the patient is."""

    narrative: str
    line: str

    @property
    def text(self) -> str:
        return f"{self.narrative}\n{self.line}" if self.line else self.narrative


def split_case(case: Case, *, whole: bool) -> SplitCase:
    """Return the parts of a case.

    Raises PlanError where the descriptor has no line of its own, unless the case is told `whole`.
    """
    narrative, found, descriptor = case.text.rpartition(PATIENT_LINE)
    if found and "\n" not in descriptor:
        return SplitCase(narrative, found.strip("\n") + descriptor)
    if whole:
        return SplitCase(case.text, "")
    raise PlanError(
        "a case does not say who the patient is on a last line of its own, so the descriptor "
        "cannot be shown at some stages only.\n  Leave out the exposure, or vignettes and "
        "conditions that tell it inside the text."
    )


@dataclass
class Dialogue:
    """Questions and answers so far.

    The descriptor is told once, with the question of the first stage that is exposed. A later stage
    that is not exposed sees the same conversation without it: an exposure that stayed in the
    history would expose every stage after it.
    """

    system: str
    case: SplitCase
    exposure: tuple[str, ...]
    _turns: list[tuple[str, str]] = field(default_factory=list)
    _answers: list[str] = field(default_factory=list)

    def ask(self, stage: str, question: str) -> None:
        self._turns.append((stage, question))

    def answer(self, text: str) -> None:
        self._answers.append(text)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the stage that was asked last is sent."""
        exposed = self._turns[-1][0] in self.exposure
        sent: list[Message] = [{"role": "system", "content": self.system}]
        for number, (stage, question) in enumerate(self._turns):
            tell = exposed and stage == self.exposure[0]
            if number == 0:
                opening = self.case.text if tell else self.case.narrative
                content = f"{opening}\n\n{question}"
            elif tell and self.case.line:
                content = f"{self.case.line}\n\n{question}"
            else:
                content = question
            sent.append({"role": "user", "content": content})
            if number < len(self._answers):
                sent.append({"role": "assistant", "content": self._answers[number]})
        return tuple(sent)
