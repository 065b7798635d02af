"""`recurring-eval recalibrate`: what a night fits, stores, keeps and repeats."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from jobs.demo import write_long_table
from jobs.nights import night, recalibrate
from recurring_eval.calibration import fit_rasch
from recurring_eval.errors import FitError, InputError
from recurring_eval.methods.fixed import GPIRT
from storage.calibrations.caches import load_cache
from storage.calibrations.calibrations import (
    calibration_by_id,
    list_calibrations,
)
from storage.calibrations.subsets import find_subset, list_subsets, published_subsets
from storage.ledger import list_job_runs
from storage.runs.runs import list_runs
from storage.runs.verdicts import load_matrix
from tests.jobs.command_line import one_error_line
from tests.jobs.histories import (
    AS_OF,
    BENCHMARK,
    SIZES,
    app_on,
    command,
    covered,
    latest_night,
    logs,
    night_of,
    pass_matrix,
    reading,
    start,
    tables,
    verdict_table,
)


def recalibrated(folder, *arguments, code=0):
    """The results of one `recalibrate`."""
    outcome = command(folder, "recalibrate", "--no-report", "--json", *arguments, code=code)
    return outcome.document["results"]


def latest(folder, family="main", benchmark=BENCHMARK):
    return latest_night(folder, family, benchmark)


def expected_runs(folder, first, last):
    """Covered runs that started on these dates, from the table itself."""
    frame = verdict_table(folder)
    days = frame.groupby("run_id")["day"].first()
    return [run for run in covered(pass_matrix(folder)).index if first <= days[run] <= last]


def test_a_night_uses_exactly_the_covered_runs_up_to_its_date(imported):
    (result,) = recalibrated(imported, "--as-of", str(AS_OF), "--window", "all")
    record = latest(imported)
    runs = expected_runs(imported, night_of(1), AS_OF)
    assert list(record.fitted.rasch.run_ids) == runs
    assert (result["status"], result["n_runs"]) == ("calibrated", len(runs))
    assert result["calibration_id"] == record.info.calibration_id
    assert result["date"] == str(AS_OF)
    frame = verdict_table(imported)
    last = frame[frame["run_id"].isin(runs)]["started_at"].max()
    assert record.info.data_end == last
    assert frame["day"].max() > AS_OF  # there were later runs to leave out
    under = set(pass_matrix(imported).index) - set(covered(pass_matrix(imported)).index)
    assert under
    assert not under & set(record.fitted.rasch.run_ids)


def test_its_model_is_the_fit_of_those_runs(calibrated):
    record = latest(calibrated)
    rasch = record.fitted.rasch
    with reading(calibrated) as history:
        runs = [run for run in list_runs(history, BENCHMARK) if run.run_key in set(rasch.run_ids)]
        matrix = load_matrix(history, runs, rasch.question_ids)
    wide = pass_matrix(calibrated).loc[list(matrix.run_ids), list(matrix.question_ids)]
    np.testing.assert_array_equal(matrix.trials > 0, wide.notna().to_numpy())
    np.testing.assert_array_equal(matrix.passes, wide.fillna(0).to_numpy())
    fitted = fit_rasch(matrix)
    np.testing.assert_allclose(rasch.difficulty, fitted.difficulty, atol=1e-12)
    assert rasch.fingerprint == fitted.fingerprint
    # Harder questions are those that fewer runs pass.
    rates = wide.mean().to_numpy()
    assert np.corrcoef(rates, rasch.difficulty)[0, 1] < -0.9
    methods = {(r.method, r.k) for r in record.residuals}
    checked = ("stratified+gpirt", "stratified+weighted", "hspr", "rasch-cat", "mirt-cat")
    assert methods == {(m, k) for m in checked for k in SIZES}


def test_a_window_counts_days_back_from_the_night(imported):
    (result,) = recalibrated(imported, "--as-of", str(AS_OF), "--window", "4d")
    runs = expected_runs(imported, AS_OF - timedelta(days=3), AS_OF)
    assert list(latest(imported).fitted.rasch.run_ids) == runs
    assert "extended" not in result["message"]


def test_a_window_is_stretched_to_the_configured_minimum(imported):
    config = imported / "recurring-eval.toml"
    config.write_text(config.read_text().replace("minimum_runs = 4", "minimum_runs = 12"))
    (result,) = recalibrated(imported, "--as-of", str(AS_OF), "--window", "1d")
    assert (
        list(latest(imported).fitted.rasch.run_ids)
        == expected_runs(imported, night_of(1), AS_OF)[-12:]
    )
    assert "extended backwards" in result["message"]


def test_a_night_that_is_done_is_left_alone(calibrated):
    before = tables(calibrated)
    (result,) = recalibrated(calibrated, "--as-of", str(AS_OF))
    assert result["status"] == "already done"
    assert result["calibration_id"] == latest(calibrated).info.calibration_id
    assert tables(calibrated) == before


def test_force_supersedes_and_repeats_bit_by_bit(calibrated):
    former = latest(calibrated)
    subsets = tables(calibrated)["subset"]
    (result,) = recalibrated(calibrated, "--as-of", str(AS_OF), "--force")
    assert result["status"] == "calibrated"
    assert result["published"] == []
    again = latest(calibrated)
    assert again.info.calibration_id == result["calibration_id"] != former.info.calibration_id
    np.testing.assert_array_equal(again.fitted.rasch.difficulty, former.fitted.rasch.difficulty)
    assert again.fitted[GPIRT] == former.fitted[GPIRT]
    assert again.residuals == former.residuals
    with reading(calibrated) as history:
        superseded = calibration_by_id(history, former.info.calibration_id)
        assert superseded.superseded_at is not None
        current = list_calibrations(history, BENCHMARK, "main")
        assert [info.calibration_id for info in current] == [again.info.calibration_id]
    assert tables(calibrated)["subset"] == subsets
    with reading(calibrated) as history:
        attempts = [(j.attempt, j.status.value) for j in list_job_runs(history)]
    assert attempts == [(2, "done"), (1, "done")]


def test_new_subsets_are_published_on_request_alone(calibrated):
    recalibrated(calibrated, "--as-of", str(night_of(11)))
    with reading(calibrated) as history:
        before = {r.subset.k: r for r in published_subsets(history, BENCHMARK, "main")}
    (result,) = recalibrated(calibrated, "--as-of", str(night_of(12)), "--new-subsets")
    assert "new subsets were requested" in result["message"]
    with reading(calibrated) as history:
        after = {r.subset.k: r for r in published_subsets(history, BENCHMARK, "main")}
        assert set(after) == set(SIZES)
        for k in SIZES:
            assert after[k].subset.sha256 != before[k].subset.sha256
            assert not find_subset(history, before[k].subset_id).active
            assert find_subset(history, before[k].subset_id).retired_at is not None


def test_a_short_history_keeps_nothing_and_says_why(imported):
    short = night_of(1)
    n = len(expected_runs(imported, short, short))
    assert 0 < n < 4
    outcome = command(imported, "recalibrate", "--no-report", "--as-of", str(short))
    assert f"not calibrated; only {n} usable full runs, a calibration needs 4" in outcome.out
    (result,) = recalibrated(imported, "--as-of", str(short))
    assert (result["status"], result["calibration_id"]) == ("kept", None)
    assert tables(imported)["calibration"] == []
    with reading(imported) as history:
        assert [job.status.value for job in list_job_runs(history)] == ["kept", "kept"]


def test_a_date_before_all_runs_says_so(imported):
    (result,) = recalibrated(imported, "--as-of", "2025-01-01")
    assert result["status"] == "kept"
    assert "no full run" in result["message"]
    assert "2025-01-01" in result["message"]


def test_a_failed_fit_keeps_the_former_model_in_force(calibrated, monkeypatch):
    def refuse(matrix):
        raise FitError("the Rasch fit did not converge in 100 iterations")

    monkeypatch.setattr("jobs.nights.fit.fit_rasch", refuse)
    former = latest(calibrated).info.calibration_id
    before = tables(calibrated, without=["job_run", "commit_log"])
    day = night_of(12)
    outcome = command(calibrated, "recalibrate", "--no-report", "--as-of", str(day))
    assert f"calibration {former} kept; the Rasch fit did not converge" in outcome.out
    (result,) = recalibrated(calibrated, "--as-of", str(day))
    assert (result["status"], result["calibration_id"]) == ("kept", former)
    assert tables(calibrated, without=["job_run", "commit_log"]) == before
    subset = command(calibrated, "subset", "--k", "20", "--json").document
    assert len(subset["question_ids"]) == 20
    monkeypatch.undo()
    (result,) = recalibrated(calibrated, "--as-of", str(day))
    assert result["status"] == "calibrated"  # a kept night is tried again


@pytest.mark.parametrize(
    "error", [InputError("a stored thing is wrong"), ValueError("a bug"), OSError(28, "disk full")]
)
def test_an_error_in_the_middle_of_storing_stores_nothing(calibrated, monkeypatch, error):
    saved = []

    def fail_at_the_second(*arguments, **keywords):
        if saved:
            raise error
        saved.append(keywords["calibration_id"])
        return save_subset(*arguments, **keywords)

    save_subset = night.save_subset
    monkeypatch.setattr(night, "save_subset", fail_at_the_second)
    before = tables(calibrated, without=["job_run", "commit_log"])
    arguments = ("recalibrate", "--no-report", "--as-of", str(night_of(13)), "--new-subsets")
    outcome = command(calibrated, *arguments, code=1)
    assert saved  # a calibration, a cache and one subset had been written
    assert "bench (main) 2025-03-15: " in one_error_line(outcome)
    assert "already" not in outcome.err
    assert tables(calibrated, without=["job_run", "commit_log"]) == before
    with reading(calibrated) as history:
        job = list_job_runs(history)[0]
    assert (job.status.value, job.date) == ("failed", night_of(13))
    assert str(error) in job.message
    monkeypatch.setattr(night, "save_subset", save_subset)
    command(calibrated, *arguments)
    assert latest(calibrated).info.date == night_of(13)


def test_a_second_benchmark_is_done_though_the_first_fails(folder, monkeypatch):
    first = logs(seed=1, benchmark="aaa", n_questions=60, runs_per_day=1.5)
    second = logs(seed=2, benchmark="zzz", n_questions=60, runs_per_day=1.5)
    start(folder, [*first, *second])

    def fail_for_the_first(app, this, attempt, *, owner):
        if this.target.benchmark == "aaa":
            raise RuntimeError("boom")
        return run_night(app, this, attempt, owner=owner)

    run_night = recalibrate.run_night
    monkeypatch.setattr(recalibrate, "run_night", fail_for_the_first)
    outcome = command(folder, "recalibrate", "--no-report", "--json", "--as-of", str(AS_OF), code=1)
    assert "aaa (main) 2025-03-12: RuntimeError: boom" in one_error_line(outcome)
    found = {r["benchmark"]: r["status"] for r in outcome.document["results"]}
    assert found == {"aaa": "failed", "zzz": "calibrated"}
    monkeypatch.setattr(recalibrate, "run_night", run_night)
    found = {r["benchmark"]: r["status"] for r in recalibrated(folder, "--as-of", str(AS_OF))}
    assert found == {"aaa": "calibrated", "zzz": "already done"}
    assert latest(folder, benchmark="aaa").fitted.rasch.question_ids == first[0].question_ids
    assert "several benchmarks, aaa, zzz; choose one" in one_error_line(
        command(folder, "subset", "--k", "5", code=1)
    )
    command(folder, "subset", "--k", "5", "--benchmark", "zzz")


def test_partial_runs_that_cannot_be_estimated_spoil_no_night(imported, monkeypatch):
    def fail(app, target):
        raise InputError("the disk is full")

    monkeypatch.setattr(recalibrate, "estimate_partial_runs", fail)
    (result,) = recalibrated(imported, "--as-of", str(AS_OF))
    assert result["status"] == "calibrated"
    assert "new partial runs were not estimated: the disk is full" in result["message"]
    assert latest(imported).info.calibration_id == result["calibration_id"]


def test_a_bank_below_every_size_says_how_to_get_a_subset(folder):
    start(folder, logs(n_questions=15))
    (result,) = recalibrated(folder, "--as-of", str(AS_OF))
    assert "no subset_sizes below 15 questions; ask with" in result["message"]
    error = one_error_line(command(folder, "check", code=1))
    assert "ask for one with `recurring-eval subset`" in error
    command(folder, "subset", "--k", "5")
    assert command(folder, "check", "--json").document["rows"]


def test_families_are_calibrated_apart(folder):
    start(folder, logs(n_questions=60, other_families=(14,)))
    results = recalibrated(folder, "--as-of", str(night_of(16)))
    assert len(results) == 2
    assert {r["status"] for r in results} == {"calibrated"}
    families = verdict_table(folder).groupby("run_id")["agent_family"].first()
    for result in results:
        record = latest(folder, family=result["agent_family"])
        assert {families[run] for run in record.fitted.rasch.run_ids} == {result["agent_family"]}
        with reading(folder) as history:
            assert published_subsets(history, BENCHMARK, result["agent_family"])
            cache = load_cache(history, BENCHMARK, result["agent_family"])
        assert cache is not None
    (one,) = recalibrated(folder, "--as-of", str(night_of(15)), "--agent-family", "main")
    assert one["agent_family"] == "main"
    error = one_error_line(
        command(folder, "recalibrate", "--agent-family", "nope", "--as-of", str(AS_OF), code=1)
    )
    assert "no runs of agent family 'nope'; known families: " in error


@pytest.mark.parametrize("past", [True, False])
def test_the_cache_counts_strictly_earlier_days_of_routine_runs(imported, past):
    today = AS_OF + timedelta(days=3) if past else AS_OF
    app = app_on(imported, today)
    recalibrate.recalibrate(app, as_of=AS_OF)
    # A night in the past serves the day after it; tonight serves today.
    cache_day = AS_OF + timedelta(days=1) if past else AS_OF
    with reading(imported) as history:
        cache = load_cache(history, BENCHMARK, "main", cache_day)
        assert load_cache(history, BENCHMARK, "main", cache_day - timedelta(days=1)) is None
    assert cache is not None
    frame = verdict_table(imported)
    frame = frame[
        (frame["purpose"] == "routine")
        & (frame["day"] < cache_day)
        & (frame["day"] >= cache_day - timedelta(days=7))
    ]
    counts = frame.groupby("question_id")["passed"].agg(["sum", "count"])
    counts = counts.reindex(list(cache.question_ids), fill_value=0)
    assert counts["count"].max() >= 5
    np.testing.assert_array_equal(cache.passes, counts["sum"])
    np.testing.assert_array_equal(cache.n_trials, counts["count"])
    minority = np.minimum(counts["sum"], counts["count"] - counts["sum"])
    settled = (counts["count"] >= 5) & (minority <= 0.05 * counts["count"])
    np.testing.assert_array_equal(cache.cached, settled)


def test_a_night_in_the_past_leaves_the_published_subsets_of_later_data(imported):
    recalibrated(imported, "--as-of", str(night_of(14)))
    with reading(imported) as history:
        active = [r.subset_id for r in published_subsets(history, BENCHMARK, "main")]
    (result,) = recalibrated(imported, "--as-of", str(night_of(8)))
    assert "for that past night only" in result["message"]
    with reading(imported) as history:
        assert [r.subset_id for r in published_subsets(history, BENCHMARK, "main")] == active
        past = [r for r in list_subsets(history, BENCHMARK, "main") if not r.active]
    assert {r.subset.k for r in past} == set(SIZES)
    assert {r.calibration_id for r in past} == {result["calibration_id"]}
    subset = command(imported, "subset", "--k", "20", "--json").document
    assert subset["subset_id"] in active
    # The runs between the two nights can be checked by what the past night knew.
    rows = command(imported, "check", "--json").document["rows"]
    assert {row["calibration_id"] for row in rows} >= {result["calibration_id"]}
    first = [row for row in rows if row["started_at"] < str(night_of(14))]
    by_subsets = {row["subset_id"] for row in first if row["method"].startswith("stratified+")}
    assert by_subsets == {r.subset_id for r in past}


def test_dates_and_windows_that_make_no_sense(imported):
    before = tables(imported)
    for arguments, message in (
        (("--as-of", "2999-01-01"), "2999-01-01 is in the future; today is"),
        (("--as-of", "0001-01-01"), "--as-of 0001-01-01 is before 1970"),
        (("--as-of", "yesterday"), "--as-of 'yesterday' is not a date; write it as 2026-11-29"),
        (("--as-of", str(AS_OF), "--window", "4w"), "window '4w' is not a number of days"),
        (("--as-of", str(AS_OF), "--window", "0d"), "window '0d' is not a number of days"),
        (("--as-of", str(AS_OF), "--benchmark", "benhc"), "benhc"),
    ):
        error = one_error_line(command(imported, "recalibrate", *arguments, code=1))
        assert message in error
    assert tables(imported) == before


def test_an_empty_history_says_what_to_do(folder):
    start(folder)
    error = one_error_line(command(folder, "recalibrate", code=1))
    assert "no runs yet; import some" in error


def test_an_extended_bank_gets_a_new_calibration_and_new_subsets(calibrated):
    with reading(calibrated) as history:
        old = {r.subset.k: r for r in published_subsets(history, BENCHMARK, "main")}
    names = list(covered(pass_matrix(calibrated)).index[-4:])
    complete = [log for log in logs() if log.run_key in names]
    extra = [
        replace(
            log,
            run_key=f"wide-{i}",
            question_ids=(*log.question_ids, "zz-new-1", "zz-new-2"),
            content_hashes=(*log.content_hashes, "", ""),
            question_index=np.append(log.question_index, [120, 121]).astype(np.int32),
            trial=np.append(log.trial, [1, 1]).astype(np.int16),
            outcome=np.append(log.outcome, [1, 0]).astype(np.int8),
            reason_index=np.append(log.reason_index, [-1, -1]).astype(np.int16),
            duration_s=np.full(122, np.nan),
            cost=np.full(122, np.nan),
            started_at=datetime(2025, 3, 13, i, tzinfo=UTC),
        )
        for i, log in enumerate(complete)
    ]
    write_long_table(calibrated / "wide.parquet", extra)
    error = one_error_line(command(calibrated, "import", calibrated / "wide.parquet", code=1))
    assert "--extend-bank" in error
    command(calibrated, "import", calibrated / "wide.parquet", "--extend-bank")
    (result,) = recalibrated(calibrated, "--as-of", str(night_of(11)))
    assert "the bank has a new version" in result["message"]
    record = latest(calibrated)
    assert record.fitted.rasch.n_questions == 122
    assert {"wide-0", "wide-1", "wide-2", "wide-3"} <= set(record.fitted.rasch.run_ids)
    assert record.fitted.rasch.n_responses[-2] == 4
    with reading(calibrated) as history:
        new = {r.subset.k: r for r in published_subsets(history, BENCHMARK, "main")}
        for k in SIZES:
            assert new[k].subset.bank_version == record.info.bank_version
            assert not find_subset(history, old[k].subset_id).active
            kept = set(new[k].subset.question_ids) & set(old[k].subset.question_ids)
            assert len(kept) >= 0.7 * k


def test_the_order_of_imported_rows_and_files_is_irrelevant(folder):
    runs = logs(n_questions=60)
    one = start(folder / "one", runs)
    other = start(folder / "other", [])
    rows = verdict_table(one).drop(columns="day")
    rows["passed"] = rows["passed"].map({1.0: True, 0.0: False})
    shuffled = rows.sample(frac=1.0, random_state=5)
    for name, part in (("b", shuffled.iloc[::2]), ("a", shuffled.iloc[1::2])):
        part.to_parquet(other / f"{name}.parquet")
    command(other, "import", other, "--create")
    for project in (one, other):
        recalibrated(project, "--as-of", str(AS_OF))
    assert latest(one).fitted.rasch.fingerprint == latest(other).fitted.rasch.fingerprint
    assert latest(one).residuals == latest(other).residuals
    documents = [command(p, "subset", "--k", "20", "--json").document for p in (one, other)]
    assert documents[0] == documents[1]


def test_a_moved_project_works_on(calibrated, folder):
    shutil.copytree(calibrated, folder / "elsewhere", ignore=shutil.ignore_patterns("elsewhere"))
    (result,) = recalibrated(folder / "elsewhere", "--as-of", str(night_of(11)))
    assert result["status"] == "calibrated"
