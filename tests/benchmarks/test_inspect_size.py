"""Time and memory of an Inspect AI log of 20,000 samples and 200 MB."""

import json
import resource
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from tests.jobs.command_line import invoke
from tests.jobs.harnesses.made_logs import inspect_header, sample

pytestmark = pytest.mark.benchmark

N = 20_000
TRANSCRIPT = [{"role": "user", "content": "x y z " * 1_700}]
COMMAND = "from jobs.cli import main; main()"


def header() -> dict[str, object]:
    return inspect_header([{"id": f"q-{i:05d}"} for i in range(N)])


def samples(**more: object) -> list[dict[str, object]]:
    return [sample(f"q-{i:05d}", "C" if i % 3 else "I", **more) for i in range(N)]


def write_json(path: Path) -> None:
    with path.open("w") as file:
        file.write(json.dumps(header())[:-1] + ', "samples": [')
        for i, item in enumerate(samples(messages=TRANSCRIPT)):
            file.write(("," if i else "") + json.dumps(item))
        file.write("]}")


def write_archive(path: Path) -> None:
    found = samples(input="why " * 250)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for item in found:
            content = json.dumps(item | {"messages": TRANSCRIPT})
            archive.writestr(f"samples/{item['id']}_epoch_1.json", content)
        archive.writestr("summaries.json", json.dumps(found))
        archive.writestr("header.json", json.dumps(header()))


@pytest.mark.parametrize(("write", "suffix"), [(write_json, "json"), (write_archive, "eval")])
def test_a_large_log(tmp_path, write, suffix):
    assert invoke("init", "--dir", tmp_path, "--quiet").code == 0
    path = tmp_path / f"large.{suffix}"
    write(path)
    assert path.stat().st_size > 200e6
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", COMMAND, "import", str(path)], cwd=tmp_path, check=True, env=None
    )
    seconds = time.perf_counter() - start
    kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert seconds < 60
    assert kilobytes < 500e3
