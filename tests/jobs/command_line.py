"""Drive the command line as a user does."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from jobs.cli import app

HEADER = "run_id,question_id,trial,passed,started_at,agent,benchmark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Exit status and what was printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


def invoke(*arguments: str | Path) -> Outcome:
    """Run one command; exceptions that reach the user as a traceback fail the test."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(code=result.exit_code, out=result.stdout, err=result.stderr)


def write_runs_csv(
    path: Path,
    runs: dict[str, dict[str, str]],
    *,
    benchmark: str = "b",
    day: str = "2026-11-16",
    header: str = HEADER,
) -> Path:
    """Write verdict words by run and question as a long CSV."""
    lines = [header] + [
        f"{run},{question},1,{word},{day}T09:00:00Z,agent-1,{benchmark}"
        for run, words in runs.items()
        for question, word in words.items()
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def one_error_line(outcome: Outcome) -> str:
    """The single error line of a command that failed with status 1."""
    errors = [line for line in outcome.err.splitlines() if not line.startswith("note: ")]
    assert outcome.code == 1, outcome
    assert len(errors) == 1, outcome.err
    assert errors[0].startswith("error: ")
    assert "Traceback" not in outcome.err
    return errors[0]
