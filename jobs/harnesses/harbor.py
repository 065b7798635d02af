"""Harbor: the folder of a job of ``harbor run``, with a folder per trial."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.harnesses.harness import LogFile, LogUnit, ReadOptions
from jobs.harnesses.json_files import (
    JsonObject,
    as_number,
    as_object,
    as_text,
    inside,
    read_json,
)
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

_TRIAL_KEYS: Final = frozenset(("task_name", "trial_name", "agent_info"))
_JOB_KEYS: Final = frozenset(("id", "n_total_trials", "stats"))
_CONFIG_KEYS: Final = frozenset(("job_name", "n_attempts"))
_TRIAL_CONFIG_KEYS: Final = frozenset(("task", "trial_name"))
_RESULT: Final = "result.json"
_CONFIG: Final = "config.json"
_PASS_FROM: Final = 1.0
_SHOWN: Final = 5

Place = tuple[str, str, str]
"""Agent, its configuration, and dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trials:
    """What lies in a job's folder."""

    results: Sequence[JsonObject]
    unfinished: Sequence[str]
    broken: Sequence[str]


@dataclass(frozen=True, slots=True)
class Harbor:
    """Jobs of Harbor; each agent and dataset of a job is a run."""

    name: str = "harbor"

    def find(self, files: Sequence[Peek]) -> Iterable[LogUnit]:
        """Claim the folders of jobs with all that is in them."""
        folders: dict[Path, None] = {}
        for file in files:
            if file.path.suffix == ".json" and (folder := _job_folder(file)) is not None:
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
        trials = _trials(unit)
        if trials.broken:
            notes.append(
                f"{len(trials.broken)} result.json cannot be read, which leaves out the trials "
                + ", ".join(trials.broken[:_SHOWN])
            )
        if not trials.results:
            raise InputError("has no trial that came to an end")
        groups: dict[Place, list[JsonObject]] = {}
        for trial in trials.results:
            groups.setdefault(_place(trial), []).append(trial)
        job_name = plain_text(config.get("job_name")) or unit.path.resolve().name
        runs: list[RunLog] = []
        for (agent, settings, dataset), members in groups.items():
            task = dataset or None
            rule = options.rule(self.name, task)
            reward = _reward_name(members, rule, task)
            unfinished = trials.unfinished if len(groups) == 1 else ()
            runs.append(
                build_run(
                    [
                        *(_verdict(trial, reward, rule) for trial in members),
                        *(_not_run(name) for name in unfinished),
                    ],
                    run_key=job_name if len(groups) == 1 else _key(job_name, agent, settings),
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


def _job_folder(file: Peek) -> Path | None:
    path, keys = file.path, file.keys
    if keys >= _TRIAL_KEYS:
        return path.parent.parent
    if path.name == _RESULT and keys >= _JOB_KEYS:
        return path.parent
    if path.name == _CONFIG and keys >= _CONFIG_KEYS:
        return path.parent
    return None


def _whole_job(folder: Path) -> tuple[JsonObject, JsonObject, list[str]]:
    found, notes = [], []
    for name in (_RESULT, _CONFIG):
        path = folder / name
        document: object = {}
        if path.is_file():
            try:
                document = read_json(path)
            except InputError as error:
                notes.append(f"{name} was not used: it {error}")
        found.append(as_object(document))
    return found[0], found[1], notes


def _trials(unit: LogUnit) -> _Trials:
    results: list[JsonObject] = []
    broken: list[str] = []
    configs: dict[Path, Path] = {}
    folders = set()
    for path in unit.files:
        if path.parent.parent != unit.path:
            continue
        if path.name == _CONFIG:
            configs[path.parent] = path
        elif path.suffix == ".json" and (path.name == _RESULT or Peek(path).keys >= _TRIAL_KEYS):
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
    return _Trials(results=results, unfinished=unfinished, broken=broken)


def _configured_task(path: Path) -> str:
    """Name of the task of a trial that only has its configuration."""
    try:
        config = as_object(read_json(path))
    except InputError:
        return ""
    return as_text(inside(config, "task", "name")) if config.keys() >= _TRIAL_CONFIG_KEYS else ""


def _place(trial: JsonObject) -> Place:
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


def _key(job_name: str, agent: str, settings: str) -> str:
    return f"{job_name}/{agent} {settings}".strip()


def _reward_name(trials: Sequence[JsonObject], rule: VerdictRule, task: str | None) -> str:
    names = dict.fromkeys(
        name for trial in trials for name in as_object(inside(trial, "verifier_result", "rewards"))
    )
    if not names:
        return "reward"
    return choose("reward", list(names), rule.verdict, task=task)


def _verdict(trial: JsonObject, reward: str, rule: VerdictRule) -> LoggedVerdict:
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


def _not_run(task_name: str) -> LoggedVerdict:
    return LoggedVerdict(
        question=question_key(task_name, typed=False), outcome=MISSING, reason=NOT_RUN
    )


def _partial(job: JsonObject, trials: _Trials) -> str | None:
    n_done, n_asked = len(trials.results), job.get("n_total_trials")
    n_known = n_done + len(trials.unfinished) + len(trials.broken)
    total = max(n_known, n_asked if isinstance(n_asked, int) else 0)
    if n_done >= total:
        return None
    return f"the job was stopped or is not finished: {n_done} of {total} trials are in the log"
