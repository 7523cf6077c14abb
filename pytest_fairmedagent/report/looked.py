"""What a record says of its looks: how often these draws were judged, and how often drawn anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

Record = Mapping[str, Any]

MOST_REPLICATES = 100_000  # that an option may ask for

_TOLD = 6  # starts that are told one by one
_WORDS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def looked_lines(run: Record) -> list[str]:
    """Return what is to be known of the looks of a run, a sentence each; none where all is plain.

    Names of families in them are as they were registered.
    """
    ledger = run.get("ledger")
    if ledger is None:  # a record of before there was one
        return []
    if not ledger["known"]:
        return [
            "what was judged before on these draws is not known: there is no ledger beside a "
            "recording"
        ]
    lines = [_look(looked) for looked in ledger["families"] if looked["number"] > 1]
    lines += _stands(ledger["stands"]) + _post_hoc(ledger["post_hoc"])
    started = starts_line(run.get("starts") or ())
    return [*lines, started] if started else lines


def _look(looked: Record) -> str:
    before = ", ".join(map(str, looked["before"]))
    replicates = f" (before at R = {before})" if before else ""
    return (
        f"{nth(looked['number'])} look at {looked['family']}{replicates}: judged at "
        f"{looked['level']:.4g}; its looks so far err in at most {looked['bound']:.4g}, and all "
        f"that may follow in at most {2 * looked['alpha']:.4g}"
    )


def _stands(stands: Sequence[Any]) -> list[str]:
    if not stands:
        return []
    names = [
        f"{stood['contrast']['action'] or 'as a whole'}, {stood['contrast']['swap']} "
        f"(R = {stood['replicates']})"
        for stood in stands
    ]
    more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return [f"a DISPARITY that was given stands: {'; '.join(names[:_TOLD])}{more}"]


def _post_hoc(late: Sequence[Any]) -> list[str]:
    n = sum(bool(found["contrast"]["action"]) for found in late)
    if not n:
        return []
    what = "contrast was" if n == 1 else "contrasts were"
    return [f"{n} {what} registered after these draws had been judged: post hoc, so nothing gates"]


def starts_line(starts: Sequence[Any]) -> str:
    """Return how often a design was begun on fresh draws, and with what; "" for the first time.

    Of what is tested now: another model or agent is no second try of this one.
    """
    before = [start for start in starts if start["same"] and not start["this"]]
    if not before:
        return ""
    since = datetime.fromtimestamp(min(start["created"] for start in before), timezone.utc)
    outcomes = [start["outcome"] or "not judged" for start in before]
    told = ", ".join([*outcomes, "this one"])
    if len(before) > _TOLD:
        counts = Counter(outcomes)
        told = ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items())) + ", this one"
    return (
        f"{nth(len(before) + 1)} fresh start of this design since {since.day} {since:%B %Y}: {told}"
    )


def goes_on(run: Record) -> str:
    """Return which command draws what is left of a run."""
    same = "the same command"
    # Asked to draw anew, it would begin once more and leave what is drawn behind.
    return f"{same} without --fairmed-fresh" if run.get("fresh") else same


def more_draws(run: Record, replicates: int, *, post_hoc: bool) -> str:
    """Return the options that add replicates to a run, such that they are not refused.

    "" where none can: a recording is never completed.
    """
    if (run["id"] is None and run["created"] is None) or replicates > MOST_REPLICATES:
        return ""
    fresh = post_hoc or run.get("only_fresh") or run.get("fresh")
    option = f"--fairmed-replicates={replicates}{' --fairmed-fresh' if fresh else ''}"
    return f"{option} without --fairmed-offline" if run.get("offline") else option


def nth(n: int) -> str:
    """Return an ordinal number, in a word up to nine."""
    if n < len(_WORDS):
        return _WORDS[n]
    last = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{last}"


def bound_of(run: Record, family: str, alpha: float) -> float:
    """Return the bound of a family's error over its looks so far; `alpha` where none is known."""
    found = (run.get("ledger") or {}).get("families") or ()
    return next((float(looked["bound"]) for looked in found if looked["family"] == family), alpha)
