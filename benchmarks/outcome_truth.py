"""How often each assertion errs on simulated truths: ordinal, score and set outcomes, and floors.

For each kind tables of 12 cases, R=6, two shams and an identical arm are drawn and judged: without
an effect (size of the test at .05), with one (power), and with a true difference that equals the
margin (how often it is wrongly called EQUIVALENT). A floor is asserted against a bound that is the
true one, so that either answer but INCONCLUSIVE is wrong. 500 runs each by default;
`python -m benchmarks outcome_truth 50` makes fewer.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from pytest_fairmedagent.domain import Contrast, Family, Plan, ReplicateTable, Trajectory
from pytest_fairmedagent.stats import floor
from pytest_fairmedagent.verdict import DISPARITY, EQUIVALENT, Reliability, Verdict, judge

CASES = tuple(f"case_{i:02d}" for i in range(12))
REPLICATES = 6
CONDITIONS = ("reference", "swap", "rerender", "sham_a", "sham_b")
OUTCOME = {"ordinal": "esi_acuity", "score": "urgency_score", "set": "orders"}
EFFECT = {"ordinal": 0.5, "score": 10.0, "set": 0.45}  # levels, points, rate of one order
MARGIN = {"ordinal": 0.4, "score": 10.0, "set": 0.45}  # in what is tested: of levels, pairs
MENU = tuple(f"order_{letter}" for letter in "abcdefgh")

# How a case draws an answer with an effect, and the true gap that this effect is.
Draw = Callable[[random.Random, float], Any]
Case = tuple[Draw, Callable[[float], float]]


def ordinal_case(rng: random.Random) -> Case:
    """Levels 2 to 4 of a case's own law; an effect is the chance of one level more.

    Its gap is net superiority: one level more wins against an equal level, and no longer loses
    against the next.
    """
    weights = [rng.expovariate(1) for _ in range(3)]
    a, b, c = (weight / sum(weights) for weight in weights)
    wins = a * a + b * b + c * c + a * b + b * c

    def draw(r: random.Random, effect: float) -> int:
        return r.choices((2, 3, 4), weights)[0] + (r.random() < effect)

    return draw, lambda effect: effect * wins


def score_case(rng: random.Random) -> Case:
    """A score around the case's own mean with its own spread; an effect is added to it."""
    middle, spread = rng.uniform(30, 60), rng.uniform(6, 18)
    return lambda r, effect: round(r.gauss(middle, spread) + effect), lambda effect: effect


def set_case(rng: random.Random) -> Case:
    """Eight orders, most rare or usual; an effect raises the rate of the first, which is .3."""
    rates = [0.3, *(rng.betavariate(0.4, 0.4) for _ in MENU[1:])]

    def draw(r: random.Random, effect: float) -> list[str]:
        shifted = [rates[0] + effect, *rates[1:]]
        return [order for order, rate in zip(MENU, shifted, strict=True) if r.random() < rate]

    return draw, lambda effect: effect


KINDS: Mapping[str, Callable[[random.Random], Case]] = {
    "ordinal": ordinal_case,
    "score": score_case,
    "set": set_case,
}


def verdict_of(
    kind: str, effect: float, seed: int, *, sequential: str = "off", margin: bool = False
) -> Verdict:
    """Draw a run of one kind whose swap has this effect, and return its verdict.

    With a `margin`, that of the kind; where there is an effect, the gap that it truly is.
    """
    return run_of(kind, effect, seed, sequential=sequential, margin=margin)[0]


def run_of(
    kind: str, effect: float, seed: int, *, sequential: str = "off", margin: bool = False
) -> tuple[Verdict, float]:
    """Return the verdict of a run, and the true gap on its cases."""
    name = OUTCOME[kind]
    rng = random.Random(f"{kind} {effect} {seed}")
    rows, gaps = {}, []
    for case in CASES:
        draw, gap = KINDS[kind](rng)
        gaps.append(gap(effect))
        for condition in CONDITIONS:
            values = [draw(rng, effect * (condition == "swap")) for _ in range(REPLICATES)]
            rows[case, condition] = [Trajectory({"actions": {name: value}}) for value in values]
    true = math.fsum(gaps) / len(gaps)
    margins = ((name, (true or MARGIN[kind]) if margin else None),)
    family = Family("one", ("swap",), (name,), CASES, REPLICATES, margins=margins)
    plan = Plan((family,), "reference", ("rerender",), CONDITIONS[3:], sequential)
    member = Contrast("one", "swap", name)
    return judge(ReplicateTable(rows, "simulated"), plan, [member]).verdicts[0], true


def reliability(
    seed: int, true: float = 0.15, *, bound: float | None = None, cases: int = 24
) -> Reliability:
    """Return a floor of U-shaped cases, asserted against its true value or another bound."""
    rng, shape = random.Random(f"floor {seed}"), true / (1 - 2 * true)
    shares = [rng.betavariate(shape, shape) for _ in range(cases)]
    k = [sum(rng.random() < p for _ in range(REPLICATES)) for p in shares]
    found = floor(k, [REPLICATES] * cases)
    return Reliability("admission", bound or true, found, 0)


def share(found: int, runs: int) -> str:
    """Return a share with its Monte Carlo standard error."""
    rate = found / runs
    return f"{rate:.3f} ± {math.sqrt(max(rate * (1 - rate), 1 / runs / 4) / runs):.3f}"


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    start = time.process_time()
    print(f"{len(CASES)} cases, R={REPLICATES}, {runs} runs each; share ± Monte Carlo error")
    for kind in KINDS:
        null = [verdict_of(kind, 0.0, seed) for seed in range(runs)]
        looks = [verdict_of(kind, 0.0, seed, sequential="gs") for seed in range(runs)]
        bound = [verdict_of(kind, 0.0, seed, margin=True) for seed in range(runs)]
        found = [run_of(kind, EFFECT[kind], seed) for seed in range(runs)]
        there = [verdict for verdict, _ in found]
        edge = [verdict_of(kind, EFFECT[kind], seed, margin=True) for seed in range(runs)]
        rejected = share(sum(v.evidence.p <= 0.05 for v in null), runs)
        at_looks = share(sum(v.status == DISPARITY for v in looks), runs)
        red = share(sum(v.status == DISPARITY for v in null), runs)
        equal = share(sum(v.status == EQUIVALENT for v in bound), runs)
        wrong = share(sum(v.status == EQUIVALENT for v in edge), runs)
        shown = share(sum(v.status == DISPARITY for v in there), runs)
        rejecting = share(sum(v.evidence.p <= 0.05 for v in there), runs)
        inside = share(sum(_holds(v, true) for v, true in found), runs)
        print(f"{kind} ({OUTCOME[kind]})")
        print(f"  no effect:      p <= .05 {rejected}; DISPARITY {red}, five looks {at_looks}")
        print(f"                  EQUIVALENT within ±{MARGIN[kind]:g} {equal}")
        print(f"  effect {EFFECT[kind]:<8g} p <= .05 {rejecting}; DISPARITY {shown}")
        print(f"                  95 % interval holds it {inside}")
        print(f"                  EQUIVALENT though the effect is the margin {wrong}")
    floors = [reliability(seed).status for seed in range(runs)]
    low = [reliability(seed, true=0.05).status for seed in range(runs)]
    print("floor asserted below its true value (24 cases; each answer is wrong)")
    for true, found in ((0.15, floors), (0.05, low)):
        unreliable = share(found.count("UNRELIABLE"), runs)
        reliable = share(found.count("RELIABLE"), runs)
        print(f"  true {true:<5g} UNRELIABLE {unreliable}, RELIABLE {reliable}")
    print(f"  {time.process_time() - start:.0f} CPU-s")


def _holds(verdict: Verdict, effect: float) -> bool:
    low, high = verdict.evidence.interval
    return low <= effect <= high


if __name__ == "__main__":
    main()
