"""Trials of a job of Harbor: their files and verdicts."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.harnesses.harness import LogFile, LogUnit, ReadOptions
from jobs.harnesses.json_files import JsonObject, as_number, as_object, as_text, inside, read_json
from jobs.harnesses.peek import Peek
from jobs.harnesses.plain_text import is_timeout, plain_text, settings_text
from jobs.harnesses.question_key import question_key
from jobs.harnesses.run_builder import (
    ERROR,
    NOT_RUN,
    TIMEOUT,
    LoggedVerdict,
    build_run,
    missing_reason,
)
from jobs.harnesses.selection import (
    Selection,
    SelectionContext,
    glob_literal,
    shell_command,
    subset_marked,
)
from jobs.harnesses.times import read_time
from jobs.harnesses.trial_folders import units_of_folders
from jobs.harnesses.verdict_rule import VerdictRule, choose, score_outcome
from recurring_eval.errors import InputError
from recurring_eval.records import MISSING, RunLog

RESULT: Final = "result.json"
CONFIG: Final = "config.json"

_TRIAL_KEYS: Final = frozenset(("task_name", "trial_name", "agent_info"))
_JOB_KEYS: Final = frozenset(("id", "n_total_trials", "stats"))
_JOB_CONFIG_KEYS: Final = frozenset(("job_name", "n_attempts"))
_TRIAL_CONFIG_KEYS: Final = frozenset(("task", "trial_name"))
_PASS_FROM: Final = 1.0

Place = tuple[str, str, str]
"""Agent, its configuration, and dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """What lies in a job's folder."""

    results: Sequence[JsonObject]
    unfinished: Sequence[str]
    broken: Sequence[str]


def job_folder(file: Peek) -> Path | None:
    """Folder of the job that a file is a part of."""
    path, keys = file.path, file.keys
    if keys >= _TRIAL_KEYS:
        return path.parent.parent
    if path.name == RESULT and keys >= _JOB_KEYS:
        return path.parent
    if path.name == CONFIG and keys >= _JOB_CONFIG_KEYS:
        return path.parent
    return None


def trials_of(unit: LogUnit) -> Trials:
    """Read the results of a job's trials; damaged ones are named."""
    results: list[JsonObject] = []
    broken: list[str] = []
    configs: dict[Path, Path] = {}
    folders = set()
    for path in unit.files:
        if path.parent.parent != unit.path:
            continue
        if path.name == CONFIG:
            configs[path.parent] = path
        elif path.suffix == ".json" and (path.name == RESULT or Peek(path).keys >= _TRIAL_KEYS):
            folders.add(path.parent)
            try:
                trial = as_object(read_json(path))
                if not trial.keys() >= _TRIAL_KEYS:
                    raise InputError("is no result of a trial")
                results.append(trial)
            except InputError:
                broken.append(path.parent.name)
    unfinished = [
        name
        for folder, path in configs.items()
        if folder not in folders and (name := _configured_task(path))
    ]
    return Trials(results=results, unfinished=unfinished, broken=broken)


def _configured_task(path: Path) -> str:
    """Name of the task of a trial that only has its configuration."""
    try:
        config = as_object(read_json(path))
    except InputError:
        return ""
    return as_text(inside(config, "task", "name")) if config.keys() >= _TRIAL_CONFIG_KEYS else ""


def place_of(trial: JsonObject) -> Place:
    """Tell what a trial ran, and on which dataset."""
    info = as_object(trial.get("agent_info"))
    settings = settings_text(
        agent_version=info.get("version"),
        model="/".join(
            filter(
                None,
                (plain_text(inside(info, "model_info", key)) for key in ("provider", "name")),
            )
        ),
    )
    return plain_text(info.get("name")) or "unknown", settings, plain_text(trial.get("source"))


def run_key_of(job_name: str, agent: str, settings: str) -> str:
    """Key of one of several runs of a job."""
    return f"{job_name}/{agent} {settings}".strip()


def reward_name(trials: Sequence[JsonObject], rule: VerdictRule, task: str | None) -> str:
    """Name of the reward that decides.

    Raises
    ------
    InputError
        If there are several and the rule names none.
    """
    names = dict.fromkeys(
        name for trial in trials for name in as_object(inside(trial, "verifier_result", "rewards"))
    )
    if not names:
        return "reward"
    return choose("reward", list(names), rule.verdict, task=task)


def verdict_of(trial: JsonObject, reward: str, rule: VerdictRule) -> LoggedVerdict:
    """Verdict of a trial; an exception with a reward was scored all the same."""
    rewards = inside(trial, "verifier_result", "rewards")
    exception = as_text(inside(trial, "exception_info", "exception_type"))
    score = float("nan")
    if isinstance(rewards, Mapping) and trial.get("reward_valid") is not False:
        value = rewards.get(reward)
        score = float(value) if isinstance(value, bool) else as_number(value)
    threshold = _PASS_FROM if rule.threshold is None else rule.threshold
    outcome = score_outcome(score, threshold, where="a trial")
    reason = ""
    if outcome == MISSING:
        reason = missing_reason(TIMEOUT if is_timeout(exception) else ERROR, exception)
    started = read_time(trial.get("started_at"))
    finished = read_time(trial.get("finished_at"))
    seconds = (finished - started).total_seconds() if started and finished else float("nan")
    return LoggedVerdict(
        question=question_key(trial.get("task_name"), typed=False),
        outcome=outcome,
        reason=reason,
        started_at=started,
        finished_at=finished,
        duration_s=seconds,
        cost=as_number(inside(trial, "agent_result", "cost_usd")),
        content_hash=plain_text(trial.get("task_checksum")),
    )


def not_run(task_name: str) -> LoggedVerdict:
    """Verdict of a trial that did not come to an end."""
    return LoggedVerdict(
        question=question_key(task_name, typed=False), outcome=MISSING, reason=NOT_RUN
    )


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
            raise InputError("has no finished trial")
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
