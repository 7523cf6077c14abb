"""Numbers in sentences, alike wherever they stand."""

from __future__ import annotations


def number(value: float) -> str:
    """Return a rate with three digits, or "unmeasured" for nan."""
    return f"{value:.3f}" if value == value else "unmeasured"


def amount(value: float, unit: str = "") -> str:
    """Return a number in its own units, with three significant digits; "unmeasured" for nan."""
    if value != value:
        return "unmeasured"
    return f"{value:.3g} {unit}".rstrip()


def p_value(p: float) -> str:
    """Return a p-value with one significant digit more than its size needs."""
    return "1" if p >= 0.9995 else f"{p:.4f}" if p >= 0.00095 else f"{p:.1e}"
