"""Results of SWE-bench in their four forms."""

import json
import os
import shlex

import pytest

from jobs.harnesses.selection import SelectionContext
from jobs.harnesses.swe_bench.reader import SWE_BENCH
from recurring_eval.errors import InputError
from tests.jobs.command_line import invoke, one_error_line
from tests.jobs.harnesses.made_logs import swebench_report
from tests.jobs.harnesses.stored import stored_reasons, stored_runs, stored_verdicts

A, B, C, D, E = (f"a__b-{i}" for i in range(5))
B_FLAG = ("--benchmark", "swe")


def write(path, document) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))


def words(folder) -> dict[str, str]:
    (rows,) = stored_verdicts(folder).values()
    return {key: word for (key, _), word in rows.items()}


def test_overlapping_lists(project):
    report = swebench_report(
        completed=[A, B, C], resolved=[A], unresolved=[B], error=[C, A], empty_patch=[D],
        incomplete=[E], submitted=[A, B, C, D, "not__in-dataset"],
    )  # fmt: skip
    path = project / "m__x-v1.2.nightly-2026-11-16.json"
    write(path, report)
    outcome = invoke("import", path, *B_FLAG)
    assert "1 submitted ids are not in the dataset and were dropped: not__in-dataset" in outcome.err
    assert words(project) == {A: "pass", B: "fail", C: "missing", D: "missing", E: "missing"}
    assert stored_reasons(project) == {
        (C, 1): "error",
        (D, 1): "skipped: no patch",
        (E, 1): "not run",
    }
    ((name, run),) = stored_runs(project).items()
    assert (name, run["agent"]) == ("m__x-v1.2.nightly-2026-11-16", "m/x-v1.2")
    assert str(run["started_at"].date()) == "2026-11-16"


def test_states_are_counted_as_told(project):
    report = swebench_report(
        completed=[A, B], resolved=[A], unresolved=[B], infra_failure=[B], empty_patch=[C]
    )
    path = project / "m.r-2026-11-16.json"
    write(path, report)
    options = ("--count", "empty-patch=fail", "--count", "infra-failure=missing")
    assert invoke("import", path, *B_FLAG, *options).code == 0
    assert words(project) == {A: "pass", B: "missing", C: "fail"}
    other = project / "m.r-2026-11-17.json"
    write(other, report)
    invoke("import", other, *B_FLAG)
    later = stored_verdicts(project)["m.r-2026-11-17"]
    assert {key: word for (key, _), word in later.items()} == words_of(
        A="pass", B="missing", C="fail"
    )
    assert "STATE=pass" in one_error_line(invoke("import", path, *B_FLAG, "--count", "x"))


def words_of(**found: str) -> dict[str, str]:
    return {globals()[name]: word for name, word in found.items()}


def test_instances_and_their_run_file(project):
    folder = project / "logs" / "run_evaluation" / "run.1" / "m__x-v1.2"
    for key, resolved in ((A, True), (B, False)):
        write(folder / key / "report.json", {key: {"resolved": resolved, "patch_exists": True}})
        write(folder / key / "run.json", {"created_at": "2026-11-10T11:00:00Z"})
        write(folder / key / "test_output.txt", "noise")
    write(folder / C / "report.json", "{broken")
    write(folder / D / "report.json", {D: {"resolved": False, "patch_is_None": True}})
    report = swebench_report(
        completed=[A, B, C], resolved=[A], unresolved=[B], error=[C], empty_patch=[D]
    )
    write(project / "m__x-v1.2.run.1.json", report)
    outcome = invoke("import", project, *B_FLAG, "--json")
    assert outcome.code == 0, outcome.err
    whole = [f for f in outcome.document["files"] if f["runs"]]
    assert sorted(f["status"] for f in whole) == ["already there", "imported"]
    parts = [f for f in outcome.document["files"] if f["status"] == "part"]
    assert len(parts) == 8
    assert words(project) == words_of(A="pass", B="fail", C="missing", D="missing")
    ((name, run),) = stored_runs(project).items()
    assert (name, run["agent"]) == ("m__x-v1.2.run.1", "m/x-v1.2")
    assert run["started_at"].isoformat() == "2026-11-10T11:00:00+00:00"
    alone = invoke("import", folder / A / "report.json", *B_FLAG, "--json")
    assert alone.document["files"][0]["status"] == "already there"


def test_a_leaderboard_entry_needs_to_know_what_failed(project):
    entry = project / "entry" / "20261101_x" / "results" / "results.json"
    write(entry, {"no_generation": [B], "no_logs": [], "resolved": [A]})
    write(project / "entry" / "20261101_x" / "metadata.yaml", "info:\n  name: 'agent x'\n")
    error = one_error_line(invoke("import", project / "entry", *B_FLAG))
    assert "import a run that lists every question first" in error
    report = swebench_report(completed=[A, B, C], resolved=[A], unresolved=[B, C])
    write(project / "m.r-2026-11-16.json", report)
    invoke("import", project / "m.r-2026-11-16.json", *B_FLAG)
    assert invoke("import", entry, *B_FLAG).code == 0
    found = stored_verdicts(project)["20261101_x"]
    assert {key: word for (key, _), word in found.items()} == words_of(
        A="pass", B="missing", C="fail"
    )
    assert stored_runs(project)["20261101_x"]["agent"] == "agent x"


def test_sb_cli_copies_are_one_run(project):
    report = swebench_report(completed=[A, B], resolved=[A], unresolved=[B], pending=[C], failed=[])
    for name in ("lite__test__r-2026-11-16", "lite__test__r-2026-11-16-1"):
        write(project / "reports" / f"{name}.json", report)
    write(project / "reports" / "lite__test__r-2026-11-16.response.json", {"status": "ok"})
    outcome = invoke("import", project / "reports", "--json")
    assert outcome.code == 0, outcome.err
    found = {f["path"].rpartition("/")[2]: f["status"] for f in outcome.document["files"]}
    assert sorted(found.values()) == ["already there", "imported", "skipped"]
    assert words(project) == words_of(A="pass", B="fail", C="missing")


def test_a_list_of_what_was_resolved_is_refused(project):
    path = project / "m.r.json"
    write(path, {"resolved_ids": [A], "submitted_ids": [A, B]})
    assert "not what failed" in one_error_line(invoke("import", path, *B_FLAG))
    assert "not what failed" in one_error_line(invoke("import", project, *B_FLAG))


def test_a_time_of_last_resort_is_told(project):
    path = project / "m.nightly.json"
    write(path, swebench_report(completed=[A, B], resolved=[A], unresolved=[B]))
    os.utime(path, (1_794_819_600, 1_794_819_600))
    outcome = invoke("import", path, *B_FLAG)
    assert "that of the file is taken, 2026-11-16 09:00 UTC" in outcome.err


def test_the_selection_names_each_instance_and_the_subset():
    ids = (A, B, "x__y.z-12")
    context = SelectionContext(benchmark="swe", subset_id="swe-k3-00c0ffee")
    found = SWE_BENCH.selection(ids, context)
    parts = shlex.split(found.command)
    assert tuple(parts[parts.index("-i") + 1 :]) == ids
    assert parts[parts.index("-id") + 1] == "subset.swe-k3-00c0ffee"
    assert found.files["subset.swe-k3-00c0ffee.ids.txt"].split() == list(ids)
    assert found.files["subset.swe-k3-00c0ffee.filter.txt"].startswith(r"^(a__b\-0|")
    for bad in ("-rf", "a b", "a,b"):
        with pytest.raises(InputError, match="cannot be given"):
            SWE_BENCH.selection([bad], context)
    with pytest.raises(InputError, match="too long for a shell"):
        SWE_BENCH.selection([f"{'o' * 100}__r-{i}" for i in range(1000)], context)


@pytest.mark.parametrize("suffix", ["", ".r2"])
def test_the_run_id_names_the_subset(project, suffix):
    path = project / f"m__v1.2.subset.swe-k3-00c0ffee{suffix}.json"
    write(path, swebench_report(completed=[A, B], resolved=[A], unresolved=[B]))
    error = one_error_line(invoke("import", path, *B_FLAG))
    assert "the history has no subset 'swe-k3-00c0ffee'" in error
