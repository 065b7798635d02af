"""Which version of each subset stood at a time."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from jobs.app.targets import Target
from storage.calibrations.calibrations import list_calibrations
from storage.calibrations.subsets import SubsetRecord, list_subsets
from storage.file.history import History


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetVersions:
    """Every version of the subsets of one benchmark and family.

    Attributes
    ----------
    records : tuple of SubsetRecord
        Oldest data first; of equal data, in order of publication.
    data_end : dict of int to datetime
        Calibration -> newest run that it was fitted on.
    """

    records: tuple[SubsetRecord, ...]
    data_end: dict[int, datetime]

    @classmethod
    def load(cls, history: History, target: Target) -> Self:
        """Read them with the end of the data that chose them."""
        infos = list_calibrations(history, *target.key, superseded=True)
        data_end = {info.calibration_id: info.data_end for info in infos}
        known = [r for r in list_subsets(history, *target.key) if r.calibration_id in data_end]
        known.sort(key=lambda record: data_end[record.calibration_id or 0])
        return cls(records=tuple(known), data_end=data_end)

    def end_of_data(self, record: SubsetRecord) -> datetime | None:
        """Newest run that the subset's model was fitted on, if it is known."""
        return None if record.calibration_id is None else self.data_end.get(record.calibration_id)

    def in_force(self, at: datetime) -> list[SubsetRecord]:
        """Last version of each design and size whose data end before a time."""
        latest = {
            (record.subset.design, record.subset.k): record
            for record in self.records
            if (end := self.end_of_data(record)) is not None and end < at
        }
        return [latest[key] for key in sorted(latest)]

    def overtaken(self, at: datetime) -> list[SubsetRecord]:
        """Active versions whose data reach to a time or beyond."""
        return [
            record
            for record in self.records
            if record.active and (end := self.end_of_data(record)) is not None and end >= at
        ]
