"""Vignettes of files and folders, and the case set that comes with the project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pytest_fairmedagent.domain import Vignette
from pytest_fairmedagent.errors import FileFormatError, PlanError, closest
from pytest_fairmedagent.files.cases import read_vignette
from pytest_fairmedagent.files.confounding import registry_in
from pytest_fairmedagent.files.rows import SUFFIXES

# Stands in every shipped file and in no prompt: whoever finds it in a corpus knows that the cases
# are in there, and a model that completes it has read them.
CANARY = "fairmed-cases-canary 70ccb9fd-2aff-43ce-9b36-f15e26418380"

# What vignettes can be selected by.
SELECTORS = ("domain", "difficulty", "split")

# The files of a case set that hold no case.
CATALOGUES = ("swaps.toml", "minimal.toml", "full.toml", "names.toml")
RESERVED = (*CATALOGUES, "confounding.toml", "contradictions.toml", "adjudicators.toml")


def case_files(path: Path) -> Iterator[Path]:
    """Yield a file itself, or the vignette files of a folder and its folders, by name."""
    if not path.is_dir():
        yield path
        return
    for file in sorted(path.rglob("*.toml")):
        if file.name not in RESERVED and not file.name.endswith(".mapping.toml"):
            yield file


def shipped_vignettes() -> Path:
    """Return the folder of the vignettes that come with the project."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "vignettes"  # in a wheel; in a checkout they lie beside the package
    return inside if inside.is_dir() else package.parent / "vignettes"


def read_vignettes(paths: Iterable[Path], columns: str = "") -> dict[str, Vignette]:
    """Return the vignettes of files and folders by id, in order of their file names.

    A folder stands for the `*.toml` files in it and in its folders, but `RESERVED`; files
    of CSV and JSON Lines are named themselves, for a folder may hold any. Raises FileFormatError
    where a file is wrong, an id stands twice, or there is none at all.
    """
    found: dict[str, Vignette] = {}
    origin: dict[str, Path] = {}
    paths = list(paths)
    for path in paths:
        for file in case_files(path):
            for vignette in _vignettes_of(file, columns):
                if vignette.id in found:
                    raise FileFormatError(
                        f"{file}: the vignette id '{vignette.id}' is also that of "
                        f"{origin[vignette.id]}. Rename one of them."
                    )
                found[vignette.id], origin[vignette.id] = vignette, file
        registry = registry_in(path) if path.is_dir() else None
        if registry is not None:
            registry.check({name for name, file in origin.items() if path in file.parents})
    if not found:
        shown = ", ".join(map(str, paths))
        raise FileFormatError(f"{shown}: holds no vignette. Expected files *.toml, one case each.")
    return found


def _vignettes_of(file: Path, columns: str) -> tuple[Vignette, ...]:
    if file.suffix.lower() in SUFFIXES:
        from pytest_fairmedagent.files.foreign import read_foreign  # most runs need none of it

        return read_foreign(file, columns).vignettes
    return (read_vignette(file),)


def select_vignettes(spec: str, base: Path, columns: str = "") -> dict[str, Vignette]:
    """Return the vignettes that `--fairmed-vignettes` names.

    Args:
        spec: comma-separated files, folders, and ids of shipped vignettes; `shipped` or an empty
            text means all that come with the project. `domain:NAME`, `difficulty:NAME` and
            `split:NAME` narrow what the others name.
        base: the folder that relative paths start from.
        columns: what CSV and JSON Lines files call their columns, as `text=Vignette,id=case_id`.
    """
    words = [word.strip() for word in spec.split(",") if word.strip()]
    names = [word for word in words if not is_selector(word)] or ["shipped"]
    chosen: dict[str, Vignette] = {}
    shipped: dict[str, Vignette] = {}
    for name in names:
        path = base / name
        if name != "shipped" and path.exists():
            chosen.update(read_vignettes([path], columns))
            continue
        shipped = shipped or read_vignettes([shipped_vignettes()])
        if name == "shipped":
            chosen.update(shipped)
        else:
            if name not in shipped:
                raise PlanError(
                    f"no vignette file, folder or shipped vignette {name!r}."
                    f"{closest(name, shipped)}"
                )
            chosen[name] = shipped[name]
    return narrowed(chosen, [word for word in words if is_selector(word)])


def places_of(spec: str, base: Path) -> tuple[Path, ...]:
    """Return the files and folders that such a text names; the shipped folder for all else."""
    names = [word.strip() for word in spec.split(",") if word.strip() and not is_selector(word)]
    shipped = shipped_vignettes()
    paths = [base / n if n != "shipped" and (base / n).exists() else shipped for n in names]
    return tuple(dict.fromkeys(paths or [shipped]))


def is_selector(word: str) -> bool:
    """Whether a word selects vignettes by what they are: `domain:NAME`, `difficulty:NAME`."""
    return word.partition(":")[0].strip() in SELECTORS and ":" in word


def narrowed(vignettes: Mapping[str, Vignette], selectors: Iterable[str]) -> dict[str, Vignette]:
    """Return the vignettes that selectors leave; all without any.

    Selectors of one kind widen each other, those of two kinds narrow each other. Raises PlanError
    for one that selects nothing.
    """
    wanted: dict[str, set[str]] = {}
    for selector in selectors:
        kind, _, name = (part.strip() for part in selector.partition(":"))
        known = {str(getattr(vignette, kind)) for vignette in vignettes.values()}
        if name not in known:
            raise PlanError(f"{selector!r} selects no vignette.{closest(name, known)}")
        wanted.setdefault(kind, set()).add(name)
    found = {
        name: vignette
        for name, vignette in vignettes.items()
        if all(getattr(vignette, kind) in names for kind, names in wanted.items())
    }
    if not found:
        told = ", ".join(f"{kind}:{name}" for kind, names in wanted.items() for name in names)
        raise PlanError(f"{told} select no vignette together: expected at least one")
    return found
