"""Truncated and flipped logs: refused or read, never a traceback, never half stored."""

import os
import random
import shutil
from pathlib import Path

import pytest

from jobs.harnesses.harness import ReadOptions
from jobs.importing.sources import read_sources
from storage.file.history import History
from tests.jobs.command_line import invoke
from tests.jobs.harnesses.made_logs import (
    DEFLATED,
    ZSTANDARD,
    eval_bytes,
    lm_eval_rows,
    sample,
    swebench_report,
    write_inspect_json,
    write_lm_eval,
)
from tests.shared_data import shared_path

N = int(os.environ.get("DAMAGES", "40"))
"""Damages per file; 300 and more by hand."""

TOOLS = ("inspect", "lm_eval", "swebench")
SUFFIXES = (".eval", ".json", ".jsonl")


def damaged(content: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.4:
        return content[: rng.randrange(len(content) + 1)]
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 3, 20))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def check_reading(folder: Path, victim: Path, rng: random.Random, n: int) -> None:
    """Read the folder with the victim damaged in n ways."""
    content = victim.read_bytes()
    for _ in range(n):
        victim.write_bytes(damaged(content, rng))
        for source in read_sources([folder], harness="auto", options=ReadOptions(benchmark="b")):
            if source.refusal is None:
                assert all(len(log.outcome) for log in source.log.runs)
            else:
                assert source.log.runs == ()
                assert 0 < len(source.refusal) < 500
                assert "\n" not in source.refusal
    victim.write_bytes(content)


@pytest.mark.parametrize("tool", TOOLS)
def test_sample_logs(tmp_path, tool):
    samples = shared_path(f"harness/samples/{tool}")
    folder = Path(shutil.copytree(samples, tmp_path / tool))
    for path in sorted(folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    victims = [p for p in sorted(folder.rglob("*")) if p.suffix in SUFFIXES]
    rng = random.Random(tool)
    for victim in victims:
        if victim.name != "EXPECTED.json":
            # Alone with what belongs to it, or each damage would read everything.
            keep = tmp_path / "one" / victim.parent.relative_to(folder)
            shutil.copytree(victim.parent, keep)
            check_reading(tmp_path / "one", keep / victim.name, rng, max(1, N // 8))
            shutil.rmtree(tmp_path / "one")


def made(folder: Path) -> list[Path]:
    """Small logs of every tool."""
    samples = [sample("a"), sample("b", "I"), sample(7), sample("c", error="E")]
    for method in (DEFLATED, ZSTANDARD):
        (folder / f"{method}.eval").write_bytes(eval_bytes(samples, method=method))
    write_inspect_json(folder / "log.json", samples)
    docs = [{"qid": f"q{i}"} for i in range(3)]
    write_lm_eval(folder / "lm", {"task": lm_eval_rows(docs, lambda i, *_: i % 2)})
    report = swebench_report(completed=["a", "b"], resolved=["a"], unresolved=["b"])
    (folder / "m.r-2026-11-16.json").write_text(str(report).replace("'", '"'))
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def test_made_logs(tmp_path):
    rng = random.Random(4)
    for victim in made(tmp_path):
        check_reading(tmp_path, victim, rng, N)


def test_nothing_is_half_stored(project):
    folder = project / "logs"
    folder.mkdir()
    rng = random.Random(5)
    for number, victim in enumerate(made(folder)):
        content = victim.read_bytes()
        victim.write_bytes(damaged(content, rng))
        before = n_verdicts(project)
        outcome = invoke("import", victim, "--benchmark", f"b{number}", "--create", "--json")
        assert "Traceback" not in outcome.err
        (report, *_) = outcome.document["files"]
        added = n_verdicts(project) - before
        assert added == outcome.document["verdicts_added"]
        if report["status"] == "refused":
            assert (outcome.code, added) == (1, 0)
        victim.write_bytes(content)


def n_verdicts(folder: Path) -> int:
    with History.open(folder / "history.duckdb", read_only=True) as history:
        # Every run says how many verdicts it has.
        ((stored, told),) = history.rows(
            "SELECT (SELECT count(*) FROM verdict), (SELECT coalesce(sum(n_verdicts), 0) FROM run)"
        )
    assert stored == told
    return int(stored)
