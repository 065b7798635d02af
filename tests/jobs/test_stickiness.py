"""Published subsets over many nights of the real job: they stay, and staying costs little."""

import numpy as np
import pytest

from jobs.nights.recalibrate import recalibrate
from recurring_eval.records import Subset
from recurring_eval.subsets import stratified_subset
from storage.calibrations.calibrations import calibration_on, load_rasch
from storage.calibrations.subsets import list_subsets, published_subset
from tests.jobs.histories import (
    BENCHMARK,
    app_on,
    covered,
    night_of,
    pass_matrix,
    reading,
    start,
    verdict_table,
)
from tests.jobs.histories import logs as simulated


def live_through(folder, days, k):
    """Published and freshly drawn subset of each night, and the number of versions."""
    published, redrawn = [], []
    for number in days:
        day = night_of(number)
        (result,) = recalibrate(app_on(folder, day), as_of=day)
        assert result.status == "calibrated"
        with reading(folder) as history:
            record = published_subset(history, BENCHMARK, "main", k, "stratified")
            info = calibration_on(history, BENCHMARK, "main", day)
            assert info is not None
            rasch = load_rasch(history, info.calibration_id)
        assert record is not None
        published.append(record.subset)
        redrawn.append(stratified_subset(rasch, info.bank_version, k))
    with reading(folder) as history:
        stored = list_subsets(history, BENCHMARK, "main")
        versions = [r for r in stored if (r.subset.k, r.subset.design) == (k, "stratified")]
    return published, redrawn, versions


def overlap(one: Subset, other: Subset) -> float:
    return len(set(one.question_ids) & set(other.question_ids)) / one.k


def test_six_nights_publish_once_and_say_why(imported):
    published, redrawn, versions = live_through(imported, range(8, 14), 40)
    assert len(versions) == 1
    assert len({subset.sha256 for subset in published}) == 1
    # It is the job that holds on to it: the data alone would have changed it.
    assert len({subset.sha256 for subset in redrawn}) > 1
    assert min(overlap(published[0], fresh) for fresh in redrawn[1:]) < 1
    with reading(imported) as history:
        messages = [m for (m,) in history.rows("SELECT message FROM job_run ORDER BY job_run_id")]
    assert "published k=20, 40: no subset of this size was published yet" in messages[0]
    assert not any("published" in message for message in messages[1:])


@pytest.mark.statistical
def test_ten_nights_keep_70_percent_at_the_price_of_a_tenth_of_a_point(folder):
    k, kept, errors = 100, [], {"published": [], "redrawn": []}
    config = f"[defaults]\nsubset_sizes = [{k}]\n"
    for seed in (1, 2, 3):
        runs = simulated(
            seed,
            n_questions=519,
            n_days=52,
            calibration_days=28,
            runs_per_day=600 / 52,
            mean_pass_rate=0.785,
            experiment_share=0.59,
        )
        project = start(folder / str(seed), runs, config=config)
        nights = range(29, 39)
        published, redrawn, versions = live_through(project, nights, k)
        kept.append(overlap(published[0], published[-1]))
        assert len(versions) <= 2
        matrix = covered(pass_matrix(project))
        days = verdict_table(project).groupby("run_id")["day"].first()[matrix.index]
        for number, *subsets in zip(nights, published, redrawn, strict=True):
            later = matrix[((days > night_of(number)) & (days <= night_of(number + 5))).to_numpy()]
            truth = later.mean(axis=1)
            for name, subset in zip(errors, subsets, strict=True):
                answers = later[list(subset.question_ids)]
                weights = answers.notna() * subset.weights
                estimate = (answers.fillna(0) * weights).sum(axis=1) / weights.sum(axis=1)
                errors[name].extend(100 * (estimate - truth).abs())
    mae = {name: float(np.mean(values)) for name, values in errors.items()}
    print(f"kept after ten nights {min(kept):.0%}; MAE published, redrawn: {mae}")
    assert min(kept) >= 0.7
    assert mae["published"] < mae["redrawn"] + 0.1
