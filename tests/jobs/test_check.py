"""`recurring-eval check`: full runs against what every method would have said of them."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from jobs.demo import write_long_table
from storage.calibrations.calibrations import calibration_by_id, load_calibration
from storage.calibrations.estimates import list_checks
from storage.calibrations.subsets import find_subset
from tests.jobs.command_line import one_error_line
from tests.jobs.histories import (
    AS_OF,
    BENCHMARK,
    CONFIG,
    SIZES,
    command,
    covered,
    logs,
    night_of,
    only,
    pass_matrix,
    reading,
    start,
    tables,
    until,
    verdict_table,
)

LAST_DAY = night_of(12)
"""Of the runs here: every later run costs a replay of hspr."""

STEPS = ("hspr", "mirt-cat", "rasch-cat")
METHODS = (*STEPS, "stratified+gpirt", "stratified+weighted")


@pytest.fixture
def calibrated(checkable):
    return checkable


def checked(folder, *arguments):
    return command(folder, "check", "--json", *arguments).document


def starts(folder):
    return verdict_table(folder).groupby("run_id")["started_at"].first()


def weighted_by_hand(run, subset):
    """Weighted mean over the answered questions of a subset, inside the feasible range."""
    weights = pd.Series(subset.weights, index=list(subset.question_ids))
    answers = run[weights.index].dropna()
    weights = weights[answers.index]
    n, n_unseen = run.notna().sum(), run.notna().sum() - len(answers)
    estimate = (weights * answers).sum() / weights.sum()
    return np.clip(estimate, answers.sum() / n, (answers.sum() + n_unseen) / n)


def test_every_later_full_run_is_judged_by_its_own_verdicts(calibrated):
    document = checked(calibrated)
    rows = pd.DataFrame(document["rows"])
    matrix = covered(pass_matrix(calibrated))
    started = starts(calibrated)
    later = [run for run in matrix.index if started[run].date() > AS_OF]
    assert later
    keys = {(run, method, k) for run in later for method in METHODS for k in SIZES}
    assert {(r.run_id, r.method, r.k) for r in rows.itertuples()} == keys
    assert len(rows) == len(keys)
    with reading(calibrated) as history:
        for row in rows.itertuples():
            run = matrix.loc[row.run_id]
            assert row.full_pass_rate == pytest.approx(run.mean())
            assert row.error_pp == pytest.approx(100 * (row.estimate - row.full_pass_rate))
            assert row.covered == (row.low <= row.full_pass_rate <= row.high)
            assert row.low <= row.estimate <= row.high
            if row.method == "stratified+weighted":
                subset = find_subset(history, row.subset_id).subset
                assert row.estimate == pytest.approx(weighted_by_hand(run, subset))
    assert len(document["summary"]) == len(METHODS) * len(SIZES)
    for entry in document["summary"]:
        mine = rows[(rows["method"] == entry["method"]) & (rows["k"] == entry["k"])]
        assert entry["n"] == len(mine) == len(later)
        assert entry["mae_pp"] == pytest.approx(mine["error_pp"].abs().mean())
        assert entry["max_error_pp"] == pytest.approx(mine["error_pp"].abs().max())
        assert entry["bias_pp"] == pytest.approx(mine["error_pp"].mean())
        assert entry["coverage"] == pytest.approx(mine["covered"].mean())
        assert entry["mae_pp"] < 12


def test_a_check_errs_less_than_a_random_sample_would(folder):
    """The error of k of n questions drawn at random, without replacement, is known in closed form.

    The mean absolute error of an estimate of variance v is sqrt(2 v / pi).
    """
    start(folder, logs(), config=CONFIG + 'hspr = "off"\n', nights=[AS_OF])
    document = checked(folder)
    matrix = covered(pass_matrix(folder))
    rates = matrix.loc[sorted({row["run_id"] for row in document["rows"]})].mean(axis=1)
    assert len(rates) >= 15
    summary = {(e["method"], e["k"]): e for e in document["summary"]}
    n = matrix.shape[1]
    for method in ("stratified+gpirt", "stratified+weighted"):
        for k in SIZES:
            variance = rates * (1 - rates) * n / (n - 1) / k * (1 - k / n)
            at_random = 100 * np.sqrt(2 * variance / np.pi).mean()
            assert summary[method, k]["mae_pp"] < at_random
            # Nine of ten intervals of 90 % hold the truth; fewer than seven are a fault.
            assert summary[method, k]["coverage"] >= 0.7
        assert summary[method, 40]["mae_pp"] < summary[method, 20]["mae_pp"]


def test_no_run_is_judged_by_data_of_its_own_time_or_later(folder):
    start(folder, until(LAST_DAY, logs()), nights=[night_of(number) for number in (9, 10, 11)])
    rows = checked(folder)["rows"]
    started = starts(folder)
    ends = {}
    with reading(folder) as history:
        for row in rows:
            found = calibration_by_id(history, row["calibration_id"])
            fitted_on = load_calibration(history, found).fitted.rasch.run_ids
            assert row["run_id"] not in fitted_on
            assert max(started[run] for run in fitted_on) < started[row["run_id"]]
            ends[row["calibration_id"]] = found.data_end
            assert (row["subset_id"] is None) == (row["method"] in STEPS)
            if row["subset_id"] is not None:
                chosen_by = find_subset(history, row["subset_id"]).calibration_id
                assert calibration_by_id(history, chosen_by).data_end < started[row["run_id"]]
    assert len(ends) == 3
    # And by the latest of those that remain.
    for row in rows:
        earlier = [end for end in ends.values() if end < started[row["run_id"]]]
        assert ends[row["calibration_id"]] == max(earlier)


def test_checks_are_kept_and_a_repeat_replaces_them(calibrated):
    rows = checked(calibrated)["rows"]
    with reading(calibrated) as history:
        stored = list_checks(history, BENCHMARK)
    assert {(c.run_key, c.method, c.k): c.error_pp for c in stored} == {
        (r["run_id"], r["method"], r["k"]): r["error_pp"] for r in rows
    }
    assert checked(calibrated)["rows"] == rows
    with reading(calibrated) as history:
        assert len(list_checks(history, BENCHMARK)) == len(rows)


def test_named_runs_and_dates_narrow_it(calibrated):
    every = checked(calibrated)["rows"]
    last = every[-1]["run_id"]
    rows = checked(calibrated, last, last)["rows"]
    assert rows == [r for r in every if r["run_id"] == last]
    since = LAST_DAY
    rows = checked(calibrated, "--since", str(since))["rows"]
    started = starts(calibrated)
    assert {r["run_id"] for r in rows} == {
        r["run_id"] for r in every if started[r["run_id"]].date() >= since
    }
    text = command(calibrated, "check", last).out.splitlines()
    assert len(text) == len(METHODS) * len(SIZES)
    assert [line.partition(": 1 full run, mean error")[0] for line in text] == [
        f"bench k={k} {method}" for k in SIZES for method in METHODS
    ]


def test_under_covered_and_uncalibrated_runs_are_skipped_with_the_reason(calibrated):
    matrix = pass_matrix(calibrated)
    started = starts(calibrated)
    thin = [r for r in matrix.index.difference(covered(matrix).index) if started[r].date() > AS_OF]
    complete = next(log for log in logs() if log.run_key in covered(matrix).index)
    kept = set(complete.question_ids[:90])
    added = only(
        complete, kept.__contains__, run_key="thin", started_at=datetime(2025, 3, 20, tzinfo=UTC)
    )
    write_long_table(calibrated / "thin.parquet", [added])
    command(calibrated, "import", calibrated / "thin.parquet")
    document = checked(calibrated)
    assert set(document["skipped"]) == {*thin, "thin"}
    assert "too few for a full run" in document["skipped"]["thin"]
    assert not {r["run_id"] for r in document["rows"]} & set(document["skipped"])
    error = one_error_line(command(calibrated, "check", "thin", code=1))
    assert "nothing to check: run thin has valid verdicts on " in error
    first = matrix.index[0]
    error = one_error_line(command(calibrated, "check", first, code=1))
    assert f"no calibration has data that end before run {first}; run `recurring-eval" in error


def test_what_cannot_be_checked(calibrated, folder):
    subset = command(calibrated, "subset", "--k", "20", "--json").document
    asked = set(subset["question_ids"])
    partial = only(
        logs()[-1],
        asked.__contains__,
        run_key="partial",
        subset_id=subset["subset_id"],
        started_at=datetime(2025, 3, 20, tzinfo=UTC),
    )
    write_long_table(calibrated / "partial.parquet", [partial])
    command(calibrated, "import", calibrated / "partial.parquet")
    before = tables(calibrated)
    for arguments, message in (
        (("partial",), "run partial is partial, not a full run; use `recurring-eval estimate`"),
        (("nope",), "the history has no run 'nope'"),
        (("--since", "2998-01-01"), "nothing to check: no full run started on 2998-01-01 or later"),
        (("--since", "soon"), "--since 'soon' is not a date"),
    ):
        error = one_error_line(command(calibrated, "check", *arguments, code=1))
        assert message in error
    assert tables(calibrated) == before
    assert "partial" not in {r["run_id"] for r in checked(calibrated)["rows"]}


def test_before_any_calibration(imported):
    error = one_error_line(command(imported, "check", code=1))
    assert "nothing to check: no full run is newer than the data of a calibration" in error


def test_a_missing_rule_counts_for_both_sides(folder):
    runs = until(LAST_DAY, logs(n_questions=60))
    start(folder, runs, nights=[AS_OF])
    before = {(r["run_id"], r["method"], r["k"]): r for r in checked(folder)["rows"]}
    reasons = {log.reasons[i] for log in runs for i in set(log.reason_index.tolist()) if i >= 0}
    kinds = {reason.partition(":")[0] for reason in reasons}
    assert "timeout" in kinds
    config = folder / "recurring-eval.toml"
    config.write_text(config.read_text() + "[benchmark.bench.missing]\ntimeout = 'fail'\n")
    rows = checked(folder)["rows"]
    frame = verdict_table(folder)
    frame.loc[frame["error"].fillna("").str.startswith("timeout"), "passed"] = 0.0
    scores = frame.groupby("run_id")["passed"].mean()
    for row in rows:
        assert row["full_pass_rate"] == pytest.approx(scores[row["run_id"]])
    lower = [
        r["full_pass_rate"] - before[r["run_id"], r["method"], r["k"]]["full_pass_rate"]
        for r in rows
    ]
    assert max(lower) <= 0 > min(lower)


def test_families_and_benchmarks_are_checked_apart(folder):
    runs = [
        *logs(n_questions=60, other_families=(25,)),
        *logs(seed=8, benchmark="second", n_questions=60),
    ]
    start(folder, until(LAST_DAY, runs), config=CONFIG + 'hspr = "off"\n', nights=[AS_OF])
    document = checked(folder)
    entries = {(e["benchmark"], e["agent_family"]) for e in document["summary"]}
    assert len(entries) == 3
    # Both benchmarks have a run-0001, ...: a name alone is not enough.
    first = document["rows"][-1]["run_id"]
    error = one_error_line(command(folder, "check", first, code=1))
    assert "fits 2 runs of the history" in error
    rows = checked(folder, first, "--benchmark", "second")["rows"]
    assert {r["run_id"] for r in rows} == {first}


def test_runs_of_an_old_bank_are_checked_under_their_calibration(calibrated):
    old = checked(calibrated)["rows"]
    log = next(log for log in logs() if log.run_key == old[-1]["run_id"])
    wide = replace(
        log,
        run_key="wide",
        started_at=datetime(2025, 3, 20, tzinfo=UTC),
        question_ids=(*log.question_ids, "zz-new"),
        content_hashes=(*log.content_hashes, ""),
        question_index=np.append(log.question_index, 120).astype(np.int32),
        trial=np.append(log.trial, 1).astype(np.int16),
        outcome=np.append(log.outcome, 1).astype(np.int8),
        reason_index=np.append(log.reason_index, -1).astype(np.int16),
        duration_s=np.full(121, np.nan),
        cost=np.full(121, np.nan),
    )
    write_long_table(calibrated / "wide.parquet", [wide])
    command(calibrated, "import", calibrated / "wide.parquet", "--extend-bank")
    command(calibrated, "recalibrate", "--as-of", "2025-03-20", "--no-report")
    rows = checked(calibrated)["rows"]
    assert [r for r in rows if r["run_id"] != "wide"] == old
    # The new bank's calibration holds the wide run, so the former one judges it.
    assert {r["calibration_id"] for r in rows if r["run_id"] == "wide"} == {
        old[0]["calibration_id"]
    }
