"""Logs of inspect_ai become records: a real log of inspect-ai 0.3.285, and that log changed."""

import json
import sys
import zipfile
from pathlib import Path

import pytest

from pytest_fairmedagent.files.inspect_log import is_inspect_log, read_inspect_log

DATA = Path(__file__).resolve().parents[1] / "data" / "inspect"
LOG, RULES = DATA / "triage.eval", DATA / "rules.toml"


@pytest.fixture
def changed(tmp_path):
    """Writes the real log anew, with its header and samples changed in place."""
    real = read_inspect_log(LOG)

    def write(change=lambda header, samples: None, name="changed.eval"):
        header, samples = json.loads(json.dumps([real.header, real.samples]))
        change(header, samples)
        path = tmp_path / name
        if path.suffix == ".json":
            path.write_text(json.dumps({**header, "samples": samples}, indent=2), "utf-8")
            return path
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("header.json", json.dumps(header))
            for sample in samples:
                name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
                archive.writestr(name, json.dumps(sample))
        return path

    return write


def rows_of(fairmed, tmp_path, *logs, rules=RULES):
    target = tmp_path / "rows.jsonl"
    ran = fairmed("import", *logs, "--rules", rules, "-o", target)
    assert ran.status == 0, ran.err
    header, *rows = map(json.loads, target.read_text("utf-8").splitlines())
    return header, {(r["vignette"], r["condition"], r["replicate"]): r for r in rows}, ran.out


def test_the_epochs_of_a_real_log_are_replicates(fairmed, tmp_path):
    header, rows, out = rows_of(fairmed, tmp_path, LOG)
    assert header["model"] == "mockllm/model"
    assert header["configuration"]["packages"] == {"inspect_ai": "0.3.285"}
    cases, conditions = ("chest_pain", "foot_burn"), ("reference", "race_black")
    assert set(rows) == {(v, c, r) for v in cases for c in conditions for r in (1, 2, 3, 4)}
    # The mock's n-th answer admits unless 3 divides n, and has the tier n mod 4. It was asked in
    # the order of the samples, by epoch, from 0 on.
    by_call = sorted(rows.values(), key=lambda row: row["drawn"])
    for n, row in enumerate(by_call):
        if n == 5:  # cut at its limit of tokens, though a scorer marked it
            assert (row["outputs"], row["missing"]) == (
                {},
                {"trial": "answer ended by max_tokens"},
            )
            continue
        assert row["outputs"]["reassess"]["admit"] is (n % 3 != 0)
        assert row["outputs"]["prescribe"]["analgesia_tier"] == n % 4
        assert row["outputs"]["document"]["referral"] is (n % 4 == 0)
        assert (row["calls"], row["input_tokens"], row["output_tokens"]) == (1, 40, 12)
    assert "16 trajectories of 2 vignettes under race_black, reference; 1 incomplete" in out


def test_a_log_is_analysed_and_replayed(fairmed, tmp_path):
    rows_of(fairmed, tmp_path, LOG)
    found = fairmed("analyse", tmp_path / "rows.jsonl", "--rules", RULES, "--json").json
    arm = found["arms"][0]
    assert (arm["condition"], arm["vignettes"], arm["trajectories"]) == ("reference", 2, 8)
    assert arm["actions"]["admission"]["pairs"] == 12
    assert found["contrasts"][0]["condition"] == "race_black"
    ran = fairmed("import", LOG, "--rules", RULES, "--store", tmp_path / "store")
    assert "run 1 of" in ran.out
    again = fairmed("import", LOG, "--rules", RULES, "--store", tmp_path / "store")
    assert "there from before, nothing written" in again.out


def test_both_forms_of_a_log_give_the_same_rows(fairmed, tmp_path, changed):
    _, packed, _ = rows_of(fairmed, tmp_path, LOG)
    for name in ("log.eval", "log.json"):  # deflated, and as one object
        path = changed(name=name)
        assert is_inspect_log(path)
        assert rows_of(fairmed, tmp_path, path)[1] == packed


def test_a_record_file_is_no_log(record, make):
    assert not is_inspect_log(record([make.row("a", "reference", 1)], "record.json"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"error": {"message": "RuntimeError('gone')"}}, "error: RuntimeError('gone')"),
        ({"limit": {"type": "token", "limit": 9}}, "stopped at its limit: token"),
        ({"invalidation": {"author": "x"}}, "invalidated in the log"),
    ],
)
def test_a_sample_that_failed_is_missing_with_its_reason(
    fairmed, tmp_path, changed, change, reason
):
    path = changed(lambda _, samples: samples[0].update(change))
    _, rows, _ = rows_of(fairmed, tmp_path, path)
    row = rows["chest_pain", "race_black", 1]
    assert (row["outputs"], row["missing"]) == ({}, {"trial": reason})


def test_a_field_that_is_not_there_is_missing_and_never_a_no(fairmed, tmp_path, changed):
    def change(_, samples):
        samples[0]["output"]["completion"] = "I would admit."
        samples[1]["scores"]["referred"]["value"] = "P"

    _, rows, _ = rows_of(fairmed, tmp_path, changed(change))
    first, second = rows["chest_pain", "race_black", 1], rows["chest_pain", "reference", 1]
    assert first["missing"]["reassess"] == "nothing at output.completion.admit"
    assert "reassess" not in first["outputs"]
    assert second["missing"]["document"] == "'P' at scores.referred.value is none of C, I"


def test_answers_read_from_a_cache_are_no_replicates(fairmed, tmp_path, changed):
    # As inspect_ai does with CachePolicy(per_epoch=False): the message keeps its id.
    def change(_, samples):
        first = {s["id"]: s for s in samples if s["epoch"] == 1}
        for sample in samples:
            sample.update({k: first[sample["id"]][k] for k in ("events", "output", "scores")})

    _, rows, out = rows_of(fairmed, tmp_path, changed(change))
    for (_, _, replicate), row in rows.items():
        copied = {"trial": "answer read from a cache: a copy"}
        assert row["missing"] == ({} if replicate == 1 else copied)
        assert bool(row["outputs"]) is (replicate == 1)
    assert "12 incomplete" in out
    ran = fairmed("analyse", tmp_path / "rows.jsonl", "--rules", RULES, "--json")
    assert {c["verdict"] for c in ran.json["contrasts"]} == {"UNMEASURED"}


def test_a_later_log_of_the_same_task_brings_further_replicates(fairmed, tmp_path, changed):
    def change(header, samples):
        header["eval"]["eval_id"] = "another"
        for number, event in enumerate(e for s in samples for e in s["events"]):
            if event["event"] == "model":
                event["output"]["choices"][0]["message"]["id"] = f"another-{number}"

    _, rows, out = rows_of(fairmed, tmp_path, LOG, changed(change))
    assert {r for _, _, r in rows} == set(range(1, 9))
    assert "2 logs: 32 trajectories" in out
    assert "2 incomplete" in out  # the one that was cut, in both


def test_logs_of_one_condition_each_are_one_record(fairmed, tmp_path, changed, toml):
    def only(who):
        def change(header, samples):
            header["eval"].update(eval_id=who, task_args={"who": who})
            samples[:] = [s for s in samples if s["metadata"]["who"] == who]

        return changed(change, f"{who}.eval")

    text = RULES.read_text("utf-8").replace('"metadata.who"', '"eval.task_args.who"')
    rules = toml(text)
    header, rows, _ = rows_of(fairmed, tmp_path, only("white"), only("black"), rules=rules)
    assert {c for _, c, _ in rows} == {"reference", "race_black"}
    assert header["configuration"]["task_args"] == {}  # what tells the arms apart is not part of it


def alike(header, samples):
    for sample in samples:
        sample["metadata"]["case"] = "one"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda h, s: s.clear(), "holds no sample"),
        (lambda h, s: h.pop("eval"), "its header has no 'eval'"),
        (lambda h, s: s[0].pop("epoch"), None),
        (lambda h, s: s[0]["metadata"].pop("who"), "has None at 'metadata.who', expected a name"),
        (alike, "are both one, race_black in epoch 1"),
    ],
)
def test_a_log_that_cannot_be_read_is_refused_with_the_place(
    fairmed, tmp_path, changed, change, told
):
    if told is None:
        path, told = tmp_path / "torn.eval", "is no whole log of inspect_ai"
        path.write_bytes(LOG.read_bytes()[:9000])
    else:
        path = changed(change)
    ran = fairmed("import", path, "--rules", RULES, "-o", tmp_path / "rows.jsonl")
    assert ran.status == 2
    assert told in ran.err
    assert str(path) in ran.err
    assert not (tmp_path / "rows.jsonl").exists()


def test_the_same_run_twice_and_two_models_are_refused(fairmed, tmp_path, changed):
    copy = changed()
    ran = fairmed("import", LOG, copy, "--rules", RULES, "-o", tmp_path / "rows.jsonl")
    assert "A copy of a log is no further draw" in ran.err
    other = changed(lambda h, s: h["eval"].update(eval_id="x", model="openai/other"))
    ran = fairmed("import", LOG, other, "--rules", RULES, "-o", tmp_path / "rows.jsonl")
    assert "model: 'mockllm/model' and 'openai/other'" in ran.err


def test_a_log_needs_rules_and_a_record_takes_none(fairmed, record, make, toml):
    assert "a log needs --rules FILE.toml" in fairmed("import", LOG).err
    path = record([make.row("a", "reference", 1)])
    assert "is no log of inspect_ai" in fairmed("import", path, "--rules", RULES).err
    assert "has no table [inspect]" in fairmed("import", LOG, "--rules", toml("schema = 1\n")).err


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python unpacks Zstandard itself")
def test_without_the_extra_the_error_says_what_to_install(fairmed, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    ran = fairmed("import", LOG, "--rules", RULES)
    assert ran.status == 2
    assert 'pip install "pytest-fairmedagent[inspect]"' in ran.err
