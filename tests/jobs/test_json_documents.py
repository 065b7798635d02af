"""The documents of `--json`: their stable keys, and nothing else on stdout."""

import json

import pytest

from jobs.demo import write_long_table
from tests.jobs.command_line import invoke
from tests.jobs.histories import logs, night_of, only

FILE = {"path", "status", "runs", "verdicts", "reason"}
SUBSET = {"subset_id", "method", "k", "question_ids", "weights", "sha256"}
ESTIMATE = {
    *("run_id", "method", "k", "pass_rate", "low", "high", "level", "n_asked", "n_valid"),
    *("distribution", "diagnostics"),
}
DIAGNOSTICS = {
    *("configuration", "effective_sample_size", "n_nodes", "n_groups", "n_sources"),
    *("source_zero_share", "queried_source_zero_share", "latent_weights", "calibration"),
    "extrapolating",
}
CHECK_ROW = {"run_id", "method", "k", "estimate", "full_pass_rate", "error_pp", "covered"}
CHECK_SUMMARY = {"method", "k", "n", "mae_pp", "bias_pp", "coverage"}
RESULT = {
    *("benchmark", "agent_family", "date", "status", "calibration_id", "n_runs", "seconds"),
}


def document(*arguments, code=0):
    """The document on stdout, which must be one line of strict JSON, progress or not."""
    outcome = invoke(*arguments, "--json")
    assert outcome.code == code, outcome
    assert outcome.out.count("\n") == 1

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(outcome.out, parse_constant=refuse)


def test_init(folder):
    assert set(document("init")) == {"config", "history"}


def test_import(imported):
    write_long_table(imported / "more.parquet", [only(logs()[-1], lambda q: True, run_key="m")])
    (imported / "bad.csv").write_text("nonsense\n1\n")
    found = document("import", "more.parquet", "bad.csv", code=1)
    assert {"files", "runs_added", "verdicts_added"} <= set(found)
    assert (found["runs_added"], found["verdicts_added"]) == (1, 120)
    assert len(found["files"]) == 2
    for file in found["files"]:
        assert set(file) >= FILE
    assert [file["status"] for file in found["files"]] == ["imported", "refused"]


def test_recalibrate(imported):
    found = document("recalibrate", "--as-of", str(night_of(10)), "--no-report")
    (result,) = found["results"]
    assert set(result) >= RESULT
    assert result["date"] == "2025-03-12"
    assert isinstance(result["calibration_id"], int)
    assert {"load", "fit", "store"} <= set(result["seconds"])
    assert all(seconds >= 0 for seconds in result["seconds"].values())
    (again,) = document("recalibrate", "--as-of", str(night_of(10)))["results"]
    assert set(again) >= RESULT
    (short,) = document("recalibrate", "--as-of", "2025-01-01", "--no-report")["results"]
    assert set(short) >= RESULT


def test_subset_and_estimate(calibrated):
    subset = document("subset", "--k", "20")
    assert set(subset) >= SUBSET
    assert len(subset["question_ids"]) == len(subset["weights"]) == subset["k"] == 20
    asked = set(subset["question_ids"])
    log = only(logs()[-1], asked.__contains__, run_key="p", subset_id=subset["subset_id"])
    write_long_table(calibrated / "p.parquet", [log])
    invoke("import", "p.parquet")
    for reference in ("p", "p.parquet"):
        estimate = document("estimate", reference)
        assert set(estimate) >= ESTIMATE
        assert 0 <= estimate["low"] <= estimate["pass_rate"] <= estimate["high"] <= 1
        assert estimate["distribution"] is estimate["diagnostics"] is None
        by_hspr = document("estimate", reference, "--method", "hspr")
        assert set(by_hspr) >= ESTIMATE
        assert set(by_hspr["diagnostics"]) == DIAGNOSTICS
        assert set(by_hspr["distribution"]) == {"values", "pmf"}
        assert len(by_hspr["distribution"]["values"]) == len(by_hspr["distribution"]["pmf"]) == 121


def test_check(checkable):
    found = document("check")
    assert set(found) >= {"rows", "summary"}
    assert found["rows"]
    assert all(set(row) >= CHECK_ROW for row in found["rows"])
    assert all(set(row) >= CHECK_SUMMARY for row in found["summary"])
    assert {type(row["covered"]) for row in found["rows"]} == {bool}


def test_status(calibrated):
    (state,) = document("status")["benchmarks"]
    assert (state["benchmark"], state["subset_sizes"]) == ("bench", [20, 40])


def test_report(calibrated, monkeypatch):
    monkeypatch.setattr("jobs.pages.nightly.render_nightly", lambda page: "<html></html>")
    found = document("report")
    assert set(found) >= {"reports", "index"}
    assert len(found["reports"]) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("subset", "--k", "0"),
        ("estimate", "nope"),
        ("check", "nope"),
        ("status", "--benchmark", "nope"),
        ("report", "--benchmark", "nope"),
        ("recalibrate", "--benchmark", "nope"),
        ("init",),
    ],
)
def test_an_error_leaves_stdout_empty(calibrated, arguments):
    outcome = invoke(*arguments, "--json")
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1


def test_json_may_stand_before_the_command(calibrated):
    outcome = invoke("--json", "status")
    assert json.loads(outcome.out)["benchmarks"]
