"""The response matrix equals a brute-force pivot of what was written."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurring_eval.errors import InputError
from recurring_eval.records import MISSING
from storage.file.history import History
from storage.runs.benchmarks import create_benchmark, save_bank
from storage.runs.runs import list_runs
from storage.runs.verdicts import load_matrix
from storage.runs.write_runs import write_runs
from tests.storage.builders import BENCHMARK, NOW, QUESTIONS, START, bank, days, log

OUTCOMES = st.sampled_from([0, 1, "error", "timeout", "skipped"])
VERDICTS = st.dictionaries(
    st.tuples(st.sampled_from(QUESTIONS), st.integers(1, 3)), OUTCOMES, min_size=1, max_size=25
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    """A history in which every example is a benchmark of its own."""
    with History.create(tmp_path_factory.mktemp("matrix") / "history.duckdb") as history:
        yield history


NUMBERS = count()


def new_benchmark(history: History) -> str:
    name = f"b{next(NUMBERS)}"
    with history.transaction():
        create_benchmark(history, name, now=NOW)
        save_bank(history, replace(bank(), benchmark=name), now=NOW)
    return name


@settings(max_examples=40, deadline=None)
@given(
    runs=st.lists(VERDICTS, min_size=1, max_size=6),
    columns=st.permutations([*QUESTIONS, "unknown"]),
    cut=st.integers(0, 25),
    seed=st.integers(0, 2**16),
)
def test_matrix_equals_a_pivot_of_what_was_written(
    shared: History,
    runs: list[dict[tuple[str, int], int | str]],
    columns: list[str],
    cut: int,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        [
            (f"r{i}", key, MISSING if isinstance(outcome, str) else outcome)
            for i, verdicts in enumerate(runs)
            for (key, _), outcome in verdicts.items()
        ],
        columns=["run", "question", "outcome"],
    )
    valid = frame[frame.outcome != MISSING]
    pivot = {
        name: valid.pivot_table(
            index="run", columns="question", values="outcome", aggfunc=how, fill_value=0
        ).reindex(index=[f"r{i}" for i in range(len(runs))], columns=columns, fill_value=0)
        for name, how in (("passes", "sum"), ("trials", "count"))
    }
    benchmark = new_benchmark(shared)
    for part in (slice(None, cut), slice(cut, None)):
        logs = [
            log(
                f"r{i}",
                [(key, trial, outcome) for (key, trial), outcome in [*verdicts.items()][part]],
                started_at=START + days(i),
                benchmark=benchmark,
            )
            for i, verdicts in enumerate(runs)
            if [*verdicts.items()][part]
        ]
        order = rng.permutation(len(logs))
        with shared.transaction():
            write_runs(shared, benchmark, [logs[i] for i in order], imported_at=NOW)
    stored = list_runs(shared, benchmark)
    matrix = load_matrix(shared, stored, columns)
    reversed_rows = load_matrix(shared, stored[::-1], columns[::-1])
    assert matrix.run_ids == tuple(f"r{i}" for i in range(len(runs)))
    np.testing.assert_array_equal(matrix.passes, pivot["passes"].to_numpy())
    np.testing.assert_array_equal(matrix.trials, pivot["trials"].to_numpy())
    np.testing.assert_array_equal(reversed_rows.passes, matrix.passes[::-1, ::-1])
    np.testing.assert_array_equal(reversed_rows.trials, matrix.trials[::-1, ::-1])
    for run, row in zip(stored, range(len(runs)), strict=True):
        assert run.n_valid == (pivot["trials"].to_numpy()[row] > 0).sum()
        assert run.n_missing == ((frame.run == run.run_key) & (frame.outcome == MISSING)).sum()
        assert run.pass_rate == pytest.approx(matrix.pass_rates()[row], abs=1e-15, nan_ok=True)


def test_chosen_reasons_count_as_fails(history: History) -> None:
    with history.transaction():
        write_runs(
            history,
            BENCHMARK,
            [log("r1", {"q01": 1, "q02": "timeout", "q03": "error"})],
            imported_at=NOW,
        )
    matrix = load_matrix(
        history, list_runs(history, BENCHMARK), ["q01", "q02", "q03"], missing_as_fail=["timeout"]
    )
    assert matrix.trials.tolist() == [[1, 1, 0]]
    assert matrix.passes.tolist() == [[1, 0, 0]]


def test_verdicts_on_a_former_content_are_another_question(history: History) -> None:
    banks = [bank(["q01", "q02"], {"q01": content}) for content in ("a", "b")]
    for number, version in enumerate(banks):
        with history.transaction():
            save_bank(history, version, now=NOW)
            write_runs(
                history,
                BENCHMARK,
                [log(f"r{number}", {"q01": 1, "q02": 1}, started_at=START + days(number))],
                imported_at=NOW,
            )
    runs = list_runs(history, BENCHMARK)
    current = load_matrix(history, runs, ["q01", "q02"])
    former = load_matrix(history, runs, ["q01", "q02"], bank_version=banks[0].version)
    assert current.trials.tolist() == [[0, 1], [1, 1]]
    assert former.trials.tolist() == [[1, 1], [0, 1]]


def test_matrix_of_no_runs_or_questions_is_empty(history: History) -> None:
    assert load_matrix(history, [], QUESTIONS).passes.shape == (0, len(QUESTIONS))


def test_runs_of_two_benchmarks_do_not_mix(history: History) -> None:
    other = type(bank())(benchmark="other", question_ids=("q01",), content_hashes=("",))
    with history.transaction():
        create_benchmark(history, "other", now=NOW)
        save_bank(history, other, now=NOW)
        for name in (BENCHMARK, "other"):
            write_runs(history, name, [log("r1", {"q01": 1})], imported_at=NOW)
    runs = [*list_runs(history, BENCHMARK), *list_runs(history, "other")]
    with pytest.raises(InputError, match="one benchmark"):
        load_matrix(history, runs, ["q01"])
    assert load_matrix(history, runs[1:], ["q01"]).trials.tolist() == [[1]]
