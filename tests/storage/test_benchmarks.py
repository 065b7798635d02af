"""Benchmarks and the versions of their banks."""

import pytest

from recurring_eval.errors import InputError
from storage.file.history import History
from storage.runs.benchmarks import (
    bank_by_version,
    benchmark_names,
    create_benchmark,
    current_bank,
    save_bank,
    stored_bank,
)
from tests.storage.builders import BENCHMARK, NOW, bank


def save(history: History, *banks: object) -> None:
    with history.transaction():
        for version in banks:
            save_bank(history, version, now=NOW)


def row_ids(history: History) -> dict[str, int]:
    stored = stored_bank(history, BENCHMARK)
    assert stored is not None
    return dict(zip(stored.bank.question_ids, stored.question_row_ids.tolist(), strict=True))


def test_unknown_benchmark_lists_the_known_ones(history: History) -> None:
    with pytest.raises(InputError, match=f"no benchmark 'x'; it has: {BENCHMARK}"):
        current_bank(history, "x")


def test_name_is_not_empty_and_taken_once(history: History) -> None:
    for name in (" ", BENCHMARK):
        with history.transaction(), pytest.raises(InputError, match=r"empty|already"):
            create_benchmark(history, name, now=NOW)
    assert benchmark_names(history) == [BENCHMARK]


def test_benchmark_has_no_bank_before_its_first_import(history: History) -> None:
    with history.transaction():
        create_benchmark(history, "other", now=NOW)
    assert current_bank(history, "other") is None


def test_every_version_reads_back_as_saved(history: History) -> None:
    versions = [
        bank(),
        bank(["q00", "q01", "zürich/ß", "q10"], {"q10": "abc"}),
        bank(["q00", "q01"], {"q00": "h1"}),
    ]
    save(history, *versions)
    assert current_bank(history, BENCHMARK) == versions[-1]
    for version in versions:
        assert bank_by_version(history, BENCHMARK, version.version) == version
    with pytest.raises(InputError, match="no bank version"):
        bank_by_version(history, BENCHMARK, "0" * 64)


def test_saving_a_former_version_makes_it_current_again(history: History) -> None:
    before = row_ids(history)
    save(history, bank(["q00"]), bank())
    assert current_bank(history, BENCHMARK) == bank()
    assert row_ids(history) == before


def test_question_whose_content_changed_is_a_new_question(history: History) -> None:
    save(history, bank(["q00", "q01"], {"q00": "a", "q01": "b"}))
    before = row_ids(history)
    save(history, bank(["q00", "q01"], {"q00": "changed", "q01": "b"}))
    after = row_ids(history)
    assert after["q01"] == before["q01"]
    assert after["q00"] != before["q00"]


def test_question_stays_the_same_where_a_content_is_unknown(history: History) -> None:
    before = row_ids(history)
    save(history, bank(hashes={"q00": "now known"}))
    assert row_ids(history) == before
    save(history, bank(["q00", "q01"]))
    assert row_ids(history) == {key: before[key] for key in ("q00", "q01")}


def test_benchmarks_do_not_share_questions(history: History) -> None:
    other = type(bank())(benchmark="other", question_ids=("q00",), content_hashes=("",))
    with history.transaction():
        create_benchmark(history, "other", now=NOW)
        save_bank(history, other, now=NOW)
    stored = stored_bank(history, "other")
    assert stored is not None
    assert stored.question_row_ids[0] not in row_ids(history).values()
