"""`fairmed plan`: what a run can see and what it takes, before it is paid for."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_fairmedagent.cli import planned as given
from pytest_fairmedagent.cli.arguments import amount, count, level, share
from pytest_fairmedagent.cli.plan_lifetime import add_lifetime, plan_lifetime
from pytest_fairmedagent.cli.printing import BAD, OK, print_record
from pytest_fairmedagent.errors import PlanError

if TYPE_CHECKING:
    from pytest_fairmedagent.planning import Design

_REPLICATES = 10  # of the profile ci


def add(commands: Any) -> None:
    """Declare the command."""
    plan = commands.add_parser(
        "plan",
        help="what a run can find or show, and what it takes",
        description="From a gap or a margin, the vignettes x replicates, calls, tokens, hours and "
        "price that it takes; from a budget, what it can find; from neither, what a design of the "
        "given size can do. Nothing is asked of a model. Exit status 1 if no design does it.",
    )
    aim = plan.add_argument_group("what is asked").add_mutually_exclusive_group()
    aim.add_argument("--gap", type=share, metavar="G", help="signed gap to be found")
    size_of_gap = plan.add_argument_group("where the gap is")
    size_of_gap.add_argument(
        "--every", action="store_true", help="in all actions of a swap, which is to be red"
    )
    aim.add_argument(
        "--margin", type=share, metavar="M", help="margin that every contrast is shown inside"
    )
    limits = plan.add_argument_group("or what there is")
    limits.add_argument("--max-calls", type=count, metavar="N", help="model calls")
    limits.add_argument("--max-usd", type=amount, metavar="USD", help="US dollars")
    limits.add_argument("--hours", type=amount, metavar="H", help="hours of wall-clock time")
    floor = plan.add_argument_group("the floor").add_mutually_exclusive_group()
    floor.add_argument("--floor", type=share, metavar="F", help="assumed (0.087)")
    floor.add_argument("--record", type=Path, metavar="FILE", help="measured by this record")
    plan.add_argument("--upper", action="store_true", help="plan for the floor's upper end")
    size = plan.add_argument_group("the design")
    size.add_argument(
        "--vignettes", default="shipped", metavar="N|PATHS", help="at most so many, or these"
    )
    size.add_argument("--replicates", type=count, metavar="R", help="just so many (3 to 20)")
    size.add_argument("--swaps", default="3", metavar="N|NAMES", help="number or names (3)")
    size.add_argument("--actions", default="6", metavar="N|NAMES", help="number or names (6)")
    size.add_argument(
        "--controls",
        type=int,
        default=3,
        metavar="N",
        help="control arms (3), one of them the reference drawn again, which is pooled with it",
    )
    size.add_argument("--family", type=count, metavar="K", help="contrasts (swaps x actions)")
    size.add_argument("--alpha", type=level, default=0.05, metavar="A", help="its level (0.05)")
    size.add_argument("--power", type=share, default=0.8, metavar="P", help="power (0.8)")
    size.add_argument(
        "--sequential", choices=("off", "gs", "e"), default="off", help="looks before the end"
    )
    cost = plan.add_argument_group("what it costs")
    cost.add_argument("--model", default="", metavar="SPEC", help="for its price")
    cost.add_argument("--prices", type=Path, metavar="TOML", help="a price table of your own")
    cost.add_argument("--scaffold", default="direct", metavar="NAME", help="of the agent (direct)")
    cost.add_argument(
        "--seconds-per-trial", type=amount, metavar="S", help="wall-clock seconds for each trial"
    )
    plan.add_argument(
        "--simulate", type=int, metavar="N", help="try it N times (200 if sequential)"
    )
    add_lifetime(plan)
    plan.add_argument("--plot", type=Path, metavar="FILE", help="detectable gap, .svg or .png")
    plan.add_argument("--json", action="store_true", help="print a record for programs")
    plan.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent import planning
    from pytest_fairmedagent.domain import ACTIONS
    from pytest_fairmedagent.files.swaps import read_swaps
    from pytest_fairmedagent.report.planned import plan_record
    from pytest_fairmedagent.report.planned_lines import plan_lines

    if arguments.controls < 0 or (arguments.simulate or 0) < 0:
        raise PlanError("--controls and --simulate are numbers from 0")
    catalogue = read_swaps()
    swaps = given.swaps(arguments.swaps, catalogue)
    actions = given.named("--actions", arguments.actions, tuple(ACTIONS))
    n_actions = len(actions) or int(arguments.actions)
    floor = given.floor(arguments, actions)
    gate = planning.Gate(
        floor.floor,
        arguments.family or swaps * n_actions,
        arguments.alpha,
        arguments.power,
        arguments.sequential,
        n_actions=n_actions,
        ratio=2.0 if arguments.controls else 1.0,
    )
    cases, most = given.vignettes(arguments.vignettes)
    backend, price = given.price(arguments)
    cost = planning.trial_cost(
        cases.values(),
        catalogue,
        scaffold=arguments.scaffold,
        backend=backend,
        price=price,
        seconds=arguments.seconds_per_trial or floor.seconds,
        tokens=floor.tokens,
    )
    aim = None
    if arguments.gap or arguments.margin:
        aim = planning.Aim(arguments.gap, arguments.margin, arguments.every)
    budget = planning.Budgeted(arguments.max_calls, arguments.max_usd, arguments.hours)
    arms = {"swaps": swaps, "controls": arguments.controls}
    size = {"n_arms": 1 + sum(arms.values()), "most_vignettes": most}
    designs, chosen = _designs(arguments, aim, gate, cost, budget, size)
    operating = None
    n_datasets = arguments.simulate
    if n_datasets is None:
        n_datasets = 200 if arguments.sequential != "off" else 0
    if chosen is not None and n_datasets:
        every = arguments.every
        smallest = gate.detectable(chosen.n_vignettes, chosen.replicates, every=every)
        tried = aim or planning.Aim(gap=smallest, every=every)
        operating = planning.simulated(chosen, gate, tried, n_datasets=n_datasets)
    record = plan_record(
        floor=floor,
        gate=gate,
        cost=cost,
        arms=arms,
        aim=aim,
        budget=budget,
        designs=designs,
        chosen=chosen,
        operating=operating,
        margin=arguments.margin,
        model=arguments.model,
        cases=len(cases),
    )
    lines = plan_lines(record)
    if arguments.lifetime is not None and chosen is not None:
        # An identical re-render is one of the controls; the others are shams.
        n_shams = max(0, arguments.controls - 1)
        record["lifetime"], told = plan_lifetime(arguments.lifetime, gate, chosen, n_shams)
        lines += told
    if arguments.plot is not None:
        from pytest_fairmedagent.report.plan_plot import plot_plan

        line = plot_plan(
            arguments.plot,
            gate,
            n_vignettes=chosen.n_vignettes if chosen else most,
            n_arms=size["n_arms"],
            chosen=chosen,
        )
        record["plot"] = str(arguments.plot)
        lines.append(line)
    print_record(record, lines, as_json=arguments.json)
    return OK if chosen is not None else BAD


def _designs(
    arguments: argparse.Namespace,
    aim: Any,
    gate: Any,
    cost: Any,
    budget: Any,
    size: dict[str, int],
) -> tuple[list[Design], Design | None]:
    """Return the designs that answer, and the one that is meant."""
    from pytest_fairmedagent import planning

    replicates = arguments.replicates
    if aim is not None:
        if aim.margin is not None and arguments.sequential == "e":
            raise PlanError(
                "--margin has no formula with --sequential=e\n  Give --vignettes, --replicates "
                "and --simulate=1000 without it, or plan with --sequential=gs."
            )
        found = planning.designs_for(aim, gate, cost, **size, replicates=replicates)
        if budget:
            budget.check(cost)
            n_arms = size["n_arms"]
            found = [
                d for d in found if budget.rounds(d.n_vignettes * n_arms, cost) >= d.replicates
            ]
        return found, planning.cheapest(found) if found else None
    if budget:
        found = planning.in_budget(budget, cost, **size, replicates=replicates)
        return found, found[0]
    design = planning.Design(
        size["most_vignettes"], replicates or _REPLICATES, size["n_arms"], cost
    )
    return [design], design
