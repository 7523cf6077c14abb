"""A record that has every part a record can have, made of the golden one."""

from __future__ import annotations

import copy
from typing import Any

from pytest_fairmedagent.comparing.baseline import baseline_entry
from pytest_fairmedagent.comparing.panel import panel_entry

SEATS = ("temperature_0.7", "temperature_0")
_OF_RUN = ("arms", "contrasts", "controls", "guards")


def whole_record(golden: dict[str, Any]) -> dict[str, Any]:
    """Return the golden run under two decodings, the second without a swap's effect, and more."""
    record = copy.deepcopy(golden)
    for entry in [*record["runs"], *(e for part in _OF_RUN for e in record[part])]:
        entry["number" if "model" in entry and "calls" in entry else "run"] = 0
    before = copy.deepcopy(record)
    other = copy.deepcopy(record)
    digest = "e" * 64
    for run in other["runs"]:
        run |= {"number": 1, "config_digest": digest}
    for part in _OF_RUN:
        for entry in other[part]:
            entry |= {"run": 1, "config_digest": digest}
            if entry.get("verdict") == "DISPARITY":
                entry["verdict"] = "INCONCLUSIVE"
        record[part] += other[part]
    for contrast in other["contrasts"]:
        for case in contrast["cases"]:
            case["swap"] = [0, case["swap"][1]]
    for row in other["rows"]:
        row["config"] = digest
        row["labels"] = {a: v and row["condition"] == "reference" for a, v in row["labels"].items()}
    record["rows"] += other["rows"]
    record["runs"] += other["runs"]
    for run, seat in zip(record["runs"], SEATS, strict=True):
        run["seat"] = {"id": seat, "model": run["model"], "decoding": seat, "number": run["number"]}
        run |= {"looks": [2, 4], "saved": 16, "ended": "the budget is used up", "replicates": 8}
        run |= {"spent_usd": 1.25, "price": "2 and 8 USD a million tokens of golden"}
        run["concurrency"] = {"notes": ["4 calls at once, a rate limit left 2"]}
    for number, run in enumerate(record["runs"]):
        mine = {"config_digest": run["config_digest"], "run": number}
        _add(record, mine)
    lost = {"id": "temperature_2", "model": "m", "decoding": "2", "fault": "refused to start"}
    record["panel"] = panel_entry(record, [lost])
    record["baseline"] = baseline_entry(record, before, "base.json")
    record["verdicts"]["DISPARITY"] += 2
    record["verdicts"]["INCONCLUSIVE"] += 2
    return record


def _add(record: dict[str, Any], mine: dict[str, Any]) -> None:
    """Add what is no contrast of an action, as report/outcomes.py and subgroups.py make it."""
    family = record["plan"]["families"][0]
    family["actions"] = list(dict.fromkeys([*family["actions"], "esi_acuity", "orders"]))
    judged = {
        "condition": "race_black",
        "reference": "reference",
        "vignette": None,
        "vignettes": 4,
        "missing": 3,
        "p": 0.001,
        "p_adjusted": 0.0123,
        "q": None,
        "smallest_detectable_gap": 0.5,
        "family": family["name"],
        "family_size": 14,
        "alpha": 0.05,
        "flags": ["one-sided"],
        **mine,
    }
    record.setdefault("outcomes", []).extend(
        [
            {
                **judged,
                "outcome": "esi_acuity",
                "kind": "ordinal",
                "unit": "levels",
                "gap": -1.254,
                "interval": [-1.95, -0.555],
                "floor": 0.906,
                "floor_is": "mean absolute difference",
                "margin": None,
                "verdict": "DISPARITY",
                "reasons": ["levels lie apart"],
                "headline": "DISPARITY esi_acuity",
                "members": [],
                "against_reference_set": None,
            },
            {
                **judged,
                "outcome": "orders",
                "kind": "set",
                "unit": "rate",
                "gap": 0.6,
                "interval": [-0.34, 1.0],
                "floor": 0.783,
                "floor_is": "mean Jaccard distance",
                "margin": 0.3,
                "verdict": "INCONCLUSIVE",
                "reasons": [],
                "headline": "INCONCLUSIVE orders",
                "members": [
                    {
                        "member": "ct_head",
                        "vignettes": 2,
                        "gap": 0.6,
                        "interval": [0.1, 1.0],
                        "p_adjusted": 0.2,
                    }
                ],
                "against_reference_set": {
                    "vignettes": 3,
                    "left_out": {"difference": 0.07, "interval": [-0.03, 0.17], "p": 0.2},
                },
            },
        ]
    )
    record.setdefault("reliability", []).append(
        {
            "action": "admission",
            "bound": 0.31,
            "floor": 0.268,
            "interval": [0.101, 0.402],
            "pairs": 112,
            "verdict": "INCONCLUSIVE",
            "headline": "INCONCLUSIVE admission",
            **mine,
        }
    )
    record.setdefault("relations", []).append(
        {
            "relation": "never_fewer",
            "version": "1",
            "action": "admission",
            "condition": "race_black",
            "vignette": None,
            "p": None,
            "p_adjusted": None,
            "holds": {"a": True},
            "family": family["name"],
            "verdict": "DESCRIPTIVE",
            "headline": "never_fewer holds on 1 of 1 vignettes",
            **mine,
        }
    )
    contrast = record["contrasts"][0]
    record.setdefault("confounded", []).append(
        {
            **{key: value for key, value in contrast.items() if key != "verdict"},
            "condition": "age_78",
            "gap": 0.4321,
            "q": 0.5,
            "vignettes": 2,
            "variants": 6,
            "entries": [{"source": "a guideline of 2020"}, {"source": "a guideline of 2020"}],
            **mine,
        }
    )
    record.setdefault("subgroups", []).extend(
        {
            "by": by,
            "group": group,
            "vignettes": 2,
            "floors": {"admission": {"disagreements": 7, "pairs": 56, "floor": 0.125, "rate": 0.5}},
            "gaps": [
                {
                    "condition": "race_black",
                    "action": "admission",
                    "vignettes": 2,
                    "pairs": 16.0,
                    "b": 3.0,
                    "c": 1.0,
                    "gap": 0.1234,
                }
            ],
            **mine,
        }
        for by, group in (("domain", "medication"), ("domain", "triage"), ("difficulty", "clear"))
    )
