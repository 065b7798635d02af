"""Words of verdicts and errors."""

import pytest

from recurring_eval.errors import InputError
from tests.jobs.harnesses.tables import by_question, read_text, reasons

# As listed in the tour of formats: what people write, case-blind.
PASS_WORDS = [
    *("pass", "passed", "true", "t", "yes", "y", "1", "1.0", "ok", "resolved", "correct", "C"),
    *("TRUE", "Pass", "success"),
]
FAIL_WORDS = [
    *("fail", "failed", "false", "f", "no", "n", "0", "0.0", "incorrect", "unresolved", "I"),
    *("FALSE", "0.00", "-0"),
]
MISSING_WORDS = {
    "": "not run",
    "null": "not run",
    "NA": "not run",
    "N/A": "not run",
    "NaN": "not run",
    "error": "error",
    "ERROR": "error",
    "skipped": "skipped",
    "timeout": "timeout",
    "timed_out": "timeout",
    "cancelled": "not run",
    "invalidated": "invalidated",
}


def table(words, column="passed"):
    rows = [f"r,q{i:02d},2026-11-16T09:00:00Z,{word}" for i, word in enumerate(words)]
    return "\n".join([f"run_id,question_id,started_at,{column}", *rows]) + "\n"


def test_words(tmp_path):
    words = [*PASS_WORDS, *FAIL_WORDS, *MISSING_WORDS]
    read = by_question(read_text(tmp_path, table(words)))
    assert list(read.values()) == (
        ["pass"] * len(PASS_WORDS) + ["fail"] * len(FAIL_WORDS) + ["missing"] * len(MISSING_WORDS)
    )


def test_missing_words_keep_their_reason(tmp_path):
    (log,) = read_text(tmp_path, table(["pass", *MISSING_WORDS])).runs
    assert list(reasons(log).values()) == list(MISSING_WORDS.values())


@pytest.mark.parametrize("word", ["maybe", "P", "passsed", "85%", "x1", "inf", "yes!"])
def test_unknown_words_are_refused_with_line_and_column(tmp_path, word):
    with pytest.raises(InputError, match="line 4, column `passed`") as caught:
        read_text(tmp_path, table(["pass", "fail", word, "pass"]))
    assert word in str(caught.value) or "infinite" in str(caught.value)


def test_the_letter_n_is_ambiguous_unless_there_is_a_y(tmp_path):
    with pytest.raises(InputError, match="'N' may mean no or no answer"):
        read_text(tmp_path, table(["C", "I", "N"]))
    assert list(by_question(read_text(tmp_path, table(["Y", "N"]))).values()) == ["pass", "fail"]


def test_fractions_need_a_threshold(tmp_path):
    text = table(["1", "0.5", "0", "nan"], column="score")
    with pytest.raises(InputError, match=r"line 3, column `score`: the score 0\.5.*--threshold"):
        read_text(tmp_path, text)
    read = by_question(read_text(tmp_path, text, threshold=0.5))
    assert list(read.values()) == ["pass", "pass", "fail", "missing"]


def test_a_threshold_judges_every_number(tmp_path):
    read = by_question(read_text(tmp_path, table(["85", "1", "60"], "score"), threshold=60.0))
    assert list(read.values()) == ["pass", "fail", "pass"]


def test_a_threshold_is_finite(tmp_path):
    with pytest.raises(InputError, match="threshold nan"):
        read_text(tmp_path, table(["1"]), threshold=float("nan"))


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        ("score,passed", "passed"),
        ("result,success", "success"),
        ("score,status", "status"),
        ("reward,score", "score"),
    ],
)
def test_several_verdict_columns_have_an_order(tmp_path, columns, chosen):
    first, second = ("0", "1") if columns.split(",")[1] == chosen else ("1", "0")
    text = f"run_id,question_id,started_at,{columns}\nr,q,2026-11-16T09:00:00Z,{first},{second}\n"
    file = read_text(tmp_path, text)
    assert by_question(file) == {"q": "pass"}
    assert any(f"column `{chosen}` gives the verdict" in note for note in file.notes)


def test_an_empty_verdict_column_gives_way(tmp_path):
    text = "run_id,question_id,started_at,passed,score\nr,q,2026-11-16T09:00:00Z,,1\n"
    assert by_question(read_text(tmp_path, text)) == {"q": "pass"}


ERRORS = """run_id,question_id,started_at,passed,error,status
r,a,2026-11-16T09:00:00Z,True,,completed
r,b,2026-11-16T09:00:00Z,False,timeout,completed
r,c,2026-11-16T09:00:00Z,False,"TimeoutError: after 300 s
  File x",failed
r,d,2026-11-16T09:00:00Z,,rate_limit,error
r,e,2026-11-16T09:00:00Z,False,,timeout
r,f,2026-11-16T09:00:00Z,False,None,failed
r,g,2026-11-16T09:00:00Z,,,completed
"""


def test_errors_make_verdicts_missing_and_are_counted(tmp_path):
    file = read_text(tmp_path, ERRORS)
    assert by_question(file) == {
        **{"a": "pass", "b": "missing", "c": "missing", "d": "missing"},
        **{"e": "missing", "f": "fail", "g": "missing"},
    }
    assert reasons(file.runs[0]) == {
        "b": "timeout",
        "c": "timeout: TimeoutError: after 300 s",
        "d": "error: rate_limit",
        "e": "timeout",
        "g": "not run",
    }
    assert "verdicts missing because `error` reports an error: 2" in file.notes


def test_a_reason_per_row_is_cut_to_its_kind(tmp_path):
    rows = [f"r,q{i},2026-11-16T09:00:00Z,,trace {i}" for i in range(1500)]
    head = ["run_id,question_id,started_at,passed,error", "r,ok,2026-11-16T09:00:00Z,1,"]
    (log,) = read_text(tmp_path, "\n".join([*head, *rows]) + "\n").runs
    assert log.reasons == ("error",)
