"""The journal of a replay: its finished results, line by line, so that it can be resumed."""

import hashlib
import json
from dataclasses import asdict, dataclass
from importlib.metadata import version as installed_version
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

import numpy as np

from jobs.replaying.data import ReplayData
from jobs.replaying.options import ReplaySetup
from recurring_eval.errors import InputError
from recurring_eval.methods.replayed import MethodEstimates
from recurring_eval.replay.engine import FoldEstimates
from recurring_eval.replay.summary import FoldKey

JOURNAL: Final = "journal.jsonl"
_FORMAT: Final = 1

Done = dict[tuple[FoldKey, int], FoldEstimates]
"""Estimates by fold and seed."""


def fingerprint(data: ReplayData, setup: ReplaySetup) -> str:
    """SHA-256 of everything that a result depends on."""
    matrix = data.matrix
    options = {
        "version": installed_version("recurring-eval"),
        "runs": matrix.run_ids,
        "questions": matrix.question_ids,
        "starts": [start.isoformat() for start in matrix.started_at],
        "agents": matrix.agents,
        "timed": data.timed,
        "protocol": setup.plan.protocol,
        "splits": [
            [split.number, [[fold.source.tolist(), fold.targets.tolist()] for fold in split.folds]]
            for split in setup.plan.splits
        ],
        "methods": setup.methods,
        "budgets": [budget.text for budget in setup.budgets],
        "seeds": setup.seeds,
        "seed": setup.seed,
    }
    digest = hashlib.sha256(json.dumps(options, sort_keys=True).encode())
    for counts in (matrix.passes, matrix.trials):
        digest.update(np.ascontiguousarray(counts, dtype="<i2").tobytes())
    return digest.hexdigest()


@dataclass(slots=True)
class Journal:
    """Journal of one replay; whoever opened it closes its file."""

    file: TextIOWrapper

    def add(self, key: FoldKey, estimates: FoldEstimates) -> None:
        """Note a result, at once on disk."""
        line = {"key": key, **asdict(estimates)}
        self.file.write(json.dumps(line, default=lambda value: value.tolist()) + "\n")
        self.file.flush()


def open_journal(folder: Path, mark: str, *, resume: bool) -> tuple[Journal, Done]:
    """Begin a journal, or continue the one in `folder`.

    Parameters
    ----------
    folder : Path
        Made when missing.
    mark : str
        As `fingerprint` makes it.
    resume : bool
        Read what is done; otherwise begin anew.

    Raises
    ------
    InputError
        If there is no journal to continue, or it is of other data or options, or damaged.
    """
    path = folder / JOURNAL
    done: Done = {}
    keep = 0
    if resume:
        done, keep = _read(path, mark)
    folder.mkdir(parents=True, exist_ok=True)
    file = path.open("r+" if keep else "w", encoding="utf-8")
    if keep:
        # A last line cut off by the interruption goes.
        file.truncate(keep)
        file.seek(keep)
    else:
        file.write(json.dumps({"format": _FORMAT, "fingerprint": mark}) + "\n")
        file.flush()
    return Journal(file), done


def _read(path: Path, mark: str) -> tuple[Done, int]:
    """Results of a journal, and the number of bytes of its whole lines."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no journal to resume; leave out --resume") from None
    whole = content[: content.rfind(b"\n") + 1]
    lines = whole.decode("utf-8", errors="replace").splitlines()
    if not lines:
        return {}, 0
    done: Done = {}
    try:
        head = json.loads(lines[0])
        if head["fingerprint"] != mark or head["format"] != _FORMAT:
            raise InputError(
                f"{path}: belongs to other data or options; "
                "leave out --resume to start over, or choose another --output"
            )
        for line in lines[1:]:
            key, estimates = _from_json(json.loads(line))
            done[key, estimates.seed] = estimates
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: is damaged ({type(error).__name__}); leave out --resume to start over"
        ) from None
    return done, len(whole)


def _from_json(line: dict[str, Any]) -> tuple[FoldKey, FoldEstimates]:
    split, fold, method = line.pop("key")
    budgets = tuple(MethodEstimates(**budget) for budget in line.pop("budgets"))
    return (split, fold, method), FoldEstimates(**line, budgets=budgets)
