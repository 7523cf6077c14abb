"""All rules over a set of cases and the catalogue they are rendered with."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pytest_fairmedagent.domain import Catalogue, Vignette
from pytest_fairmedagent.files.foreign import UNSTATED
from pytest_fairmedagent.lint.arms import check_arms, conditions_of
from pytest_fairmedagent.lint.catalogue import check_catalogue
from pytest_fairmedagent.lint.contradictions import check_contradictions
from pytest_fairmedagent.lint.finding import ERROR, Hit
from pytest_fairmedagent.lint.frozen import check_frozen
from pytest_fairmedagent.lint.numbers import check_numbers
from pytest_fairmedagent.lint.pairs import check_pairs
from pytest_fairmedagent.lint.pools import check_pools
from pytest_fairmedagent.lint.results import check_results
from pytest_fairmedagent.lint.rules import RULES
from pytest_fairmedagent.lint.sets import (
    check_canary,
    check_likeness,
    check_names,
    check_rendered_canary,
)
from pytest_fairmedagent.lint.silences import unsilenced
from pytest_fairmedagent.lint.structure import check_structure, check_workmanship
from pytest_fairmedagent.lint.texts import pieces
from pytest_fairmedagent.lint.window import check_window
from pytest_fairmedagent.lint.written import check_filled, check_respect, check_whole

N_VARIANTS = 5


def check_cases(
    vignettes: Sequence[Vignette],
    catalogue: Catalogue,
    *,
    ours: Collection[str] | None = None,
    n_variants: int = N_VARIANTS,
) -> list[Hit]:
    """Return what breaks a rule in a set of cases, silenced findings left out.

    Args:
        ours: ids of the cases that are held to the workmanship of this format; None for all. Cases
            of other people, read from CSV or JSON Lines, are not.
        n_variants: how many variants of each case are rendered under every condition.
    """
    hits = list(check_catalogue(catalogue))
    if ours is None:
        ours = {v.id for v in vignettes}
    own = [v for v in vignettes if v.id in ours]
    for vignette in vignettes:
        hits += _of_case(vignette, catalogue, n_variants, ours=vignette.id in ours)
    for vignette in own:
        hits += check_workmanship(vignette)
        hits += check_whole(vignette)
        hits += check_results(vignette)
    hits += check_names(own)
    hits += check_canary(own)
    hits += check_likeness(vignettes)
    return unsilenced(hits, vignettes)


def check_run(vignettes: Sequence[Vignette], catalogue: Catalogue) -> list[Hit]:
    """Return the errors that make the arms of a run differ in more than their descriptor.

    What `check_cases` finds of severity `error`, in the base cases. It is fast enough for every
    start of a run.
    """
    hits = list(check_catalogue(catalogue))
    for vignette in vignettes:
        ours = vignette.status != UNSTATED
        hits += _of_case(vignette, catalogue, 1, errors_only=True, ours=ours)
    hits += check_names(vignettes)
    return [hit for hit in unsilenced(hits, vignettes) if severity(hit) == ERROR]


def severity(hit: Hit) -> str:
    return hit.severity or RULES[hit.rule].severity


def _of_case(
    vignette: Vignette,
    catalogue: Catalogue,
    n_variants: int,
    *,
    errors_only: bool = False,
    ours: bool = True,
) -> Iterator[Hit]:
    conditions = conditions_of(vignette, catalogue)
    longest = max((c.descriptor_in(vignette) for c in conditions), key=len, default="")
    texts = tuple(pieces(vignette))
    yield from check_arms(vignette, catalogue, n=n_variants)
    yield from check_pairs(vignette, catalogue)
    yield from check_frozen(vignette, catalogue, texts, errors_only=errors_only, ours=ours)
    yield from check_structure(vignette)
    yield from check_filled(vignette, texts)
    if not errors_only:
        yield from check_respect(vignette, texts)
        yield from check_contradictions(vignette, catalogue, texts)
    yield from check_rendered_canary(vignette)
    yield from check_numbers(vignette, texts, errors_only=errors_only)
    yield from check_pools(vignette)
    yield from check_window(vignette, longest)
