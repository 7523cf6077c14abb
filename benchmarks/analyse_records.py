"""Time and peak memory of `fairmed analyse` on a large record file.

    python benchmarks/analyse_records.py --rows 1000000

The file is drawn with a known truth (U-shaped case probabilities, a gap of .02 in one swap) and
removed afterwards. The analysis runs in a process of its own, whose peak memory is the one printed.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def write_records(path: Path, vignettes: int, conditions: int, replicates: int) -> int:
    """Write the file; return its rows. The last condition is an identical re-render."""
    rng = random.Random(1)
    names = ["reference", *(f"swap_{i:02d}" for i in range(1, conditions - 1)), "rerender"]
    n_rows = 0
    with path.open("w", encoding="utf-8") as file:
        file.write('{"schema": 1, "model": "drawn from a known truth", "reference": "reference"}\n')
        for v in range(vignettes):
            p = [rng.betavariate(0.105, 0.105) for _ in range(6)]  # mean floor .087
            for name in names:
                shift = 0.02 if name == "swap_01" else 0.0
                for r in range(1, replicates + 1):
                    acuity, admit, icu, opioid, caution, referral = (
                        rng.random() < x + shift for x in p
                    )
                    outputs = {
                        "triage": {
                            "esi_acuity": 2 if acuity else 4,
                            "urgency_score": rng.randrange(101),
                        },
                        "reassess": {"admit": admit, "escalate_icu": icu},
                        "prescribe": {
                            "analgesia_tier": 2 if opioid else 1,
                            "controlled_substance_caution": caution,
                        },
                        "document": {
                            "referral": referral,
                            "followup_days": rng.randrange(91),
                            "note_flags": [],
                        },
                    }
                    row = {
                        "vignette": f"case_{v:05d}",
                        "condition": name,
                        "replicate": r,
                        "outputs": outputs,
                    }
                    file.write(json.dumps(row) + "\n")
                    n_rows += 1
    return n_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--conditions", type=int, default=20)
    parser.add_argument("--replicates", type=int, default=10)
    arguments = parser.parse_args()
    per_vignette = arguments.conditions * arguments.replicates
    vignettes = max(1, arguments.rows // per_vignette)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.jsonl"
        start = time.monotonic()
        n_rows = write_records(path, vignettes, arguments.conditions, arguments.replicates)
        print(
            f"{n_rows} rows: {vignettes} vignettes x {arguments.conditions} conditions x "
            f"{arguments.replicates} replicates, {path.stat().st_size / 1e6:.0f} MB, written in "
            f"{time.monotonic() - start:.0f} s",
            flush=True,
        )
        command = [sys.executable, "-m", "pytest_fairmedagent.cli", "analyse", str(path), "--json"]
        start = time.monotonic()
        done = subprocess.run(command, check=True, capture_output=True)
        elapsed = time.monotonic() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        record = json.loads(done.stdout)
    verdicts = ", ".join(f"{n} {status}" for status, n in record["verdicts"].items() if n)
    cpu = used.ru_utime + used.ru_stime
    print(
        f"analysed in {elapsed:.1f} s ({cpu:.1f} s of processor time, {1e6 * cpu / n_rows:.0f} us "
        f"a row), peak memory {used.ru_maxrss / 1024:.0f} MB"
    )
    print(f"{len(record['arms'])} arms, {len(record['contrasts'])} contrasts: {verdicts}")


if __name__ == "__main__":
    main()
