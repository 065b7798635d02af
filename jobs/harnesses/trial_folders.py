"""Folders in which a tool keeps a folder of its own per trial."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from jobs.harnesses.harness import LogUnit


def units_of_folders(folders: Iterable[Path], paths: Sequence[Path]) -> list[LogUnit]:
    """Each folder with all the files of an import that lie in it."""
    found: dict[Path, list[Path]] = {folder: [] for folder in folders}
    for path in paths:
        for parent in path.parents:
            if parent in found:
                found[parent].append(path)
                break
    return [LogUnit(path=folder, files=tuple(files)) for folder, files in found.items() if files]
