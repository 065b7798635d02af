"""Logs of Inspect AI in both forms: zip archives of unknown origin, and JSON."""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, cast

import pyarrow as pa

from jobs.harnesses.inspect_ai.samples import Sample, read_sample
from jobs.harnesses.json_files import JsonObject, as_object, list_elements, object_entries
from recurring_eval.errors import InputError

LARGEST_MEMBER: Final = 1 << 30
MOST_MEMBERS: Final = 2_000_000

_BOMB_BYTES: Final = 32 << 20
_BOMB_RATIO: Final = 500
"""Logs shrink to a tenth or so; a hundred times more is made to fill memory."""

_ZSTANDARD: Final = 93
_LOCAL_HEADER: Final = 30
_ENCRYPTED: Final = 1
_OUTSIDE: Final = re.compile(r"^[/\\]|^[A-Za-z]:[/\\]|(?:^|[/\\])\.\.(?:[/\\]|$)")


@contextmanager
def open_archive(path: Path) -> Iterator["ZipMembers"]:
    """Open a zip archive to read its members.

    Raises
    ------
    InputError
        If it is damaged or has what no log has: too many or too large members, or outside it.
    """
    with path.open("rb") as file:
        with _one_line():
            archive = zipfile.ZipFile(file)
            members = archive.infolist()
        _check(members)
        yield ZipMembers(file, archive)


class ZipMembers:
    """Members of an archive by name; of a name written twice, the last one.

    Members may be stored, deflated or compressed with Zstandard.
    """

    def __init__(self, file: BinaryIO, archive: zipfile.ZipFile) -> None:
        self._file = file
        self._archive = archive
        self._members = {member.filename: member for member in archive.infolist()}

    @property
    def names(self) -> list[str]:
        """Names in the order of the archive's directory."""
        return list(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Read a member as a stream; errors in it name the member.

        Raises
        ------
        InputError
            If it is damaged, encrypted, too large or compressed in an unknown way.
        """
        member = self._members[name]
        try:
            with _one_line():
                source = self._stream(member)
            yield io.BufferedReader(_Checked(source, member), 1 << 18)
        except InputError as error:
            raise InputError(f"member {name[:80]!r} {error}") from None

    def _stream(self, member: zipfile.ZipInfo) -> BinaryIO:
        if member.compress_type != _ZSTANDARD:
            return cast(BinaryIO, self._archive.open(member))
        if member.flag_bits & _ENCRYPTED:
            raise InputError("is encrypted")
        self._file.seek(member.header_offset)
        header = self._file.read(_LOCAL_HEADER)
        if header[:4] != b"PK\x03\x04":
            raise InputError("is damaged: it does not begin where the archive says")
        skip = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        self._file.seek(skip, io.SEEK_CUR)
        content = self._file.read(member.compress_size)
        if len(content) < member.compress_size:
            raise InputError("is cut short")
        return pa.CompressedInputStream(pa.BufferReader(content), "zstd")  # type: ignore[no-any-return]  # pyarrow has no types


def _check(members: list[zipfile.ZipInfo]) -> None:
    if len(members) > MOST_MEMBERS:
        raise InputError(f"is an archive of {len(members):,} files, too many for a log")
    for member in members:
        name = member.filename
        if _OUTSIDE.search(name):
            raise InputError(f"has a member outside the archive: {name[:80]!r}")
        if member.file_size > LARGEST_MEMBER:
            raise InputError(
                f"has a member of {member.file_size >> 20:,} MB: {name[:80]!r}; "
                f"at most {LARGEST_MEMBER >> 20:,} MB are read"
            )
        size = max(1, member.compress_size)
        if member.file_size > _BOMB_BYTES and member.file_size > _BOMB_RATIO * size:
            raise InputError(
                f"has a member that unpacks to {member.file_size // size:,} times its size: "
                f"{name[:80]!r}; that is no log"
            )


class _Checked(io.RawIOBase):
    """Content of a member, no longer than promised and with the promised checksum."""

    def __init__(self, source: BinaryIO, member: zipfile.ZipInfo) -> None:
        self._source = source
        self._member = member
        self._n_read = 0
        self._crc = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]  # any writable buffer
        with _one_line():
            content = self._source.read(len(view))
        self._n_read += len(content)
        self._crc = zlib.crc32(content, self._crc)
        if self._n_read > self._member.file_size:
            raise InputError("is longer than the archive says")
        if not content and (self._n_read, self._crc) != (self._member.file_size, self._member.CRC):
            raise InputError("is damaged: length or checksum differ from the archive's")
        view[: len(content)] = content
        return len(content)


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn what damaged archives raise into an `InputError`."""
    try:
        yield
    except InputError:
        raise
    except zipfile.BadZipFile as error:
        what = str(error)
        cut = "File is not a zip file" in what or "end-of-central" in what
        detail = "it has no end" if cut else what.split(" b'")[0][:80]
        raise InputError(f"is a cut or damaged zip archive: {detail}") from None
    except NotImplementedError as error:
        raise InputError(f"cannot be unpacked: {str(error)[:80]}") from None
    except RuntimeError as error:
        raise InputError(f"cannot be unpacked: {str(error)[:60]}") from None
    except (OSError, EOFError, ValueError, zlib.error, OverflowError) as error:
        detail = " ".join(str(error).split())[:80] or type(error).__name__
        raise InputError(f"is damaged: {detail}") from None


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
    with open_archive(path) as archive:
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
