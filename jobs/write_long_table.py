"""Write run logs as a long Parquet table that `import` reads."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recurring_eval.records import MISSING, PASS, RunLog


def write_long_table(path: Path, logs: Sequence[RunLog]) -> None:
    """Write one row per run, question and trial.

    Parameters
    ----------
    path : Path
        Its folder is made when missing.
    logs : sequence of RunLog
        At least one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.concat_tables([_table(log) for log in logs]), path)


def _table(log: RunLog) -> pa.Table:
    n = len(log.outcome)
    reasons = np.array([*log.reasons, None], dtype=object)[log.reason_index]
    questions = np.array(log.question_ids, dtype=object)[log.question_index]
    passed = pa.array(log.outcome == PASS, mask=log.outcome == MISSING)

    def constant(value: str | None) -> pa.Array:
        return pa.array([value] * n, pa.string())

    return pa.table(
        {
            "benchmark": constant(log.benchmark),
            "run_id": constant(log.run_key),
            "question_id": pa.array(questions, pa.string()),
            "trial": pa.array(log.trial),
            "passed": passed,
            "error": pa.array(reasons, pa.string()),
            "started_at": pa.array([log.started_at] * n, pa.timestamp("us", tz="UTC")),
            "agent": constant(log.agent),
            "config_hash": constant(log.agent_config or None),
            "agent_family": constant(log.agent_family),
            "purpose": constant(log.purpose.value),
            "subset_id": constant(log.subset_id),
            "session_id": constant(log.session_id),
        }
    )
