"""Harbor: the folder of a job of ``harbor run``, with a folder per trial."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.harnesses.harbor_job.trials import (
    CONFIG,
    RESULT,
    Place,
    Trials,
    job_folder,
    not_run,
    place_of,
    reward_name,
    run_key_of,
    trials_of,
    verdict_of,
)
from jobs.harnesses.harness import LogFile, LogUnit, ReadOptions
from jobs.harnesses.json_files import JsonObject, as_object, read_json
from jobs.harnesses.peek import Peek
from jobs.harnesses.plain_text import plain_text
from jobs.harnesses.run_builder import build_run
from jobs.harnesses.selection import (
    Selection,
    SelectionContext,
    glob_literal,
    shell_command,
    subset_marked,
)
from jobs.harnesses.times import read_time
from jobs.harnesses.trial_folders import units_of_folders
from recurring_eval.errors import InputError
from recurring_eval.records import RunLog

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Harbor:
    """Jobs of Harbor; each agent and dataset of a job is a run."""

    name: str = "harbor"

    def find(self, files: Sequence[Peek]) -> Iterable[LogUnit]:
        """Claim the folders of jobs with all that is in them."""
        folders: dict[Path, None] = {}
        for file in files:
            if file.path.suffix == ".json" and (folder := job_folder(file)) is not None:
                folders.setdefault(folder)
        return units_of_folders(folders, [file.path for file in files])

    def read(self, unit: LogUnit, options: ReadOptions) -> LogFile:
        """Read the trials of a job.

        Raises
        ------
        InputError
            Saying what is wrong.
        """
        job, config, notes = _whole_job(unit.path)
        trials = trials_of(unit)
        if trials.broken:
            notes.append(
                f"{len(trials.broken)} result.json cannot be read, which leaves out the trials "
                + ", ".join(trials.broken[:_SHOWN])
            )
        if not trials.results:
            raise InputError("has no trial that came to an end")
        groups: dict[Place, list[JsonObject]] = {}
        for trial in trials.results:
            groups.setdefault(place_of(trial), []).append(trial)
        job_name = plain_text(config.get("job_name")) or unit.path.resolve().name
        runs: list[RunLog] = []
        for (agent, settings, dataset), members in groups.items():
            task = dataset or None
            rule = options.rule(self.name, task)
            reward = reward_name(members, rule, task)
            unfinished = trials.unfinished if len(groups) == 1 else ()
            runs.append(
                build_run(
                    [
                        *(verdict_of(trial, reward, rule) for trial in members),
                        *(not_run(name) for name in unfinished),
                    ],
                    run_key=job_name if len(groups) == 1 else run_key_of(job_name, agent, settings),
                    task=task,
                    agent=options.agent or agent,
                    harness=self.name,
                    started_at=read_time(job.get("started_at"), options.timezone),
                    finished_at=read_time(job.get("finished_at"), options.timezone),
                    agent_config=settings,
                    subset_id=subset_marked([job_name]),
                )
            )
        return LogFile(
            runs=tuple(runs), notes=tuple(notes), partial=_partial(job, trials), has_tasks=True
        )

    def selection(self, ids: Sequence[str], context: SelectionContext) -> Selection:
        """Give a job configuration, whose task names are literal patterns.

        Raises
        ------
        InputError
            If the tasks belong to datasets that are not known.
        """
        by_task: dict[str, list[str]] = {}
        for key in ids:
            task, name = context.within_task(key)
            by_task.setdefault(task or "DATASET", []).append(glob_literal(name))
        label = context.label
        config = {
            "job_name": label,
            "datasets": [
                {"name": name, "task_names": patterns} for name, patterns in by_task.items()
            ],
        }
        file = f"{label}.json"
        return Selection(
            command=shell_command(
                *("harbor", "run", "--config", context.path_of(file), "--job-name", label)
            ),
            files={file: json.dumps(config, indent=1) + "\n"},
            notes=(
                *(
                    ["put the dataset in the place of DATASET in the configuration"]
                    if "DATASET" in by_task
                    else []
                ),
                "add --agent, --model and what else the run needs; leave out -i, -x and -l",
                f"keep {label} in the job's name, by which the log is recognised; for a "
                "repetition add .r2 to it",
            ),
        )


def _whole_job(folder: Path) -> tuple[JsonObject, JsonObject, list[str]]:
    found, notes = [], []
    for name in (RESULT, CONFIG):
        path = folder / name
        document: object = {}
        if path.is_file():
            try:
                document = read_json(path)
            except InputError as error:
                notes.append(f"{name} was not used: it {error}")
        found.append(as_object(document))
    return found[0], found[1], notes


def _partial(job: JsonObject, trials: Trials) -> str | None:
    n_done, n_asked = len(trials.results), job.get("n_total_trials")
    n_known = n_done + len(trials.unfinished) + len(trials.broken)
    total = max(n_known, n_asked if isinstance(n_asked, int) else 0)
    if n_done >= total:
        return None
    return f"the job was stopped or is not finished: {n_done} of {total} trials are in the log"
