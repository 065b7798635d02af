"""`recurring-eval estimate` by HSPR: of subsets, full runs, and runs asked step by step."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from jobs.app.targets import Target
from jobs.demo import write_long_table
from jobs.pages.nightly import nightly_page
from recurring_eval.methods.hspr import HSPR_SOURCES
from recurring_eval.records import FAIL, MISSING
from reports.listings import HsprSources
from reports.run_history import RunHistory
from storage.calibrations.calibrations import latest_calibration
from storage.calibrations.estimates import list_estimates
from storage.file.history import History
from storage.runs.runs import find_run
from storage.sessions import SessionStep, add_steps, save_session
from tests.jobs.command_line import one_error_line
from tests.jobs.histories import (
    BENCHMARK,
    app_on,
    command,
    latest_night,
    logs,
    night_of,
    only,
    reading,
    verdict_table,
)
from tests.reports.sample_page import part

LATER = datetime(2025, 3, 13, 9, tzinfo=UTC)
K = 24


def imported_run(folder, log):
    path = folder / f"{log.run_key}.parquet"
    write_long_table(path, [log])
    command(folder, "import", path)
    return path


def estimated(folder, *arguments):
    return command(folder, "estimate", "--json", *arguments).document


def complete(log, **changes):
    """The run with its missing verdicts decided as fails."""
    missing = log.outcome == MISSING
    return replace(
        log,
        outcome=np.where(missing, FAIL, log.outcome).astype(np.int8),
        reason_index=np.full_like(log.reason_index, -1),
        started_at=LATER,
        **changes,
    )


def answered(log):
    """Verdict of each question of a log: 1, 0, or None where it is missing."""
    words = {-1: None, 0: 0, 1: 1}
    return {
        log.question_ids[q]: words[int(outcome)]
        for q, outcome in zip(log.question_index, log.outcome, strict=True)
    }


def opened_session(folder, verdicts, *, k=K):
    """A stored session that asked these questions and was told these verdicts."""
    with History.open(folder / "history.duckdb") as history:
        record = latest_calibration(history, BENCHMARK, "main")
        with history.transaction():
            session = save_session(
                history,
                benchmark=BENCHMARK,
                bank_version=record.bank_version,
                family="main",
                agent="agent",
                method="hspr",
                k=k,
                seed=0,
                calibration_id=record.calibration_id,
                opened_at=LATER,
            )
            add_steps(
                history,
                session,
                [
                    SessionStep(
                        question_id=question,
                        passes=verdict or 0,
                        trials=0 if verdict is None else 1,
                        reason="timeout" if verdict is None else None,
                        told_at=LATER,
                    )
                    for question, verdict in verdicts.items()
                ],
            )
        history.checkpoint()
    return session


@pytest.fixture
def adaptive(calibrated):
    """A project with a run whose session asked every fifth question."""
    log = logs()[-1]
    asked = set(sorted(log.question_ids)[::5])
    part = only(log, asked.__contains__, run_key="adaptive", started_at=LATER)
    session = opened_session(calibrated, answered(part))
    imported_run(calibrated, replace(part, session_id=session))
    return calibrated


def test_a_partial_run_gets_the_posterior_and_a_provisional_interval(calibrated):
    subset = command(calibrated, "subset", "--k", "40", "--json").document
    log = only(
        logs()[-1],
        set(subset["question_ids"]).__contains__,
        run_key="partial",
        subset_id=subset["subset_id"],
        started_at=LATER,
    )
    path = imported_run(calibrated, log)
    document = estimated(calibrated, "partial", "--method", "hspr")
    answers = [v for v in answered(log).values() if v is not None]
    assert (document["method"], document["k"], document["n_asked"]) == ("hspr", 40, 40)
    assert (document["n_valid"], document["n_passed"]) == (len(answers), sum(answers))
    assert "provisional-interval" in document["flags"]
    values, pmf = (np.array(document["distribution"][name]) for name in ("values", "pmf"))
    np.testing.assert_allclose(values, np.arange(121) / 120)
    assert pmf.sum() == pytest.approx(1)
    # Nothing outside what the unanswered questions could still give.
    possible = (values >= sum(answers) / 120) & (
        values <= (sum(answers) + 120 - len(answers)) / 120
    )
    assert pmf[~possible].sum() == pytest.approx(0, abs=1e-12)
    full = verdict_table(calibrated)
    full = full[full["run_id"] == logs()[-1].run_key]["passed"].mean()
    assert abs(document["pass_rate"] - full) < 0.08
    assert abs(values @ pmf - full) < 0.08
    file = estimated(calibrated, path, "--method", "hspr")
    assert file["pass_rate"] == document["pass_rate"]
    assert file["distribution"] == document["distribution"]
    plain = estimated(calibrated, "partial")
    assert (plain["method"], plain["diagnostics"]) == ("stratified+gpirt", None)
    assert plain["distribution"] is None


def test_its_diagnostics_name_the_sources_in_json_and_in_words(calibrated):
    imported_run(calibrated, complete(logs()[-1], run_key="full"))
    document = estimated(calibrated, "full", "--method", "hspr")
    found = document["diagnostics"]
    record = latest_night(calibrated)
    source_ids = record.fitted[HSPR_SOURCES].model.source_ids
    assert found["configuration"] == record.info.settings["models"]["hspr"]["configuration"]
    assert found["n_sources"] == len(source_ids)
    frame = verdict_table(calibrated)
    sources = frame[frame["run_id"].isin(source_ids)]
    never = sources.groupby("question_id")["passed"].sum() == 0
    assert found["source_zero_share"] == pytest.approx(never.mean())
    assert 0 < found["effective_sample_size"] <= 1
    assert sum(found["latent_weights"].values()) == pytest.approx(1)
    lines = command(calibrated, "estimate", "full", "--method", "hspr").out.splitlines()
    assert lines[2] == (
        f"hspr {found['configuration']}: {found['n_sources']} sources in {found['n_groups']} "
        f"groups, {100 * never.mean():.1f} % of the questions passed by none of them; "
        f"effective sample size {100 * found['effective_sample_size']:.0f} %."
    )
    assert not [line for line in command(calibrated, "estimate", "full").out if "hspr" in line]


def test_a_full_run_is_exact(calibrated):
    log = complete(logs()[-1], run_key="full")
    imported_run(calibrated, log)
    document = estimated(calibrated, "full", "--method", "hspr")
    score = sum(answered(log).values()) / 120
    assert document["low"] == document["pass_rate"] == document["high"]
    assert document["pass_rate"] == pytest.approx(score)
    values, pmf = document["distribution"]["values"], document["distribution"]["pmf"]
    assert values[int(np.argmax(pmf))] == pytest.approx(score)
    assert max(pmf) == pytest.approx(1)


def test_a_run_asked_step_by_step_is_estimated_by_hspr_under_its_session(adaptive):
    command(adaptive, "recalibrate", "--as-of", str(night_of(11)), "--no-report")
    document = estimated(adaptive, "adaptive")
    verdicts = answered(only(logs()[-1], set(sorted(logs()[-1].question_ids)[::5]).__contains__))
    valid = [v for v in verdicts.values() if v is not None]
    assert (document["method"], document["k"]) == ("hspr", K)
    assert (document["n_asked"], document["n_valid"]) == (len(verdicts), len(valid))
    assert document["n_passed"] == sum(valid)
    with reading(adaptive) as history:
        newest = latest_calibration(history, BENCHMARK, "main")
        kept = list_estimates(history, BENCHMARK, run=find_run(history, "adaptive"))[-1]
    assert document["calibration_id"] == newest.calibration_id - 1
    assert kept.estimate.distribution.pmf.tolist() == document["distribution"]["pmf"]
    assert kept.estimate.diagnostics.configuration == document["diagnostics"]["configuration"]
    # Later runs that were asked twenty questions stand behind the interval.
    assert "provisional-interval" not in document["flags"]
    assert 0.01 < document["high"] - document["low"] < 0.4
    full = verdict_table(adaptive)
    full = full[full["run_id"] == logs()[-1].run_key]["passed"].mean()
    assert abs(document["pass_rate"] - full) < 0.12


def test_without_its_session_a_run_is_asked_what_it_answered(calibrated):
    log = logs()[-1]
    part = only(
        log,
        set(sorted(log.question_ids)[::4]).__contains__,
        run_key="stray",
        started_at=LATER,
        session_id="another-history-k30-00000000",
    )
    path = imported_run(calibrated, part)
    document = estimated(calibrated, "stray")
    verdicts = answered(part)
    assert (document["method"], document["k"], document["n_asked"]) == ("hspr", 30, 30)
    assert document["n_valid"] == sum(v is not None for v in verdicts.values())
    assert estimated(calibrated, path)["pass_rate"] == document["pass_rate"]


def test_a_night_estimates_runs_that_were_asked_step_by_step(adaptive):
    command(adaptive, "recalibrate", "--as-of", str(night_of(11)), "--no-report")
    with reading(adaptive) as history:
        kept = list_estimates(history, BENCHMARK, run=find_run(history, "adaptive"))[-1]
    assert kept.estimate.method == "hspr"
    given = estimated(adaptive, "adaptive")
    assert (kept.estimate.pass_rate, kept.estimate.low) == (given["pass_rate"], given["low"])


def test_the_nightly_page_shows_it_beside_full_runs_and_tells_of_its_sources(adaptive):
    given = estimated(adaptive, "adaptive")
    day = night_of(11)
    with reading(adaptive) as history:
        page = nightly_page(
            app_on(adaptive, day), history, Target(benchmark=BENCHMARK, family="main"), day
        )
    model = latest_night(adaptive).fitted[HSPR_SOURCES].model
    (shown,) = part(page, RunHistory).estimates
    assert (shown.run.run_key, shown.estimate.method, shown.k) == ("adaptive", "hspr", K)
    assert (shown.estimate.low, shown.estimate.pass_rate, shown.estimate.high) == (
        *(given["low"], given["pass_rate"], given["high"]),
    )
    sources = part(page, HsprSources)
    assert sources.configuration == given["diagnostics"]["configuration"]
    assert (sources.n_sources, sources.n_groups) == (len(model.source_ids), model.n_groups)
    assert (sources.n_held_out, sources.selection_mae_pp) == (0, None)
    (one,) = sources.estimates
    assert (one.run.run_key, one.k) == ("adaptive", K)
    shown = one.estimate.diagnostics
    assert shown.effective_sample_size == given["diagnostics"]["effective_sample_size"]
    assert shown.calibration == pytest.approx(given["diagnostics"]["calibration"])


def test_what_cannot_be_had_is_said_with_what_can(adaptive):
    error = one_error_line(
        command(adaptive, "estimate", "adaptive", "--method", "stratified", code=1)
    )
    assert "method 'stratified' does not estimate from questions that were asked step by" in error
    error = one_error_line(command(adaptive, "subset", "--k", "20", "--method", "hspr", code=1))
    assert (
        "method 'hspr' asks step by step: start it with "
        "`recurring-eval adaptive start --method hspr --k K`; it does not publish subsets"
    ) in error


def test_a_calibration_without_sources_says_how_to_get_them(imported):
    config = imported / "recurring-eval.toml"
    config.write_text(config.read_text() + "hspr = 'off'\n")
    command(imported, "recalibrate", "--as-of", str(night_of(10)), "--no-report")
    log = logs()[-1]
    part = only(
        log,
        set(sorted(log.question_ids)[::4]).__contains__,
        run_key="stray",
        started_at=LATER + timedelta(hours=1),
        session_id="s",
    )
    imported_run(imported, part)
    error = one_error_line(command(imported, "estimate", "stray", code=1))
    assert (
        'the calibration has no hspr sources (switched off by `hspr = "off"`); '
        "when that has changed, run `recurring-eval recalibrate --force`"
    ) in error
