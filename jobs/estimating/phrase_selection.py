"""A subset in the words of an evaluation tool."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from jobs.app.app import App
from jobs.harnesses.registry import selections
from jobs.harnesses.selection import Selection, SelectionContext
from jobs.importing.rules import stored_rule, tasks_of
from recurring_eval.errors import InputError
from storage.calibrations.subsets import SubsetRecord
from storage.runs.benchmarks import bank_by_version
from storage.runs.imports import load_locators, stored_answers

PLAIN_FORMATS: Final = ("ids", "json")


def check_format(name: str) -> None:
    """Refuse a format that is neither plain nor a tool's.

    Raises
    ------
    InputError
        Listing the formats.
    """
    known = (*PLAIN_FORMATS, *selections())
    if name not in known:
        raise InputError(f"no format is called {name!r}; choose from {', '.join(known)}")


def phrase_selection(app: App, record: SubsetRecord, tool: str, *, folder: Path) -> Selection:
    """Say how to run exactly the questions of a subset with a tool.

    Parameters
    ----------
    app : App
    record : SubsetRecord
    tool : str
        Name of the harness.
    folder : Path
        Where the files of the selection will be.

    Raises
    ------
    InputError
        If the tool cannot run them, saying why.
    """
    with app.open_history(read_only=True) as history:
        place = (record.benchmark, tool)
        task, others = tasks_of(stored_answers(history).get(place, {}))
        context = SelectionContext(
            benchmark=record.benchmark,
            subset_id=record.subset_id,
            task=task,
            other_tasks=others,
            bank_ids=bank_by_version(
                history, record.benchmark, record.subset.bank_version
            ).question_ids,
            rule=stored_rule(history, *place, task),
            locators=load_locators(history, *place),
            folder="" if folder == Path() else str(folder),
        )
    found = selections()[tool](record.subset.question_ids, context)
    notes = (*found.notes, f"the log is recognised as a run of {record.subset_id} when imported")
    return replace(found, notes=notes)


def write_files(selection: Selection, folder: Path) -> list[Path]:
    """Write the files of a selection.

    Raises
    ------
    InputError
        If one cannot be written.
    """
    written = []
    for name, content in selection.files.items():
        path = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="\n")
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
        written.append(path)
    return written
