"""Numbers of a record as people read them: three digits, a sign where a direction is meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NONE = "–"


def signed(value: float | None) -> str:
    """Return a signed gap with two digits."""
    return NONE if value is None else _minus(f"{value:+.2f}")


def measured(value: float | None, unit: str = "rate") -> str:
    """Return a gap with three digits in its unit; one of rates as a signed gap."""
    if value is None or unit == "rate":
        return signed(value)
    return f"{_minus(f'{value:+.3g}')} {unit}"


def ends(interval: Sequence[float | None] | None, form: str = "+.2f") -> str:
    """Return an interval in brackets."""
    if interval is None or interval[0] is None or interval[1] is None:
        return NONE
    low, high = interval
    return f"[{_minus(f'{low:{form}}')}, {_minus(f'{high:{form}}')}]"


def rate(value: float | None) -> str:
    """Return a rate in 0..1 with three digits."""
    return NONE if value is None else f"{value:.3f}"


def amount(value: float | None) -> str:
    """Return an expected count, which need not be whole."""
    return NONE if value is None else f"{value:.3g}"


def chance(p: float | None) -> str:
    """Return a p-value or q-value."""
    if p is None:
        return NONE
    return "1" if p >= 0.9995 else f"{p:.4f}" if p >= 0.00095 else f"{p:.1e}".replace("-", "−")


def registered(entry: Mapping[str, Any]) -> str:
    """Return in which direction a difference can be right, and what the test against it says."""
    direction, found = entry.get("direction", "either"), entry.get("opposite")
    if found is None:
        return f"right to be {direction}"
    told = found["reason"] or f"p={chance(found['p_adjusted'])}"
    return f"right to be {direction}, {'GOES' if entry['opposed'] else 'tested'} against it: {told}"


def whole(n: float) -> str:
    """Return a count with its thousands set apart."""
    return f"{n:,.0f}"


def _minus(text: str) -> str:
    """Return a number with a minus sign that is as wide as a plus, and none before a zero."""
    return text.replace("-", "−" if text.strip("-0.") else "+")
