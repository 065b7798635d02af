"""Tables of a nightly page that stand without a chart."""

from collections.abc import Sequence
from dataclasses import dataclass

from reports.context import FlagKind, NightlyPage, QuestionFlag
from reports.data_tables import DataTable, columns_of, make_table
from reports.wording import UNKNOWN, duration, moment, number, percent, points, signed_points

MAX_FLAG_ROWS = 100
MAX_LEDGER_ROWS = 40

_FLAG_WORDS: tuple[tuple[FlagKind, str, str], ...] = (
    ("flaky", "Flaky", "Verdict changes between runs that should agree: check the test."),
    ("few-responses", "Few responses", "Too few valid verdicts to trust the difficulty."),
    ("all-fail", "All fail", "No run of the window passed: too hard, or broken."),
    ("all-pass", "All pass", "Every run of the window passed: they no longer distinguish runs."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagGroup:
    """Flagged questions of one kind."""

    label: str
    meaning: str
    n_questions: int
    table: DataTable


def flag_groups(page: NightlyPage) -> tuple[FlagGroup, ...]:
    """Group the flags of `page` by kind, kinds somebody can act on first."""
    groups = []
    for kind, label, meaning in _FLAG_WORDS:
        flags = [flag for flag in page.flags if flag.flag == kind]
        groups.append(
            FlagGroup(
                label=label, meaning=meaning, n_questions=len(flags), table=flags_table(flags)
            )
        )
    return tuple(groups)


def flags_table(flags: Sequence[QuestionFlag]) -> DataTable:
    """List flagged questions of one kind, by id."""
    return make_table(
        "Flagged questions by id",
        columns_of("~Question", "~Why", "#Passes", "#Trials", "#Runs"),
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
    )


def subsets_table(page: NightlyPage) -> DataTable:
    """List published subsets, smallest first."""
    return make_table(
        "Published subsets",
        columns_of("Subset", "Design", "#k", "#Kept", "Published", "SHA-256"),
        sorted(page.subsets, key=lambda subset: (subset.k, subset.design, subset.subset_id)),
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
    )


def jobs_table(page: NightlyPage) -> DataTable:
    """List the job ledger, newest first."""
    return make_table(
        "Jobs, newest first",
        columns_of("~Job", "Date", "Status", "Started", "#Took", "~Message"),
        sorted(page.jobs, key=lambda row: (row.started_at, row.job), reverse=True),
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
        mark=lambda row: row.status == "failed",
    )


def hspr_estimates_table(page: NightlyPage) -> DataTable:
    """List the latest estimates by HSPR, newest run first."""
    found = () if page.hspr is None else page.hspr.estimates
    return make_table(
        "Latest estimates by hspr, newest run first",
        columns_of(
            *("~Run", "Started", "#k", "#Effective sample", "#Asked, passed by no source"),
            *("#Calibration shift", "Remark"),
        ),
        sorted(found, key=lambda one: (one.at, one.run_key), reverse=True),
        lambda one: (
            one.run_key,
            moment(one.at),
            number(one.k),
            percent(one.effective_sample_size),
            percent(one.asked_source_zero_share),
            signed_points(one.shift_pp),
            "unlike every source" if one.extrapolating else "",
        ),
        cap=MAX_LEDGER_ROWS,
        cut_words="further estimates",
        mark=lambda one: one.extrapolating,
    )


def todays_errors_table(page: NightlyPage) -> DataTable:
    """List everything the headline knows about today's estimates."""
    covered = {True: "inside", False: "outside", None: UNKNOWN}
    return make_table(
        "Today's estimates by method and k",
        columns_of("~Method", "#k", "#Mean error", "#Interval ±", "#Last full run", "Its interval"),
        page.headline.errors,
        lambda error: (
            error.method,
            number(error.k),
            points(error.expected_error_pp),
            points(error.half_width_pp),
            signed_points(error.last_run_error_pp),
            covered[error.last_run_covered],
        ),
        cap=MAX_LEDGER_ROWS,
        cut_words="further figures",
        mark=lambda error: error.last_run_covered is False,
    )
