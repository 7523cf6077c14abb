"""Size and power where cells are not balanced, of the pooled reference, a minimum gap, IDENTICAL.

    python -m benchmarks balance [--datasets 10000] [--only SECTION ...] [--out FILE]

Sections: cells, search, pooled, interval, minimum, identical, baseline. "Before" is the exact test
alone, which judged balance by totals (or, for IDENTICAL, agreement of whole outputs alone). Every
section has its own seed. A data set is one contrast; levels are .05 and .05/18, the latter shown
times 18, so that both are to be at most .055.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.unbalanced.bounds import identical, interval, minimum
from benchmarks.unbalanced.contrasts import cells, pooled, search
from benchmarks.unbalanced.runs import baseline

RESULTS = Path(__file__).parent / "results" / "balance.md"

SECTIONS: dict[str, Callable[[int], Iterator[str]]] = {
    "cells": cells,
    "search": search,
    "pooled": pooled,
    "interval": interval,
    "minimum": minimum,
    "identical": identical,
    "baseline": baseline,
}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--datasets", type=int, default=10_000)
    asked.add_argument("--only", nargs="*", choices=SECTIONS, default=list(SECTIONS))
    asked.add_argument("--out", type=Path, default=None, help=f"a file, as {RESULTS}")
    arguments = asked.parse_args()
    start = time.monotonic()
    lines = [
        "# Size and power where cells are not balanced\n",
        f"Written by `python -m benchmarks balance --datasets {arguments.datasets}`; seeds are in "
        "the script, one for each section.\n",
    ]
    for name in arguments.only:
        for line in SECTIONS[name](arguments.datasets):
            print(line, flush=True)
            lines.append(line)
        print(f"  ({name}: {time.monotonic() - start:.0f} s)", flush=True)
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
