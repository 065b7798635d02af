"""Adaptive sessions while other things happen to the history."""

from recurring_eval.records import RunKind
from storage.runs.runs import list_runs
from tests.jobs.adaptive_sessions import adaptive, document, live_through, words_of_agent
from tests.jobs.command_line import one_error_line, write_runs_csv
from tests.jobs.histories import BENCHMARK, command, pass_matrix, reading, tables


def test_a_verdict_told_while_finishing_is_not_lost(calibrated, monkeypatch):
    told = live_through(3, words_of_agent(calibrated))["asked"]
    late = next(q for q in pass_matrix(calibrated).columns if q not in told)

    def meanwhile(*args: object, **kwargs: object) -> None:
        document("tell", "last", f"{late}=pass")

    with monkeypatch.context() as patch:
        patch.setattr("jobs.sessions.finish._require_complete", meanwhile)
        error = one_error_line(adaptive("finish", "last", code=1))
    assert "received more verdicts while it was being finished; nothing was stored" in error
    assert not [row for row in tables(calibrated)["run"] if "adaptive" in row]
    done = document("finish", "last")
    assert done["asked"] == [*told, late]
    assert done["estimate"]["n_valid"] == 4


def test_a_session_finished_by_somebody_else_is_not_stored_twice(calibrated, monkeypatch):
    live_through(2, words_of_agent(calibrated))

    def meanwhile(*args: object, **kwargs: object) -> None:
        monkeypatch.undo()
        monkeypatch.chdir(calibrated)
        document("finish", "last")

    monkeypatch.setattr("jobs.sessions.finish._require_complete", meanwhile)
    assert "was finished on" in one_error_line(adaptive("finish", "last", code=1))
    with reading(calibrated) as history:
        assert len(list_runs(history, BENCHMARK, kinds=[RunKind.ADAPTIVE])) == 1


def test_a_run_of_the_same_name_stays_as_it_is(calibrated):
    session_id = live_through(2, words_of_agent(calibrated))["session_id"]
    words = dict.fromkeys(list(pass_matrix(calibrated).columns)[:5], "pass")
    table = write_runs_csv(calibrated / "same.csv", {session_id: words}, benchmark=BENCHMARK)
    command(calibrated, "import", table)
    done = document("finish", "last")
    assert done["run_id"] == done["estimate"]["run_id"] == f"{session_id}-2"
    assert document("show", "last")["run_id"] == done["run_id"]
    with reading(calibrated) as history:
        runs = {run.run_key: run for run in list_runs(history, BENCHMARK)}
    assert (runs[session_id].n_valid, runs[session_id].kind) == (5, RunKind.FULL)
    assert runs[done["run_id"]].n_valid == 2


def test_a_bank_that_grows_meanwhile_changes_nothing(calibrated):
    state = live_through(4, words_of_agent(calibrated))
    words = dict.fromkeys([*pass_matrix(calibrated).columns, "question-new"], "pass")
    table = write_runs_csv(calibrated / "grown.csv", {"grown": words}, benchmark=BENCHMARK)
    command(calibrated, "import", table, "--extend-bank")
    assert "not in the bank of session" in one_error_line(
        adaptive("tell", "last", "question-new=pass", code=1)
    )
    assert document("show", "last")["estimate"] == state["estimate"]
    done = document("finish", "last")
    assert done["estimate"] == state["estimate"]
    again = command(calibrated, "estimate", done["run_id"], "--json").document
    assert again == done["estimate"]
