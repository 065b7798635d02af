"""A ledger of attempts in a list, with the rules of the stored one, for fast simulations."""

from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta

from jobs.app.config_schedule import NightSettings
from jobs.schedule.due import NightState, ScheduledNight, scheduled_nights
from jobs.schedule.ledger import SETTLED, count_failures, wait_after
from storage.ledger import LEASE_EXPIRED, JobRun, JobStatus

LEASE = timedelta(minutes=30)


@dataclass(slots=True, kw_only=True)
class MemoryLedger:
    """Attempts of one job, benchmark and family."""

    plan: NightSettings
    attempts: list[JobRun] = field(default_factory=list)

    def take(self, day: date, owner: str, now: datetime) -> int | None:
        mine = [a for a in self.attempts if a.date == day]
        if any(a.status in SETTLED for a in mine):
            return None
        for a in mine:
            if a.status is JobStatus.RUNNING:
                assert a.lease_expires_at is not None
                held = now < a.lease_expires_at <= now + 2 * LEASE
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
                lease_expires_at=now + LEASE,
            )
        )
        return len(self.attempts) - 1

    def finish(self, number: int, status: JobStatus, message: str, now: datetime) -> None:
        attempt = self.attempts[number]
        assert attempt.status is JobStatus.RUNNING
        retry_at = None
        if status is JobStatus.FAILED and message == "failed":
            others = [a for a in self.attempts if a.date == attempt.date]
            retry_at = now + wait_after(count_failures(others) + 1, self.plan)
        self._change(attempt, status=status, message=message, finished_at=now, retry_at=retry_at)

    def nights(self, now: datetime) -> list[ScheduledNight]:
        return scheduled_nights(self.attempts, self.plan, now, lease=LEASE)

    def due(self, now: datetime) -> list[ScheduledNight]:
        return [night for night in self.nights(now) if night.state is NightState.DUE]

    def settled(self) -> list[date]:
        return [a.date for a in self.attempts if a.status in SETTLED]

    def _change(self, attempt: JobRun, **changes: object) -> None:
        self.attempts[attempt.job_run_id] = replace(
            attempt,
            lease_expires_at=None,
            **changes,  # type: ignore[arg-type]  # fields of JobRun
        )


def a_plan(slot, **changes: object) -> NightSettings:
    return NightSettings.model_validate({"at": slot.at, "zone": slot.zone.key} | changes)
