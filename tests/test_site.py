"""The generated pages hold all there is in the code, and the CI recipes name only what exists."""

import importlib.util
import re
from pathlib import Path

import pytest

from pytest_fairmedagent.files.prices import price_of

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RECIPES = sorted((DOCS / "ci").glob("*.yml"))


def build():
    spec = importlib.util.spec_from_file_location("build", DOCS / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = build()
COMMANDS = BUILD.commands_of(importlib.import_module("pytest_fairmedagent.cli")._parser())


@pytest.fixture(scope="module")
def pages():
    return BUILD.generated()


def test_the_options_page_has_every_option_of_the_help(pages, pytester):
    helped = set(re.findall(r"--fairmed-[a-z-]+", pytester.runpytest("--help").stdout.str()))
    shown = set(
        re.findall(r"^\| `(--fairmed-[a-z-]+)", pages["reference/options.md"], re.MULTILINE)
    )
    assert helped == shown


def test_the_commands_page_has_every_argument(pages):
    assert len(COMMANDS) >= 7
    for name, command in COMMANDS.items():
        assert f"## fairmed {name}\n" in pages["reference/commands.md"]
        for action in command._actions:
            for option in action.option_strings:
                assert option in ("-h", "--help") or option in pages["reference/commands.md"]


def test_the_files_page_has_every_field_of_every_table(pages):
    page = pages["reference/files.md"]
    models = [model for found in BUILD.models_by_module().values() for model in found]
    assert {"VignetteFile", "SwapsFile", "PlanFile", "RulesFile", "InspectTable"} <= {
        model.__name__ for model in models
    }
    for model in models:
        _, _, section = page.partition(f"### {model.__name__}\n")
        section = section.partition("\n### ")[0].partition("\n## ")[0]
        for name, field in model.model_fields.items():
            assert f"| `{field.alias or name}` |" in section, (model.__name__, name)


def test_the_fixtures_page_says_what_each_fixture_is(pages):
    from pytest_fairmedagent.plugin import __all__ as fixtures

    page = pages["reference/pytest.md"]
    for name in fixtures:
        assert re.search(rf"### `{name}`\n\n\w.{{20,}}", page), name


def test_a_type_is_said_in_words():
    from pytest_fairmedagent.files.inspect_rules import InspectField, InspectTable

    assert BUILD._type(InspectTable.model_fields["field"].annotation) == "list of InspectField"
    said = BUILD._type(InspectField.model_fields["values"].annotation)
    assert said == "table: text to `true` or `false` or whole number or number or text"


def test_there_are_recipes_for_both_systems():
    assert len(RECIPES) >= 4
    assert {"gitlab.yml", "github-ollama.yml"} <= {path.name for path in RECIPES}


def scripts_of(value):
    """Yield every shell script of a recipe."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "run" and isinstance(inner, str):
                yield inner
            elif key == "script":
                yield from inner
            else:
                yield from scripts_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from scripts_of(inner)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_a_recipe_is_yaml_and_names_only_what_exists(path, pytester):
    recipe = yaml.safe_load(path.read_text("utf-8"))
    jobs = recipe.get("jobs") or {k: v for k, v in recipe.items() if isinstance(v, dict)}
    scripts = list(scripts_of(jobs))
    assert any("--fairmed-model=" in script for script in scripts)
    helped = set(re.findall(r"--fairmed-[a-z-]+", pytester.runpytest("--help").stdout.str()))
    for script in scripts:
        assert set(re.findall(r"--fairmed-[a-z-]+", script)) <= helped
        for name, rest in re.findall(r"\bfairmed ([a-z]+)([^\n;|&]*)", script):
            assert name in COMMANDS, script
            known = {o for a in COMMANDS[name]._actions for o in a.option_strings}
            assert set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", rest)) <= known, script
        for profile in re.findall(r"--fairmed-profile=(\w+)", script):
            assert (ROOT / "pytest_fairmedagent" / "audit" / f"{profile}.toml").exists()
        for model in re.findall(r"anthropic/[\w.-]+", script):
            assert price_of(model) is not None  # else --fairmed-max-usd would refuse it


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_a_recipe_keeps_what_it_wrote_and_is_shown_whole(path):
    text = path.read_text("utf-8")
    assert "gate.json" in text
    assert f'--8<-- "ci/{path.name}"' in (DOCS / "ci.md").read_text("utf-8")
