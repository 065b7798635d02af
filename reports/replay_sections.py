"""Sections of a replay page: each a chart, how to read it, and its tables."""

from typing import Final

from reports.replay_error import replay_error_chart
from reports.replay_page import ReplayPage
from reports.replay_strips import differences_chart, groups_chart, target_errors_chart
from reports.section import DataTable, Section, make_table
from reports.wording import decimal, number, percent, points, signed_points

MAX_ROWS: Final = 600
MAX_TARGETS: Final = 600
MAX_PAIRS: Final = 400


def replay_sections(page: ReplayPage) -> tuple[Section, ...]:
    """Draw the charts of `page` in reading order."""
    groups = groups_chart(page)
    return (
        Section(
            anchor="error",
            heading="Error and ranking against questions executed",
            drawing=replay_error_chart(page),
            reading=(
                "Left: how far the estimates are from the full pass rate, on average. Lower is "
                "better; read across to see what more questions buy.",
                "Right: how well the estimates keep the order of the runs. 1 is the same order; "
                "a method may rank well and still be far off.",
            ),
            empty="No method has an estimate.",
            tables=(rows_table(page),),
        ),
        *(
            (
                Section(
                    anchor="groups",
                    heading=f"Groups at budget {page.advice.budget}",
                    drawing=groups,
                    reading=(
                        "Each line is one group of tested runs, or one calibration window; each "
                        "dot a method's mean error there.",
                    ),
                    empty="",
                    tables=(),
                ),
            )
            if groups is not None
            else ()
        ),
        Section(
            anchor="runs",
            heading=f"Errors of single runs at budget {page.advice.budget}",
            drawing=target_errors_chart(page),
            reading=(
                "Each dot is one tested run: right of the dashed line its pass rate was "
                "overestimated, left of it underestimated.",
                "A cloud beside the line is bias; a far dot is a run this method misjudges. "
                "Hover over it to read its name.",
            ),
            empty="No run was estimated at this budget.",
            tables=(targets_table(page),),
        ),
        Section(
            anchor="differences",
            heading=f"Paired differences at budget {page.advice.budget}",
            drawing=differences_chart(page),
            reading=(
                "The method with the smallest mean error here against each other, on the same "
                f"{page.unit}s. Left of the dashed line favours it.",
                f"Lines are 95% intervals over resampled {page.unit}s, one comparison at a time. "
                "One that crosses the dashed line leaves open which of the two is better.",
                "It was chosen on these same figures, so expect it to do slightly worse on new "
                "runs.",
            ),
            empty="It takes two methods and two tested runs to compare.",
            tables=(comparisons_table(page),),
        ),
    )


def rows_table(page: ReplayPage) -> DataTable:
    """List every metric by group, budget and method."""
    grouped = len({row.group for row in page.rows}) > 1
    return make_table(
        "All figures by budget and method",
        (
            *(("~Group",) if grouped else ()),
            "~Method",
            "#Budget",
            "#k",
            "#Mean error",
            "#Largest",
            "#Bias",
            "#90% within",
            "#Spearman",
            "#Tau-b",
            "#Executed",
            "#Coverage",
            "#Width",
            "#CPU ms a run",
            "#CPU s to fit",
            "#Runs",
            "#Splits",
        ),
        page.rows,
        lambda row: (
            *((row.group,) if grouped else ()),
            row.method,
            row.budget,
            number(row.k),
            f"{decimal(row.metrics.mae_pp)} pp",
            points(row.metrics.max_error_pp),
            signed_points(row.metrics.bias_pp),
            points(row.within_90_pp),
            decimal(row.metrics.spearman, 3),
            decimal(row.metrics.kendall_tau, 3),
            percent(row.metrics.execution_fraction),
            percent(row.metrics.coverage_90),
            points(row.metrics.width_90_pp),
            decimal(1000 * row.cpu_s_per_target, 1),
            decimal(row.fit_cpu_s),
            number(round(row.metrics.n_targets)),
            number(row.n_splits),
        ),
        cap=MAX_ROWS,
        cut_words="further rows",
    )


def targets_table(page: ReplayPage) -> DataTable:
    """List the runs of the advised method and budget, the worst first."""
    worst = sorted(
        page.targets(page.advice.method), key=lambda t: (-abs(t.worst_error_pp), t.run_id)
    )
    return make_table(
        f"Runs as {page.advice.method} estimated them at budget {page.advice.budget}, worst first",
        ("~Run", "~Agent", "#In full", "#Estimate", "#Mean error", "#Worst error"),
        worst,
        lambda t: (
            t.run_id,
            t.agent,
            percent(t.full_pass_rate),
            percent(t.estimate),
            points(t.absolute_error_pp),
            signed_points(t.worst_error_pp),
        ),
        cap=MAX_TARGETS,
        cut_words="better estimated runs",
    )


def comparisons_table(page: ReplayPage) -> DataTable:
    """List every paired comparison."""
    return make_table(
        f"Paired differences of mean errors over {page.unit}s",
        (
            "#Budget",
            "~First",
            "~Second",
            "#First less second",
            "#Low",
            "#High",
            "#p",
            "#p after Holm",
        ),
        page.comparisons,
        lambda pair: (
            pair.budget,
            pair.first,
            pair.second,
            f"{decimal(pair.difference_pp)} pp",
            decimal(pair.low_pp),
            decimal(pair.high_pp),
            decimal(pair.p_value, 4),
            decimal(pair.p_holm, 4),
        ),
        cap=MAX_PAIRS,
        cut_words="further pairs",
        mark=lambda pair: pair.p_holm < 0.05,
    )
