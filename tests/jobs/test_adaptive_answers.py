"""What an adaptive session is told: words and logs, and what is refused of them."""

import contextlib
import json

import pytest

from jobs.sessions.answers import parse_answers
from tests.jobs.adaptive_sessions import adaptive, document, words_of_agent
from tests.jobs.command_line import invoke, one_error_line, write_runs_csv
from tests.jobs.histories import (
    AS_OF,
    BENCHMARK,
    CONFIG,
    command,
    copy_of,
    logs,
    night_of,
    start,
    tables,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("q1=pass", ("q1", 1, 1, None)),
        ("q1=FAIL", ("q1", 0, 1, None)),
        ("q1= pass ", ("q1", 1, 1, None)),
        ("q1=3/5", ("q1", 3, 5, None)),
        ("q1=missing", ("q1", 0, 0, "not run")),
        ("q1=missing:", ("q1", 0, 0, "not run")),
        ("q1=missing:timeout", ("q1", 0, 0, "timeout")),
        ("q1=missing:Not-Run", ("q1", 0, 0, "not run")),
        ("q1=missing:timeout: 600 s", ("q1", 0, 0, "timeout: 600 s")),
        ("q1=missing:docker died", ("q1", 0, 0, "error: docker died")),
        ("q1=missing:exit=1", ("q1", 0, 0, "error: exit=1")),
        ("task/x=2=pass", ("task/x=2", 1, 1, None)),
        ("tests/a.py::t[a=b]=fail", ("tests/a.py::t[a=b]", 0, 1, None)),
    ],
)
def test_words(text, expected):
    (answer,) = parse_answers([text])
    assert (answer.question, answer.passes, answer.trials, answer.reason) == expected


@pytest.fixture
def session(calibrated):
    """A session whose first question was told to have passed; that question."""

    def make(folder):
        start(folder, logs(), nights=[AS_OF])
        with contextlib.chdir(folder):
            (first,) = document("start", "--k", "5")["questions"]
            document("tell", "last", f"{first}=pass")
        (folder / "first.txt").write_text(first)

    return (copy_of("session", make, calibrated) / "first.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tell", "last", "q1"], "'q1' is no QUESTION=VERDICT; a verdict is pass, fail"),
        (["tell", "last", "=pass"], "names no question"),
        (["tell", "last", "{other}=maybe"], "has the verdict 'maybe', which is none of"),
        (["tell", "last", "{other}=timeout"], "write {other}=missing:timeout"),
        (["tell", "last", "{other}=3/2"], "has 3 passes of 2 trials"),
        (["tell", "last", "{other}=0/0"], "has 0 passes of 0 trials"),
        (["tell", "last", "{other}=1/99999"], "1 to 30000 trials"),
        (["tell", "last", "{other}=pass", "nope=pass", "no=fail"], "'nope', 'no'; nothing was st"),
        (["tell", "last", "{other}=pass", "{first}=fail"], "'{first}' was pass and is now fail"),
        (["tell", "last", "{other}=pass", "{other}=1/2"], "'{other}' was pass and is now 1 of 2"),
        (["tell", "last", "{first}=missing"], "'{first}' was pass and is now missing (not run)"),
        (["tell", "lats", "{other}=pass"], "no session 'lats'; "),
        (["tell", "last", "--file", "none.csv"], "none.csv: no such file"),
        (["next", "last", "-n", "0"], "`n` is 0; ask for at least one question"),
        (["show", "other"], "no session 'other'"),
        (["finish", "last", "--early", "--purpose", "fun"], "no purpose is called 'fun'"),
        (["start", "--k", "0"], "`k` is 0, but the bank has 120 questions"),
        (["start", "--k", "121"], "choose k between 1 and 120"),
        (["start", "--k", "5", "--method", "cat"], "method 'cat' does not ask step by step; th"),
        (["start", "--k", "5", "--seed", "-1"], "`seed` is -1; choose a number from 0"),
        (["start", "--k", "5", "--benchmark", "bnch"], "bnch"),
        (["start", "--k", "5", "--agent", "a\nb"], "the agent's name must be one line of at most"),
        (["start", "--k", "5", "--family", "x"], "no runs of agent family 'x'; known families: ma"),
    ],
)
def test_what_is_refused_is_one_line_and_nothing_is_stored(session, calibrated, arguments, message):
    names = {"first": session, "other": document("next", "last")["questions"][0]}
    before = tables(calibrated)
    outcome = adaptive(*(text.format(**names) for text in arguments), "--json", code=1)
    assert message.format(**names) in one_error_line(outcome)
    assert outcome.out == ""
    assert tables(calibrated) == before


def test_told_again_is_told_once(session, calibrated):
    before = tables(calibrated)
    state = document("tell", "last", f"{session}=pass", f"{session}=1/1")
    assert (state["asked"], state["n_valid"]) == ([session], 1)
    again = invoke("adaptive", "tell", "last", f"{session}=pass")
    assert "stored 0 verdicts; 1 was stored before" in again.err
    assert tables(calibrated) == before


def test_telling_nothing_is_a_usage_error(session):
    assert invoke("adaptive", "tell", "last").code == 2
    assert invoke("adaptive", "tell").code == 2
    assert invoke("adaptive", "start").code == 2


def test_a_growing_table_is_told_again_and_again(calibrated):
    words = words_of_agent(calibrated)
    document("start", "--k", "6")
    told = {}
    for _ in range(3):
        asked = document("next", "last", "-n", "2")["questions"]
        told |= {q: words[q].removeprefix("missing:") for q in asked}
        table = write_runs_csv(calibrated / "log.csv", {"r": told}, benchmark=BENCHMARK)
        state = document("tell", "last", "--file", table)
        assert state["asked"] == list(told)
    assert state["n_valid"] == sum(word != "error" for word in told.values())
    first = next(q for q, word in told.items() if word == "pass")
    write_runs_csv(calibrated / "log.csv", {"r": told | {first: "fail"}}, benchmark=BENCHMARK)
    error = one_error_line(adaptive("tell", "last", "--file", "log.csv", code=1))
    assert f"'{first}' was pass and is now fail" in error


def test_a_table_in_which_everything_timed_out_is_told_and_replaced(calibrated):
    document("start", "--k", "3")
    asked = document("next", "last", "-n", "2")["questions"]
    table = write_runs_csv(
        calibrated / "log.csv", {"r": dict.fromkeys(asked, "timeout")}, benchmark=BENCHMARK
    )
    state = document("tell", "last", "--file", table)
    assert (state["asked"], state["n_valid"], state["n_left"]) == (asked, 0, 3)
    assert not set(state["questions"]) & set(asked)


def test_a_log_of_a_tool_is_read_as_an_import_reads_it(calibrated):
    document("start", "--k", "5")
    a, b, c = document("next", "last", "-n", "3")["questions"]
    report = {
        "total_instances": 3,
        "submitted_instances": 3,
        "completed_instances": 2,
        "resolved_instances": 1,
        "unresolved_instances": 1,
        "empty_patch_instances": 0,
        "error_instances": 1,
        "completed_ids": [a, b],
        "submitted_ids": [a, b, c],
        "resolved_ids": [b],
        "unresolved_ids": [a],
        "error_ids": [c],
        "empty_patch_ids": [],
        "incomplete_ids": [],
        "schema_version": 2,
    }
    path = calibrated / "helper.nightly-2026-11-17.json"
    path.write_text(json.dumps(report))
    state = document("tell", "last", "--file", path)
    steps = {s["question_id"]: s for s in document("show", "last")["steps"]}
    assert [(steps[q]["passes"], steps[q]["trials"]) for q in (a, b, c)] == [(0, 1), (1, 1), (0, 0)]
    assert steps[c]["reason"] == "error"
    assert (state["n_valid"], state["n_left"]) == (2, 3)


def test_trials_of_a_table_are_counted(calibrated):
    a, b = document("start", "--k", "4") and document("next", "last", "-n", "2")["questions"]
    header = "run_id,question_id,trial,passed,started_at\n"
    rows = [(a, 1, "pass"), (a, 2, "fail"), (a, 3, "timeout"), (b, 1, "timeout"), (b, 2, "error")]
    (calibrated / "t.csv").write_text(
        header + "".join(f"r,{q},{t},{w},2026-11-16T09:00:00Z\n" for q, t, w in rows)
    )
    document("tell", "last", "--file", "t.csv")
    steps = document("show", "last")["steps"]
    assert [(s["passes"], s["trials"], s["reason"]) for s in steps] == [
        (1, 2, None),
        (0, 0, "timeout"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense\n1\n", "log.csv: "),
        ("run_id,question_id,passed,started_at\nr,{q},pass,2026-11-16\ns,{q},pass,2026-11-16\n", "h"
         "olds 2 runs (r, s); a session is one run"),
        ("run_id,question_id,passed,started_at\nr,zz,pass,2026-11-16\n", "not in the bank"),
        ("run_id,question_id,passed,started_at,session_id\nr,{q},pass,2026-11-16,else\n",
         "belongs to session else, not to bench-hspr-k5"),
        ("run_id,question_id,passed,started_at,benchmark\nr,{q},pass,2026-11-16,other\n",
         "is of benchmark 'other', but the session of 'bench'"),
    ],
)  # fmt: skip
def test_a_log_that_does_not_fit_is_refused(session, calibrated, text, message):
    (question,) = document("next", "last")["questions"]
    (calibrated / "log.csv").write_text(text.format(q=question))
    before = tables(calibrated)
    error = one_error_line(adaptive("tell", "last", "--file", "log.csv", code=1))
    assert message in error
    assert tables(calibrated) == before


def test_sessions_by_id_prefix_and_last(calibrated):
    first = document("start", "--k", "5")["session_id"]
    second = document("start", "--k", "6", "--agent", "other")["session_id"]
    assert document("show", "last")["session_id"] == second
    assert document("next", "bench-hspr-k5")["session_id"] == first
    assert "fits 2 sessions" in one_error_line(adaptive("next", "bench-hspr", code=1))
    listed = document("show")["sessions"]
    assert [(s["session_id"], s["agent"]) for s in listed] == [
        (first, "unknown"),
        (second, "other"),
    ]
    lines = adaptive("show").out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [first, second]


def test_without_sessions(calibrated):
    assert "no sessions yet; start one first" in one_error_line(adaptive("next", "last", code=1))
    assert adaptive("show").out.startswith("no open session; start one")


def test_what_people_read(session):
    (question,) = document("next", "last")["questions"]
    lines = adaptive("tell", "last", f"{question}=fail").out.splitlines()
    assert lines[0].endswith("2 of 5 valid verdicts; 3 left")
    assert lines[1].startswith("1 of 2 answered questions passed; full pass rate ")
    assert lines[-1].startswith("next: question-")
    shown = adaptive("show", "last").out
    assert f"   1. {session}: pass\n   2. {question}: fail\n" in shown
    assert "effective sample size" in shown
    assert adaptive("finish", "last", "--early").out.splitlines()[-1].startswith("finished 20")


@pytest.mark.parametrize("name", ["start", "next", "tell", "show", "finish"])
def test_every_command_has_help_and_the_shared_options(name):
    outcome = invoke("adaptive", name, "--help")
    assert outcome.code == 0
    assert all(option in outcome.out for option in ("--config", "--json", "--quiet"))
    assert f"\n  {name} " in invoke("adaptive", "--help").out


def test_before_any_calibration_and_with_hspr_switched_off(folder):
    start(folder, logs(), config=CONFIG + 'hspr = "off"\n')
    error = one_error_line(adaptive("start", "--k", "5", code=1))
    assert "has no calibration; run `recurring-eval recalibrate`" in error
    command(folder, "recalibrate", "--as-of", str(night_of(10)), "--no-report")
    why = (
        'the calibration has no hspr sources (switched off by `hspr = "off"`); '
        "when that has changed, run `recurring-eval recalibrate --force`"
    )
    assert why in one_error_line(adaptive("start", "--k", "5", code=1))
    (folder / "recurring-eval.toml").write_text(CONFIG)
    assert why in one_error_line(adaptive("start", "--k", "5", code=1))
    # The other methods need no sources.
    assert document("start", "--k", "5", "--method", "rasch-cat")["questions"]
    command(folder, "recalibrate", "--as-of", str(night_of(10)), "--no-report", "--force")
    assert document("start", "--k", "5")["questions"]


def test_a_rule_of_the_settings_gives_family_and_purpose(calibrated):
    config = calibrated / "recurring-eval.toml"
    rule = '[[rules]]\nagent = "rc-*"\npurpose = "candidate"\nfamily = "nobody"\n'
    config.write_text(config.read_text() + rule)
    error = one_error_line(adaptive("start", "--k", "5", "--agent", "rc-7", code=1))
    assert "no runs of agent family 'nobody'" in error
    (question,) = document("start", "--k", "1", "--agent", "rc-7", "--family", "main")["questions"]
    document("tell", "last", f"{question}=pass")
    document("finish", "last")
    (run,) = [row for row in tables(calibrated)["run"] if "adaptive" in row]
    assert {"candidate", "rc-7", "main"} <= {value for value in run if isinstance(value, str)}


def test_shared_options_may_stand_before_the_group(session):
    assert invoke("--json", "adaptive", "show").document["sessions"]
