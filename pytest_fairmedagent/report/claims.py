"""What EQUIVALENT claims: of all contrasts together, or of each by itself."""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]


def claim_of_equivalence(shown: int, judged: int, alphas: set[float]) -> str:
    """Return what the number of contrasts that were shown equivalent may claim; "" for none.

    That all are inside their margins is one claim, whose error is the largest alpha however many
    there are. A list of some of them has no such bound: each may be wrong with chance alpha.
    """
    if not shown or judged < 2:
        return ""
    alpha = max(alphas)
    if shown == judged:
        return (
            f"That all {judged} are inside their margins is one claim: where one is not, it is "
            f"made with chance at most {alpha:g}."
        )
    return (
        f"Each of the {shown} is a claim by itself at {alpha:g}; nothing bounds the chance that "
        "one of several is wrong."
    )


def sized_line(run: Record) -> str:
    """Return how a run's replicates were settled by its first leg; "" where they were not."""
    sized = run.get("sized")
    if not sized:
        return ""
    floors = ", ".join(f"{action} {floor:.3f}" for action, floor in sized["floors"].items())
    chosen = sized["replicates"]
    what = (
        f"{chosen} replicates (at most {sized['cap']}): chance to certify all {sized['contrasts']} "
        f"if nothing differs {sized['chance']:.2f}"
        if chosen is not None
        else f"no number up to {sized['cap']} certifies all {sized['contrasts']}"
    )
    return (
        f"after {sized['first_leg']} of every arm, floors of all arms as one: {floors}; so {what}"
    )
