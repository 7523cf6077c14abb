"""What the guards find and what they cost: missing answers, stored copies, collapsed vignettes.

Writes `benchmarks/results/guards_truth.md`. `python -m benchmarks guards_truth 0.1 stored` runs a
tenth of the sets of one section, and prints without writing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.guards import collapse, copies, missing

OUT = Path(__file__).parent / "results" / "guards_truth.md"
FLOORS = (0.02, 0.087, 0.20)
FLIP = 0.08


def seeded(*cell: float) -> np.random.Generator:
    return np.random.default_rng([round(1000 * x) for x in cell])


def row(*cells: object) -> str:
    return "| " + " | ".join(f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells) + " |"


def head(*names: str) -> list[str]:
    return ["", row(*names), "|" + "---|" * len(names)]


def lost_yes(scale: float) -> Iterator[str]:
    n = round(150 * scale)
    yield f"## Missing answers: 17 % of one arm's yes answers to one action lost ({n} runs)"
    yield (
        "\n64 vignettes x 10, three swaps x six actions, no other effect; Holm at .05. Runs in "
        "which that contrast, or any, is red, with the guard of whole trajectories and that of "
        "each outcome, and in which the latter fires."
    )
    yield from head("floor", "its, before", "its, after", "any, before", "any, after", "fires")
    fields = ("lost_before", "lost_after", "red_before", "red_after", "missingness")
    for floor in FLOORS[:2]:
        found = []
        for index in range(n):
            rng = seeded(1, index, floor)
            drawn = missing.answers(rng, 64, 10, floor)
            missing.lose_yes(rng, drawn, 0.17)
            found.append(missing.judged(drawn))
        yield row(floor, *(sum(getattr(f, name) for f in found) for name in fields))


def lost_at_random(scale: float) -> Iterator[str]:
    n = round(150 * scale)
    yield f"\n## Missing answers at random ({n} runs a cell; at 16 x 10 a quarter)"
    yield "\nShare of runs, floor .087: the missingness guard fires; any guard fires; red."
    yield from head("V", "R", "lost", "share", "missingness", "any guard", "red")
    losses = {"single answers": missing.lose_answers, "trajectories": missing.lose_trajectories}
    for v, r in ((64, 2), (16, 10)):
        for name, lose in losses.items():
            for share in (0.02, 0.05):
                rng, found = seeded(2, v, r, len(name), share), []
                for _ in range(n if v == 64 else n // 4):
                    drawn = missing.answers(rng, v, r, 0.087)
                    lose(rng, drawn, share)
                    found.append(missing.judged(drawn))
                rates = [
                    float(np.mean([getattr(f, field) for f in found]))
                    for field in ("missingness", "any_guard", "red_after")
                ]
                yield row(v, r, name, share, *rates)


def stored(scale: float) -> Iterator[str]:
    n, n_honest = round(60 * scale), round(200 * scale)
    yield f"\n## Stored answers ({n} sets a cell; {n_honest} of honest agents; at 64 x 10 a third)"
    yield (
        "\nNo effect. `p <= .05`: the exact test of one action as it is; `once`: with vignettes of "
        "one output in each arm counted once. Found at .01 / 7: `between` reference and re-render, "
        "each with a store of its own; `fields` of the reference or the swap arm. `left`: red "
        "(`once`) and not found by either; `left, shared`: the same where the re-render is served "
        "what the reference stored, so that only `fields` can find it; `and shams`: that, and the "
        "sham guard passes too. Stored 0 is an honest agent: what is found there is a false alarm."
    )
    names = ("p <= .05", "once", "between", "fields", "left", "left, shared", "and shams")
    yield from head("agent", "floor", "latent", "V", "R", "stored", *names)
    for v, r in ((16, 2), (16, 10), (64, 2), (64, 10)):
        for kind in copies.KINDS:
            for floor in FLOORS if kind == "actions" else (0.087,):
                for latent, correlation in copies.LATENT.items():
                    if kind != "actions" and correlation == 0.3:
                        continue
                    if correlation and (kind == "low temperature" or v * r == 640):
                        continue
                    for pool in (0, 2) if r == 2 or v == 64 else (0, 2, 3, 5):
                        agent = copies.Agent(kind, floor, correlation)
                        rng = seeded(3, v, r, len(kind), floor, correlation, pool)
                        times = (n if pool else n_honest) // (3 if v * r == 640 else 1)
                        sets = [
                            copies.one(rng, agent, v, r, pool, shared=False) for _ in range(times)
                        ]
                        yield row(kind, floor, latent, v, r, pool, *_stored_rates(sets))


def _stored_rates(sets: list[copies.Found]) -> list[float]:
    red = np.array([f.collapsed_red for f in sets])
    between, fields = (np.array([getattr(f, a) for f in sets]) for a in ("between", "fields"))
    passes = np.array([f.sham_passes for f in sets])
    columns = (
        np.array([f.red for f in sets]),
        red,
        between,
        fields,
        red & ~between & ~fields,
        red & ~fields,
        red & ~fields & passes,
    )
    return [float(column.mean()) for column in columns]


def collapsed_size(scale: float) -> Iterator[str]:
    n = round(2000 * scale)
    yield f"\n## Vignettes that collapse: noisy ones among deterministic ones ({n} sets a cell)"
    yield (
        f"\nShare of sets with p <= .05 and no effect. Every string flips {FLIP:.0%} of vignettes "
        "for good; in noisy ones the action is a coin. `all`: all collapse or none (before); `2`, "
        "`3`: each vignette by itself from so many draws; `pooled`: with the draws of a re-render "
        "that flips too, where each arm repeats its own output (`blocks`) or all draws are one."
    )
    names = ("all", "2", "3", "pooled, blocks", "pooled, one", "all + shams", "2 + shams")
    yield from head("V", "noisy", "R", "text", *names)
    for v in (16, 64):
        for noisy in (0, 1, 2, 5):
            for r in (2, 10):
                for text in (True, False):
                    rng, counts = seeded(4, v, noisy, r, text), np.zeros(7)
                    for _ in range(n):
                        counts += _nearly_deterministic(rng, v, noisy, r, text)
                    yield row(v, noisy, r, "yes" if text else "no", *(counts / n).tolist())


def _nearly_deterministic(
    rng: np.random.Generator, v: int, noisy: int, r: int, text: bool
) -> collapse.Floats:
    arms = collapse.nearly_deterministic(rng, v, noisy, r, 5, flip=FLIP, text=text)
    reference, swap, rerender, *shams = arms
    p = [
        collapse.p_old(swap, reference),
        collapse.p_new(swap, reference, None, 2, blocks=True),
        collapse.p_new(swap, reference, None, 3, blocks=True),
        collapse.p_new(swap, reference, rerender, 2, blocks=True),
        collapse.p_new(swap, reference, rerender, 2, blocks=False),
    ]
    red = np.array(p) <= 0.05
    beyond = bool(red[:2].any()) and collapse.passes(swap, reference, shams)
    return np.array([*red, red[0] and beyond, red[1] and beyond], dtype=float)


def collapsed_cost(scale: float) -> Iterator[str]:
    n = round(200 * scale)
    yield f"\n## What collapsing costs honest agents ({n} sets a cell; 5 times as many at gap 0)"
    yield (
        "\n64 vignettes, independent actions that are all of the output, one is shifted. Share "
        "with p <= .05 (gap 0) or <= .05 / 18 (others): no collapsing, from 2 draws, from 3; and "
        "with the draws of a re-render pooled into the reference. `skewed`: mean rate .85."
    )
    names = ("none", "2", "3", "pooled: none", "pooled: 2", "collapsed")
    yield from head("actions", "law", "floor", "R", "gap", *names)
    for size in (1, 6):
        for r, floors in ((2, FLOORS), (3, FLOORS[:2]), (10, FLOORS[1:2])):
            for floor in floors:
                for gap in (0.0, 0.05, 0.10, 0.15):
                    yield _cost_row(size, "symmetric", floor, r, gap, n * (1 if gap else 5))
                yield _cost_row(size, "skewed", floor, r, 0.0, n * 5)


def _cost_row(size: int, law: str, floor: float, r: int, gap: float, n: int) -> str:
    rng = seeded(5, size, r, floor, gap, len(law))
    shift, level = collapse.shift_of(gap, floor), 0.05 / 18 if gap else 0.05
    counts, share = np.zeros(5), 0.0
    never = collapse.NEVER
    rules = ((False, never), (False, 2), (False, 3), (True, never), (True, 2))
    for _ in range(n):
        if law == "symmetric":
            p = collapse.rates(rng, (64, size), floor)
        else:
            p = rng.beta(6.8 * floor, 1.2 * floor, (64, size))
        reference, rerender = (collapse.stochastic(rng, p, r, 0.0) for _ in range(2))
        swap = collapse.stochastic(rng, p, r, shift)
        share += float((swap.repeats & reference.repeats).mean()) / n
        found = [
            collapse.p_new(swap, reference, rerender if pooled else None, least, blocks=True)
            for pooled, least in rules
        ]
        counts += np.array(found) <= level
    return row(size, law, floor, r, gap, *(counts / n).tolist(), share)


SECTIONS = (lost_yes, lost_at_random, collapsed_size, collapsed_cost, stored)


def main() -> None:
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    chosen = [s for s in SECTIONS if s.__name__ in sys.argv[2:] or len(sys.argv) < 3]
    start = time.process_time()
    lines = [
        "# What the guards find, and what they cost",
        "",
        "Written by `python -m benchmarks guards_truth`; every cell has a seed of its own.",
        "",
    ]
    for section in chosen:
        for line in section(scale):
            print(line, flush=True)
            lines.append(line)
    if scale == 1 and chosen == list(SECTIONS):
        OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        print(f"\n{time.process_time() - start:.0f} s of processor time")
