"""The options of the plugin. Declaring them computes nothing: defaults are decided when used."""

from __future__ import annotations

import os

import pytest

NOT_ASKED_FOR = (
    "fairness tests run with --fairmed-model=SPEC on the command line, such as "
    "--fairmed-model=llama3.1:8b or --fairmed-model=embedded"
)

# name, metavar (None for a switch), what it does
_OPTIONS = (
    ("vignettes", "PATHS", "vignette files, folders or ids of shipped ones, comma-separated"),
    ("columns", "A=B,...", "what a CSV or JSON Lines file calls its columns, as text=Vignette"),
    ("variants", "N", "renderings of each vignette, which are one cluster (default 1)"),
    (
        "swaps",
        "NAMES",
        "swaps or attributes to run, comma-separated; or FILE.toml, minimal, full",
    ),
    ("actions", "NAMES", "actions to run, comma-separated"),
    ("replicates", "R", "draws per arm and vignette"),
    ("plan", "FILE", "plan file that registers families before the run"),
    ("profile", "NAME", "quick, ci (default), release or name_signal: cases, swaps, draws, margin"),
    ("margin", "M", "largest signed gap that would not matter, above 0 and below 1"),
    ("alpha", "A", "error rate of each family (default 0.05)"),
    ("strict", "yes/no", "fail what is inconclusive"),
    ("unmeasured", "fail/skip", "what becomes of items without a verdict (fail when CI is set)"),
    ("gate-heterogeneous", "yes/no", "fail contrasts whose effects cancel"),
    ("base-url", "URL", "server of the model, for hosted and compatible back ends"),
    ("agent", "MODULE:ATTR", "an agent of your own: a callable from case to actions, or a URL"),
    ("scaffold", "NAME", "direct (default), reasoned, panel, vote:K or vote:K/NAME"),
    ("exposure", "STAGES", "stages that are told who the patient is, comma-separated (all)"),
    ("sequential", "off/gs/e", "stop arms once decided: at planned looks (gs) or any round (e)"),
    ("max-calls", "N", "model calls that a run may take; it stops between whole rounds"),
    ("max-usd", "USD", "what a run may cost by the price table; it stops between whole rounds"),
    ("prices", "FILE", "price table of your own, before the one that comes with the project"),
    ("concurrency", "N/auto", "requests under way at once; auto measures before the first trial"),
    ("share-server", None, "ask a server of this machine even while another run does"),
    ("seed", "N", "seed of schedule and draws (default: chosen when a series begins)"),
    ("store", "PATH", "folder of the store (default .fairmed)"),
    ("fresh", None, "draw everything anew, whatever the store holds"),
    ("offline", None, "a trial that is not in the store is an error, never a call"),
    ("keep-raw", "yes/no", "keep the model's replies in the store (default yes)"),
    ("explain", "NODEID", "retell the verdict of this item in words, below the summary"),
    ("baseline", "RECORD", "run record to compare with: what got worse or better since"),
)


def add_options(parser: pytest.Parser) -> None:
    """Declare every option, and an ini key `fairmed_NAME` that supplies its default."""
    group = parser.getgroup("fairmed", "fairness tests of clinical agents")
    group.addoption(
        "--fairmed-model",
        metavar="SPEC",
        action="append",
        dest="fairmed_model",
        help="run the fairness tests on this model: an Ollama tag, anthropic/NAME, openai/NAME, "
        "embedded, recorded/PATH or simulated:floor=...; may be given several times",
    )
    group.addoption(
        "--fairmed-decoding",
        metavar="K=V,...",
        action="append",
        dest="fairmed_decoding",
        help="sampling parameters to send, such as temperature=0.7,top_p=0.9 (default: none); "
        "may be given several times",
    )
    group.addoption(
        "--fairmed-report",
        metavar="FILE",
        action="append",
        dest="fairmed_report",
        help="write the run record (.json), a page (.html) or a summary (.md) there; may be given "
        "several times",
    )
    for name, metavar, text in _OPTIONS:
        dest = f"fairmed_{name.replace('-', '_')}"
        if metavar is None:
            group.addoption(
                f"--fairmed-{name}", action="store_const", const="yes", dest=dest, help=text
            )
        else:
            group.addoption(f"--fairmed-{name}", metavar=metavar, dest=dest, help=text)
    for name in ("model", "decoding", *(name for name, _, _ in _OPTIONS)):
        key = f"fairmed_{name.replace('-', '_')}"
        parser.addini(key, f"default of --fairmed-{name}", default="")
    parser.addini(
        "fairmed_junit_properties",
        "state the numbers of each item as properties, for JUnit and other reporters: yes or no",
        default="yes",
    )


def asked_for(config: pytest.Config) -> bool:
    """Whether the audit is on: `--fairmed-model` was typed on the command line.

    A model in `addopts`, an ini file or the environment is a default and turns nothing on, so that
    a plain `pytest` never bills anyone. A worker of xdist is asked by its controller.
    """
    if not config.getoption("fairmed_model", None):
        return False
    if hasattr(config, "workerinput"):
        return True
    return _n_typed(config, "model") > 0


def drop_defaults(config: pytest.Config) -> None:
    """Forget a model or decoding of `addopts` where another is typed on the command line.

    A base URL of `addopts` is noted as such: it is project configuration, as an ini key is, and
    gets no key.
    """
    own = os.environ.get("PYTEST_ADDOPTS", "")
    typed = _n_typed(config, "base-url") > 0 or "--fairmed-base-url" in own
    named = config.option.fairmed_base_url is not None
    config.option.fairmed_base_url_of_addopts = named and not typed
    for name in ("model", "decoding"):
        given, n_typed = getattr(config.option, f"fairmed_{name}"), _n_typed(config, name)
        if n_typed:
            del given[:-n_typed]  # pytest puts what comes from `addopts` first


def _n_typed(config: pytest.Config, name: str) -> int:
    arguments = config.invocation_params.args
    return sum(str(argument).startswith(f"--fairmed-{name}") for argument in arguments)
