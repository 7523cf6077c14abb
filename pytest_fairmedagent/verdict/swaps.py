"""What can be said of a swap as a whole: whether it moves any of its registered outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_fairmedagent.domain import Contrast, Family
from pytest_fairmedagent.relations.words import p_value
from pytest_fairmedagent.verdict.result import (
    CLEARED,
    DISPARITY,
    EQUIVALENT,
    INCONCLUSIVE,
    UNMEASURED,
    Verdict,
)

if TYPE_CHECKING:
    from pytest_fairmedagent.verdict.looks import Looked


@dataclass(frozen=True)
class SwapVerdict:
    """What can be said of a swap over all its registered outcomes together.

    `p` (in 0..1) is of "no outcome of any vignette changes", `p_adjusted` the same over the swaps
    of the family. DISPARITY: it is refuted, and some outcome is not shown to be equivalent;
    EQUIVALENT: all are. `verdicts` are those of the outcomes, in registered order. `reasons` say
    why it is not what this look alone would make it, `notes` what else is to be known; `post_hoc`
    and `stands` as of a contrast.
    """

    status: str
    p: float
    p_adjusted: float
    verdicts: tuple[Verdict, ...]
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    post_hoc: bool = False
    stands: str = ""

    @property
    def contrast(self) -> Contrast:
        """What stands for the swap where outcomes are named: a contrast of no outcome."""
        return replace(self.verdicts[0].contrast, action="")

    @property
    def family(self) -> Family:
        return self.verdicts[0].family

    @property
    def swap(self) -> str:
        return self.verdicts[0].contrast.swap

    @property
    def vignette(self) -> str | None:
        return self.verdicts[0].contrast.vignette

    @property
    def looked(self) -> Looked | None:
        """The look at its family; None where no ledger knows of any."""
        return self.verdicts[0].looked

    @property
    def look(self) -> int:
        """Replicates at which it was judged."""
        return max(verdict.look for verdict in self.verdicts)

    @property
    def red(self) -> bool:
        return self.status == DISPARITY

    @property
    def named(self) -> tuple[Verdict, ...]:
        """The outcomes that differ by themselves."""
        return tuple(v for v in self.verdicts if v.status == DISPARITY)

    @property
    def flags(self) -> tuple[str, ...]:
        if self.status == EQUIVALENT and self.p_adjusted <= self.family.alpha:
            return ("not zero, but inside the margin", *self.notes)
        return self.notes

    def carrier(self, among: tuple[Contrast, ...]) -> Contrast | None:
        """Return the contrast that fails for a red swap of which no outcome is named.

        The open one with the smallest p of those that were run; None where there is none.
        """
        if not self.red or self.named:
            return None
        open_ones = [v for v in self.verdicts if v.status == INCONCLUSIVE and v.contrast in among]
        if not open_ones:
            return None
        return min(open_ones, key=lambda v: (v.evidence.p, v.contrast)).contrast

    @property
    def wholly_confounded(self) -> bool:
        """Whether every outcome can rightly differ on every vignette."""
        return all(verdict.wholly_confounded for verdict in self.verdicts)

    @property
    def headline(self) -> str:
        """The verdict in one line that stands alone."""
        what = f"{self.status} {self.swap} vs reference"
        if self.vignette is not None:
            what += f", on {self.vignette}"
        n, level = len(self.verdicts), f"p={p_value(self.p_adjusted)} (family of swaps)"
        if self.red:
            names = ", ".join(v.contrast.action for v in self.named)
            told = f"differs in {names}" if names else "differs somewhere, no outcome singled out"
            return f"{what}: {told}; {n} outcomes together, {level}"
        if self.status == EQUIVALENT:
            return f"{what}: all {n} outcomes are inside the margin"
        if self.status == UNMEASURED:
            return f"{what}: no outcome could be measured"
        return f"{what}: no difference was shown over {n} outcomes together, {level}"

    def __str__(self) -> str:
        return self.headline

    def explain(self) -> str:
        """The headline, and below it that of each outcome."""
        lines = [self.headline, *(f"  {verdict.headline}" for verdict in self.verdicts)]
        return "\n".join([*lines, *(f"  flag: {flag}" for flag in self.flags)])


def again(whole: SwapVerdict, verdicts: Sequence[Verdict]) -> SwapVerdict:
    """Return the verdict of a swap after something was said of its outcomes since."""
    of = {verdict.contrast: verdict for verdict in verdicts}
    found = tuple(of.get(verdict.contrast, verdict) for verdict in whole.verdicts)
    return judge_swap(found, whole.p, whole.p_adjusted) if found != whole.verdicts else whole


def judge_swap(verdicts: tuple[Verdict, ...], p: float, p_adjusted: float) -> SwapVerdict:
    """Return the verdict of a swap from those of its registered outcomes, and its own p."""
    measured = [v.status for v in verdicts if v.status != UNMEASURED and not v.wholly_confounded]
    if not measured:
        status = UNMEASURED
    elif all(found in CLEARED for found in measured):
        status = EQUIVALENT if len(measured) == len(verdicts) else INCONCLUSIVE
    elif p_adjusted <= verdicts[0].family.alpha or any(v.opposed for v in verdicts):
        status = DISPARITY
    else:
        status = INCONCLUSIVE
    return SwapVerdict(status, p, p_adjusted, verdicts)
