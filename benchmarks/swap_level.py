"""Size and power of the swap-level rule, beside Holm over all contrasts and the old sham guard.

    python -m benchmarks swap_level [--sets 5000] [--power-sets 4000] [--sham-sets 2000]
                                    [--sections null,partial,power,shams,quiet,package] [--out FILE]

Three swaps of six actions share one reference arm; latent correlation .3 between the actions of a
trajectory and between their rates over vignettes; U-shaped (Beta) rates with the floor given;
nominal family-wise level .05. Every cell has its own seed, made of its numbers.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.swaps.rules import (
    Bools,
    Omnibus,
    Shams,
    decided,
    holm_of_all,
    masks,
    standardised,
    step_down,
    with_swap,
)
from benchmarks.swaps.sets import ACTIONS, SWAPS, VARYING, Plan, Sets, draw
from pytest_fairmedagent import stats

ZERO = (0.0,) * ACTIONS
FLOORS = {".02": (0.02,) * ACTIONS, ".087": (0.087,) * ACTIONS, ".20": (0.2,) * ACTIONS}
FLOORS[".022 to .179"] = VARYING
CHUNK = 125
Rules = dict[str, Bools]


def one(gap: float, action: int = 0) -> tuple[float, ...]:
    return tuple(gap if a == action else 0.0 for a in range(ACTIONS))


def simulate(plan: Plan, n_sets: int, rules: Callable[[Sets, np.random.Generator], Rules]) -> Rules:
    """Decisions `(sets, swaps, 1 + actions)` of every rule."""
    rng = np.random.default_rng([plan.seed, plan.vignettes, plan.replicates, plan.n_reference])
    found: dict[str, list[Bools]] = {}
    for _ in range(math.ceil(n_sets / CHUNK)):
        for name, hit in rules(draw(plan, CHUNK, rng), rng).items():
            found.setdefault(name, []).append(hit)
    return {name: np.concatenate(hits) for name, hits in found.items()}


def shape(drawn: Sets) -> tuple[int, int, int]:
    return drawn.swaps.shape[2], drawn.swaps.shape[3], drawn.reference.shape[2]


def adopted(drawn: Sets, rng: np.random.Generator, n: int = 299) -> Rules:
    z, _ = standardised(drawn, masks(n, *shape(drawn), rng))
    size = np.abs(z).reshape(-1, ACTIONS, n + 1)
    seen = size[..., 0].astype(np.float64)
    steps = step_down(size, seen).reshape(-1, SWAPS, ACTIONS)
    return {"adopted": decided(Omnibus(size).harmonic(seen).reshape(-1, SWAPS), steps)}


def combinations(drawn: Sets, rng: np.random.Generator, n: int = 1199) -> Rules:
    z, _ = standardised(drawn, masks(n, *shape(drawn), rng))
    size = np.abs(z).reshape(-1, ACTIONS, n + 1)
    seen = size[..., 0].astype(np.float64)
    steps = step_down(size, seen).reshape(-1, SWAPS, ACTIONS)
    omnibus = Omnibus(size)
    p_largest, p_squares = omnibus.parts(seen)
    gates = {
        "max-T, no gate": p_largest,
        "gate: sum of squares": p_squares,
        "gate: min(p1, p2)": omnibus.smaller(seen),
        "gate: min(p1, 2 p2)": omnibus.smaller(seen, 2.0),
        "gate: 1/p1 + 1/p2": omnibus.harmonic(seen, 1.0),
        "gate: 2/p1 + 1/p2 (adopted)": omnibus.harmonic(seen),
        "gate: 3/p1 + 1/p2": omnibus.harmonic(seen, 3.0),
    }
    found = {name: decided(p.reshape(-1, SWAPS), steps) for name, p in gates.items()}
    return {"Holm over 18 (before)": holm_of_all(drawn), **found}


def with_shams(drawn: Sets, rng: np.random.Generator, n: int = 599) -> Rules:
    z, variance = standardised(drawn, masks(n, *shape(drawn), rng))
    size = np.abs(z).reshape(-1, ACTIONS, n + 1)
    omnibus, observed = Omnibus(size), z[..., 0].astype(np.float64)
    shams = Shams(drawn, observed, variance)
    guard = shams.guard()

    def judged(seen: np.ndarray) -> Bools:
        flat = np.round(seen.reshape(-1, ACTIONS), 4)
        steps = step_down(size, flat).reshape(-1, SWAPS, ACTIONS)
        return decided(omnibus.harmonic(flat).reshape(-1, SWAPS), steps)

    plain, inside = judged(np.abs(observed)), shams.shrunk()
    few = CHUNK if drawn.swaps.shape[3] < 5 else CHUNK // 4  # convolutions of many laws are slow
    before = holm_of_all(Sets(drawn.swaps[:few], drawn.reference[:few], drawn.shams[:few]))
    guarded = plain & np.concatenate((guard.any(axis=2, keepdims=True), guard), axis=2)
    return {
        "Holm over 18, guard after (before)": with_swap(before[..., 1:] & guard[:few]),
        "swap level, no shams": plain,
        "swap level, guard after": guarded,
        "all noise above 0 counts": judged(shams.shrunk(0.0, 1e9)),
        "noise of all actions from .75 se": judged(shams.shrunk(0.75, 1e9)),
        "and of one from 1.5 se (adopted)": judged(inside),
        "adopted, and same sign": judged(np.where(shams.same_sign, inside, 0.0)),
    }


def with_shift(drawn: Sets, rng: np.random.Generator, n: int = 299) -> Rules:
    """The rule adopted, and with the swap against the shams where those together differ."""

    def tested(arms: np.ndarray, base: np.ndarray) -> tuple[np.ndarray, ...]:
        sets = Sets(arms, base, drawn.shams)
        z, variance = standardised(sets, masks(n, *shape(sets), rng))
        return np.abs(z).reshape(-1, ACTIONS, n + 1), z[..., 0].astype(np.float64), variance

    def p_of(size: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        flat, n_swaps = np.round(np.abs(seen).reshape(-1, ACTIONS), 4), seen.shape[1]
        steps = step_down(size, flat).reshape(-1, n_swaps, ACTIONS)
        return Omnibus(size).harmonic(flat).reshape(-1, n_swaps), steps

    size, seen, variance = tested(drawn.swaps, drawn.reference)
    p, steps = p_of(size, Shams(drawn, seen, variance).shrunk())
    pooled = np.concatenate(list(drawn.shams.swapaxes(0, 1)), axis=2)
    shift = p_of(*tested(pooled[:, None], drawn.reference)[:2])[0]
    to_p, to_steps = p_of(*tested(drawn.swaps, pooled)[:2])
    found = {"noise only": decided(p, steps)}
    for level in (0.05, 0.10, 0.20, 1.0):
        on = shift <= level
        found[f"and against shams where their shift has p <= {level:g}"] = decided(
            np.where(on, np.maximum(p, to_p), p),
            np.where(on[..., None], np.maximum(steps, to_steps), steps),
        )
    return found


def any_red(hit: Bools) -> float:
    return float(hit[..., 0].any(axis=1).mean())


def any_named(hit: Bools) -> float:
    return float(hit[..., 1:].any(axis=(1, 2)).mean())


def null_section(n_sets: int) -> Iterator[str]:
    yield f"## Null: no swap changes anything, {n_sets} sets a cell (se at .05: {se(n_sets)})"
    yield ""
    yield "| floors | V | R | reference | any swap red | any action named |"
    yield "|---|---|---|---|---|---|"
    worst = 0.0
    for i, (label, floors) in enumerate(FLOORS.items()):
        for v in (16, 64):
            for r in (1, 2, 10):
                for n in (r, 2 * r):
                    hit = simulate(Plan(floors, v, r, n, seed=100 + i), n_sets, adopted)["adopted"]
                    worst, red = max(worst, any_red(hit)), any_red(hit)
                    yield f"| {label} | {v} | {r} | {n} | {red:.3f} | {any_named(hit):.3f} |"
    yield ""
    yield f"Largest: {worst:.4f} (aim: at most .055)."


def partial_section(n_sets: int) -> Iterator[str]:
    yield f"## Partly null: a shift of .30 in some actions of one swap, {n_sets} sets a cell"
    yield ""
    yield "False: a name on an action that did not change, or a swap red that did not."
    yield ""
    yield "| changed | V | R | reference | any false | all changed are named |"
    yield "|---|---|---|---|---|---|"
    worst = 0.0
    for i, n_changed in enumerate((1, 3, 6)):
        gaps = tuple(0.3 if a < n_changed else 0.0 for a in range(ACTIONS))
        for v in (16, 64):
            for r, n in ((2, 2), (2, 4), (10, 20)):
                plan = Plan(FLOORS[".087"], v, r, n, gaps=(gaps, ZERO, ZERO), seed=200 + i)
                hit = simulate(plan, n_sets, adopted)["adopted"]
                wrong = hit[:, 1:].any(axis=(1, 2)) | hit[:, 0, 1 + n_changed :].any(axis=1)
                right = hit[:, 0, 1 : 1 + n_changed].all(axis=1)
                worst = max(worst, float(wrong.mean()))
                yield f"| {n_changed} | {v} | {r} | {n} | {wrong.mean():.3f} | {right.mean():.3f} |"
    yield ""
    yield f"Largest: {worst:.4f} (aim: at most .055)."


def power_section(n_sets: int) -> Iterator[str]:
    yield f"## Power at V = 64, R = 2, {n_sets} sets a cell (se at .7: {se(n_sets, 0.7)})"
    yield ""
    yield "p1 is of max |z|, p2 of the sum of z squared. A reference of 4 has the re-render pooled."
    cells = [
        (".05 in all six", (0.05,) * ACTIONS, 0),
        (".05 in all six, signs alternating", (0.05, -0.05) * 3, 0),
        (".08 in two", (0.08, 0.08, *ZERO[2:]), 0),
        (".10 in one", one(0.10), 0),
        (".15 in all six", (0.15,) * ACTIONS, 0),
    ]
    table = [(".087", *cell) for cell in cells]
    table += [(".022 to .179", ".05 in all six", (0.05,) * ACTIONS, 0)]
    table += [(".022 to .179", f".10 in action {a + 1} alone", one(0.10, a), a) for a in (0, 3, 5)]
    for label, what, gaps, action in table:
        yield ""
        yield f"### {what}, floors {label}"
        yield ""
        yield (
            "| rule | red, reference 2 | that action named | all named "
            "| red, reference 4 | that action named | all named |"
        )
        yield "|---|---|---|---|---|---|---|"
        rows: dict[str, list[str]] = {}
        for n in (2, 4):
            plan = Plan(FLOORS[label], 64, 2, n, gaps=(gaps, ZERO, ZERO), seed=300 + action)
            for name, hit in simulate(plan, n_sets, combinations).items():
                own = hit[:, 0]
                rates = (own[:, 0], own[:, 1 + action], own[:, 1:].all(axis=1))
                rows.setdefault(name, []).extend(f"{rate.mean():.3f}" for rate in rates)
        for name, rates in rows.items():
            yield f"| {name} | {' | '.join(rates)} |"


Cells = list[tuple[str, Plan]]


def sham_table(
    cells: Cells, n_sets: int, *told: tuple[str, Callable[[Bools], float]]
) -> Iterator[str]:
    """A table for every title and figure of `told`, a column for every cell."""
    found = [simulate(plan, n_sets, with_shams) for _, plan in cells]
    for title, figure in told:
        yield from ("", f"### {title}", "")
        yield "| rule | " + " | ".join(label for label, _ in cells) + " |"
        yield "|---|" + "---|" * len(cells)
        for name in found[0]:
            yield f"| {name} | " + " | ".join(f"{figure(hit[name]):.3f}" for hit in found) + " |"


def sham_section(n_sets: int) -> Iterator[str]:
    yield f"## Two shams, no swap differs from them: any red, {n_sets} sets (se: {se(n_sets)})"
    yield ""
    yield "At ten replicates Holm over 18 on a quarter of the sets. 16 x 2 v 4: V x R, reference."
    floors = FLOORS[".087"]
    sizes = [(v, r, n) for v in (16, 64) for r in (2, 10) for n in (r, 2 * r)]
    for jitter, moved in ((1.0, False), (1.0, True), (0.5, False), (0.0, False)):
        also = ", the reference too" if moved else ""
        cells = [
            (
                f"{v} x {r} v {n}",
                Plan(floors, v, r, n, jitter=jitter, reference_jitter=moved, shams=2, seed=400),
            )
            for v, r, n in sizes
        ]
        title = f"Jitter of {jitter:g} logit for each vignette and string{also}"
        yield from sham_table(cells, n_sets, (title, any_red))
    alone = one(2.0)
    cells = [
        (f"one action, {v} x 10 v 20", Plan(floors, v, 10, 20, jitter=alone, shams=2, seed=401))
        for v in (16, 64)
    ]
    cells += [
        (f"floors {label}, 16 x 10 v 20", Plan(f, 16, 10, 20, jitter=1.0, shams=2, seed=402))
        for label, f in FLOORS.items()
        if label != ".087"
    ]
    title = "Jitter of 2 logits in one action alone; jitter of 1 logit at other floors"
    yield from sham_table(cells, n_sets, (title, any_red))


def quiet_section(n_sets: int) -> Iterator[str]:
    yield f"## Quiet shams: power in one swap, {n_sets} sets (se at .5: {se(n_sets, 0.5)})"
    floors = FLOORS[".087"]
    designs = (
        (64, 2, 4, 0.10, ".10 in one"),
        (64, 10, 10, 0.035, ".035 in one"),
        (16, 2, 4, 0.15, ".15 in one"),
        (16, 10, 20, 0.06, ".06 in one"),
    )
    cells = [
        (f"{what}, {v} x {r} v {n}", Plan(floors, v, r, n, (one(gap), ZERO, ZERO), 0.0, False, 2))
        for v, r, n, gap, what in designs
    ]
    wide = (0.05,) * ACTIONS
    cells.append((".05 in all, 64 x 2 v 4", Plan(floors, 64, 2, 4, (wide, ZERO, ZERO), shams=2)))
    yield from sham_table(
        cells,
        n_sets,
        ("The swap is red", lambda hit: float(hit[:, 0, 0].mean())),
        ("The first action is named", lambda hit: float(hit[:, 0, 1].mean())),
    )


def shift_section(n_sets: int) -> Iterator[str]:
    """Every edit moves the rates alike, the swaps no more than the shams; then, quiet shams."""
    yield f"## Shams that share a shift, {n_sets} sets (se at .05: {se(n_sets)})"
    yield ""
    yield "All edits move all six rates by the shift; any red. Then power with quiet shams. "
    yield "`p <= 0.1` is adopted (`swap_against_shams`)."
    wide = (0.05,) * ACTIONS
    cells = [
        ("all .05, 64 x 2 v 4", 64, 2, 4, (wide,) * 5),
        ("all .03, 64 x 10 v 20", 64, 10, 20, ((0.03,) * ACTIONS,) * 5),
        ("all .02, 64 x 2 v 4", 64, 2, 4, ((0.02,) * ACTIONS,) * 5),
        ("all .05, 16 x 10 v 20", 16, 10, 20, (wide,) * 5),
        ("swap .10 in one, 64 x 2 v 4", 64, 2, 4, (one(0.10), *(ZERO,) * 4)),
        ("swap .06 in one, 16 x 10 v 20", 16, 10, 20, (one(0.06), *(ZERO,) * 4)),
        ("swap .05 in all, 64 x 2 v 4", 64, 2, 4, (wide, *(ZERO,) * 4)),
    ]
    found = []
    for _, v, r, n, gaps in cells:
        plan = Plan(FLOORS[".087"], v, r, n, gaps, seed=78)
        found.append(simulate(plan, n_sets, lambda d, rng: with_shift(last_as_shams(d), rng)))
    yield ""
    yield "| rule | " + " | ".join(label for label, *_ in cells) + " |"
    yield "|---|" + "---|" * len(cells)
    for name in found[0]:
        yield f"| {name} | " + " | ".join(f"{any_red(hit[name]):.3f}" for hit in found) + " |"


def last_as_shams(drawn: Sets) -> Sets:
    return Sets(drawn.swaps[:, :SWAPS], drawn.reference, drawn.swaps[:, SWAPS:])


def package_section(n_sets: int) -> Iterator[str]:
    """The functions of the package decide as the fast forms here do."""
    yield "## The package against the fast forms"
    yield ""
    plan = Plan(
        FLOORS[".087"], 32, 4, 8, (one(0.12), (0.06,) * ACTIONS, ZERO), 0.5, shams=2, seed=500
    )
    rng = np.random.default_rng(500)
    drawn = draw(plan, n_sets, rng)
    fast, again = (
        with_shams(drawn, rng, 5999)["and of one from 1.5 se (adopted)"] for _ in range(2)
    )
    same, chance = 0, int((fast == again).all(axis=2).sum())
    for i in range(n_sets):
        tests = []
        for arm in drawn.swaps[i]:
            noise = stats.surface_noise(arm, drawn.reference[i], list(drawn.shams[i]))
            tests.append(stats.swap_test(arm, drawn.reference[i], shrink=noise.shrink))
        adjusted = stats.inherited([test.chain for test in tests])
        for s, test in enumerate(tests):
            hit = [adjusted[s][0], *(adjusted[s][1 + test.order.index(a)] for a in range(ACTIONS))]
            same += int(((np.array(hit) <= 0.05) == fast[i, s]).all())
    yield (
        f"`surface_noise`, `swap_test` and `inherited` decide like the fast forms in {same} of "
        f"{n_sets * SWAPS} swaps; the fast forms with other relabellings decide like themselves "
        f"in {chance}."
    )


def se(n_sets: int, rate: float = 0.05) -> str:
    return f"{math.sqrt(rate * (1 - rate) / n_sets):.4f}"


def main() -> None:
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=5000)
    parser.add_argument("--power-sets", type=int, default=4000)
    parser.add_argument("--sham-sets", type=int, default=2000)
    parser.add_argument("--sections", default="package,power,quiet,shams,shift,partial,null")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "results" / "swap_level.md"
    )
    given = parser.parse_args()
    sections = {
        "package": lambda: package_section(100),
        "power": lambda: power_section(given.power_sets),
        "quiet": lambda: quiet_section(given.sham_sets),
        "shams": lambda: sham_section(given.sham_sets),
        "shift": lambda: shift_section(given.sham_sets),
        "partial": lambda: partial_section(given.sets),
        "null": lambda: null_section(given.sets),
    }
    parts = kept(given.out)
    for name in given.sections.split(","):
        lines = []
        for line in sections[name]():
            print(line, flush=True)
            lines.append(line)
        parts[name] = "\n".join(lines)
        given.out.write_text(written(parts), encoding="utf-8")


MARK = "<!-- section {} -->"


def kept(path: Path) -> dict[str, str]:
    """The sections of a table written before: each can be run alone, and replaces its own."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    blocks = re.split(MARK.format("(.*?)"), text)
    return {name: block.strip() for name, block in zip(blocks[1::2], blocks[2::2], strict=True)}


def written(parts: dict[str, str]) -> str:
    about = (" ".join(part.split()) for part in (__doc__ or "").split("\n\n")[2:])
    head = (
        "# The swap-level rule: size and power\n\nWritten by `python -m benchmarks swap_level`.\n"
    )
    blocks = (f"{MARK.format(name)}\n\n{text}\n" for name, text in sorted(parts.items()))
    return "\n".join([head + "\n".join(about) + "\n", *blocks])


if __name__ == "__main__":
    main()
