"""Alerts: one open at a time per benchmark, family, rule and subject."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from storage.file.history import History
from storage.runs.benchmarks import benchmark_row_id
from storage.times import from_store, to_utc


class AlertState(StrEnum):
    """Where an alert stands."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """Something a person should look at.

    Attributes
    ----------
    alert_id : int
    benchmark, agent_family : str
    rule : str
        What noticed it, e.g. ``full-run-check``.
    subject : str
        What it is about, e.g. a method; with the rule it names the incident.
    message : str
    state : AlertState
    opened_at : datetime
    acknowledged_at, resolved_at : datetime or None
    """

    alert_id: int
    benchmark: str
    agent_family: str
    rule: str
    subject: str
    message: str
    state: AlertState
    opened_at: datetime
    acknowledged_at: datetime | None
    resolved_at: datetime | None


def open_alert(
    history: History,
    *,
    benchmark: str,
    family: str,
    rule: str,
    subject: str,
    message: str,
    now: datetime,
) -> int:
    """Open an alert and return its id, or that of the unresolved one for the incident."""
    benchmark_id = benchmark_row_id(history, benchmark)
    unresolved = history.rows(
        "SELECT alert_id FROM alert WHERE benchmark_id = ? AND agent_family = ? AND rule = ?"
        " AND subject = ? AND state <> 'resolved' ORDER BY alert_id",
        [benchmark_id, family, rule, subject],
    )
    if unresolved:
        return int(unresolved[0][0])
    alert_id = history.next_id("alert")
    history.insert_row(
        "alert",
        alert_id=alert_id,
        benchmark_id=benchmark_id,
        agent_family=family,
        rule=rule,
        subject=subject,
        message=message,
        state=AlertState.OPEN.value,
        opened_at=to_utc(now, "`now`"),
    )
    return alert_id


def list_alerts(
    history: History, benchmark: str | None = None, *, resolved: bool = False
) -> list[Alert]:
    """Alerts of one benchmark or all, oldest first; resolved ones only if asked for."""
    benchmark_id = None if benchmark is None else benchmark_row_id(history, benchmark)
    rows = history.rows(
        "SELECT a.alert_id, b.name, a.agent_family, a.rule, a.subject, a.message, a.state,"
        " a.opened_at, a.acknowledged_at, a.resolved_at"
        " FROM alert AS a JOIN benchmark AS b USING (benchmark_id)"
        " WHERE (?::INTEGER IS NULL OR a.benchmark_id = ?) AND (? OR a.state <> 'resolved')"
        " ORDER BY a.opened_at, a.alert_id",
        [benchmark_id, benchmark_id, resolved],
    )
    return [
        Alert(
            alert_id=row[0],
            benchmark=row[1],
            agent_family=row[2],
            rule=row[3],
            subject=row[4],
            message=row[5],
            state=AlertState(row[6]),
            opened_at=from_store(row[7]),
            acknowledged_at=from_store(row[8]),
            resolved_at=from_store(row[9]),
        )
        for row in rows
    ]


def resolve_alert(history: History, alert_id: int, *, now: datetime) -> None:
    """Close an alert; one that is resolved already stays as it is."""
    history.execute(
        "UPDATE alert SET state = ?, resolved_at = ? WHERE alert_id = ? AND state <> ?",
        [AlertState.RESOLVED.value, to_utc(now, "`now`"), alert_id, AlertState.RESOLVED.value],
    )
