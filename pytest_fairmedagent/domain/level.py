"""What the level of a family may be, for options, marks, plan files and commands alike."""

from __future__ import annotations

# Below, nothing that can be paid for is ever found, and normal tails lose their digits; from one
# half on, no test could be called one.
LEAST_LEVEL, MOST_LEVEL = 1e-12, 0.5

LEVELS = f"a number from {LEAST_LEVEL:g} up and below {MOST_LEVEL:g}, as in 0.05"


def is_level(number: float) -> bool:
    """Whether a number can be the level of a family; nan cannot."""
    return LEAST_LEVEL <= number < MOST_LEVEL
