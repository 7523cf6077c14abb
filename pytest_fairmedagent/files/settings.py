"""Settings of a run: command line before environment before ini file before profile."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from pytest_fairmedagent.domain.level import LEVELS, is_level
from pytest_fairmedagent.errors import PlanError

T = TypeVar("T")

# Catalogues that come with the project beside the default one, as `--fairmed-swaps=minimal`.
NAMED_CATALOGUES = ("minimal", "full")


@dataclass(frozen=True)
class Settings:
    """Every option of the plugin, resolved and checked. None where the profile decides.

    `base_url_trusted` tells that the URL came from command line or environment: one from project
    configuration never receives a key for a foreign host.
    """

    models: tuple[str, ...]
    decodings: tuple[str, ...]
    base_url: str | None
    base_url_trusted: bool
    agent: str | None
    scaffold: str
    exposure: tuple[str, ...]
    vignettes: str | None
    columns: str
    variants: int | None
    swaps: tuple[str, ...]
    actions: tuple[str, ...]
    replicates: int | None
    margin: float | None
    alpha: float | None
    profile: str
    plan: Path | None
    swaps_file: Path | None
    strict: bool | None
    unmeasured: str
    gate_heterogeneous: bool
    sequential: str | None
    max_calls: int | None
    max_usd: float | None
    prices: Path | None
    concurrency: int | Literal["auto"] | None
    share_server: bool
    seed: int | None
    store: Path
    fresh: bool
    offline: bool
    keep_raw: bool
    reports: tuple[Path, ...]
    baseline: Path | None
    explain: str | None


def resolve(
    option: Callable[[str], object],
    ini: Callable[[str], object],
    *,
    root: Path,
    env: Mapping[str, str] = os.environ,
) -> Settings:
    """Return the settings. `option` and `ini` look a name such as `replicates` up.

    Raises PlanError that names the option, where its value came from, and what was expected.
    """

    def several(name: str) -> tuple[str, ...]:
        given = option(name)
        values = tuple(map(str, given)) if isinstance(given, list) else ()
        return values or (text(name)[0] or "",)

    def text(name: str) -> tuple[str | None, str]:
        dashed = name.replace("_", "-")
        given = option(name)
        if given is not None and not isinstance(given, list):
            return str(given), f"--fairmed-{dashed}"
        variable = f"FAIRMED_{name.upper()}"
        if env.get(variable):
            return env[variable], f"environment variable {variable}"
        written = ini(name)
        return (str(written), f"ini key fairmed_{name}") if written else (None, "")

    def value(name: str, read: Callable[[str], T], expected: str) -> T | None:
        given, origin = text(name)
        if given is None:
            return None
        try:
            return read(given)
        except ValueError:
            raise PlanError(f"{origin} is {given!r}, expected {expected}") from None

    def words(name: str) -> tuple[str, ...]:
        given, _ = text(name)
        return tuple(w.strip() for w in (given or "").split(",") if w.strip())

    def path(name: str) -> Path | None:
        given, _ = text(name)
        return None if given is None else root / Path(given).expanduser()

    unmeasured = value("unmeasured", _one_of("fail", "skip"), "'fail' or 'skip'")
    base_url, origin = text("base_url")
    return Settings(
        models=several("model"),
        decodings=several("decoding"),
        base_url=base_url,
        base_url_trusted=not (origin.startswith("ini") or option("base_url_of_addopts")),
        agent=text("agent")[0],
        scaffold=text("scaffold")[0] or "direct",
        exposure=words("exposure"),
        vignettes=text("vignettes")[0],
        columns=text("columns")[0] or "",
        variants=value("variants", _integer(1, 1000), "a whole number from 1 to 1000"),
        swaps=tuple(
            name
            for name in words("swaps")
            if not name.endswith(".toml") and name not in NAMED_CATALOGUES
        ),
        actions=words("actions"),
        replicates=value("replicates", _integer(1, 100_000), "a whole number from 1 to 100000"),
        margin=value("margin", _share, "a number above 0 and below 1"),
        alpha=value("alpha", _level, LEVELS),
        profile=value(
            "profile",
            _one_of("quick", "ci", "release", "name_signal"),
            "quick, ci, release or name_signal",
        )
        or "ci",
        plan=path("plan"),
        swaps_file=_swaps_file(words("swaps"), root),
        strict=value("strict", _flag, "yes or no"),
        unmeasured=unmeasured or ("fail" if env.get("CI") else "skip"),
        gate_heterogeneous=bool(value("gate_heterogeneous", _flag, "yes or no")),
        sequential=value("sequential", _one_of("off", "gs", "e"), "off, gs or e"),
        max_calls=value("max_calls", _integer(1, 10**9), "a whole number from 1 to 1000000000"),
        max_usd=value("max_usd", _dollars, "an amount above 0, in US dollars"),
        prices=path("prices"),
        concurrency=value("concurrency", _concurrency, "auto or a whole number from 1 to 1024"),
        share_server=bool(value("share_server", _flag, "yes or no")),
        seed=value("seed", _integer(0, 2**31 - 1), "a whole number from 0 to 2147483647"),
        store=path("store") or root / ".fairmed",
        fresh=bool(value("fresh", _flag, "yes or no")),
        offline=bool(value("offline", _flag, "yes or no")),
        keep_raw=value("keep_raw", _flag, "yes or no") is not False,
        reports=_reports(option("report"), root),
        baseline=path("baseline"),
        explain=text("explain")[0],
    )


def _reports(given: object, root: Path) -> tuple[Path, ...]:
    paths = [root / Path(str(p)).expanduser() for p in given] if isinstance(given, list) else []
    for path in paths:
        if path.suffix not in (".json", ".html", ".md"):
            raise PlanError(
                f"--fairmed-report is {str(path)!r}, expected a name ending in .json, .html or .md"
            )
    return tuple(paths)


def _swaps_file(words: tuple[str, ...], root: Path) -> Path | None:
    files = [word for word in words if word.endswith(".toml") or word in NAMED_CATALOGUES]
    if len(files) > 1:
        raise PlanError(f"--fairmed-swaps names {len(files)} files, expected at most one catalogue")
    if files and files[0] in NAMED_CATALOGUES:
        from pytest_fairmedagent.files.vignettes import shipped_vignettes  # most runs need it not

        return shipped_vignettes() / f"{files[0]}.toml"
    return root / Path(files[0]).expanduser() if files else None


def _integer(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text)
        if not low <= number <= high:
            raise ValueError
        return number

    return read


def _concurrency(text: str) -> int | Literal["auto"]:
    return "auto" if text == "auto" else _integer(1, 1024)(text)


def _level(text: str) -> float:
    level = float(text)
    if not is_level(level):
        raise ValueError(text)
    return level


def _share(text: str) -> float:
    number = float(text)
    if not (0 < number < 1) or math.isnan(number):
        raise ValueError
    return number


def _dollars(text: str) -> float:
    number = float(text.removeprefix("$"))
    if not 0 < number < math.inf:
        raise ValueError
    return number


def _flag(text: str) -> bool:
    words = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
    if text.lower() not in words:
        raise ValueError
    return words[text.lower()]


def _one_of(*known: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in known:
            raise ValueError
        return text

    return read
