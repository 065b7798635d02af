"""Notes on the parts of a file, as notes on the file."""

import re
from collections.abc import Sequence
from typing import Final

_COUNTED: Final = re.compile(r"(?P<what>.*): (?P<count>\d+)")


def merged_notes(notes: Sequence[str]) -> tuple[str, ...]:
    """Say each note once, and add up those that end with a count."""
    counts: dict[str, int | None] = {}
    for note in notes:
        counted = _COUNTED.fullmatch(note)
        if counted is None:
            counts[note] = None
        else:
            what = counted["what"]
            counts[what] = (counts.get(what) or 0) + int(counted["count"])
    return tuple(what if count is None else f"{what}: {count}" for what, count in counts.items())
