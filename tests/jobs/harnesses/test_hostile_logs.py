"""Damaged and hostile logs of any tool: read or refused in one line; nothing else happens."""

import json
import random
import shutil
from pathlib import Path

import pytest

from jobs.harnesses.harness import ReadOptions
from jobs.importing.sources import Source, read_sources
from tests.jobs.command_line import invoke
from tests.jobs.harnesses.reading import write
from tests.jobs.harnesses.stored import stored_runs
from tests.jobs.harnesses.test_damaged_files import damaged
from tests.jobs.harnesses.test_platforms import RIGHT, events, hal, helm_row
from tests.jobs.harnesses.test_promptfoo import document, row
from tests.jobs.harnesses.test_pytest_reports import FAILURE, case, junit, report
from tests.jobs.harnesses.test_trial_folders import harbor_job, harbor_trial, tb_run, tb_trial
from tests.jobs.harnesses.test_wide_table import ROWS
from tests.shared_data import REPOSITORY

SAMPLES = REPOSITORY.parent / "shared" / "harness" / "samples"


def make(folder: Path) -> list[Path]:
    """A log of each tool; returns their files."""
    write(folder / "promptfoo" / "x.json", document([row("a"), row("b", False)]))
    write(folder / "lines" / "x.jsonl", [row("a"), row("b", False)])
    write(folder / "junit" / "x.xml", junit(case("test_x"), case("test_y", FAILURE)))
    test = {"nodeid": "t.py::a", "outcome": "passed", "call": {"outcome": "passed"}}
    write(folder / "json" / "x.json", report(test))
    tb_run(folder / "tb", [tb_trial("x")], [tb_trial("x"), tb_trial("y", 1, False)])
    harbor_job(folder / "harbor", harbor_trial("org/a", 1), harbor_trial("org/b", 1, 0.0))
    write(folder / "evals" / "x.jsonl", events(("a", "match", RIGHT), ("b", "error", {})))
    write(folder / "hal" / "x.json", hal({"a": {"reward": 1.0}, "b": 0}))
    write(folder / "helm" / "s" / "x" / "per_instance_stats.json", [helm_row("id0", em=1.0)])
    table = {"columns": ["qid", "ok/score"], "data": [["x", 1], ["y", 0]]}
    write(folder / "mlflow" / "t.json", table)
    write(folder / "wide" / "t.csv", ROWS)
    return sorted(path for path in folder.rglob("*") if path.is_file())


def read_all(path: Path) -> list[Source]:
    sources = list(read_sources([path], harness="auto", options=ReadOptions(benchmark="b")))
    for source in sources:
        assert source.refusal is None or "\n" not in source.refusal
        assert bool(source.log.runs) == (source.refusal is None)
    return sources


def test_made_logs_are_whole(tmp_path):
    make(tmp_path)
    assert [s.refusal for s in read_all(tmp_path) if not s.is_skipped] == [None] * 11


def test_damage_is_refused_or_harmless(tmp_path):
    files = make(tmp_path / "logs")
    rng = random.Random(2026)
    n_refused = 0
    for _ in range(250):
        path = rng.choice(files)
        content = path.read_bytes()
        path.write_bytes(damaged(content, rng))
        top = tmp_path / "logs" / path.relative_to(tmp_path / "logs").parts[0]
        n_refused += any(s.refusal is not None for s in read_all(rng.choice([path, top])))
        path.write_bytes(content)
    assert n_refused > 80


TOOLS = ("promptfoo", "pytest", "harbor", "terminal_bench", "openai_evals", "mlflow", "helm")


@pytest.mark.skipif(not SAMPLES.exists(), reason="needs the sample logs beside the repository")
@pytest.mark.parametrize("tool", TOOLS)
def test_damaged_samples(tmp_path, tool):
    shutil.copytree(SAMPLES / tool, tmp_path / tool)
    for path in [tmp_path / tool, *(tmp_path / tool).rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    files = sorted(p for p in (tmp_path / tool).rglob("*") if p.is_file() and p.name[0] != "E")
    rng = random.Random(2026)
    for _ in range(25):
        path = rng.choice(files)
        content = path.read_bytes()
        path.write_bytes(damaged(content, rng))
        read_all(path if rng.random() < 0.5 else path.parent)
        path.write_bytes(content)


DEEP = "[" * 200_000
STRANGE = [DEEP, '{"a":' * 200_000, "1" * 5_000, '"\\ud800"', '"' + "x" * 5_000 + '"', "1e999"]
STRANGE += ["null", "[]", "{}", '"../../etc/passwd"', '"a\\u0000b"', "NaN", "-1", "true", '""']


@pytest.mark.parametrize("value", STRANGE, ids=lambda value: value[:20])
def test_strange_values_anywhere(tmp_path, value):
    files = [path for path in make(tmp_path) if path.suffix in (".json", ".jsonl")]
    for path in files:
        text = path.read_text()
        for key in list(dict.fromkeys(_keys(text)))[: 40 if len(value) < 10_000 else 2]:
            path.write_text(_replaced(text, key, value))
            read_all(path)
        path.write_text(text)


def _keys(text: str) -> list[str]:
    parts = text.split('": ')
    return [part.rpartition('"')[2] for part in parts[:-1]]


def _replaced(text: str, key: str, value: str) -> str:
    """Put a value in the place of the first value of a key."""
    start = text.index(f'"{key}": ') + len(key) + 4
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except ValueError:
        end = start
    return text[:start] + value + text[end:]


def test_one_bad_log_stops_no_other(project):
    files = make(project / "logs")
    broken = [path for path in files if path.parent.name in ("promptfoo", "junit")]
    for path in broken:
        path.write_bytes(path.read_bytes()[:-40])
    outcome = invoke("import", project / "logs", "--benchmark", "b", "--json")
    assert outcome.code == 1
    errors = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 2
    assert all(str(path) in outcome.err for path in broken)
    assert len(stored_runs(project)) == 10


def test_paths_in_ids_are_only_names(project):
    trial = harbor_trial("../../../etc/passwd", 1)
    trial["trial_name"] = "x__1"
    harbor_job(project / "logs", trial)
    outcome = invoke("import", project / "logs", "--benchmark", "b", "--json")
    assert outcome.code == 0, outcome.err
    assert sorted(path.name for path in project.iterdir() if path.is_dir()) == ["logs"]
