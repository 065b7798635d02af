"""Header and samples of a log of Inspect AI, from an archive or a JSON file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.harnesses.inspect.sample import Sample, read_sample
from jobs.harnesses.json_files import JsonObject, as_object
from jobs.harnesses.json_stream import list_elements, object_entries
from jobs.harnesses.zip_members import ZipMembers
from recurring_eval.errors import InputError

HEADER: Final = "header.json"
START: Final = "_journal/start.json"

_SUMMARIES: Final = "summaries.json"
_JOURNAL: Final = re.compile(r"_journal/summaries/([0-9]{1,9})\.json")
_SAMPLE: Final = re.compile(r"samples/.+_epoch_[0-9]+\.json", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogContent:
    """A log without its transcripts.

    Attributes
    ----------
    header : mapping
        `eval`, `status`, `results` and so on; of a killed run only what its start says.
    samples : tuple of Sample
        The newest of each id and epoch.
    """

    header: JsonObject
    samples: tuple[Sample, ...]


def read_archive(path: Path) -> LogContent:
    """Read a ``.eval`` file by its summaries.

    Raises
    ------
    InputError
        If it is damaged or no log.
    """
    with ZipMembers(path) as archive:
        name = HEADER if HEADER in archive else START
        if name not in archive:
            raise InputError("is a zip archive without header.json, not a log of Inspect AI")
        with archive.open(name) as stream:
            header = dict(object_entries(stream))
        # Summaries do not say what a reviewer took out.
        out = _invalidated(archive) if header.get("invalidated") else frozenset()
        samples = [
            read_sample(item, invalidated=_uuid(item) in out) for item in _summaries(archive)
        ]
    return LogContent(header=header, samples=_newest(samples))


def read_json_log(path: Path) -> LogContent:
    """Read a ``.json`` file, one sample at a time.

    Raises
    ------
    InputError
        If it is damaged or no log.
    """
    header: dict[str, object] = {}
    samples = []
    has_samples = False
    with path.open("rb") as stream:
        for key, value in object_entries(stream, lists=("samples",)):
            if key == "samples":
                has_samples = True
                if value:
                    samples.append(read_sample(value))
            elif key != "reductions":
                header[key] = value
    if not has_samples and header.get("status") != "started":
        raise InputError(
            "holds the head of a log without its samples; import the .eval file, or run with"
            " --log-samples"
        )
    return LogContent(header=header, samples=_newest(samples))


def _summaries(archive: ZipMembers) -> Iterator[object]:
    if _SUMMARIES in archive:
        names = [_SUMMARIES]
    else:
        found = [match for match in map(_JOURNAL.fullmatch, archive.names) if match]
        names = [match[0] for match in sorted(found, key=lambda match: int(match[1]))]
    for name in names:
        with archive.open(name) as stream:
            yield from list_elements(stream)


def _invalidated(archive: ZipMembers) -> frozenset[object]:
    """Find the uuids of the samples a reviewer took out."""
    found = set()
    for name in filter(_SAMPLE.fullmatch, archive.names):
        uuid, is_out = None, False
        with archive.open(name) as stream:
            for key, value in object_entries(stream, lists=("events", "messages")):
                if key == "uuid":
                    uuid = value
                elif key == "invalidation":
                    is_out = bool(value)
        if is_out and uuid is not None:
            found.add(uuid)
    return frozenset(found)


def _uuid(item: object) -> object:
    uuid = as_object(item).get("uuid")
    return uuid if isinstance(uuid, str) else None


def _newest(samples: list[Sample]) -> tuple[Sample, ...]:
    """Keep the last of each id and epoch by end, else by place."""
    kept: dict[tuple[str, int], Sample] = {}
    for sample in samples:
        before = kept.get((sample.key, sample.epoch))
        times = (before and before.completed_at, sample.completed_at)
        if not (times[0] and times[1] and times[0] > times[1]):
            kept[sample.key, sample.epoch] = sample
    return tuple(kept.values())
