"""More sample logs of real tools, through the command line, as they were planned."""

import json

import pytest

from tests.jobs.command_line import Outcome, invoke
from tests.jobs.harnesses.stored import stored_reasons, stored_runs, stored_verdicts
from tests.shared_data import shared_path

SAMPLES = "harness/samples"


def planned(tool: str) -> dict:
    return json.loads(shared_path(f"{SAMPLES}/{tool}/EXPECTED.json").read_text())


def imported(tool: str, *options: str) -> Outcome:
    return invoke(
        "import", shared_path(f"{SAMPLES}/{tool}"), "--benchmark", "b", *options, "--json"
    )


def report_of(outcome: Outcome) -> dict[str, dict]:
    files = outcome.document["files"]
    assert len({file["path"] for file in files}) == len(files)
    return {file["path"].rpartition("/samples/")[2].partition("/")[2]: file for file in files}


def check_second_import(folder, tool: str, *options: str) -> None:
    before = stored_verdicts(folder), stored_runs(folder)
    again = imported(tool, *options)
    assert (again.document["runs_added"], again.document["verdicts_added"]) == (0, 0)
    known = {"already there", "part", "skipped", "refused"}
    assert {file["status"] for file in report_of(again).values()} <= known
    assert (stored_verdicts(folder), stored_runs(folder)) == before


def first_trials(cells: dict[tuple[str, int], str]) -> dict[str, str]:
    assert {trial for _, trial in cells} == {1}
    return {question: word for (question, _), word in cells.items()}


def test_promptfoo(project):
    expected = planned("promptfoo")
    outcome = imported("promptfoo")
    files = report_of(outcome)
    # The run whose filter matched nothing is named, and is no clean run of nothing.
    assert outcome.code == 1
    assert [line for line in outcome.err.splitlines() if line.startswith("error: ")] == [
        f"error: {shared_path(f'{SAMPLES}/promptfoo')}/run-z-two-metadata-filters.json: has no "
        "rows: the filter of the evaluation matched no test"
    ]
    found = stored_verdicts(project)
    runs = stored_runs(project)
    for name, plan in expected.items():
        if isinstance(plan, str) or not plan["rows"]:
            continue
        # Names of runs are promptfoo's own, except where the form has none.
        path = shared_path(f"{SAMPLES}/promptfoo/{name}")
        is_json = name.endswith(".json")
        (run,) = (
            [json.loads(path.read_text())["evalId"]]
            if is_json
            else [key for key in runs if key.startswith("promptfoo-")]
        )
        cells: dict[tuple[str, int], str] = {}
        for row in plan["rows"]:
            trial = 1 + sum(question == row["qid"] for question, _ in cells)
            cells[row["qid"], trial] = row["verdict"]
        assert {
            q: sorted(found[run][q, t] for _, t in cells if (q, t) in found[run]) for q, _ in cells
        }
        assert sorted((q, word) for (q, _), word in found[run].items()) == sorted(
            (q, word) for (q, _), word in cells.items()
        )
        assert {trial for _, trial in found[run]} == {trial for _, trial in cells}
        assert runs[run]["agent"] == "planned-agent"
        if is_json:
            assert (
                runs[run]["started_at"].isoformat()[:19]
                == json.loads(path.read_text())["results"]["timestamp"][:19]
            )
    assert {len(cells) for cells in found.values()} == {24, 4, 15, 2}
    # The three forms of one evaluation are one log, and JUnit tells when it was.
    assert files["run-d.jsonl"]["status"] == "imported"
    assert files["run-d.csv"]["status"] == files["run-d.junit.xml"]["status"] == "part"
    (lines,) = (run for key, run in runs.items() if key.startswith("promptfoo-"))
    assert lines["started_at"].isoformat()[:19] == "2026-11-19T07:00:03"
    tagged = [run for run in runs.values() if run["tags"]]
    assert any("agent=v1.3" in run["tags"] for run in tagged)
    check_second_import(project, "promptfoo")


@pytest.mark.parametrize("form", ["run-d.jsonl", "run-d.csv", "run-d.junit.xml"])
def test_promptfoo_forms_alone(project, form):
    rows = planned("promptfoo")["run-d.jsonl"]["rows"]
    (project / form).write_bytes(shared_path(f"{SAMPLES}/promptfoo/{form}").read_bytes())
    outcome = invoke("import", project / form, "--benchmark", "b", "--json")
    assert outcome.code == 0, outcome.err
    (cells,) = stored_verdicts(project).values()
    key = "description" if "junit" in form else "qid"
    assert first_trials(cells) == {row[key]: row["verdict"] for row in rows}


def plain(word: str) -> str:
    # Entries with a policy: an expected failure is a fail, a broken teardown is an error.
    return {"call": "missing"}.get(word.split()[0], word.split()[0])


def test_pytest(project):
    expected = {
        name.split(".")[0]: {node: plain(word) for node, word in plan.items()}
        for name, plan in planned("pytest").items()
    }
    outcome = imported("pytest")
    assert outcome.code == 0, outcome.err
    files = report_of(outcome)
    assert files["p1.json"]["status"] == files["p2.json"]["status"] == "imported"
    assert files["p1.xml"]["status"] == files["p2.xml"]["status"] == "part"
    found = stored_verdicts(project)
    plans = list(expected.values())
    assert len(found) == len(plans)
    for cells in found.values():
        assert first_trials(cells) in plans
    check_second_import(project, "pytest")


@pytest.mark.parametrize("first", ["p1.json", "p1.xml"])
def test_pytest_reports_agree(project, first):
    second = {"p1.json": "p1.xml", "p1.xml": "p1.json"}[first]
    expected = {n: plain(w) for n, w in planned("pytest")["p1.xml, p1.json"].items()}
    for folder, name in (("a", first), ("b", second)):
        (project / folder).mkdir()
        content = shared_path(f"{SAMPLES}/pytest/{name}").read_bytes()
        (project / folder / name).write_bytes(content)
        outcome = invoke("import", project / folder, "--benchmark", "b", "--json")
        assert outcome.code == 0, outcome.err
        (cells,) = stored_verdicts(project).values()
        assert first_trials(cells) == expected
    assert outcome.document["runs_added"] == outcome.document["verdicts_added"] == 0
    assert stored_reasons(project)["test_agent.py::test_with_sandbox", 1] == (
        "error: setup-error: RuntimeError: sandbox did not start"
    )
    assert stored_reasons(project)["test_agent.py::TestRefund::test_skipped", 1] == (
        "skipped: tool down"
    )


def test_pytest_policies(project):
    outcome = imported("pytest", "--count", "teardown-error=pass", "--count", "xfail=missing")
    assert outcome.code == 0, outcome.err
    for cells in stored_verdicts(project).values():
        if len(cells) > 3:
            assert cells["test_agent.py::test_leaky", 1] == "pass"
            assert cells["test_agent.py::TestRefund::test_known_gap", 1] == "missing"


def test_terminal_bench(project):
    expected = planned("terminal_bench")
    outcome = imported("terminal_bench")
    assert outcome.code == 0, outcome.err
    assert stored_verdicts(project) == {
        run: {(trial["task_id"], trial["attempt"]): trial["verdict"] for trial in trials}
        for run, trials in expected.items()
    }
    run = stored_runs(project)["2026-11-16__10-00-00"]
    assert (run["agent"], run["agent_config"]) == ("terminus-2", "model=acme/model-1")
    assert run["started_at"].isoformat() == "2026-11-16T10:00:00+00:00"
    check_second_import(project, "terminal_bench")


def test_harbor(project):
    expected = planned("harbor")
    outcome = imported("harbor")
    assert outcome.code == 0, outcome.err
    assert stored_verdicts(project) == {
        job: {(trial["task_name"], trial["attempt"]): trial["verdict"] for trial in trials}
        for job, trials in expected.items()
    }
    run = stored_runs(project)["2026-11-16__09-00-00"]
    assert (run["agent"], run["agent_config"]) == (
        "acme-agent",
        "agent_version=1.3.0 model=acme/model-1",
    )
    assert stored_reasons(project)["acme/fix-tls", 1] == "timeout: EnvironmentStartTimeoutError"
    check_second_import(project, "harbor")


def test_longform(project):
    expected = planned("longform")
    outcome = imported("longform")
    assert outcome.code == 0, outcome.err
    found = {
        (run, question, trial, word)
        for run, cells in stored_verdicts(project).items()
        for (question, trial), word in cells.items()
    }
    rows = [[run, q, 1, word] for run, q, word in expected["runs.csv / runs.jsonl / runs.parquet"]]
    assert found == {tuple(row) for row in rows + expected["three_attempts_other_names.csv"]}
    statuses = [file["status"] for file in report_of(outcome).values()]
    assert sorted(statuses) == ["already there", "already there", "imported", "imported", "skipped"]
    check_second_import(project, "longform")


def test_openai_evals(project):
    (rows,) = planned("openai_evals").values()
    outcome = imported("openai_evals")
    assert outcome.code == 0, outcome.err
    (run,) = stored_runs(project)
    assert run == "2611160900ABCDEF"
    assert stored_runs(project)[run]["started_at"].isoformat() == "2026-11-16T09:00:00+00:00"
    assert first_trials(stored_verdicts(project)[run]) == {
        row["sample_id"]: row["verdict"] for row in rows
    }
    assert stored_reasons(project)["acme-lookup.dev.7", 1] == "error: RuntimeError: boom"
    check_second_import(project, "openai_evals")


def test_deepeval(project):
    rows = planned("deepeval")
    outcome = imported("deepeval")
    assert outcome.code == 0, outcome.err
    (cells,) = stored_verdicts(project).values()
    found = first_trials(cells)
    named = {row["name"]: row["verdict"] for row in rows if row["name"] is not None}
    # A case without a name is known by what it asks.
    assert {name: word for name, word in found.items() if name in named} == named
    (other,) = found.keys() - named.keys()
    assert other.startswith("input-")
    assert [found[other]] == [row["verdict"] for row in rows if row["name"] is None]
    (run,) = stored_runs(project).values()
    assert run["started_at"].isoformat() == "2026-11-29T19:11:06+00:00"
    check_second_import(project, "deepeval")


def test_hal(project):
    expected = planned("hal")
    outcome = imported("hal")
    assert outcome.code == 0, outcome.err
    (cells,) = stored_verdicts(project).values()
    assert first_trials(cells) == {k: v for k, v in expected.items() if not k.startswith("_")}
    (run,) = stored_runs(project).values()
    assert run["started_at"].isoformat() == "2026-11-16T00:00:00+00:00"
    check_second_import(project, "hal")


def test_helm(project):
    expected = planned("helm")
    outcome = imported("helm")
    assert outcome.code == 0, outcome.err
    (cells,) = stored_verdicts(project).values()
    assert first_trials(cells) == {k: v for k, v in expected.items() if not k.startswith("_")}
    assert [*stored_runs(project)] == ["v1/acme:model=acme_m1"]
    check_second_import(project, "helm")


def test_mlflow(project):
    expected = planned("mlflow")
    outcome = imported("mlflow")
    assert outcome.code == 0, outcome.err
    found = {run: first_trials(cells) for run, cells in stored_verdicts(project).items()}
    plans = [
        {row["qid"]: row["verdict"] for row in rows}
        for name, rows in expected.items()
        if name != "_note"
    ]
    genai = found.pop("27a2aed15d8e4a25b0d61ffc51412f89")
    # That file holds the first five rows only; the table holds two tables, which agree.
    assert genai == {key: plans[1][key] for key in list(plans[1])[:5]}
    assert list(found.values()) == [plans[0], plans[0]]
    check_second_import(project, "mlflow")
