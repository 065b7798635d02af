"""Terminal-Bench: the folder of a run of ``tb run``, with a folder per trial."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.harnesses.harness import LogFile, LogUnit, ReadOptions
from jobs.harnesses.json_files import JsonObject, as_list, as_object, inside, read_json
from jobs.harnesses.peek import Peek
from jobs.harnesses.plain_text import plain_text, settings_text
from jobs.harnesses.run_builder import ERROR, NOT_RUN, LoggedVerdict, build_run, missing_reason
from jobs.harnesses.selection import (
    Selection,
    SelectionContext,
    glob_literal,
    shell_command,
    subset_marked,
)
from jobs.harnesses.terminalbench.trials import (
    METADATA,
    RESULTS,
    Key,
    merged_trials,
    missing_trial,
    own_trials,
    run_folder,
    trial_folders,
)
from jobs.harnesses.times import read_time
from jobs.harnesses.trial_folders import units_of_folders
from recurring_eval.errors import InputError

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class TerminalBench:
    """Runs of Terminal-Bench 0.2."""

    name: str = "terminal-bench"

    def find(self, files: Sequence[Peek]) -> Iterable[LogUnit]:
        """Claim the folders of runs with all that is in them."""
        folders: dict[Path, None] = {}
        for file in files:
            if file.path.suffix == ".json":
                folder = run_folder(file)
                if folder is not None:
                    folders.setdefault(folder)
        return units_of_folders(folders, [file.path for file in files])

    def read(self, unit: LogUnit, options: ReadOptions) -> LogFile:
        """Read the trials of a run.

        Raises
        ------
        InputError
            Saying what is wrong.
        """
        metadata, merged, notes = _whole_run(unit.path)
        task = plain_text(metadata.get("dataset_name")) or None
        rule = options.rule(self.name, task)
        own, broken = own_trials(unit, rule)
        found = {**merged_trials(merged, rule), **own}
        lost = [key for key in broken if key not in found]
        for key, problem in broken.items():
            found.setdefault(
                key, missing_trial(key, missing_reason(ERROR, f"results.json {problem}"))
            )
        if lost:
            notes.append(
                f"{len(lost)} results.json cannot be read, which counts as an error of: "
                + ", ".join(task_id for task_id, _ in lost[:_SHOWN])
            )
        started_only = [key for key in trial_folders(unit) if key not in found]
        found |= {key: missing_trial(key, NOT_RUN) for key in started_only}
        run_id = plain_text(metadata.get("run_id")) or unit.path.resolve().name
        run = build_run(
            found.values(),
            run_key=run_id,
            task=task,
            agent=options.agent or plain_text(metadata.get("agent_name")),
            harness=self.name,
            started_at=read_time(metadata.get("start_time"), options.timezone),
            finished_at=read_time(metadata.get("end_time"), options.timezone),
            agent_config=settings_text(
                model=metadata.get("model_name"), commit=_commit(metadata.get("commit_hash"))
            ),
            tags=_tags(metadata),
            subset_id=subset_marked([run_id]),
            asked=_asked(metadata),
        )
        return LogFile(
            runs=(run,), notes=tuple(notes), partial=_partial(metadata, found), has_tasks=True
        )

    def selection(self, ids: Sequence[str], context: SelectionContext) -> Selection:
        """Give the command, each task as a literal pattern.

        Raises
        ------
        InputError
            If the tasks belong to several datasets or one cannot be passed.
        """
        located = [context.within_task(key) for key in ids]
        tasks = {task for task, _ in located}
        if len(tasks) > 1:
            raise InputError(
                "the questions belong to several datasets of Terminal-Bench, which one run cannot "
                "have; import each as a benchmark of its own"
            )
        dataset = next(iter(tasks)) or "DATASET"
        return Selection(
            command=shell_command(
                *("tb", "run", "--dataset", f"{dataset}==VERSION", "--run-id", context.label),
                *(f"--task-id={glob_literal(key)}" for _, key in located),
            ),
            files={
                f"{context.label}.ids.txt": "".join(f"{key}\n" for _, key in located),
            },
            notes=(
                "put the dataset's version in the place of VERSION, and add --agent, --model and "
                "what else the run needs",
                f"keep {context.label} in the run id, by which the log is recognised; for a "
                "repetition add .r2 to it",
            ),
        )


def _whole_run(folder: Path) -> tuple[JsonObject, JsonObject, list[str]]:
    """Read what is written once per run; a damaged file is a note."""
    found, notes = [], []
    for name in (METADATA, RESULTS):
        path = folder / name if folder.is_dir() else folder.with_name(name)
        document: object = {}
        if path.is_file():
            try:
                document = read_json(path)
            except InputError as error:
                notes.append(f"{name} was not used: it {error}")
        found.append(as_object(document))
    return found[0], found[1], notes


def _asked(metadata: JsonObject) -> list[str]:
    ids = [item for item in as_list(metadata.get("task_ids")) if isinstance(item, str)]
    return [key for key in ids if key.strip() and not re.search(r"[*?\[\0]", key)]


def _partial(metadata: JsonObject, found: dict[Key, LoggedVerdict]) -> str | None:
    n_done = sum(verdict.reason != NOT_RUN for verdict in found.values())
    n_tasks, n_attempts = metadata.get("dataset_size"), metadata.get("n_attempts")
    n_asked = len(found)
    if isinstance(n_tasks, int) and isinstance(n_attempts, int):
        n_asked = max(n_asked, min(n_tasks * n_attempts, 10**7))
    if n_done >= n_asked and metadata.get("end_time"):
        return None
    if n_done >= n_asked and not metadata:
        return None
    return f"the run was stopped or is not finished: {n_done} of {n_asked} trials are in the log"


def _commit(value: object) -> object:
    return None if value == "unknown" else value


def _tags(metadata: JsonObject) -> list[str]:
    name, version = inside(metadata, "dataset_name"), inside(metadata, "dataset_version")
    return [f"dataset={plain_text(name)}=={plain_text(version)}"] if name and version else []
