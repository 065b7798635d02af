"""Logs made for tests, small and without the tools."""

import json
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

STORED, DEFLATED, ZSTANDARD = 0, 8, 93
CREATED = "2026-11-16T09:00:00+00:00"


def compressed(method: int, content: bytes) -> bytes:
    if method == ZSTANDARD:
        # Two frames, as writers that append leave them.
        half = len(content) // 2
        parts = (content[:half], content[half:])
        return b"".join(pa.compress(p, codec="zstd", asbytes=True) for p in parts if p)
    if method == DEFLATED:
        packer = zlib.compressobj(wbits=-15)
        return packer.compress(content) + packer.flush()
    return content


def zip_bytes(
    members: Sequence[tuple[str, bytes]],
    method: int = ZSTANDARD,
    *,
    promised: Mapping[str, int] | None = None,
) -> bytes:
    """Archive of the members; `promised` overrides the sizes it claims they have."""
    body, directory = b"", b""
    for name, content in members:
        packed = compressed(method, content)
        raw = name.encode(errors="replace")
        size = (promised or {}).get(name, len(content))
        common = struct.pack(
            "<HHHHHIIIHH",
            *(63, 0x800, method, 0, 0x5D6F, zlib.crc32(content), len(packed), size, len(raw), 0),
        )
        directory += struct.pack("<4sH", b"PK\1\2", 63) + common
        directory += struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + raw
        body += struct.pack("<4s", b"PK\3\4") + common + raw + packed
    end = struct.pack(
        "<4sHHHHIIH", b"PK\5\6", 0, 0, len(members), len(members), len(directory), len(body), 0
    )
    return body + directory + end


def sample(identity: object, value: object = "C", epoch: int = 1, **facts: Any) -> dict[str, Any]:
    """Summary of a sample of Inspect AI."""
    scores = value if isinstance(value, dict) and "grade" in value else {"grade": {"value": value}}
    return {
        "id": identity,
        "epoch": epoch,
        "input": "a question",
        "target": "an answer",
        "scores": scores,
        "uuid": f"{identity}-{epoch}",
        "started_at": "2026-11-16T09:00:01+00:00",
        "completed_at": "2026-11-16T09:00:03+00:00",
        "total_time": 2.0,
        "completed": True,
    } | facts


def inspect_header(
    samples: Sequence[Mapping[str, Any]], *, status: str = "success", **facts: Any
) -> dict[str, Any]:
    asked = facts.pop("asked", list(dict.fromkeys(item["id"] for item in samples)))
    spec = {
        "eval_id": "eval-1",
        "run_id": "run-1",
        "task_id": "task-1",
        "created": CREATED,
        "task": "qa",
        "model": "m/1",
        "dataset": {"samples": len(asked), "sample_ids": asked},
        "tags": [],
        "metadata": {},
        "scorers": [{"name": "grade"}],
    } | facts.pop("spec", {})
    return {"version": 2, "status": status, "eval": spec, "invalidated": False} | facts


def eval_bytes(
    samples: Sequence[Mapping[str, Any]],
    *,
    method: int = ZSTANDARD,
    killed: bool = False,
    whole: Iterable[Mapping[str, Any]] = (),
    **facts: Any,
) -> bytes:
    """A ``.eval`` archive; a killed one has a journal alone."""
    header = inspect_header(samples, **facts)
    start = {key: header[key] for key in ("version", "eval")}
    members: list[tuple[str, object]] = [
        ("_journal/start.json", start),
        ("_journal/summaries/1.json", samples[::2] if killed else samples),
    ]
    if killed:
        members.append(("_journal/summaries/2.json", samples[1::2]))
    members += [(f"samples/{s['id']}_epoch_{s['epoch']}.json", s) for s in whole or samples]
    if not killed:
        members += [("summaries.json", samples), ("header.json", header)]
    return zip_bytes([(name, json.dumps(value).encode()) for name, value in members], method)


def write_eval(path: Path, samples: Sequence[Mapping[str, Any]], **facts: Any) -> Path:
    path.write_bytes(eval_bytes(samples, **facts))
    return path


def write_inspect_json(path: Path, samples: Sequence[Mapping[str, Any]], **facts: Any) -> Path:
    path.write_text(json.dumps(inspect_header(samples, **facts) | {"samples": list(samples)}))
    return path


def lm_eval_rows(
    docs: Sequence[Mapping[str, Any]],
    value: Callable[[int, str, str], Any],
    *,
    filters: Sequence[str] = ("none",),
    metrics: Sequence[str] = ("acc",),
    labels: Sequence[int] | None = None,
) -> list[dict[str, Any]]:
    """Rows as ``--log_samples`` writes them; `labels` are the doc_ids, in place of positions."""
    return [
        {
            "doc_id": labels[i] if labels else i,
            "doc": dict(doc),
            "target": "t",
            "arguments": {},
            "resps": [["r"]],
            "filtered_resps": ["r"],
            "filter": name,
            "metrics": list(metrics),
            "doc_hash": f"{zlib.crc32(json.dumps(doc).encode()):064x}",
            **{metric: value(i, name, metric) for metric in metrics},
        }
        for i, doc in enumerate(docs)
        for name in filters
    ]


def write_lm_eval(
    folder: Path,
    tasks: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    stamp: str = "2026-11-16T09-00-30.123456",
    date: float = 1_794_819_600.25,
    **facts: Any,
) -> Path:
    """A folder of results and samples; returns the file of results."""
    folder.mkdir(parents=True, exist_ok=True)
    results = {
        "results": {task: {} for task in tasks},
        "configs": {task: {"task": task, "metadata": {"version": 1.0}} for task in tasks},
        "versions": dict.fromkeys(tasks, 1.0),
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": {task: {"acc": True, "ppl": False} for task in tasks},
        "config": {"model": "hf", "model_args": {"pretrained": "acme/m"}},
        "date": date,
        "lm_eval_version": "0.4.13",
        "model_name": "acme/m",
        "total_evaluation_time_seconds": "30.5",
    } | facts
    path = folder / f"results_{stamp}.json"
    path.write_text(json.dumps(results))
    for task, rows in tasks.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"samples_{task}_{stamp}.jsonl").write_text(lines)
    return path


def swebench_report(**lists: Sequence[str]) -> dict[str, Any]:
    names = ("completed", "incomplete", "empty_patch", "submitted", "resolved", "unresolved")
    report = {f"{name}_ids": list(lists.get(name, ())) for name in (*names, "error")}
    report |= {f"{name}_ids": list(ids) for name, ids in lists.items()}
    return {"total_instances": 9, "schema_version": 2} | report
