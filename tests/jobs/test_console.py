"""Results on stdout, everything else on stderr."""

import io
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from jobs.app.console import Console, to_json
from recurring_eval.records import Flag


def test_json_is_strict_and_plain():
    document = {
        "nan": float("nan"),
        "array": np.array([1.5, np.inf]),
        "count": np.int64(3),
        "truth": np.bool_(True),
        "flag": Flag.FEW_VALID,
        "when": datetime(2026, 11, 29, 9, tzinfo=UTC),
        "path": Path("a/b"),
        "items": (1, {"x": None}),
        "id": "\ud800é",
    }
    parsed = json.loads(to_json(document), parse_constant=pytest.fail)
    assert parsed == {
        "nan": None,
        "array": [1.5, None],
        "count": 3,
        "truth": True,
        "flag": "few-valid",
        "when": "2026-11-29T09:00:00+00:00",
        "path": "a/b",
        "items": [1, {"x": None}],
        "id": "\ud800é",
    }


def test_unknown_objects_are_no_json():
    with pytest.raises(TypeError, match="object"):
        to_json({"x": object()})


def test_streams(capsys):
    Console(as_json=True).result({"a": 1}, "text")
    Console().result({"a": 1}, ["one", "two"])
    Console().progress("working")
    Console(quiet=True).progress("hidden")
    Console(quiet=True).note("hidden")
    Console(quiet=True).error("shown\nin one line")
    shown = capsys.readouterr()
    assert shown.out == '{"a": 1}\none\ntwo\n'
    assert shown.err == "working\nerror: shown in one line\n"


def test_a_terminal_without_the_character_is_no_obstacle(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    Console().result({}, "Frage-ä-\ud800")
    assert raw.getvalue() == b"Frage-\\xe4-\\ud800\n"
