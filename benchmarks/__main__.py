"""Runs one benchmark, or `all` of them: `python -m benchmarks NAME [ARGUMENTS]`."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main() -> int:
    names = sorted(
        m.name
        for m in pkgutil.iter_modules(benchmarks.__path__)
        if m.name != "__main__" and not m.ispkg
    )
    chosen = sys.argv[1] if len(sys.argv) > 1 else ""
    if chosen not in [*names, "all"]:
        print("usage: python -m benchmarks NAME [ARGUMENTS], or 'all'. NAME is one of:")
        for name in names:
            text = importlib.import_module(f"benchmarks.{name}").__doc__ or ""
            print(f"  {name:<20} {text.strip().splitlines()[0]}")
        return 2
    for name in names if chosen == "all" else [chosen]:
        print(f"== {name}")
        sys.argv = [name, *sys.argv[2:]]
        importlib.import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
