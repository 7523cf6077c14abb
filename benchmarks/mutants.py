"""Mutants: does some test fail when one operator, number or branch of the judgement is changed?

`python -m benchmarks mutants [ROOM] [N]` makes all single changes of a room's files that it knows
(comparisons, and/or, not, signs, + and -, * and /, numbers, min/max, any/all, conditions inverted
or never true, filters of comprehensions, statements and returned values dropped), takes N of them
by a seed, and runs the room's pure tests against each: in a process that is forked from one which
has loaded pytest and numpy, with the changed module put in its place before anything imports it.
Texts, annotations, decorators and `strict` of zip are left alone. What is known to be equivalent
stands with its reason in mutants_equivalent.txt, is run all the same, and is not counted.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.util
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results" / "mutants.md"
KNOWN = Path(__file__).parent / "mutants_equivalent.txt"
BROKEN = -1  # the node of a mutant that cannot be imported: a check of the bench itself
UNUSED = ("randomly", "cacheprovider", "xdist", "rerunfailures", "hypothesispytest")
SEED, CPU_S, WALL_S = 12, 60, 240

RULE = ("rule", "family", "chains", "swaps", "missing", "flags", "obstacles")
ROOMS = {
    "rule": (
        [f"verdict/{name}.py" for name in RULE] + ["relations/joint.py"],
        ["test_rule.py", "test_verdict.py", "test_swaps.py", "test_outcomes.py"],
    ),
    "guards": (["relations/guards.py", "relations/copies.py"], ["test_guards.py"]),
    "looks": (["verdict/looks.py"], ["test_looks.py"]),
}

FLIPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
    ast.Div: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.USub: ast.UAdd,
}  # fmt: skip
TURNED = (ast.Not, ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}

Change = Callable[[], None]


@dataclass(frozen=True)
class Mutant:
    """One change of one file: the `node`-th of its tree, and the `number`-th change of that."""

    file: str
    line: int
    where: str
    told: str
    node: int
    number: int

    @property
    def key(self) -> str:
        return f"{self.file}: {self.where}: {self.told}"


def changes(node: ast.AST) -> Iterator[Change]:
    """Yield what makes a mutant of a node, each to be called once, on a tree of its own."""

    def put(where: object, name: str, value: object) -> Change:
        return lambda: setattr(where, name, value)

    def put_at(where: list, index: int, value: object) -> Change:
        return lambda: where.__setitem__(index, value)

    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            yield put_at(node.ops, i, FLIPPED[type(op)]())
    elif isinstance(node, (ast.BoolOp, ast.BinOp, ast.AugAssign)) and type(node.op) in FLIPPED:
        yield put(node, "op", FLIPPED[type(node.op)]())
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.Not):
            yield put(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
        elif type(node.op) in FLIPPED:
            yield put(node, "op", FLIPPED[type(node.op)]())
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield put(node, "value", not node.value)
        elif isinstance(node.value, (int, float)):
            yield put(node, "value", node.value + 1 if node.value in (0, 1) else 2 * node.value)
            if node.value == 1:
                yield put(node, "value", 0)
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        if ast.unparse(node.test) != "TYPE_CHECKING":
            ops = getattr(node.test, "ops", [getattr(node.test, "op", None)])
            if len(ops) > 1 or not isinstance(ops[0], TURNED):  # which are turned as such
                yield put(node, "test", ast.UnaryOp(ast.Not(), node.test))
            yield put(node, "test", ast.Constant(False))
    elif isinstance(node, ast.comprehension):
        for i in range(len(node.ifs)):
            yield put_at(node.ifs, i, ast.Constant(True))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES:
        yield put(node.func, "id", NAMES[node.func.id])
    elif isinstance(node, ast.Return) and ast.unparse(node) not in ("return", "return None"):
        yield put(node, "value", ast.Constant(None))
    for body in (getattr(node, "body", None), getattr(node, "orelse", None)):
        for i, statement in enumerate(body if isinstance(body, list) else ()):
            called = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
            if called or isinstance(statement, (ast.AugAssign, ast.Continue, ast.Break)):
                yield put_at(body, i, ast.Pass())


def left_alone(tree: ast.AST) -> set[int]:
    """Return the ids of nodes that are not changed: annotations, decorators, `strict`."""
    roots: list[ast.AST | None] = []
    for node in ast.walk(tree):
        roots += [getattr(node, "annotation", None), getattr(node, "returns", None)]
        roots += getattr(node, "decorator_list", [])
        if isinstance(node, ast.keyword) and node.arg == "strict":
            roots.append(node.value)
    return {id(node) for root in roots if root is not None for node in ast.walk(root)}


def mutants_of(file: str) -> list[Mutant]:
    source = (ROOT / "pytest_fairmedagent" / file).read_text(encoding="utf-8")
    tree = ast.parse(source)
    where, line, skipped = {}, {}, left_alone(tree)
    for node in ast.walk(tree):  # from the outside in: the innermost function and line win
        for child in ast.walk(node):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                where[id(child)] = node.name
            if hasattr(node, "lineno"):
                line[id(child)] = node.lineno
    found = []
    for place, node in enumerate(ast.walk(tree)):
        for number in range(0 if id(node) in skipped else len(list(changes(node)))):
            at = where.get(id(node), "module")
            told = changed(source, place, number)[1]
            found.append(Mutant(file, line.get(id(node), 1), at, told, place, number))
    return found


def changed(source: str, place: int, number: int) -> tuple[ast.Module, str]:
    """Return the tree with that one change, and what it is in words."""
    tree = ast.parse(source)
    node = list(ast.walk(tree))[place]
    shown = next(
        (n for n in ast.walk(tree) if node in ast.iter_child_nodes(n)), node
    ) if isinstance(node, ast.Constant) else node  # fmt: skip
    before = ast.unparse(shown).splitlines()
    list(changes(node))[number]()
    after = ast.unparse(shown).splitlines()
    lines = [(a.strip(), b.strip()) for a, b in zip(before, after, strict=False) if a != b]
    return ast.fix_missing_locations(tree), " -> ".join(lines[0] if lines else (before[0], "gone"))


class Instead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from a changed tree."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        self.path = str(ROOT / "pytest_fairmedagent" / file)
        self.name = "pytest_fairmedagent." + file.removesuffix(".py").replace("/", ".")
        self.tree = tree

    def find_spec(self, fullname: str, path: object, target: object = None):
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def exec_module(self, module: object) -> None:
        exec(compile(self.tree, self.path, "exec"), vars(module))


def survives(mutant: Mutant | None, tests: Sequence[str]) -> bool:
    """Return whether all tests pass; one that takes too long does not. None changes nothing."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
            signal.alarm(WALL_S)
            if mutant is not None:
                source = (ROOT / "pytest_fairmedagent" / mutant.file).read_text(encoding="utf-8")
                if mutant.node == BROKEN:
                    tree = ast.parse("raise ImportError")
                else:
                    tree, _ = changed(source, mutant.node, mutant.number)
                sys.meta_path.insert(0, Instead(mutant.file, tree))
            import pytest

            # Plain asserts: the hook that rewrites them would load our module before we can.
            options = ["-x", "-q", "--assert=plain", "--tb=no", "--rootdir", str(ROOT)]
            options += [o for p in UNUSED for o in ("-p", f"no:{p}")]
            paths = [str(path) for t in tests if (path := ROOT / "tests" / t).exists()]
            code = int(pytest.main([*options, *paths]))
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


def known() -> dict[str, str]:
    """Return the reason of each mutant that is known to be equivalent."""
    if not KNOWN.exists():
        return {}
    lines = KNOWN.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" | ", 1) for line in lines if line and not line.startswith("#"))


def section(room: str, n: int, equivalent: dict[str, str]) -> str:
    """Run one room, print each mutant, and return its part of the table."""
    files, tests = ROOMS[room]
    every = [mutant for file in files for mutant in mutants_of(file)]
    random.Random(SEED).shuffle(every)
    chosen = every[:n]
    assert survives(None, tests), f"the tests of {room} do not pass as they are"
    assert not any(survives(Mutant(file, 0, "", "", BROKEN, 0), tests) for file in files), room
    killed, left, same, start = 0, [], [], time.time()
    for mutant in chosen:
        alive = survives(mutant, tests)
        name = f"{mutant.file}:{mutant.line} {mutant.where}: {mutant.told}"
        if mutant.key in equivalent:
            word = "equivalent" if alive else "EQUIVALENT BY THE LIST, YET KILLED"
            same.append(f"- `{name}`: {equivalent[mutant.key]}")
        else:
            word = "survived" if alive else "killed"
            killed += not alive
            left += [f"- `{name}`"] if alive else []
        print(f"{word:<10} {name}", flush=True)
    told = (
        f"{len(chosen)} of {len(every)} mutants run: {killed} of {len(chosen) - len(same)} killed, "
        f"{len(left)} survived, {len(same)} equivalent and not counted"
    )
    print(f"{room}: {told} ({time.time() - start:.0f} s)\n")
    parts = [f"## {room}\n", f"`{'`, `'.join(files)}`. {told}.\n"]
    for title, lines in (("Survived", left), ("Equivalent", same)):
        parts += [f"{title}:\n", "\n".join(lines) + "\n"] if lines else []
    return "\n".join(parts)


def main() -> None:
    rooms = [a for a in sys.argv[1:] if a in ROOMS] or list(ROOMS)
    n = next((int(a) for a in sys.argv[1:] if a.isdigit()), 100)
    # What is slow to load and is none of ours is loaded once, before the forks.
    for name in ("numpy.random", "pydantic", "pytest", "scipy.special", "scipy.stats"):
        importlib.import_module(name)
    assert not any(name.startswith("pytest_fairmedagent") for name in sys.modules)
    parts = {}
    if RESULTS.exists():
        for part in RESULTS.read_text(encoding="utf-8").split("\n## ")[1:]:
            parts[part.split("\n")[0]] = f"## {part.strip()}\n"
    equivalent = known()
    for room in rooms:
        parts[room] = section(room, n, equivalent)
    head = (
        "# Mutants of the judgement\n\n"
        f"`python -m benchmarks mutants [ROOM] [N]`, seed {SEED}. One change at a time; killed "
        "where a test fails or does not end.\n"
    )
    RESULTS.write_text("\n".join([head, *(parts[r] for r in ROOMS if r in parts)]), "utf-8")


if __name__ == "__main__":
    main()
