"""Loads what the plugin loads lazily: `pytester` forgets modules that an inner run loads first, and
compiled ones cannot be loaded twice in a process."""

import numpy  # noqa: F401
import pydantic  # noqa: F401
import scipy.special
import scipy.stats  # noqa: F401
