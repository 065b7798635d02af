"""`recurring-eval subset`: the published questions, or new ones for another k."""

import json

import numpy as np
import pytest

from storage.calibrations.subsets import find_subset
from tests.jobs.command_line import one_error_line
from tests.jobs.histories import (
    SIZES,
    command,
    latest_night,
    logs,
    night_of,
    pass_matrix,
    reading,
    start,
    tables,
)


def asked(folder, k, *arguments):
    return command(folder, "subset", "--k", str(k), "--json", *arguments).document


def strata_of(folder, k):
    """Difficulty strata of the calibration in force, as lists of (difficulty, question)."""
    model = latest_night(folder).fitted.rasch
    order = sorted(zip(np.round(model.difficulty, 6), model.question_ids, strict=True))
    return [[order[i] for i in part] for part in np.array_split(np.arange(len(order)), k)]


@pytest.mark.parametrize("k", [20, 40, 7])
def test_one_question_per_difficulty_stratum_with_its_share_as_weight(calibrated, k):
    document = asked(calibrated, k)
    weights = dict(zip(document["question_ids"], document["weights"], strict=True))
    strata = strata_of(calibrated, k)
    assert len(strata) == len(weights) == document["k"] == k
    for stratum in strata:
        (chosen,) = (pair for pair in stratum if pair[1] in weights)
        assert weights[chosen[1]] == pytest.approx(len(stratum) / 120)
        median = np.median([difficulty for difficulty, _ in stratum])
        gaps = [abs(difficulty - median) for difficulty, _ in stratum]
        assert abs(chosen[0] - median) == pytest.approx(min(gaps), abs=2e-6)
    assert sum(weights.values()) == pytest.approx(1)


def test_the_published_subset_is_handed_out_and_nothing_changes(calibrated):
    before = tables(calibrated)
    first, again = asked(calibrated, SIZES[0]), asked(calibrated, SIZES[0])
    assert first == again
    assert tables(calibrated) == before
    with reading(calibrated) as history:
        record = find_subset(history, first["subset_id"])
    assert record.active
    assert list(record.subset.question_ids) == first["question_ids"]
    assert record.subset.sha256 == first["sha256"]
    assert set(first["question_ids"]) <= set(pass_matrix(calibrated).columns)
    assert first["question_ids"] == sorted(first["question_ids"])


def test_another_size_is_built_published_and_kept_up(calibrated):
    new = asked(calibrated, 30)
    assert asked(calibrated, 30) == new
    record = latest_night(calibrated)
    with reading(calibrated) as history:
        assert find_subset(history, new["subset_id"]).calibration_id == record.info.calibration_id
    sizes = [r.k for r in record.residuals if r.method == "stratified+weighted"]
    assert set(sizes) == {*SIZES, 30}
    assert sizes.count(30) == sizes.count(20) > 0
    command(calibrated, "recalibrate", "--as-of", str(night_of(11)), "--no-report")
    assert asked(calibrated, 30)["subset_id"] == new["subset_id"]
    assert {r.k for r in latest_night(calibrated).residuals} == {*SIZES, 30}


def test_the_ways_to_print_it(calibrated):
    plain = command(calibrated, "subset", "--k", "20").out
    ids = command(calibrated, "subset", "--k", "20", "--format", "ids").out
    document = command(calibrated, "subset", "--k", "20", "--format", "json").out
    assert plain == ids
    assert ids.splitlines() == json.loads(document)["question_ids"]
    assert json.loads(document) == asked(calibrated, 20)


def test_a_method_names_the_estimate_and_not_other_questions(calibrated):
    documents = [
        asked(calibrated, 20, "--method", name) for name in ("stratified", "stratified+gpirt")
    ]
    assert [d["method"] for d in documents] == ["stratified", "stratified+gpirt"]
    assert documents[0]["sha256"] == documents[1]["sha256"]


def test_the_whole_bank_can_be_asked(calibrated):
    document = asked(calibrated, 120)
    assert document["question_ids"] == sorted(pass_matrix(calibrated).columns)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--k", "0"), "`k` is 0, but the bank has 120 questions; choose k between 1 and 120"),
        (("--k", "-3"), "`k` is -3"),
        (("--k", "121"), "`k` is 121, but the bank has 120"),
        (("--k", "20", "--method", "random"), "method 'random' does not publish subsets; use str"),
        (
            ("--k", "20", "--method", "cache"),
            "method 'cache' is offered by `recurring-",
        ),
        (("--k", "20", "--method", "irt-kmeans"), "method 'irt-kmeans' is offered by `recurring-"),
        (("--k", "20", "--method", "magic"), "unknown method 'magic'; known are "),
        (("--k", "20", "--benchmark", "bnch"), "bnch"),
        (("--k", "20", "--agent-family", "x"), "no runs of agent family 'x'; known families: main"),
    ],
)
def test_what_cannot_be_asked(calibrated, arguments, message):
    before = tables(calibrated)
    outcome = command(calibrated, "subset", *arguments, code=1)
    assert message in one_error_line(outcome)
    assert outcome.out == ""
    assert tables(calibrated) == before


def test_before_any_calibration(imported):
    error = one_error_line(command(imported, "subset", "--k", "20", code=1))
    assert "has no calibration; run `recurring-eval recalibrate`" in error


def test_each_family_has_its_own(folder):
    start(folder, logs(n_questions=60, other_families=(14,)))
    command(folder, "recalibrate", "--as-of", str(night_of(16)), "--no-report")
    with reading(folder) as history:
        families = {family for (family,) in history.rows("SELECT DISTINCT agent_family FROM run")}
    (other,) = families - {"main"}
    documents = [asked(folder, 20), asked(folder, 20, "--agent-family", other)]
    assert [d["agent_family"] for d in documents] == ["main", other]
    assert documents[0]["question_ids"] != documents[1]["question_ids"]
