"""Values of arguments, read and refused alike by all commands."""

from __future__ import annotations

import argparse

from pytest_fairmedagent.domain.level import LEVELS, is_level


def level(text: str) -> float:
    """Return a number that can be the level of a test."""
    number = share(text)
    if not is_level(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not {LEVELS}")
    return number


def share(text: str) -> float:
    """Return a number above 0 and below 1."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 and below 1")
    return number


def seed(text: str) -> int:
    """Return a whole number from 0."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def run_number(text: str) -> int:
    """Return the number of a run of a store, from 1."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of a run: expected 1, 2, ...")
    return int(text)


def count(text: str) -> int:
    """Return a whole number from 1."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def amount(text: str) -> float:
    """Return a number above 0."""
    try:
        number = float(text.removeprefix("$"))
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number
