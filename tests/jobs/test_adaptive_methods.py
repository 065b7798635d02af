"""Sessions by `rasch-cat` and `mirt-cat`, from start to check."""

from datetime import UTC, datetime

import numpy as np
import pytest

from jobs.demo import write_long_table
from recurring_eval.methods.mirt_cat import MIRT
from recurring_eval.records import RunKind
from storage.calibrations.estimates import list_estimates
from storage.runs.runs import find_run
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
from tests.jobs.command_line import one_error_line
from tests.jobs.histories import (
    BENCHMARK,
    SIZES,
    command,
    latest_night,
    logs,
    only,
    pass_matrix,
    reading,
    tables,
)

K = 20
CATS = ("rasch-cat", "mirt-cat")


@pytest.mark.parametrize("method", CATS)
def test_a_whole_session_of_commands(calibrated, method):
    words = words_of_agent(calibrated)
    state = document("start", "--k", str(K), "--method", method, "--seed", "5")
    assert (state["method"], state["k"], state["estimate"]) == (method, K, None)
    session = uninterrupted(calibrated, 5, method)
    assert state["questions"] == list(session.ask())
    first = document("next", "last", "-n", "4")["questions"]
    assert first == list(session.ask(4))
    assert len(set(first)) == 4
    answers = {question: words[question] for question in first}
    state = document("tell", "last", *(f"{q}={word}" for q, word in answers.items()))
    session = session.tell({q: counts(word) for q, word in answers.items()})
    while state["questions"]:
        assert state["questions"] == list(session.ask())
        (question,) = state["questions"]
        session = session.tell({question: counts(words[question])})
        state = document("tell", "last", f"{question}={words[question]}")
        assert state["estimate"]["pass_rate"] == pytest.approx(score_of(session), abs=1e-12)
    assert (state["n_valid"], state["n_left"], state["asked"]) == (K, 0, list(session.asked))
    shown = document("show", "last")
    assert (shown["estimate"], shown["questions"]) == (state["estimate"], [])
    assert adaptive("show", "last").out

    done = document("finish", "last")
    assert set(done) >= KEYS
    assert done["estimate"] == state["estimate"] | {"run_id": done["run_id"]}
    assert command(calibrated, "estimate", "last", "--json").document == done["estimate"]
    with reading(calibrated) as history:
        record = find_session(history, "last")
        run = find_run(history, done["run_id"])
        kept = list_estimates(history, BENCHMARK, run=run)
    assert (record.method, run.kind) == (method, RunKind.ADAPTIVE)
    assert {estimate.estimate.method for estimate in kept} == {method}
    # The night keeps residuals of the method, so that its interval is not provisional.
    assert "provisional-interval" not in done["estimate"]["flags"]
    assert done["estimate"]["low"] < done["estimate"]["pass_rate"] < done["estimate"]["high"]
    full = np.nanmean(pass_matrix(calibrated).iloc[-1])
    assert abs(done["estimate"]["pass_rate"] - full) < 0.12

    rows = command(calibrated, "check", "last-full", "--json").document["rows"]
    mine = {row["k"]: row for row in rows if row["method"] == method}
    assert set(mine) == set(SIZES)
    assert all(row["subset_id"] is None for row in mine.values())


def test_rasch_cat_begins_where_a_run_of_ability_zero_is_least_certain(calibrated):
    rasch = latest_night(calibrated).fitted.rasch
    difficulty = dict(zip(rasch.question_ids, np.abs(rasch.difficulty), strict=True))
    (question,) = document("start", "--k", "3", "--method", "rasch-cat")["questions"]
    assert difficulty[question] == pytest.approx(min(difficulty.values()), abs=1e-6)


def test_mirt_cat_works_with_the_rasch_model_where_a_night_had_too_few_runs(calibrated):
    night = latest_night(calibrated)
    assert night.fitted.get(MIRT) is None
    assert "it needs 80" in night.fitted.without["mirt"]
    state = live_through(3, words_of_agent(calibrated), "--method", "mirt-cat")
    assert state["method"] == state["estimate"]["method"] == "mirt-cat"
    document("finish", "last")
    with reading(calibrated) as history:
        (kept,) = list_estimates(history, BENCHMARK)
    assert kept.estimate.model_fingerprint == night.fitted.rasch.fingerprint
    assert kept.estimate.theta.theta.shape == (1,)


def test_the_seed_of_a_session_decides_between_equals_and_repeats(calibrated):
    answers = words_of_agent(calibrated)
    asked = [
        live_through(5, answers, "--method", "mirt-cat", "--seed", str(seed))["asked"]
        for seed in (3, 3)
    ]
    assert asked[0] == asked[1]


@pytest.mark.parametrize("method", CATS)
def test_a_run_that_another_method_asked_has_a_provisional_interval(calibrated, method):
    live_through(K, words_of_agent(calibrated))
    run_id = document("finish", "last")["run_id"]
    own = command(calibrated, "estimate", run_id, "--json").document
    other = command(calibrated, "estimate", run_id, "--method", method, "--json").document
    assert (own["method"], other["method"]) == ("hspr", method)
    assert "provisional-interval" not in own["flags"]
    assert "provisional-interval" in other["flags"]
    assert (other["n_asked"], other["n_valid"]) == (own["n_asked"], own["n_valid"])
    assert abs(other["pass_rate"] - own["pass_rate"]) < 0.15


@pytest.mark.parametrize("method", CATS)
def test_a_subset_may_be_estimated_too(calibrated, method):
    subset = command(calibrated, "subset", "--k", str(K), "--json").document
    log = only(
        logs()[-1],
        set(subset["question_ids"]).__contains__,
        run_key="partial",
        subset_id=subset["subset_id"],
        started_at=datetime(2025, 3, 13, 9, tzinfo=UTC),
    )
    write_long_table(calibrated / "partial.parquet", [log])
    command(calibrated, "import", calibrated / "partial.parquet")
    given = command(calibrated, "estimate", "partial", "--method", method, "--json").document
    assert (given["method"], given["n_asked"]) == (method, K)
    assert "provisional-interval" in given["flags"]


def test_what_does_not_ask_is_refused_with_what_does(calibrated):
    before = tables(calibrated)
    for name in ("stratified", "random", "magic", "mirt-cat+standard-prior"):
        error = one_error_line(adaptive("start", "--k", "3", "--method", name, code=1))
        assert (
            f"method '{name}' does not ask step by step; those that do: hspr, rasch-cat, mirt-cat"
        ) in error
    assert tables(calibrated) == before
    for name in CATS:
        error = one_error_line(command(calibrated, "subset", "--k", "20", "--method", name, code=1))
        assert f"`recurring-eval adaptive start --method {name} --k K`" in error
