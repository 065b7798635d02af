"""Slots: the instant at which the night of a date starts.

A night is keyed by the date it starts on in the zone of its slot. Every calendar
date has exactly one slot there, whatever the clocks of that zone do: a time of
day that is skipped in spring starts when the clocks go forward would have reached
it, one that comes twice in autumn starts the first time. Nothing here reads a
clock, and nothing counts hours from one night to the next.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Time of day and zone of a benchmark's nights."""

    at: time
    zone: ZoneInfo

    def starts(self, day: date) -> datetime:
        """Instant (UTC) at which the night of a date is due."""
        return datetime.combine(day, self.at, tzinfo=self.zone).astimezone(UTC)

    def local_date(self, now: datetime) -> date:
        """Date in the slot's zone: the night a manual run belongs to."""
        return now.astimezone(self.zone).date()

    def last_night(self, now: datetime) -> date:
        """Date of the latest night that is due at `now`."""
        day = self.local_date(now) + _ONE_DAY
        while self.starts(day) > now:
            day -= _ONE_DAY
        return day

    def next_start(self, after: datetime) -> datetime:
        """First slot strictly later than `after`, in UTC."""
        day = self.last_night(after) + _ONE_DAY
        while self.starts(day) <= after:
            day += _ONE_DAY
        return self.starts(day)
