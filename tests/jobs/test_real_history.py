"""The whole loop on the public SWE-bench Verified history: 134 runs of 500 questions."""

import shutil

import numpy as np
import pandas as pd
import pytest

from tests.jobs.histories import command, initialised
from tests.shared_data import shared_path

AS_OF = ("--as-of", "2025-02-25", "--window", "all", "--force", "--no-report")
RUNS = "data/swebench_verified_runs.parquet"


def initialised_without_hspr(folder):
    """A project whose nights and checks cost no step-by-step replays; nothing here reads them."""
    config = initialised(folder) / "recurring-eval.toml"
    config.write_text(config.read_text().replace('hspr = "average"', 'hspr = "off"'))


@pytest.fixture(scope="module")
def table():
    return pd.read_parquet(shared_path(RUNS))


@pytest.fixture(scope="module")
def verified(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("verified")
    initialised_without_hspr(folder)
    report = command(folder, "import", shared_path(RUNS), "--json").document
    assert report["runs_added"] == 134 == table["run_id"].nunique()
    (result,) = command(folder, "recalibrate", *AS_OF, "--json").document["results"]
    assert (result["status"], result["n_runs"]) == ("calibrated", 67)
    return folder


@pytest.fixture(scope="module")
def subset(verified):
    return command(verified, "subset", "--k", "100", "--json").document


@pytest.fixture(scope="module")
def check(verified):
    return command(verified, "check", "--since", "2025-02-26", "--json").document


def test_100_distinct_known_questions(subset, table):
    assert len(subset["question_ids"]) == len(set(subset["question_ids"])) == 100
    assert set(subset["question_ids"]) <= set(table["question_id"])
    assert subset["weights"] == pytest.approx([0.01] * 100)
    assert len(subset["sha256"]) == 64


def test_the_same_hash_in_another_folder_and_with_shuffled_input(verified, subset, table, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(verified, moved)
    assert command(moved, "subset", "--k", "100", "--json").document == subset
    shuffled = tmp_path / "shuffled"
    initialised_without_hspr(shuffled)
    rows = table.sample(frac=1.0, random_state=7)
    rows.iloc[:30_000].to_parquet(tmp_path / "2.parquet")
    rows.iloc[30_000:].to_parquet(tmp_path / "1.parquet")
    command(shuffled, "import", tmp_path / "1.parquet", tmp_path / "2.parquet")
    command(shuffled, "recalibrate", *AS_OF)
    again = command(shuffled, "subset", "--k", "100", "--json").document
    assert again["sha256"] == subset["sha256"]
    assert again == subset


def test_a_check_of_the_later_runs_is_within_the_published_range(check, subset, table):
    summary = {(row["method"], row["k"]): row for row in check["summary"]}
    for method in ("stratified+gpirt", "stratified+weighted"):
        row = summary[method, 100]
        assert row["n"] == 67
        assert 1.85 <= row["mae_pp"] <= 3.2
        assert 0.8 <= row["coverage"] <= 1.0
    # The weighted estimate again, from the table alone.
    wide = table.pivot_table(index="run_id", columns="question_id", values="passed")
    started = pd.to_datetime(table.groupby("run_id")["started_at"].first(), utc=True)
    later = wide.loc[started.index[started >= "2025-02-26"]].astype(float)
    assert len(later) == 67
    estimate = later[subset["question_ids"]].to_numpy() @ np.array(subset["weights"])
    errors = 100 * (estimate - later.mean(axis=1).to_numpy())
    row = summary["stratified+weighted", 100]
    assert row["mae_pp"] == pytest.approx(np.abs(errors).mean())
    assert row["bias_pp"] == pytest.approx(errors.mean())
    assert row["max_error_pp"] == pytest.approx(np.abs(errors).max())


def test_more_questions_err_less(check):
    for method in ("stratified+gpirt", "stratified+weighted"):
        errors = [r["mae_pp"] for r in check["summary"] if r["method"] == method]
        assert errors == sorted(errors, reverse=True)
        assert len(errors) == 4
