"""Awkward ids -> subset -> selection -> a real run of Inspect AI -> import."""

import json
import shutil
from pathlib import Path

import pytest

from jobs.harnesses.log_values import question_key
from tests.roundtrip.environments import run_command, tool_environment
from tests.roundtrip.projects import calibrated, check_recognised, selected

pytestmark = pytest.mark.roundtrip

IDS: list[int | str] = [
    *range(1, 9),
    *("007x", "0099", "-5", "12.0", "1e3", "true", "null", "NA", "None"),
    *("case[1]", "case1", "case[!1]", "a*b", "aXb", "what?", "whatX", "[", "]", "[]", "[[]"),
    *("a,b", "a, b", "user:cyber/42", "awkward:3", "AWKWARD:x", "awkward:awkward:y", ":", "::"),
    *(
        "tab\there",
        "line\nbreak",
        " padded ",
        "'single'",
        '"double"',
        "back\\slash",
        "$HOME",
        "`x`",
    ),
    *(
        "café",
        "cafe\u0301",
        "日本語",
        "😀",
        "a\u2028b",
        "a" * 500,
        "-x",
        "--flag",
        "=SUM(A1)",
    ),
    *(
        "a/b/c",
        "%41",
        "#1",
        "{x}",
        "<b>",
        "semi;colon",
        "&",
        "|",
        "sub:set",
        "subset:x-k1-00000000",
    ),
]


@pytest.mark.parametrize("extension", ["eval", "json"])
def test_awkward_ids_come_back_as_the_subset(folder, tmp_path_factory, extension):
    programs = tool_environment(tmp_path_factory.getbasetemp(), "inspect", "inspect-ai==0.3.285")
    keys = sorted(question_key(identity) for identity in IDS)
    assert len(set(keys)) == len(IDS)
    calibrated(folder, keys, "awkward")
    asked = selected(folder, "inspect", 40, "awkward")
    (folder / "ids.json").write_text(json.dumps(IDS), encoding="utf-8")
    shutil.copy(Path(__file__).parent / "inspect_task.py", folder)
    command = asked["command"].replace("TASK_FILE", "inspect_task.py")
    options = f"--model mockllm/model --log-dir logs --log-format {extension} --display plain"
    run_command(f"{command} {options}", programs, folder)
    assert [path.suffix for path in (folder / "logs").iterdir()] == [f".{extension}"]
    check_recognised(folder, folder / "logs", asked)
