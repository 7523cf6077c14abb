"""What mkdocs adds to the pages: the reference generated from the code, and files beside docs/.

`generated()` returns the pages by name; `mkdocs.yml` names this file as a hook.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import pkgutil
import re
import typing
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_BESIDE = re.compile(r"\]\(\.\./([^)#\s]+)(#[^)\s]*)?\)")


def generated() -> dict[str, str]:
    """Return each generated page by its name, in Markdown."""
    return {
        "reference/options.md": options_page(),
        "reference/pytest.md": pytest_page(),
        "reference/commands.md": commands_page(),
        "reference/files.md": files_page(),
        "reference/stats.md": stats_page(),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
    }


# The hooks of mkdocs.


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File, InclusionLevel

    for name, content in generated().items():
        files.append(File.generated(config, name, content=content))
    for name in _beside(Path(config.docs_dir)):
        # Not in the navigation, so that a page of benchmarks is reached from where it is cited.
        content = (ROOT / name).read_text(encoding="utf-8")
        file = File.generated(
            config, f"beside/{name}", content=content, inclusion=InclusionLevel.NOT_IN_NAV
        )
        files.append(file)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links out of docs/ to copies of the files, and leave links to folders as their names."""

    def link(found: re.Match[str]) -> str:
        name, anchor = found[1], found[2] or ""
        return f"](beside/{name}{anchor})" if (ROOT / name).is_file() else f"] (`{name}`)"

    inside = "/" in page.file.src_uri  # of a folder: there `../` leads to docs/
    return markdown if inside else _BESIDE.sub(link, markdown)


def _beside(docs: Path) -> list[str]:
    texts = [path.read_text(encoding="utf-8") for path in docs.glob("*.md")]
    names = {found[1] for text in texts for found in _BESIDE.finditer(text)}
    return sorted(name for name in names if (ROOT / name).is_file())


# The pages.


def options_page() -> str:
    """Return the options that the plugin declares, with their ini keys and variables."""
    rows = []
    for option in declared_options().options:
        (name,) = option.names()
        if option.attrs().get("metavar"):
            name += f"={option.attrs()['metavar']}"
        key = option.dest
        ini = f"`{key}`, `{key.upper()}`" if key in _ini_keys() else "none"
        rows.append((f"`{name}`", _cell(option.attrs()["help"]), ini))
    keys = "\n".join(f"- `{key}`: {text}" for key, text in _ini_keys().items() if "--" not in text)
    return (
        "# Options\n\nGenerated from the code; [in words](../reference.md#options) each says more. "
        "The last column names the ini key and the environment variable that supply a default; "
        "only `--fairmed-model` on the command line turns the audit on.\n\n"
        + _table(("option", "what it does", "default from"), rows)
        + f"\n\nIni keys without an option:\n\n{keys}\n"
    )


def pytest_page() -> str:
    """Return the mark's arguments, the fixtures and what the package offers by name."""
    import pytest_fairmedagent
    from pytest_fairmedagent.plugin import fixtures
    from pytest_fairmedagent.plugin.registry import MARK_ARGUMENTS

    mark = ", ".join(f"{name}=" for name in MARK_ARGUMENTS)
    parts = [
        "# Mark and fixtures\n\nGenerated from the code; see also "
        "[in words](../reference.md#the-mark).\n\n## The mark\n\n"
        f"`@pytest.mark.fairmed({mark})`\n\n## Fixtures"
    ]
    from pytest_fairmedagent.plugin import __all__ as names

    for name in names:
        found = getattr(fixtures, name, None)
        function = inspect.unwrap(getattr(found, "_get_wrapped_function", lambda f=found: f)())
        parts.append(f"### `{name}`\n\n{_doc(function)}")
    parts.append("## Names of the package")
    for name in pytest_fairmedagent.__all__:
        parts.append(_entry(name, getattr(pytest_fairmedagent, name)))
    return "\n\n".join(parts) + "\n"


def commands_page() -> str:
    """Return every command of `fairmed` with its arguments."""
    from pytest_fairmedagent.cli import _parser

    parser = _parser()
    parts = ["# Commands\n\nGenerated from the code."]
    for name, command in commands_of(parser).items():
        parts.append(f"## fairmed {name}\n\n{command.description}")
        rows = [
            (f"`{', '.join(a.option_strings) or a.metavar or a.dest}`", _metavar(a), _cell(a.help))
            for a in command._actions
            if not isinstance(a, argparse._HelpAction)
        ]
        parts.append(_table(("argument", "value", "what it does"), rows))
    return "\n\n".join(parts) + "\n"


def files_page() -> str:
    """Return the fields of every table of every file that people write or programs read."""
    parts = [
        "# File fields\n\nGenerated from the code. A field without a default is required; an "
        "unknown key is an error, and never ignored. [In words](../reference.md#files)."
    ]
    for room, models in models_by_module().items():
        module = importlib.import_module(room)
        parts.append(f"## {_title(room)}\n\n{_doc(module).split(chr(10) * 2)[0]}")
        for model in models:
            rows = [
                (f"`{field.alias or name}`", _type(field.annotation), _default(field))
                for name, field in model.model_fields.items()
            ]
            told = _doc(model) if model.__doc__ != model.__base__.__doc__ else ""
            parts.append(f"### {model.__name__}\n\n{told}".strip())
            parts.append(_table(("field", "value", "default"), rows))
    return "\n\n".join(parts) + "\n"


def stats_page() -> str:
    """Return the public names of `pytest_fairmedagent.stats`."""
    from pytest_fairmedagent import stats

    parts = [
        f"# Statistics\n\n`pytest_fairmedagent.stats`, generated from the code.\n\n{_doc(stats)}"
    ]
    parts += [_entry(name, getattr(stats, name)) for name in stats.__all__]
    return "\n\n".join(parts) + "\n"


# What they are made of.


def declared_options() -> Any:
    """Return pytest's group of the options of the plugin."""
    from _pytest.config.argparsing import Parser

    from pytest_fairmedagent.plugin.options import add_options

    parser = Parser(_ispytest=True)
    add_options(parser)
    _INI.update({key: entry[0] for key, entry in parser._inidict.items()})
    return parser.getgroup("fairmed")


_INI: dict[str, str] = {}


def _ini_keys() -> dict[str, str]:
    if not _INI:
        declared_options()
    return _INI


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the commands of a parser by name."""
    (action,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def models_by_module() -> dict[str, list[Any]]:
    """Return the pydantic models of `files/`, by the module that declares them."""
    from pydantic import BaseModel

    import pytest_fairmedagent.files as room

    found: dict[str, list[Any]] = {}
    for info in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
        module = importlib.import_module(info.name)
        own = [
            value
            for value in vars(module).values()
            if inspect.isclass(value)
            and not typing.get_args(value)  # before Python 3.11 list[X] passes for a class
            and issubclass(value, BaseModel)
            and value.__module__ == info.name
            and value.model_fields
        ]
        if own:
            found[info.name] = own
    return found


def _entry(name: str, value: Any) -> str:
    if inspect.isclass(value) or callable(value):
        try:
            signature = re.sub(r"pytest_fairmedagent\.[\w.]*\.", "", str(inspect.signature(value)))
        except (TypeError, ValueError):
            signature = ""
        return f"### `{name}`\n\n```python\n{name}{signature}\n```\n\n{_doc(value)}"
    return f"### `{name}`\n\n{_doc(value) if inspect.ismodule(value) else f'`{value!r}`'}"


def _doc(value: Any) -> str:
    """Return a docstring as Markdown, in which a list of arguments is a list and no code."""
    text = inspect.getdoc(value) or ""
    text = re.sub(r"^(Args|Attributes|Raises|Returns):\n", r"**\1**\n\n", text, flags=re.MULTILINE)
    return re.sub(r"^ {4}(\w[\w, ]*): ", r"- `\1`: ", text, flags=re.MULTILINE).replace("<", "&lt;")


def _title(module: str) -> str:
    return module.rpartition(".")[2].replace("_", " ").capitalize()


def _metavar(action: argparse.Action) -> str:
    if action.choices:
        return ", ".join(f"`{choice}`" for choice in action.choices)
    return f"`{action.metavar}`" if action.metavar and action.option_strings else ""


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return "" if value in (None, [], {}, ()) else f"`{value!r}`"


def _type(annotation: Any) -> str:
    """Return a type as people say it."""
    arguments = typing.get_args(annotation)
    origin = typing.get_origin(annotation)
    if annotation is type(None):
        return ""
    if hasattr(annotation, "__metadata__"):
        return _type(arguments[0])
    if origin in (list, tuple, set, frozenset):
        inner = " or ".join(dict.fromkeys(_type(a) for a in arguments if a is not Ellipsis))
        return f"list of {inner}"
    if origin is dict:
        return f"table: {_type(arguments[0])} to {_type(arguments[1])}"
    if origin is typing.Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if arguments:
        return " or ".join(filter(None, dict.fromkeys(_type(a) for a in arguments)))
    words = {str: "text", int: "whole number", float: "number", bool: "`true` or `false`"}
    return words.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _cell(text: Any) -> str:
    return str(text or "").replace("|", "\\|").replace("\n", " ").replace("%%", "%")


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


if __name__ == "__main__":
    for page, text in generated().items():
        print(f"<!-- {page} -->\n{text}")
