"""A ledger of attempts in a list, with the rules of the stored one, for fast simulations."""

from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta

from jobs.schedule.queue import LEASE_EXPIRED, SETTLED, NightPlan, count_failures
from storage.ledger import JobRun, JobStatus


@dataclass(slots=True, kw_only=True)
class MemoryLedger:
    """Attempts of one job, benchmark and family."""

    plan: NightPlan
    attempts: list[JobRun] = field(default_factory=list)

    def take(self, day: date, owner: str, now: datetime) -> int | None:
        mine = [a for a in self.attempts if a.date == day]
        if any(a.status in SETTLED for a in mine):
            return None
        for a in mine:
            if a.status is JobStatus.RUNNING:
                assert a.lease_expires_at is not None
                held = now < a.lease_expires_at <= now + 2 * self.plan.lease
                if a.owner != owner and held:
                    return None
                self._change(a, status=JobStatus.FAILED, message=LEASE_EXPIRED, finished_at=now)
        self.attempts.append(
            JobRun(
                job_run_id=len(self.attempts),
                job="recalibrate",
                benchmark="b",
                agent_family="main",
                date=day,
                attempt=len(mine) + 1,
                started_at=now,
                finished_at=None,
                status=JobStatus.RUNNING,
                message="",
                owner=owner,
                lease_expires_at=now + self.plan.lease,
            )
        )
        return len(self.attempts) - 1

    def finish(self, number: int, status: JobStatus, message: str, now: datetime) -> None:
        attempt = self.attempts[number]
        assert attempt.status is JobStatus.RUNNING
        retry_at = None
        if status is JobStatus.FAILED and message == "failed":
            others = [a for a in self.attempts if a.date == attempt.date]
            retry_at = now + self.plan.wait_after(count_failures(others) + 1)
        self._change(attempt, status=status, message=message, finished_at=now, retry_at=retry_at)

    def settled(self) -> list[date]:
        return [a.date for a in self.attempts if a.status in SETTLED]

    def _change(self, attempt: JobRun, **changes: object) -> None:
        self.attempts[attempt.job_run_id] = replace(
            attempt,
            lease_expires_at=None,
            **changes,  # type: ignore[arg-type]  # fields of JobRun
        )


def a_plan(slot, **changes: object) -> NightPlan:
    values: dict[str, object] = {
        "slot": slot,
        "attempts": 5,
        "retry_after": timedelta(minutes=10),
        "longest_retry": timedelta(hours=6),
        "catch_up_days": 30,
        "lease": timedelta(minutes=30),
    }
    return NightPlan(**(values | changes))  # type: ignore[arg-type]  # fields of NightPlan
