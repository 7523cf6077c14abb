"""Imports go down only, and importing a room loads nothing it should not."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_fairmedagent

PACKAGE = Path(pytest_fairmedagent.__file__).parent
FLOORS = {
    "errors": 0,
    "domain": 0,
    "stats": 0,
    "relations": 1,
    "measures": 1,
    "verdict": 1.5,
    "files": 2,
    "models": 2.1,
    "agents": 2.2,
    "running": 2.3,
    "lint": 2.4,
    "study": 2.5,
    "analysis": 2.6,
    "shelf": 2.6,
    "doctor": 2.6,
    "planning": 2.6,
    "report": 3,
    "comparing": 3.05,
    "plugin": 3.1,
    "audit": 3.2,
    "cli": 3.2,
    "testing": 3.2,
    "strategies": 3.2,
}
NAME = "pytest_fairmedagent"


def imports_of(path):
    """Yield the rooms of this package that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module]
            if node.module == NAME:
                names = [f"{NAME}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == NAME and len(parts) > 1 and parts[1] in FLOORS:
                yield parts[1]


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


FILES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.parent != PACKAGE or path.name != "__init__.py"
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down_only(path):
    room = room_of(path)
    assert room in FLOORS, f"{room} has no floor: give it one"
    for other in imports_of(path):
        if other != room:
            assert FLOORS[other] <= FLOORS[room], f"{room} imports {other}, which lies above it"


def test_domain_and_stats_do_not_know_each_other():
    for path in FILES:
        if room_of(path) in ("domain", "stats"):
            assert not {"domain", "stats"} - {room_of(path)} & set(imports_of(path)), path


def test_a_planted_upward_import_is_seen(tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text("def f():\n    from pytest_fairmedagent.plugin import x\n")
    assert list(imports_of(planted)) == ["plugin"]


def loaded_by(statement):
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(out.stdout.split())


def test_pydantic_is_imported_by_files_alone():
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert room_of(path) == "files" or "pydantic" not in text.replace("not pydantic", ""), path


def test_importing_the_package_loads_none_of_its_rooms():
    loaded = loaded_by("import pytest_fairmedagent")
    assert not {name for name in loaded if name.startswith("pytest_fairmedagent.")}


def test_importing_stats_loads_neither_scipy_nor_pytest():
    loaded = loaded_by("import pytest_fairmedagent.stats")
    assert not {"scipy", "pytest", "pydantic"} & loaded


def test_the_public_names_are_there_and_others_are_not():
    for name in pytest_fairmedagent.__all__:
        assert getattr(pytest_fairmedagent, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = pytest_fairmedagent.nonsense
