"""`recurring-eval import`: what is stored, and what is refused with nothing stored."""

import json
from datetime import UTC, datetime

import pytest

from jobs.harnesses.registry import harness_names
from recurring_eval.records import RunKind, RunPurpose
from storage.file.history import History
from storage.runs.benchmarks import benchmark_names, create_benchmark, current_bank
from storage.runs.runs import list_runs
from storage.runs.verdicts import load_matrix
from tests.jobs.command_line import HEADER, invoke, one_error_line, write_runs_csv
from tests.shared_data import shared_path

RUNS = {
    "r1": {"a": "pass", "b": "fail", "c": "pass"},
    "r2": {"a": "fail", "b": "fail", "c": "timeout"},
}


def stored(project, benchmark="b"):
    """Every stored run's purpose, kind and verdicts (passes/trials by question)."""
    with History.open(project / "history.duckdb", read_only=True) as history:
        if benchmark not in benchmark_names(history):
            return {}
        runs = list_runs(history, benchmark)
        bank = current_bank(history, benchmark)
        if not runs or bank is None:
            return {}
        matrix = load_matrix(history, runs, bank.question_ids)
    return {
        run.run_key: {
            question: f"{passes}/{trials}"
            for question, passes, trials in zip(
                matrix.question_ids, matrix.passes[row], matrix.trials[row], strict=True
            )
        }
        for row, run in enumerate(runs)
    }


def runs_of(project, benchmark="b"):
    with History.open(project / "history.duckdb", read_only=True) as history:
        return {run.run_key: run for run in list_runs(history, benchmark)}


def is_untouched(project):
    with History.open(project / "history.duckdb", read_only=True) as history:
        return benchmark_names(history) == []


def test_a_first_import_makes_benchmark_and_bank(project):
    outcome = invoke("import", write_runs_csv(project / "t.csv", RUNS), "--json")
    assert outcome.code == 0
    assert outcome.document == {
        "files": [
            {
                "path": str(project / "t.csv"),
                "status": "imported",
                "runs": 2,
                "verdicts": 6,
                "reason": None,
                "notes": [
                    "run 'r2' has valid verdicts on 2 of 3 questions, too few for a full run; "
                    "if a subset was asked, name it with --subset"
                ],
            }
        ],
        "runs_added": 2,
        "verdicts_added": 6,
        "dry_run": False,
    }
    assert stored(project) == {
        "r1": {"a": "1/1", "b": "0/1", "c": "1/1"},
        "r2": {"a": "0/1", "b": "0/1", "c": "0/0"},
    }
    run = runs_of(project)["r1"]
    assert run.started_at == datetime(2026, 11, 16, 9, tzinfo=UTC)
    assert (run.agent, run.kind, run.purpose) == ("agent-1", RunKind.FULL, RunPurpose.ROUTINE)


def test_the_bank_is_the_union_of_all_files(project):
    write_runs_csv(project / "one.csv", {"r1": {"a": "1", "b": "1"}})
    write_runs_csv(project / "two.csv", {"r2": {"b": "1", "c": "1"}})
    (project / "notes.txt").write_text("no table")
    outcome = invoke("import", project, "--json", "--quiet")
    assert outcome.code == 0
    statuses = {
        file["path"].rsplit("/", 1)[1]: file["status"] for file in outcome.document["files"]
    }
    assert statuses["one.csv"] == statuses["two.csv"] == "imported"
    assert statuses["notes.txt"] == statuses["recurring-eval.toml"] == "skipped"
    assert set(stored(project)["r1"]) == {"a", "b", "c"}


def test_again_more_and_changed(project):
    path = write_runs_csv(project / "t.csv", RUNS)
    invoke("import", path)
    again = invoke("import", path, "--json").document
    assert (again["runs_added"], again["verdicts_added"]) == (0, 0)
    assert again["files"][0]["status"] == "already there"

    write_runs_csv(path, {"r3": {"a": "1", "b": "1"}})
    invoke("import", path)
    write_runs_csv(path, {"r3": {"a": "1", "b": "1", "c": "0"}})
    more = invoke("import", path, "--json").document
    assert (more["files"][0]["status"], more["verdicts_added"]) == ("extended", 1)

    write_runs_csv(path, {"r3": {"a": "0", "b": "1", "c": "0"}})
    before = stored(project)
    error = one_error_line(invoke("import", path))
    assert "r3" in error
    assert "'a'" in error or " a" in error
    assert stored(project) == before
    replaced = invoke("import", path, "--replace", "--json").document
    assert replaced["files"][0]["status"] == "replaced"
    assert stored(project)["r3"]["a"] == "0/1"


def test_parts_of_a_run_may_start_at_their_own_times(project):
    rows = [f"r,q{i},1,1,2026-11-16T09:{i:02d}:00Z,x,b" for i in range(10)]
    parts = {"late": rows[5:], "early": rows[:5], "whole": rows}
    for name, part in parts.items():
        (project / f"{name}.csv").write_text("\n".join([HEADER, *part]) + "\n")
    first = invoke("import", project / "late.csv", project / "early.csv", "--json").document
    assert [file["status"] for file in first["files"]] == ["imported", "extended"]
    again = invoke("import", project / "whole.csv", "--json").document
    assert again["files"][0]["status"] == "already there"
    # The same id a day later is another run that must not be merged in silence.
    path = project / "t.csv"
    path.write_text(f"{HEADER}\nr,q0,1,1,2026-11-17T09:00:00Z,x,b\n")
    assert "started_at" in one_error_line(invoke("import", path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{HEADER.replace('passed', 'x')}\nr,q,1,1,2026-11-16,a,b\n", "no column for the verdict"),
        (
            f"{HEADER}\nr,q,1,maybe,2026-11-16,a,b\n",
            "line 2, column `passed`: unknown verd",
        ),
        (f"{HEADER}\nr,q,1,1,2026-11-16,a,b\nr,q,1,0,2026-11-16,a,b\n", "question 'q', trial 1"),
        (f"{HEADER}\nr,q,1,,2026-11-16,a,b\n", "run 'r' has no valid verdict"),
        (f"{HEADER}\nr,q,1,0.5,2026-11-16,a,b\n", "--threshold"),
        (f"{HEADER}\nr,q,1,1,16/11/2026,a,b\n", "is not a time"),
        (f"{HEADER}\n", "no rows"),
        (f"{HEADER}\nr,q,1,1,2026-11-16,a,b\nr,q2,1", "cut short"),
        ("", "is empty"),
        ("\0\1\2", "is a binary file"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_stored(project, content, message):
    path = project / "t.csv"
    path.write_text(content)
    outcome = invoke("import", path, "--json")
    error = one_error_line(outcome)
    assert str(path) in error
    assert message in error
    (report,) = outcome.document["files"]
    assert (report["status"], report["runs"]) == ("refused", 0)
    assert message in report["reason"]
    assert is_untouched(project)


def test_a_refused_file_leaves_the_others_alone(project):
    write_runs_csv(project / "good.csv", RUNS)
    bad = write_runs_csv(project / "bad.csv", {"r9": {"z": "1", "y": "maybe"}})
    outcome = invoke("import", bad, project / "missing.csv", project / "good.csv", "--json")
    assert outcome.code == 1
    assert [file["status"] for file in outcome.document["files"]] == [
        *("refused", "refused", "imported")
    ]
    assert outcome.document["files"][1]["reason"] == "no such file"
    assert set(stored(project)) == {"r1", "r2"}
    assert set(stored(project)["r1"]) == {"a", "b", "c"}


def test_links_in_a_circle_spoil_no_folder(project):
    (project / "logs").mkdir()
    (project / "logs" / "circle.csv").symlink_to("circle.csv")
    write_runs_csv(project / "logs" / "t.csv", RUNS)
    outcome = invoke("import", project / "logs", "--json")
    assert [file["status"] for file in outcome.document["files"]] == ["refused", "imported"]
    assert set(stored(project)) == {"r1", "r2"}


def test_a_file_of_which_no_question_is_known_may_be_another_benchmarks(project):
    invoke("import", write_runs_csv(project / "t.csv", RUNS))
    other = write_runs_csv(project / "o.csv", {"r3": {"x": "1", "y": "0"}})
    error = one_error_line(invoke("import", other))
    assert "none of the file's 2 questions is in benchmark 'b': 'x', 'y'; does it" in error
    assert "--benchmark NAME, a new one with --create)? If not, --extend-bank adds them" in error


def test_unknown_questions_are_listed_and_may_extend_the_bank(project):
    path = write_runs_csv(project / "t.csv", RUNS)
    invoke("import", path)
    write_runs_csv(path, {"r3": {f"new-{i}": "1" for i in range(7)} | {"a": "1"}})
    error = one_error_line(invoke("import", path))
    assert "benchmark 'b' lacks 7 of the file's questions: 'new-0', 'new-1'" in error
    assert "'new-4' and 2 more; --extend-bank" in error
    assert set(stored(project)) == {"r1", "r2"}
    assert invoke("import", path, "--extend-bank").code == 0
    assert len(stored(project)["r3"]) == 10


def test_when_a_benchmark_is_created(project):
    path = write_runs_csv(project / "t.csv", RUNS)
    invoke("import", path)
    write_runs_csv(path, RUNS, benchmark="bb")
    error = one_error_line(invoke("import", path))
    assert "unknown benchmark 'bb'; known are 'b'; is 'b' meant? --create makes a new one" in error
    assert invoke("import", path, "--create").code == 0
    with (project / "recurring-eval.toml").open("a") as config:
        config.write("[benchmark.listed]\n")
    assert invoke("import", path, "--benchmark", "listed").code == 0
    with History.open(project / "history.duckdb", read_only=True) as history:
        assert benchmark_names(history) == ["b", "bb", "listed"]


def test_a_file_without_benchmark_takes_the_only_one(project):
    path = project / "t.csv"
    path.write_text("run_id,question_id,passed,started_at\nr,a,1,2026-11-16\n")
    assert "give it with --benchmark NAME" in one_error_line(invoke("import", path))
    assert invoke("import", path, "--benchmark", "b").code == 0
    path.write_text("run_id,question_id,passed,started_at\nr2,a,1,2026-11-16\n")
    assert invoke("import", path).code == 0
    assert set(stored(project)) == {"r", "r2"}


def test_several_benchmarks_in_one_file(project):
    rows = [f"r,q,1,1,2026-11-16,x,{name}" for name in ("b", "c")]
    (project / "t.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    error = one_error_line(invoke("import", project / "t.csv", "--benchmark", "b"))
    assert "has several benchmarks, 'b', 'c'" in error
    assert invoke("import", project / "t.csv").code == 0
    assert stored(project, "b") == stored(project, "c") == {"r": {"q": "1/1"}}


def test_purpose_and_family_from_flag_file_and_rules(project):
    with (project / "recurring-eval.toml").open("a") as config:
        config.write("[[rules]]\nagent = 'agent-*'\npurpose = 'experiment'\nfamily = 'small'\n")
    path = write_runs_csv(project / "t.csv", {"r1": {"a": "1"}})
    invoke("import", path)
    write_runs_csv(path, {"r2": {"a": "1"}})
    invoke("import", path, "--purpose", "candidate")
    (project / "u.csv").write_text(
        f"{HEADER},purpose,agent_family\nr3,a,1,1,2026-11-16,agent-1,b,candidate,large\n"
    )
    invoke("import", project / "u.csv")
    found = {key: (run.purpose, run.agent_family) for key, run in runs_of(project).items()}
    assert found == {
        "r1": (RunPurpose.EXPERIMENT, "small"),
        "r2": (RunPurpose.CANDIDATE, "small"),
        "r3": (RunPurpose.CANDIDATE, "large"),
    }
    assert "no purpose is called 'x'" in one_error_line(invoke("import", path, "--purpose", "x"))


def save_subset_of(project, ids):
    from recurring_eval.records import Subset
    from storage.calibrations.subsets import save_subset

    with History.open(project / "history.duckdb") as history:
        bank = current_bank(history, "b")
        assert bank is not None
        subset = Subset(
            question_ids=ids,
            weights=[1 / len(ids)] * len(ids),  # type: ignore[arg-type]  # copied to an array
            design="stratified",
            seed=0,
            bank_version=bank.version,
            model_fingerprint="",
        )
        with history.transaction():
            return save_subset(
                history,
                subset,
                benchmark="b",
                family="main",
                calibration_id=None,
                published_at=datetime(2026, 11, 20, tzinfo=UTC),
            )


def test_a_subset_makes_a_run_partial_however_it_is_named(project):
    invoke("import", write_runs_csv(project / "t.csv", RUNS))
    subset = save_subset_of(project, ("a", "b"))
    write_runs_csv(project / "flag.csv", {"flag": {"a": "1", "c": "1"}})
    outcome = invoke("import", project / "flag.csv", "--subset", subset, "--json")
    assert outcome.code == 0
    assert outcome.document["files"][0]["notes"] == [
        f"run 'flag': 1 questions outside subset {subset}: c",
        f"run 'flag': 1 questions not returned of subset {subset}: b",
    ]
    (project / "column.csv").write_text(
        f"{HEADER},subset_id\ncolumn,a,1,1,2026-11-16,x,b,{subset}\n"
    )
    (project / "tag.csv").write_text(f"{HEADER},tags\ntag,a,1,1,2026-11-16,x,b,subset:{subset}\n")
    assert invoke("import", project / "column.csv", project / "tag.csv").code == 0
    runs = runs_of(project)
    for key in ("flag", "column", "tag"):
        assert (runs[key].kind, runs[key].subset_id) == (RunKind.PARTIAL, subset)
    assert runs["r1"].kind is RunKind.FULL


def test_an_unknown_subset_is_refused(project):
    path = write_runs_csv(project / "t.csv", RUNS)
    invoke("import", path)
    write_runs_csv(path, {"r3": {"a": "1"}})
    assert "nope" in one_error_line(invoke("import", path, "--subset", "nope"))
    assert set(stored(project)) == {"r1", "r2"}


def test_dry_run_checks_everything_and_stores_nothing(project):
    path = write_runs_csv(project / "t.csv", RUNS)
    outcome = invoke("import", path, "--dry-run", "--json")
    assert (outcome.code, outcome.document["runs_added"]) == (0, 2)
    assert is_untouched(project)
    assert "Would add 2 runs and 6 verdicts from 1 file." in invoke("import", path, "--dry-run").out


def test_odd_sources(project):
    (project / "empty").mkdir()
    error = one_error_line(invoke("import", project / "empty"))
    assert "has no log of a known tool in it" in error
    path = write_runs_csv(project / "t.csv", RUNS)
    error = one_error_line(invoke("import", path, "--harness", "nope"))
    assert error == f"error: no harness is called 'nope'; choose from {', '.join(harness_names())}"
    twice = invoke("import", path, project / "." / "t.csv", "--json").document
    assert len(twice["files"]) == 1


def test_without_a_history(project):
    (project / "history.duckdb").unlink()
    error = one_error_line(invoke("import", write_runs_csv(project / "t.csv", RUNS)))
    assert "recurring-eval init" in error


def test_notes_are_left_out_with_quiet_and_kept_off_stdout(project):
    path = write_runs_csv(project / "t.csv", RUNS)
    loud = invoke("import", path, "--dry-run", "--json")
    assert loud.err.startswith("note: ")
    assert json.loads(loud.out)
    assert invoke("import", path, "--dry-run", "--quiet").err == ""


def test_a_real_history(project):
    path = shared_path("data/swebench_verified_runs.parquet")
    document = invoke("import", path, "--json").document
    assert (document["runs_added"], document["verdicts_added"]) == (134, 67_000)
    found = stored(project, "swebench-verified")
    # The mean pass rate of the leaderboard's 134 entries, counted from the plain matrix.
    lines = shared_path("data/swebench_verified.csv").read_text().splitlines()
    passes = {line.split(",")[0]: line.split(",")[1:].count("1") for line in lines[1:]}
    assert {key: sum(v == "1/1" for v in run.values()) for key, run in found.items()} == passes


def test_a_folder_of_the_same_results_in_three_formats(project):
    document = invoke("import", shared_path("harness/samples/longform"), "--json").document
    assert {file["path"].rsplit("/", 1)[1]: file["status"] for file in document["files"]} == {
        "EXPECTED.json": "skipped",
        "runs.csv": "imported",
        "runs.jsonl": "already there",
        "runs.parquet": "already there",
        "three_attempts_other_names.csv": "imported",
    }
    assert (document["runs_added"], document["verdicts_added"]) == (4, 225)


def test_create_needs_no_bank(project):
    """A benchmark made by hand, without questions, takes its bank from the first import."""
    with History.open(project / "history.duckdb") as history, history.transaction():
        create_benchmark(history, "b", now=datetime(2026, 11, 1, tzinfo=UTC))
    assert invoke("import", write_runs_csv(project / "t.csv", RUNS)).code == 0
    assert set(stored(project)) == {"r1", "r2"}
