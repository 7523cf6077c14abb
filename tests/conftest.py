"""Loads what the plugin loads lazily: `pytester` forgets modules that an inner run loads first, and
compiled ones cannot be loaded twice in a process."""

import os

import numpy  # noqa: F401
import pydantic  # noqa: F401
import scipy.special
import scipy.stats  # noqa: F401

# Inner runs write no summary on the page of the job that tests this project.
os.environ.pop("GITHUB_STEP_SUMMARY", None)
