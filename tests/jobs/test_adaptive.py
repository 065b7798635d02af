"""`recurring-eval adaptive`: a session lives in the history, from command to command."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from recurring_eval.methods.session import Session
from recurring_eval.records import RunKind, RunPurpose
from storage.calibrations.estimates import list_estimates
from storage.runs.runs import find_run
from storage.runs.verdicts import load_log
from storage.sessions import find_session
from tests.jobs.adaptive_sessions import (
    KEYS,
    adaptive,
    counts,
    document,
    live_through,
    score_of,
    uninterrupted,
    words_of_agent,
)
from tests.jobs.command_line import invoke, one_error_line
from tests.jobs.histories import BENCHMARK, command, night_of, pass_matrix, reading, tables

SCRIPT = Path(sys.executable).with_name("recurring-eval")


def test_a_session_of_commands_is_the_one_held_in_memory(calibrated):
    words = words_of_agent(calibrated)
    state = document("start", "--k", "8", "--agent", "helper")
    assert set(state) >= KEYS
    assert (state["n_valid"], state["n_left"], state["asked"]) == (0, 8, [])
    assert (state["estimate"], state["run_id"], state["finished"]) == (None, None, False)
    session = uninterrupted(calibrated, state["seed"])
    told = []
    while state["questions"]:
        assert state["questions"] == list(session.ask())
        (question,) = state["questions"]
        told.append(question)
        session = session.tell({question: counts(words[question])})
        state = document("tell", "last", f"{question}={words[question]}")
        assert set(state) >= KEYS
        assert (state["asked"], state["n_valid"]) == (told, session.n_valid)
        if session.n_valid:
            assert state["estimate"]["pass_rate"] == score_of(session)
    assert (session.n_valid, state["n_left"]) == (8, 0)
    valid = [counts(words[q])[0] for q in told if counts(words[q])[1]]
    assert state["estimate"]["n_passed"] == sum(valid)
    assert (state["estimate"]["n_asked"], state["estimate"]["n_valid"]) == (len(told), 8)
    with reading(calibrated) as history:
        record = find_session(history, state["session_id"])
    assert (record.agent, [step.question_id for step in record.steps]) == ("helper", told)


def test_next_asks_jointly_never_twice_and_no_more_than_are_left(calibrated):
    words = words_of_agent(calibrated)
    state = document("start", "--k", "7", "--seed", "5")
    session = uninterrupted(calibrated, 5)
    first = document("next", "last", "-n", "4")["questions"]
    assert first == document("next", "last", "-n", "4")["questions"] == list(session.ask(4))
    assert adaptive("next", "last", "-n", "4").out.split() == first
    assert first[0] == state["questions"][0]
    assert len(document("next", "last", "-n", "500")["questions"]) == 7
    answers = {q: words[q] for q in first}
    document("tell", "last", *(f"{q}={word}" for q, word in answers.items()))
    session = session.tell({q: counts(word) for q, word in answers.items()})
    rest = document("next", "last", "-n", "500")["questions"]
    assert rest == list(session.ask(7 - session.n_valid))
    assert not set(rest) & set(first)
    assert len(set(rest)) == len(rest)


def test_a_seed_of_its_own_decides_and_the_default_is_drawn(calibrated):
    seeds = [document("start", "--k", "3", *extra)["seed"] for extra in ([], [], ["--seed", "9"])]
    assert seeds[0] != seeds[1]
    assert seeds[2] == 9
    (question,) = document("start", "--k", "3", "--seed", "9")["questions"]
    assert (
        question
        == document("next", "last")["questions"][0]
        == uninterrupted(calibrated, 9).ask()[0]
    )


def test_a_missing_verdict_is_replaced_and_does_not_count(calibrated):
    (first,) = document("start", "--k", "3")["questions"]
    state = document("tell", "last", f"{first}=missing:timeout")
    assert (state["n_valid"], state["n_left"], state["estimate"]) == (0, 3, None)
    assert first not in document("next", "last", "-n", "3")["questions"]
    (second,) = state["questions"]
    state = document("tell", "last", f"{second}=2/5")
    assert (state["n_valid"], state["asked"]) == (1, [first, second])
    assert state["estimate"]["n_passed"] == pytest.approx(0.4)
    shown = document("show", "last")
    assert [(s["passes"], s["trials"], s["reason"]) for s in shown["steps"]] == [
        (0, 0, "timeout"),
        (2, 5, None),
    ]
    assert shown["estimate"]["diagnostics"]["n_nodes"] > 0


def test_a_reason_that_counts_as_a_fail_counts(calibrated):
    config = calibrated / "recurring-eval.toml"
    config.write_text(config.read_text() + f'[benchmark.{BENCHMARK}.missing]\ntimeout = "fail"\n')
    (first,) = document("start", "--k", "3", "--seed", "1")["questions"]
    state = document("tell", "last", f"{first}=missing:timeout: too slow")
    assert (state["n_valid"], state["estimate"]["n_valid"]) == (1, 1)
    failed = uninterrupted(calibrated, 1).tell({first: (0, 1)})
    assert state["estimate"]["pass_rate"] == score_of(failed)
    assert state["questions"] == list(failed.ask())
    (listed,) = document("show")["sessions"]
    assert (listed["n_valid"], listed["n_left"]) == (1, 2)


def test_misses_that_count_as_fails_make_no_run_alone(calibrated):
    config = calibrated / "recurring-eval.toml"
    config.write_text(config.read_text() + f'[benchmark.{BENCHMARK}.missing]\ntimeout = "fail"\n')
    (first,) = document("start", "--k", "1")["questions"]
    document("tell", "last", f"{first}=missing:timeout")
    before = tables(calibrated)
    error = one_error_line(adaptive("finish", "last", code=1))
    assert "missing verdicts only" in error
    assert "--give-up" in error
    assert tables(calibrated) == before
    document("finish", "last", "--give-up")


def test_questions_that_were_not_proposed_may_be_told(calibrated):
    proposed = document("start", "--k", "2")["questions"]
    others = [q for q in pass_matrix(calibrated).columns if q not in proposed][:3]
    state = document("tell", "last", *(f"{q}=fail" for q in others))
    assert (state["asked"], state["n_valid"], state["n_left"]) == (others, 3, 0)
    assert state["questions"] == []


def test_finish_stores_run_and_estimate_and_closes(calibrated):
    words = words_of_agent(calibrated)
    state = live_through(6, words)
    done = document("finish", "last", "--purpose", "candidate")
    assert set(done) >= KEYS
    assert (done["finished"], done["questions"], done["n_left"]) == (True, [], 0)
    assert done["estimate"] == state["estimate"] | {"run_id": done["run_id"]}
    with reading(calibrated) as history:
        record = find_session(history, "last")
        run = find_run(history, done["run_id"])
        (estimate,) = list_estimates(history, BENCHMARK, run=run)
        log = load_log(history, run)
    assert (run.kind, run.purpose) == (RunKind.ADAPTIVE, RunPurpose.CANDIDATE)
    assert (run.session_id, run.run_id) == (record.session_id, record.run_id)
    assert (run.started_at, run.harness, run.agent) == (
        record.opened_at,
        "recurring-eval",
        "unknown",
    )
    assert (run.n_valid, run.n_missing) == (6, len(state["asked"]) - 6)
    assert dict(zip(log.question_ids, log.outcome.tolist(), strict=True)) == {
        q: {"pass": 1, "fail": 0}.get(words[q], -1) for q in state["asked"]
    }
    stored = estimate.estimate
    assert (stored.pass_rate, stored.low, stored.high) == tuple(
        done["estimate"][key] for key in ("pass_rate", "low", "high")
    )
    assert (estimate.calibration_id, estimate.k) == (record.calibration_id, 6)
    assert stored.distribution is not None
    # Estimated again as any stored run.
    assert command(calibrated, "estimate", "last", "--json").document == done["estimate"]
    for arguments in (("tell", "last", "q=pass"), ("next", "last"), ("finish", "last")):
        assert "was finished on" in one_error_line(adaptive(*arguments, code=1))
    assert document("show")["sessions"] == []
    assert document("show", "last")["run_id"] == done["run_id"]


def test_repeated_trials_are_stored_one_by_one(calibrated):
    (first,) = document("start", "--k", "1")["questions"]
    document("tell", "last", f"{first}=3/5")
    run_id = document("finish", "last")["run_id"]
    with reading(calibrated) as history:
        log = load_log(history, find_run(history, run_id))
    assert log.trial.tolist() == [1, 2, 3, 4, 5]
    assert sorted(log.outcome.tolist()) == [0, 0, 1, 1, 1]


def test_nothing_is_stored_when_the_estimate_cannot_be(calibrated, monkeypatch):
    words = words_of_agent(calibrated)
    live_through(2, words)
    before = tables(calibrated)

    def broken(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("jobs.sessions.finish.keep_estimate", broken)
        assert "No space left" in one_error_line(adaptive("finish", "last", code=1))
    assert tables(calibrated) == before
    assert document("finish", "last")["finished"]


def test_a_command_that_dies_after_storing_loses_nothing(calibrated, monkeypatch):
    (question,) = document("start", "--k", "3", "--seed", "4")["questions"]

    def killed(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Session, "ask", killed)
        assert invoke("adaptive", "tell", "last", f"{question}=pass").code != 0
    again = document("tell", "last", f"{question}=pass")
    assert again["asked"] == [question]
    session = uninterrupted(calibrated, 4).tell({question: (1, 1)})
    assert again["questions"] == list(session.ask())
    assert again["estimate"]["pass_rate"] == score_of(session)


def test_the_calibration_of_the_start_stays(calibrated):
    words = words_of_agent(calibrated)
    (question,) = document("start", "--k", "4")["questions"]
    state = document("tell", "last", f"{question}={words[question]}")
    command(calibrated, "recalibrate", "--as-of", str(night_of(12)), "--no-report")
    again = document("next", "last")
    assert (again["questions"], again["estimate"]) == (state["questions"], state["estimate"])
    later = document("start", "--k", "4")
    assert later["calibration_id"] > again["calibration_id"]


def test_the_whole_bank_is_exact_and_done_without_k_verdicts(calibrated):
    run = pass_matrix(calibrated).iloc[-1]
    words = words_of_agent(calibrated)
    assert run.isna().any()
    document("start", "--k", str(len(words)))
    state = document("tell", "last", *(f"{q}={word}" for q, word in words.items()))
    assert state["questions"] == []
    assert state["n_left"] == run.isna().sum()
    estimate = document("finish", "last")["estimate"]
    assert estimate["pass_rate"] == estimate["low"] == estimate["high"]
    assert estimate["pass_rate"] == pytest.approx(np.nanmean(run))


def test_finishing_early_or_giving_up(calibrated):
    (question,) = document("start", "--k", "5")["questions"]
    assert "no valid verdict" in one_error_line(adaptive("finish", "last", "--early", code=1))
    document("tell", "last", f"{question}=pass")
    before = tables(calibrated)
    error = one_error_line(adaptive("finish", "last", code=1))
    assert "has 1 of 5 valid verdicts, 4 are left" in error
    assert tables(calibrated) == before
    early = document("finish", "last", "--early")
    assert (early["n_left"], early["estimate"]["n_valid"]) == (4, 1)
    document("start", "--k", "5")
    runs = tables(calibrated)["run"]
    given_up = document("finish", "last", "--give-up")
    assert (given_up["finished"], given_up["run_id"]) == (True, None)
    assert tables(calibrated)["run"] == runs


@pytest.mark.skipif(not SCRIPT.exists(), reason="the console script is not installed")
def test_two_processes_tell_at_once(calibrated):
    document("start", "--k", "6")
    first, second, third = document("next", "last", "-n", "3")["questions"]
    told = [(f"{first}=pass",), (f"{second}=fail", f"{third}=pass"), (f"{third}=fail",)]
    running = [
        subprocess.Popen(
            [SCRIPT, "adaptive", "tell", "last", *words, "--quiet"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in told
    ]
    errors = [process.communicate(timeout=60)[1] for process in running]
    codes = [process.returncode for process in running]
    assert codes[0] == 0, errors
    assert sorted(codes[1:]) == [0, 1], errors
    refused = errors[1 + codes[1:].index(1)]
    assert refused.startswith("error: ")
    assert f"'{third}' was " in refused
    asked = set(document("show", "last")["asked"])
    assert asked == ({first, second, third} if codes[1] == 0 else {first, third})
