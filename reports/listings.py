"""Sections of a nightly page without a chart: HSPR sources, flagged questions, subsets, jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from recurring_eval.records import Flag
from reports.run_history import EstimatedRun
from reports.section import DataTable, Section, Tile, make_table
from reports.wording import (
    UNKNOWN,
    counted,
    duration,
    moment,
    number,
    percent,
    points,
    signed_points,
)

MAX_FLAG_ROWS = 100
MAX_LEDGER_ROWS = 40

FlagKind = Literal["all-pass", "all-fail", "few-responses", "flaky"]
_FLAG_WORDS: tuple[tuple[FlagKind, str, str], ...] = (
    ("flaky", "Flaky", "Verdict changes between runs that should agree: look at the test."),
    ("few-responses", "Few responses", "Too few valid verdicts to trust the difficulty."),
    ("all-fail", "All fail", "No run of the window passed: too hard, or broken."),
    ("all-pass", "All pass", "Every run of the window passed: they no longer tell runs apart."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HsprSources:
    """Tonight's sources and configuration; no sources where the night has none.

    Attributes
    ----------
    configuration : str
        Name of the configuration, or of the settings it averages.
    n_sources, n_groups : int
        Full runs that tell questions apart, and groups of questions they do not.
    source_zero_share : float
        Share of the bank's questions that no source ever passed.
    n_questions : int
        Questions in the bank.
    n_held_out : int
        Sources on which the configuration was chosen; 0 where none had to be.
    selection_mae_pp : float or None
        Mean error of the chosen configuration on them.
    estimates : tuple of EstimatedRun
        The latest ones, each with its diagnostics.
    """

    configuration: str = ""
    n_sources: int = 0
    n_groups: int = 0
    source_zero_share: float = 0.0
    n_questions: int = 0
    n_held_out: int = 0
    selection_mae_pp: float | None = None
    estimates: tuple[EstimatedRun, ...] = ()

    def section(self) -> Section:
        """Describe the sources and list the latest estimates."""
        anchor, heading = "hspr", "HSPR sources"
        if not self.n_sources:
            return Section(
                anchor=anchor,
                heading=heading,
                empty="No sources tonight: they appear with a calibration on enough full runs, "
                'unless `hspr = "off"`. The message of the last recalibrate job says why.',
            )
        return Section(
            anchor=anchor,
            heading=heading,
            tiles=(
                Tile(
                    label="Sources",
                    figure=number(self.n_sources),
                    meaning="full runs whose verdicts tell questions apart",
                ),
                Tile(
                    label="Groups",
                    figure=number(self.n_groups),
                    meaning="of questions that no source tells apart, out of "
                    + counted(self.n_questions, "question"),
                ),
                Tile(
                    label="Passed by no source",
                    figure=percent(self.source_zero_share),
                    meaning="of the questions",
                ),
                Tile(label="Configuration", meaning=self._choice(), code=self.configuration),
            ),
            text=(
                "What `recurring-eval adaptive` asks next, and how it estimates, rests on these "
                "runs. Fewer groups than questions mean that one answer speaks for its whole "
                "group. Questions that no source passed are where a new agent can surprise: the "
                "larger their share, the less the sources say about it.",
                "In the table, an effective sample under about 10% means the numbers behind an "
                "estimate are coarse; a calibration shift of several points means the run's "
                "answers did not fit its groups; a marked run is better or worse than every "
                "source, and its interval is stretched."
                if self.estimates
                else "No run has been estimated by hspr yet: `recurring-eval adaptive start --k K` "
                "begins one.",
            ),
            tables=(hspr_estimates_table(self.estimates),),
        )

    def _choice(self) -> str:
        if not self.n_held_out:
            return (
                "Several settings averaged by how well they explain a run; none has to be chosen."
            )
        there = self.selection_mae_pp
        error = "" if there is None else f", mean error there {points(there)}"
        return f"Chosen on {counted(self.n_held_out, 'held-out source')}{error}."


def hspr_estimates_table(estimates: tuple[EstimatedRun, ...]) -> DataTable:
    """List the latest estimates by HSPR, newest run first."""
    newest = sorted(estimates, key=lambda e: (e.run.started_at, e.run.run_key), reverse=True)
    found = [(e, diagnostics) for e in newest if (diagnostics := e.estimate.diagnostics)]
    return make_table(
        "Latest estimates by hspr, newest run first",
        (
            *("~Run", "Started", "#k", "#Effective sample", "#Asked, passed by no source"),
            *("#Calibration shift", "Remark"),
        ),
        found,
        lambda row: (
            row[0].run.run_key,
            moment(row[0].run.started_at),
            number(row[0].k),
            percent(min(1.0, row[1].effective_sample_size)),
            percent(row[1].queried_source_zero_share),
            signed_points(100.0 * row[1].calibration),
            "unlike every source" if Flag.EXTRAPOLATING in row[0].estimate.flags else "",
        ),
        cap=MAX_LEDGER_ROWS,
        cut_words="further estimates",
        mark=lambda row: Flag.EXTRAPOLATING in row[0].estimate.flags,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFlag:
    """A question that deserves a look.

    Attributes
    ----------
    reason : str
        One plain sentence.
    n_passes, n_trials : int
        Counts over the calibration window.
    n_runs : int
        Runs of the window with a valid verdict on it.
    """

    question_id: str
    flag: FlagKind
    reason: str
    n_passes: int
    n_trials: int
    n_runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlaggedQuestions:
    """Questions of the calibration window that deserve a look."""

    flags: tuple[QuestionFlag, ...] = ()

    def section(self) -> Section:
        """List the flags by kind, kinds somebody can act on first."""
        by_kind = {
            kind: [flag for flag in self.flags if flag.flag == kind] for kind, _, _ in _FLAG_WORDS
        }
        tiles = tuple(
            Tile(label=label, figure=number(len(by_kind[kind])), meaning=meaning)
            for kind, label, meaning in _FLAG_WORDS
        )
        return Section(
            anchor="questions",
            heading="Questions to look at",
            empty="No question is flagged: either all is well, or no full run has been "
            "calibrated yet.",
            tiles=tiles if self.flags else (),
            tables=tuple(flags_table(label, by_kind[kind]) for kind, label, _ in _FLAG_WORDS),
        )


def flags_table(label: str, flags: Sequence[QuestionFlag]) -> DataTable:
    """List flagged questions of one kind, by id."""
    return make_table(
        "Flagged questions by id",
        ("~Question", "~Why", "#Passes", "#Trials", "#Runs"),
        sorted(flags, key=lambda flag: flag.question_id),
        lambda flag: (
            flag.question_id,
            flag.reason,
            number(flag.n_passes),
            number(flag.n_trials),
            number(flag.n_runs),
        ),
        cap=MAX_FLAG_ROWS,
        cut_words="further questions",
        fold=f"{label} ({counted(len(flags), 'question')})",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetSummary:
    """A published subset in use.

    Attributes
    ----------
    kept_share : float or None
        Fraction of the previous version's questions still in it; None for a first.
    """

    subset_id: str
    design: str
    k: int
    published_at: datetime
    sha256: str
    kept_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSubsets:
    """Subsets that are handed out today."""

    subsets: tuple[SubsetSummary, ...] = ()

    def section(self) -> Section:
        """List the subsets, smallest first."""
        return Section(
            anchor="subsets",
            heading="Published subsets",
            empty="No subset is published yet: the first calibration publishes them.",
            text=(
                "What `recurring-eval subset --k K` hands out today. Kept: share of the previous "
                "version's questions still in it. Two subsets are the same exactly when their "
                "SHA-256 agree.",
            ),
            tables=(subsets_table(self.subsets),),
        )


def subsets_table(subsets: Sequence[SubsetSummary]) -> DataTable:
    """List published subsets, smallest first."""
    return make_table(
        "Published subsets",
        ("Subset", "Design", "#k", "#Kept", "Published", "SHA-256"),
        sorted(subsets, key=lambda subset: (subset.k, subset.design, subset.subset_id)),
        lambda subset: (
            subset.subset_id,
            subset.design,
            number(subset.k),
            "first version" if subset.kept_share is None else percent(subset.kept_share),
            moment(subset.published_at),
            subset.sha256,
        ),
        cap=MAX_LEDGER_ROWS,
        cut_words="further subsets",
        fold="",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """One line of the job ledger.

    Attributes
    ----------
    day : date
        Date the job was keyed by.
    status : str
        ``succeeded``, ``failed``, ``skipped`` or ``running`` (other words are shown
        as they are).
    seconds : float or None
        Wall time; None while it runs.
    """

    job: str
    day: date
    status: str
    started_at: datetime
    seconds: float | None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLedger:
    """The last lines of the job ledger."""

    jobs: tuple[JobRow, ...] = ()

    def section(self) -> Section:
        """List the jobs, newest first."""
        return Section(
            anchor="jobs",
            heading="Jobs",
            empty="No job has run yet: `recurring-eval recalibrate` runs the nightly job once.",
            tables=(jobs_table(self.jobs),),
        )


def jobs_table(jobs: Sequence[JobRow]) -> DataTable:
    """List the job ledger, newest first."""
    return make_table(
        "Jobs, newest first",
        ("~Job", "Date", "Status", "Started", "#Took", "~Message"),
        sorted(jobs, key=lambda row: (row.started_at, row.job), reverse=True),
        lambda row: (
            row.job,
            row.day.isoformat(),
            row.status,
            moment(row.started_at),
            duration(row.seconds),
            row.message or UNKNOWN,
        ),
        cap=MAX_LEDGER_ROWS,
        cut_words="earlier jobs",
        fold="",
        mark=lambda row: row.status == "failed",
    )
