"""Documents -> full run -> subset -> selection -> a real run of lm-eval -> import.

lm-eval needs PyTorch for its dummy model only to be installed, not to be used.
"""

import json
from pathlib import Path

import pytest

from tests.jobs.command_line import invoke
from tests.jobs.harnesses.stored import bank
from tests.roundtrip.environments import run_command, tool_environment
from tests.roundtrip.projects import calibrated, check_recognised, selected

pytestmark = pytest.mark.roundtrip

TASK = """\
task: TASK
dataset_path: json
dataset_kwargs:
  data_files:
    test: FOLDER/TASK.jsonl
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
generation_kwargs:
  until: ["\\n"]
metric_list:
  - metric: exact_match
metadata:
  version: 1.0
"""
IDS = [f"q,{i} [x] é" for i in range(30)]
RUN = "--model dummy --include_path ."


def test_documents_come_back_as_the_subset(folder: Path, tmp_path_factory) -> None:
    programs = tool_environment(tmp_path_factory.getbasetemp(), "lm-eval", "lm-eval==0.4.13")
    # Duplicates of content are one question; here all differ.
    docs = [
        {"qid": key, "question": f"what {i}", "answer": "lol" if i % 3 else "no"}
        for i, key in enumerate(reversed(IDS))
    ]
    (folder / "local.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    (folder / "local.yaml").write_text(TASK.replace("TASK", "local").replace("FOLDER", str(folder)))
    calibrated(folder, sorted(IDS), "local")
    full = f"lm_eval run --tasks local {RUN} --log_samples --output_path full"
    run_command(full, programs, folder)
    outcome = invoke("import", folder / "full", "--question", "qid", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.document["runs_added"] == 1
    assert bank(folder, "local") == set(IDS)
    asked = selected(folder, "lm-eval", 11, "local")
    run_command(f"{asked['command']} {RUN}", programs, folder)
    (logs,) = folder.glob("subset.*-k11-*[!n]")
    # The name alone must not be what it is recognised by.
    check_recognised(folder, logs.rename(folder / "returned"), asked)
