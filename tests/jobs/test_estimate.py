"""`recurring-eval estimate`: from a partial run to the full pass rate."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from jobs.demo import write_long_table
from storage.calibrations.calibrations import latest_calibration, list_calibrations
from storage.calibrations.estimates import list_estimates
from storage.calibrations.subsets import find_subset
from tests.jobs.command_line import one_error_line
from tests.jobs.histories import (
    AS_OF,
    BENCHMARK,
    CONFIG,
    command,
    logs,
    night_of,
    only,
    reading,
    start,
    tables,
    verdict_table,
)

K = 40
LATER = datetime(2025, 3, 13, 9, tzinfo=UTC)


def subset_of(folder, k=K, *arguments):
    return command(folder, "subset", "--k", str(k), "--json", *arguments).document


def partial_of(log, subset, **changes):
    """What the run would have answered, had it been asked the subset."""
    facts = {"run_key": "partial", "subset_id": subset["subset_id"], "started_at": LATER}
    return only(log, set(subset["question_ids"]).__contains__, **(facts | changes))


def imported_file(folder, log, *arguments):
    """Write a log as a table, import it, and give the file's path."""
    path = folder / f"{log.run_key}.parquet"
    write_long_table(path, [log])
    command(folder, "import", path, *arguments)
    return path


def estimated(folder, *arguments):
    return command(folder, "estimate", "--json", *arguments).document


def by_hand(path, subset):
    """Weighted mean of the verdicts in a file over the subset, missing ones left out."""
    frame = verdict_table(path.parent, path.name)
    answers = frame.set_index("question_id")["passed"].dropna()
    weights = pd.Series(subset["weights"], index=subset["question_ids"])
    weights = weights[weights.index.isin(answers.index)]
    return float((weights * answers[weights.index]).sum() / weights.sum()), answers[weights.index]


def test_the_weighted_estimate_is_the_weighted_mean(calibrated):
    subset = subset_of(calibrated)
    path = imported_file(calibrated, partial_of(logs()[-1], subset))
    document = estimated(calibrated, "partial", "--method", "stratified")
    expected, answers = by_hand(path, subset)
    assert document["method"] == "stratified+weighted"
    assert document["pass_rate"] == pytest.approx(expected)
    assert (document["k"], document["n_asked"], document["n_valid"]) == (K, K, len(answers))
    assert document["n_passed"] == answers.sum()
    assert document["low"] <= document["pass_rate"] <= document["high"]
    assert document["rerun_low"] <= document["low"]
    assert document["rerun_high"] >= document["high"]
    assert (document["level"], document["subset_id"]) == (0.9, subset["subset_id"])
    # A range that no answer to the other questions could leave.
    assert document["low"] >= answers.sum() / 120
    assert document["high"] <= (answers.sum() + 120 - len(answers)) / 120


def test_the_default_blends_it_with_the_model(calibrated):
    subset = subset_of(calibrated)
    path = imported_file(calibrated, partial_of(logs()[-1], subset))
    auto = estimated(calibrated, "partial")
    assert auto["method"] == "stratified+gpirt"
    ends = [
        estimated(calibrated, "partial", "--method", f"stratified+{name}")["pass_rate"]
        for name in ("weighted", "pirt")
    ]
    assert min(ends) <= auto["pass_rate"] <= max(ends)
    full = verdict_table(calibrated)
    full = full[full["run_id"] == logs()[-1].run_key]["passed"].mean()
    assert abs(auto["pass_rate"] - full) < 0.12
    assert estimated(calibrated, path)["pass_rate"] == auto["pass_rate"]


def test_it_says_in_one_line_what_was_counted_and_what_it_means(calibrated):
    subset = subset_of(calibrated)
    path = imported_file(calibrated, partial_of(logs()[-1], subset))
    document = estimated(calibrated, "partial")
    _, answers = by_hand(path, subset)
    lines = command(calibrated, "estimate", "partial").out.splitlines()
    missing = K - len(answers)
    gaps = f" ({missing} of {K} without a valid verdict)" if missing else ""
    assert lines[0].startswith(
        f"{answers.sum():g} of {len(answers)} answered questions passed{gaps}; "
        f"full pass rate {100 * document['pass_rate']:.1f} % "
        f"(90 % interval {100 * document['low']:.1f}-{100 * document['high']:.1f} %); "
    )
    assert "the same agent run again would land in" in lines[0]
    assert "missing verdicts are missing, never fails" in lines[1]


def test_each_estimate_is_kept(calibrated):
    imported_file(calibrated, partial_of(logs()[-1], subset_of(calibrated)))
    given = [estimated(calibrated, "partial") for _ in range(2)]
    with reading(calibrated) as history:
        kept = list_estimates(history, BENCHMARK)
        calibration = latest_calibration(history, BENCHMARK, "main")
    assert [(e.estimate.pass_rate, e.estimate.low, e.k) for e in kept] == [
        (document["pass_rate"], document["low"], K) for document in given
    ]
    assert {e.calibration_id for e in kept} == {calibration.calibration_id}


def test_a_file_is_estimated_like_a_stored_run_and_stores_nothing(calibrated):
    subset = subset_of(calibrated)
    path = calibrated / "partial.parquet"
    write_long_table(path, [partial_of(logs()[-1], subset)])
    before = tables(calibrated)
    from_file = estimated(calibrated, path)
    assert tables(calibrated) == before
    command(calibrated, "import", path)
    assert estimated(calibrated, "partial") == from_file
    write_long_table(path, [partial_of(logs()[-1], subset, subset_id=None, run_key="unnamed")])
    named = estimated(calibrated, path, "--subset", subset["subset_id"])
    assert named == from_file | {"run_id": "unnamed"}


def test_a_run_is_estimated_under_the_calibration_in_force_when_it_started(calibrated):
    subset = subset_of(calibrated)
    command(calibrated, "recalibrate", "--as-of", str(night_of(13)), "--no-report")
    with reading(calibrated) as history:
        first, second = list_calibrations(history, BENCHMARK)
    for key, started, calibration in (
        ("between", second.data_end - timedelta(minutes=1), first),
        ("at-the-end", second.data_end, first),
        ("after", second.data_end + timedelta(minutes=1), second),
    ):
        log = partial_of(logs()[-1], subset, run_key=key, started_at=started)
        path = imported_file(calibrated, log)
        for reference in (key, path):
            document = estimated(calibrated, reference)
            assert document["calibration_id"] == calibration.calibration_id
            assert document["model_fingerprint"] == calibration.model_fingerprint


def test_a_start_known_to_the_day_only_falls_back_on_the_subsets_calibration(calibrated):
    subset = subset_of(calibrated)
    midnight = datetime(AS_OF.year, AS_OF.month, AS_OF.day, tzinfo=UTC)
    with reading(calibrated) as history:
        (info,) = list_calibrations(history, BENCHMARK)
    assert midnight < info.data_end
    path = imported_file(calibrated, partial_of(logs()[-1], subset, started_at=midnight))
    for reference in ("partial", path):
        assert estimated(calibrated, reference)["calibration_id"] == info.calibration_id
    # A full run of that time may be among those that the calibration learnt from.
    first = logs()[0].run_key
    error = one_error_line(command(calibrated, "estimate", first, code=1))
    assert "has no calibration with data that end before 2025-03-0" in error
    assert "--as-of a date before that" in error


def test_a_full_run_is_exact(calibrated):
    last = logs()[-1]
    document = estimated(calibrated, last.run_key)
    valid = (last.outcome >= 0).sum()
    score = (last.outcome == 1).sum() / valid
    assert [document[key] for key in ("low", "pass_rate", "high")] == pytest.approx([score] * 3)
    assert (document["k"], document["n_valid"]) == (120, valid)
    assert document["rerun_low"] < score < document["rerun_high"]
    subset = subset_of(calibrated)
    seen = estimated(calibrated, last.run_key, "--subset", subset["subset_id"])
    imported_file(calibrated, partial_of(last, subset))
    assert seen["pass_rate"] == estimated(calibrated, "partial")["pass_rate"]


def test_a_missing_rule_counts_as_fail_and_is_printed(calibrated):
    subset = subset_of(calibrated)
    log = partial_of(logs()[-1], subset)
    first = np.arange(len(log.outcome)) < 6
    lost = replace(
        log,
        outcome=np.where(first, -1, np.maximum(log.outcome, 0)).astype(np.int8),
        reasons=("timeout", "error: out of memory"),
        reason_index=np.where(first, np.arange(len(log.outcome)) % 2, -1).astype(np.int16),
    )
    path = imported_file(calibrated, lost)
    plain = estimated(calibrated, "partial", "--method", "stratified")
    assert (plain["n_valid"], plain["missing_as_fail"]) == (K - 6, [])
    assert plain["pass_rate"] == pytest.approx(by_hand(path, subset)[0])
    config = calibrated / "recurring-eval.toml"
    config.write_text(config.read_text() + "[defaults.missing]\ntimeout = 'fail'\n")
    strict = estimated(calibrated, "partial", "--method", "stratified")
    assert (strict["n_valid"], strict["missing_as_fail"]) == (K - 3, ["timeout"])
    answers = verdict_table(calibrated, path.name).set_index("question_id")
    passed = answers["passed"].where(answers["error"] != "timeout", 0.0).dropna()
    weights = pd.Series(subset["weights"], index=subset["question_ids"])[passed.index]
    assert strict["pass_rate"] == pytest.approx((weights * passed).sum() / weights.sum())
    assert strict["pass_rate"] < plain["pass_rate"]
    assert estimated(calibrated, path, "--method", "stratified") == strict
    line = command(calibrated, "estimate", "partial").out.splitlines()[1]
    assert "missing verdicts count as fails when the reason is timeout" in line


def test_an_old_subset_after_the_bank_was_extended(calibrated):
    subset = subset_of(calibrated)
    wide = [
        replace(
            log,
            run_key=f"wide-{i}",
            started_at=datetime(2025, 3, 20, i, tzinfo=UTC),
            question_ids=(*log.question_ids, "zz-new"),
            content_hashes=(*log.content_hashes, ""),
            question_index=np.append(log.question_index, 120).astype(np.int32),
            trial=np.append(log.trial, 1).astype(np.int16),
            outcome=np.append(log.outcome, 1).astype(np.int8),
            reason_index=np.append(log.reason_index, -1).astype(np.int16),
            duration_s=np.full(121, np.nan),
            cost=np.full(121, np.nan),
        )
        for i, log in enumerate(logs()[-4:])
    ]
    write_long_table(calibrated / "wide.parquet", wide)
    early = imported_file(calibrated, partial_of(logs()[-1], subset, run_key="early"))
    before = estimated(calibrated, "early")
    command(calibrated, "import", calibrated / "wide.parquet", "--extend-bank")
    command(calibrated, "recalibrate", "--as-of", "2025-03-20", "--no-report")
    # Asked for before the extension: nothing of it changes afterwards.
    assert estimated(calibrated, "early") == estimated(calibrated, early) == before
    # Asked for after it, with the old questions: they still say something of the new bank.
    when = datetime(2025, 3, 21, tzinfo=UTC)
    late = imported_file(
        calibrated, partial_of(logs()[-1], subset, run_key="late", started_at=when)
    )
    document = estimated(calibrated, "late", "--method", "stratified")
    assert document["calibration_id"] != before["calibration_id"]
    assert document["pass_rate"] == pytest.approx(by_hand(late, subset)[0])
    new = subset_of(calibrated)
    assert new["subset_id"] != subset["subset_id"]
    # A new subset, but a start before the new calibration's data end.
    with reading(calibrated) as history:
        chosen_by = find_subset(history, new["subset_id"]).calibration_id
    vague = partial_of(wide[-1], new, run_key="vague", started_at=datetime(2025, 3, 20, tzinfo=UTC))
    imported_file(calibrated, vague)
    if "zz-new" in new["question_ids"]:
        assert estimated(calibrated, "vague")["calibration_id"] == chosen_by
    else:
        assert estimated(calibrated, "vague")["calibration_id"] == before["calibration_id"]


def test_a_subset_of_another_benchmark_or_family(folder):
    runs = [
        *logs(n_questions=60, other_families=(25,)),
        *logs(seed=8, benchmark="second", n_questions=60),
    ]
    start(folder, runs, config=CONFIG + 'hspr = "off"\n', nights=[AS_OF])
    with reading(folder) as history:
        families = {family for (family,) in history.rows("SELECT DISTINCT agent_family FROM run")}
    (other,) = families - {"main"}
    here = subset_of(folder, 20, "--benchmark", BENCHMARK)
    there = subset_of(folder, 20, "--benchmark", "second")
    key = next(log.run_key for log in reversed(runs) if log.benchmark == BENCHMARK)
    error = one_error_line(
        command(
            folder,
            *("estimate", key, "--benchmark", BENCHMARK, "--subset", there["subset_id"]),
            code=1,
        )
    )
    assert f"subset '{there['subset_id']}' belongs to benchmark 'second', but run" in error
    # The rules of the configuration decide which family's calibration a file is read under.
    config = folder / "recurring-eval.toml"
    config.write_text(config.read_text() + f"[[rules]]\nagent = 'late-*'\nfamily = '{other}'\n")
    log = next(log for log in reversed(runs) if log.benchmark == BENCHMARK)
    partial = replace(partial_of(log, here), agent="late-1", agent_family="main")
    write_long_table(folder / "late.parquet", [partial])
    from_file = estimated(folder, folder / "late.parquet")
    command(folder, "import", folder / "late.parquet")
    assert estimated(folder, "partial") == from_file
    with reading(folder) as history:
        own = latest_calibration(history, BENCHMARK, other)
    assert from_file["calibration_id"] == own.calibration_id


def test_few_valid_verdicts_and_old_models_are_cautioned(calibrated):
    subset = subset_of(calibrated)
    few = set(subset["question_ids"][:10])
    log = only(
        partial_of(logs()[-1], subset), few.__contains__, started_at=LATER + timedelta(days=30)
    )
    imported_file(calibrated, log)
    lines = command(calibrated, "estimate", "partial").out.splitlines()
    assert "caution: fewer than 80 % of the chosen questions have a valid verdict" in lines
    assert "caution: the calibration's data are more than 7 days older than the run" in lines
    assert {"few-valid", "stale-calibration"} <= set(estimated(calibrated, "partial")["flags"])


def test_the_night_after_estimates_new_partial_runs(calibrated):
    imported_file(calibrated, partial_of(logs()[-1], subset_of(calibrated)))
    command(calibrated, "recalibrate", "--as-of", str(night_of(12)), "--no-report")
    with reading(calibrated) as history:
        (kept,) = list_estimates(history, BENCHMARK)
    assert kept.run_key == "partial"
    assert kept.estimate.pass_rate == estimated(calibrated, "partial")["pass_rate"]


def test_a_subset_names_the_benchmark(folder):
    runs = [*logs(n_questions=60), *logs(seed=8, benchmark="second", n_questions=60)]
    start(folder, runs, config=CONFIG + 'hspr = "off"\n', nights=[AS_OF])
    subset = subset_of(folder, 20, "--benchmark", "second")
    log = partial_of(runs[-1], subset, subset_id=None)
    frame = [f"partial,{question},1,{LATER.isoformat()}" for question in log.question_ids]
    path = folder / "p.csv"
    path.write_text("\n".join(["run_id,question_id,passed,started_at", *frame]) + "\n")
    assert "names no benchmark; give it" in command(folder, "import", path, code=1).err
    seen = estimated(folder, path, "--subset", subset["subset_id"])
    assert seen["benchmark"] == "second"
    command(folder, "import", path, "--subset", subset["subset_id"])
    assert estimated(folder, "partial") == seen


def test_a_partial_run_is_not_taken_for_a_full_one(calibrated):
    subset = subset_of(calibrated)
    path = imported_file(calibrated, partial_of(logs()[-1], subset, subset_id=None))
    for reference in ("partial", path):
        error = one_error_line(command(calibrated, "estimate", reference, code=1))
        assert "of 120 questions, too few for a full run; name the subset" in error
    assert estimated(calibrated, "partial", "--subset", subset["subset_id"])["k"] == K


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nope",), "the history has no run 'nope'; the latest: "),
        (("nope.csv",), "nope.csv: no such file"),
        ((".",), ". is a folder; name one log file"),
        (("runs.parquet",), "runs.parquet: holds "),
        (("last", "--subset", "bench-k40"), "the history has no subset 'bench-k40'; near it: "),
        (("last", "--method", "magic"), "unknown method 'magic'; known are "),
        (("last", "--method", "cache"), "method 'cache' is offered by `recurring-eval replay` "),
        (("last", "--method", "irt-kmeans"), "method 'irt-kmeans' is offered by `recurring-eval "),
        (("last", "--benchmark", "other"), "other"),
        (("run-00",), "'run-00' fits "),
    ],
)
def test_what_cannot_be_estimated(calibrated, arguments, message):
    before = tables(calibrated)
    outcome = command(calibrated, "estimate", *arguments, code=1)
    assert message in one_error_line(outcome)
    assert outcome.out == ""
    assert tables(calibrated) == before


def test_a_file_with_unknown_questions_is_refused(calibrated):
    path = calibrated / "other.csv"
    path.write_text("run_id,question_id,passed,started_at\n" + "r,mystery,1,2025-03-20\n")
    error = one_error_line(command(calibrated, "estimate", path, code=1))
    assert "1 of its questions are not in the calibrated bank of 'bench': mystery; import" in error


def test_without_a_calibration(imported):
    error = one_error_line(command(imported, "estimate", "last", code=1))
    assert "has no calibration" in error
    assert "run `recurring-eval recalibrate`" in error
