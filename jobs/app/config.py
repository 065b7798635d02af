"""What can be configured, and its defaults.

Reading the file and the environment is `jobs.app.app.config_file`'s part.
"""

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from jobs.app.config_schedule import NightSettings, ScheduleSettings, WatchSettings
from recurring_eval.errors import InputError
from recurring_eval.records import RunPurpose

CONFIG_NAME: Final = "recurring-eval.toml"
ENVIRONMENT_PREFIX: Final = "RECURRING_EVAL_"

MissingReason = Literal["error", "timeout", "skipped", "not run", "invalidated"]
MissingRule = Literal["missing", "fail"]


def window_days(window: str) -> int | None:
    """Days of a calibration window such as ``28d``; None for ``all``.

    Raises
    ------
    InputError
        If `window` is neither.
    """
    if window == "all":
        return None
    match = re.fullmatch(r"([1-9][0-9]{0,5})d", window)
    if match is None:
        raise InputError(f"window {window!r} is not a number of days such as 28d, or all")
    return int(match[1])


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CacheSettings(_Section):
    """Which questions count as settled by their recent verdicts."""

    days: int = Field(default=7, ge=1, le=3650)
    epsilon: float = Field(default=0.05, ge=0, lt=0.5)
    min_trials: int = Field(default=5, ge=1)
    use: Literal["majority", "rate"] = "majority"


class BenchmarkSettings(_Section):
    """Settings of one benchmark; `[defaults]` has the same keys.

    Attributes
    ----------
    subset_sizes : tuple of int
        Numbers of questions for which the nightly job prepares subsets.
    window : str
        Calibration window, ``28d`` or ``all``; see `window_days`.
    minimum_runs : int
        The window is extended backwards until it holds this many full runs.
    level : float
        Nominal coverage of intervals.
    hspr : str
        How ``hspr`` is configured: ``average`` needs no choice,
        ``staged`` chooses one on the sources every night, ``off`` leaves it out.
    cache : CacheSettings
    missing : dict
        Reason of a missing verdict -> ``missing`` (the default) or ``fail``.
    schedule : NightSettings
        Only what differs from `[schedule]`; read it through `Settings.nights_of`.
    """

    subset_sizes: tuple[Annotated[int, Field(ge=1)], ...] = (100, 200, 300, 400)
    window: str = "28d"
    minimum_runs: int = Field(default=30, ge=2)
    level: float = Field(default=0.9, gt=0, lt=1)
    hspr: Literal["average", "staged", "off"] = "average"
    cache: CacheSettings = CacheSettings()
    missing: dict[MissingReason, MissingRule] = {}
    schedule: NightSettings = NightSettings()

    @field_validator("subset_sizes")
    @classmethod
    def _in_order(cls, sizes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(set(sizes)))

    @field_validator("window")
    @classmethod
    def _readable_window(cls, window: str) -> str:
        try:
            window_days(window)
        except InputError as error:
            raise ValueError(str(error)) from None
        return window


class RetentionSettings(_Section):
    """How long verdicts stay in the history; older ones move to files beside it."""

    verdicts_days: int | None = Field(default=None, ge=1)


class ReplaySettings(_Section):
    """Where the tasks of a replay run; an address is that of a cluster already running."""

    backend: Literal["loky", "dask", "ray"] = "loky"
    address: str | None = None

    @model_validator(mode="after")
    def _address_of_a_cluster(self) -> "ReplaySettings":
        if self.address is not None and self.backend == "loky":
            raise ValueError("`address` needs the backend dask or ray; loky stays on this machine")
        return self


class RunRule(_Section):
    """Purpose and family of the runs whose agent, tag or benchmark matches.

    Patterns are shell-like (``release-*``); every pattern given must match.
    """

    benchmark: str | None = None
    agent: str | None = None
    tag: str | None = None
    purpose: RunPurpose | None = None
    family: str | None = None

    @model_validator(mode="after")
    def _complete(self) -> "RunRule":
        if self.benchmark is self.agent is self.tag is None:
            raise ValueError("a rule needs `agent`, `tag` or `benchmark` to match on")
        if self.purpose is self.family is None:
            raise ValueError("a rule needs a `purpose` or a `family` to set")
        return self

    def matches(self, *, benchmark: str, agent: str, tags: tuple[str, ...]) -> bool:
        """Whether the rule applies to such a run."""
        return (
            (self.benchmark is None or fnmatchcase(benchmark, self.benchmark))
            and (self.agent is None or fnmatchcase(agent, self.agent))
            and (self.tag is None or any(fnmatchcase(tag, self.tag) for tag in tags))
        )


class Settings(BaseSettings):
    """Everything that is configured, after flags, environment, file and defaults.

    Attributes
    ----------
    history : Path
        The DuckDB file.
    reports : Path
        Folder of the HTML reports.
    backups : Path
        Folder of the backups.
    keep_backups : int
        How many of them are kept.
    retention : RetentionSettings
    replay : ReplaySettings
    seed : int
        Root of every random stream.
    defaults : BenchmarkSettings
        Used by every benchmark unless its own table says otherwise.
    benchmark : dict of str to BenchmarkSettings
        Only what differs from `defaults`; read it through `for_benchmark`.
    rules : tuple of RunRule
        First match wins, separately for purpose and family.
    schedule : ScheduleSettings
    watch : tuple of WatchSettings
        Folders whose files the daemon imports.
    """

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        env_prefix=ENVIRONMENT_PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,
    )

    history: Path = Path("history.duckdb")
    reports: Path = Path("recurring-eval-reports")
    backups: Path = Path("recurring-eval-backups")
    keep_backups: int = Field(default=14, ge=1)
    retention: RetentionSettings = RetentionSettings()
    replay: ReplaySettings = ReplaySettings()
    seed: int = Field(default=0, ge=0)
    defaults: BenchmarkSettings = BenchmarkSettings()
    benchmark: dict[str, BenchmarkSettings] = {}
    rules: tuple[RunRule, ...] = ()
    schedule: ScheduleSettings = ScheduleSettings()
    watch: tuple[WatchSettings, ...] = ()

    def for_benchmark(self, name: str) -> BenchmarkSettings:
        """Return the settings of a benchmark: its own table over `[defaults]`."""
        own = self.benchmark.get(name)
        if own is None:
            return self.defaults
        merged = self.defaults.model_dump()
        for key, value in own.model_dump(exclude_unset=True).items():
            merged[key] = merged[key] | value if isinstance(value, dict) else value
        return BenchmarkSettings.model_validate(merged)

    def nights_of(self, name: str) -> NightSettings:
        """Return a benchmark's nights: its own keys over `[defaults]` over `[schedule]`."""
        layers = [self.schedule, self.defaults.schedule]
        if name in self.benchmark:
            layers.append(self.benchmark[name].schedule)
        merged: dict[str, object] = {}
        for layer in layers:
            merged |= layer.model_dump(include=set(NightSettings.model_fields), exclude_unset=True)
        return NightSettings.model_validate(merged)

    def rule_for(
        self, *, benchmark: str, agent: str, tags: tuple[str, ...]
    ) -> tuple[RunPurpose | None, str | None]:
        """Purpose and family that the rules set for a run; None where no rule matches."""
        found = [r for r in self.rules if r.matches(benchmark=benchmark, agent=agent, tags=tags)]
        purpose = next((r.purpose for r in found if r.purpose is not None), None)
        family = next((r.family for r in found if r.family is not None), None)
        return purpose, family
