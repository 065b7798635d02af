"""`recurring-eval replay` as a user runs it."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from jobs.replaying import tasks as replay_tasks
from jobs.replaying.journal import JOURNAL
from tests.jobs.command_line import invoke, write_runs_csv

KEYS = {
    "method",
    "budget",
    "k",
    "mae_pp",
    "max_error_pp",
    "bias_pp",
    "spearman",
    "kendall_tau",
    "execution_fraction",
    "coverage_90",
    "width_90_pp",
    "cpu_s_per_target",
    "fit_cpu_s",
    "n_targets",
    "n_splits",
}
METHODS = "random,stratified,stratified-random"


def verdicts(m: int, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    logit = np.subtract.outer(rng.normal(size=m), rng.normal(0, 2, size=n))
    return (rng.random((m, n)) < 1 / (1 + np.exp(-logit))).astype(int)


def write_matrix(path: Path, *, m: int = 20, n: int = 40, extra: str = "") -> Path:
    """A plain matrix; `extra` is ``started_at`` or ``family`` for such a column."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["agent", *([extra] if extra else []), *(f"q{j}" for j in range(n))])
        for i, row in enumerate(verdicts(m, n)):
            values = {"started_at": f"2026-01-{1 + i:02d}T10:00:00Z", "family": "ab"[i % 2]}
            writer.writerow([f"agent{i}", *([values[extra]] if extra else []), *row])
    return path


def without_cpu(document: dict) -> dict:
    rows = [
        {key: value for key, value in row.items() if "cpu" not in key} for row in document["rows"]
    ]
    return document | {"rows": rows}


@pytest.fixture
def matrix(folder: Path) -> Path:
    return write_matrix(folder / "matrix.csv")


def replay(path: Path, *arguments: str | Path):
    return invoke("replay", path, "--methods", METHODS, "--jobs", "1", *arguments)


def test_json_has_exactly_the_agreed_keys(matrix: Path) -> None:
    outcome = replay(matrix, "--budgets", "10%,7", "--json", "--seeds", "2")
    assert outcome.code == 0
    document = outcome.document
    assert document["protocol"] == "folds"  # several agents, no times
    assert all(set(row) == KEYS for row in document["rows"])
    found = [(row["method"], row["budget"], row["k"]) for row in document["rows"]]
    assert found == [(m, b, k) for b, k in (("10%", 4), ("7", 7)) for m in METHODS.split(",")]
    for row in document["rows"]:
        assert (row["n_targets"], row["n_splits"]) == (20, 6)
        assert row["coverage_90"] is row["width_90_pp"] is None
        assert row["max_error_pp"] >= row["mae_pp"] >= abs(row["bias_pp"])
        assert row["execution_fraction"] == pytest.approx(row["k"] / 40)
    assert document["verdict"] in ("usable", "tracking only", "not usable")


def test_method_names_are_echoed_as_given(matrix: Path) -> None:
    names = "stratified+weighted,stratified"
    document = invoke(
        "replay", matrix, "--methods", names, "--budgets", "5", "--seeds", "2", "--jobs", "1",
        "--json",
    ).document  # fmt: skip
    first, second = without_cpu(document)["rows"]
    assert [first.pop("method"), second.pop("method")] == names.split(",")
    assert first == second


def test_full_budget_is_exact(matrix: Path) -> None:
    document = replay(matrix, "--budgets", "100%", "--splits", "1", "--json").document
    assert {row["mae_pp"] for row in document["rows"]} == {0.0}
    assert {row["execution_fraction"] for row in document["rows"]} == {1.0}


def test_number_of_jobs_changes_nothing(matrix: Path) -> None:
    arguments = ["--budgets", "20%", "--splits", "1", "--seeds", "3", "--json"]
    one = replay(matrix, *arguments).document
    two = invoke("replay", matrix, "--methods", METHODS, "--jobs", "2", *arguments).document
    assert without_cpu(one) == without_cpu(two)


def test_seed_decides_folds_and_draws(matrix: Path) -> None:
    arguments = ["--budgets", "5", "--splits", "2", "--show-folds", "--json"]
    first, again, other = (
        replay(matrix, *arguments, "--seed", seed).document for seed in ("0", "0", "1")
    )
    assert without_cpu(first) == without_cpu(again)
    assert first["folds"] != other["folds"]
    assert first["rows"][0]["mae_pp"] != other["rows"][0]["mae_pp"]
    agents = [a for fold in first["folds"] if fold["split"] == 0 for a in fold["agents"]]
    assert sorted(agents) == sorted(f"agent{i}" for i in range(20))


def test_folds_do_not_depend_on_methods_and_are_printed(matrix: Path) -> None:
    shown = replay(matrix, "--budgets", "5", "--splits", "1", "--show-folds")
    lines = [line for line in shown.out.splitlines() if line.startswith("split 0, fold")]
    document = invoke(
        "replay", matrix, "--methods", "random", "--budgets", "9", "--splits", "1", "--jobs", "1",
        "--show-folds", "--json",
    ).document  # fmt: skip
    expected = [
        f"split {f['split']}, fold {f['fold']} tests: {', '.join(f['agents'])}"
        for f in document["folds"]
    ]
    assert lines == expected


def test_times_choose_chronological_and_text_ends_in_sentences(folder: Path) -> None:
    path = write_matrix(folder / "timed.csv", extra="started_at")
    outcome = replay(path, "--budgets", "10,20", "--seeds", "2")
    assert outcome.code == 0
    assert "the first 10 of 20 runs in time order calibrate" in outcome.err
    last = outcome.out.splitlines()[-5:]
    assert [line.split(":")[0] for line in last[1:4]] == ["For ±2 pp", "For ±3 pp", "For ±5 pp"]
    assert last[4].startswith("Worst run with ")


def test_transfer_and_window_tell_groups_apart(folder: Path) -> None:
    path = write_matrix(folder / "families.csv", extra="family")
    document = replay(path, "--protocol", "transfer", "--budgets", "5", "--json").document
    assert {row["group"] for row in document["rows"]} == {"other families", "a (later half)"}
    assert all(set(row) == KEYS | {"group"} for row in document["rows"])
    path = write_matrix(folder / "timed.csv", extra="started_at")
    document = replay(path, "--windows", "3d,9d", "--budgets", "5", "--json").document
    assert document["protocol"] == "window"
    assert [row["group"] for row in document["rows"]] == ["9d"] * 3 + ["3d"] * 3


def test_methods_that_cannot_run_are_left_out_with_a_reason(matrix: Path) -> None:
    outcome = invoke(
        "replay", matrix, "--methods", "cache,random", "--budgets", "5", "--splits", "1", "--jobs",
        "1", "--json",
    )  # fmt: skip
    assert [row["method"] for row in outcome.document["rows"]] == ["random"]
    assert "started_at" in outcome.document["skipped"]["cache"]
    assert "note: cache is left out" in outcome.err


def test_files_of_a_replay(matrix: Path, folder: Path) -> None:
    out = folder / "out"
    arguments = ["--budgets", "10%", "--splits", "2", "--output", out, "--json"]
    outcome = replay(matrix, *arguments)
    assert json.loads((out / "replay.json").read_text()) == outcome.document
    with (out / "rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == METHODS.split(",")
    assert float(rows[0]["mae_pp"]) == outcome.document["rows"][0]["mae_pp"]
    with (out / "targets.csv").open() as file:
        targets = [row for row in csv.DictReader(file) if row["method"] == "random"]
    assert len(targets) == 20
    mae = np.mean([float(row["absolute_error_pp"]) for row in targets])
    assert mae == pytest.approx(outcome.document["rows"][0]["mae_pp"])
    with (out / "comparisons.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 3
    assert "Replay of" in (out / "replay.html").read_text()


def test_an_interrupted_replay_resumes_to_the_same_document(
    matrix: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--budgets", "10%,20%", "--splits", "2", "--seeds", "3", "--json"]
    whole = replay(matrix, *arguments, "--output", folder / "whole").document
    n_done = 0
    run_task = replay_tasks.run_task

    def interrupted(*given, **named):
        nonlocal n_done
        n_done += 1
        if n_done > 9:
            raise KeyboardInterrupt
        return run_task(*given, **named)

    out = folder / "broken"
    monkeypatch.setattr(replay_tasks, "run_task", interrupted)
    stopped = replay(matrix, *arguments, "--output", out)
    assert stopped.code != 0
    assert "--resume" in stopped.err
    journal = out / JOURNAL
    assert len(journal.read_text().splitlines()) == 1 + 9
    journal.write_text(journal.read_text() + '{"key": [0, 3, "ran')  # cut off while written
    monkeypatch.setattr(replay_tasks, "run_task", run_task)
    before = {json.dumps(line) for line in _results(journal)}
    resumed = replay(matrix, *arguments, "--output", out, "--resume")
    assert without_cpu(resumed.document) == without_cpu(whole)
    assert before < {json.dumps(line) for line in _results(journal)}
    again = replay(matrix, *arguments, "--output", out, "--resume")
    assert again.document == resumed.document  # nothing is computed twice, CPU times included


def _results(journal: Path) -> list[dict]:
    results = []
    for line in journal.read_text().splitlines()[1:]:
        try:
            results.append(json.loads(line))
        except ValueError:
            continue
    return results


def test_resume_refuses_other_data_options_and_damage(matrix: Path, folder: Path) -> None:
    out = folder / "out"
    arguments = ["--budgets", "5", "--splits", "1", "--output", out, "--resume"]
    assert "no journal to resume" in replay(matrix, *arguments).err
    assert replay(matrix, *arguments[:-1]).code == 0
    changed = replay(matrix, *arguments, "--seed", "5")
    assert (changed.code, changed.out) == (1, "")
    assert "belongs to other data or options" in changed.err
    path = write_matrix(folder / "other.csv", m=21)
    assert "belongs to other data or options" in replay(path, *arguments).err
    lines = (out / JOURNAL).read_text().splitlines()
    (out / JOURNAL).write_text("\n".join([lines[0], "{}", *lines[2:], ""]))
    assert "is damaged" in replay(matrix, *arguments).err
    assert "--output" in replay(matrix, "--budgets", "5", "--resume").err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--methods", "wish"], "unknown method 'wish'"),
        (["--methods", "random,random"], "method random is listed twice"),
        (["--protocol", "fold"], "no protocol is called 'fold'"),
        (["--budgets", "ten"], "budget 'ten'"),
        (["--folds", "40"], "20 agents cannot be divided into 40 folds"),
        (["--protocol", "chronological", "--splits", "2"], "--splits belongs to --protocol folds"),
        (["--windows", "x"], "--windows are days, and these runs have no `started_at`"),
        (["--protocol", "transfer"], "a transfer needs runs of another"),
        (["--seeds", "0"], "0 seeds"),
        (["--seed", "-1"], "`seed` is -1"),
        (["--benchmark", "b"], "leave it out with a file"),
        (["--agent-family", "z"], "known families: main"),
    ],
)
def test_wrong_options_are_one_clear_line(matrix: Path, arguments: list[str], said: str) -> None:
    outcome = invoke("replay", matrix, "--jobs", "1", *arguments)
    assert (outcome.code, outcome.out) == (1, "")
    errors = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert said in errors[0]


def test_bad_files_are_one_clear_line(folder: Path) -> None:
    path = folder / "bad.csv"
    path.write_text("agent,q1\na,1\nb,maybe\n")
    outcome = invoke("replay", path)
    assert outcome.code == 1
    assert outcome.err == f"error: {path}: line 3, question 'q1': 'maybe' is not 1, 0 or empty\n"


def test_runs_with_too_few_verdicts_are_left_out(folder: Path) -> None:
    path = write_matrix(folder / "matrix.csv", n=10)
    lines = path.read_text().splitlines()
    lines[3] = "agent2,1,0,1,0,1,0,1,,,"
    lines[4] = "agent3,1,0,1,0,1,0,1,1,,"
    path.write_text("\n".join(lines) + "\n")
    outcome = replay(path, "--budgets", "5", "--splits", "1", "--json")
    assert outcome.document["data"]["n_runs"] == 19
    assert "1 of 20 runs are left out" in outcome.document["notes"][0]


def test_without_a_file_the_history_is_replayed_in_time_order(project: Path) -> None:
    runs = {
        f"run{i:02d}": {f"q{j}": str(v) for j, v in enumerate(row)}
        for i, row in enumerate(verdicts(16, 20))
    }
    assert invoke("import", write_runs_csv(project / "runs.csv", runs), "--create").code == 0
    outcome = invoke(
        "replay", "--methods", METHODS, "--budgets", "5", "--seeds", "2", "--jobs", "1", "--json"
    )
    assert outcome.code == 0, outcome.err
    assert outcome.document["protocol"] == "chronological"
    assert {row["n_targets"] for row in outcome.document["rows"]} == {8}
