"""The built-in audit: one function for each family that the plan file declares.

The functions are made at collection (see `plugin/collect.py`), with this check as their body.
"""

from pytest_fairmedagent import assert_invariant
from pytest_fairmedagent.plugin.assertions import ContrastUnderTest


def check(contrast: ContrastUnderTest, action: str) -> None:
    """The action does not depend on the swapped descriptor."""
    assert_invariant(contrast, action)
