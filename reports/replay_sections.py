"""Sections of a replay page: each a chart, how to read it, and its tables."""

from typing import Final

from reports.charts.replay_error import replay_error_chart
from reports.charts.replay_strips import differences_chart, groups_chart, target_errors_chart
from reports.data_tables import DataTable, columns_of, make_table
from reports.figures import Figure
from reports.replay_context import ReplayPage
from reports.wording import decimal, number, percent, points, signed_points

MAX_ROWS: Final = 600
MAX_TARGETS: Final = 600
MAX_PAIRS: Final = 400


def replay_figures(page: ReplayPage) -> tuple[Figure, ...]:
    """Draw the charts of `page` in reading order."""
    groups = groups_chart(page)
    return (
        Figure(
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
                Figure(
                    anchor="groups",
                    heading=f"Groups at budget {page.advised_budget}",
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
        Figure(
            anchor="runs",
            heading=f"Errors of single runs at budget {page.advised_budget}",
            drawing=target_errors_chart(page),
            reading=(
                "Each dot is one tested run: right of the dashed line its pass rate was "
                "overestimated, left of it underestimated.",
                "A cloud beside the line is bias; a far dot is a run this method misjudges. Rest "
                "on it to read its name.",
            ),
            empty="No run was estimated at this budget.",
            tables=(targets_table(page),),
        ),
        Figure(
            anchor="differences",
            heading=f"Paired differences at budget {page.advised_budget}",
            drawing=differences_chart(page),
            reading=(
                "The method with the smallest mean error here against each other, on the same "
                f"{page.unit}s. Left of the dashed line favours it.",
                f"Lines are 95% intervals over resampled {page.unit}s, one comparison at a time. "
                "One that crosses the dashed line leaves it open which of both is better.",
                "It was picked as the best of these same figures, so expect a little less of it.",
            ),
            empty="It takes two methods and two tested runs to compare.",
            tables=_with_rows(comparisons_table(page)),
        ),
    )


def _with_rows(table: DataTable) -> tuple[DataTable, ...]:
    return (table,) if table.rows else ()


def rows_table(page: ReplayPage) -> DataTable:
    """List every metric by group, budget and method."""
    grouped = len({row.group for row in page.rows}) > 1
    return make_table(
        "All figures by budget and method",
        columns_of(
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
            f"{decimal(row.mae_pp)} pp",
            points(row.max_error_pp),
            signed_points(row.bias_pp),
            points(row.within_90_pp),
            decimal(row.spearman, 3),
            decimal(row.kendall_tau, 3),
            percent(row.execution_fraction),
            percent(row.coverage_90),
            points(row.width_90_pp),
            decimal(1000 * row.cpu_s_per_target, 1),
            decimal(row.fit_cpu_s),
            number(row.n_targets),
            number(row.n_splits),
        ),
        cap=MAX_ROWS,
        cut_words="further rows",
    )


def targets_table(page: ReplayPage) -> DataTable:
    """List the runs of the advised method and budget, the worst first."""
    chosen = [
        target
        for target in page.targets
        if (target.method, target.budget) == (page.advised_method, page.advised_budget)
    ]
    worst = sorted(chosen, key=lambda t: (-abs(t.worst_error_pp), t.run_id))
    return make_table(
        f"Runs as {page.advised_method} estimated them at budget {page.advised_budget}, "
        "worst first",
        columns_of("~Run", "~Agent", "#In full", "#Estimate", "#Mean error", "#Worst error"),
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
        columns_of(
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
