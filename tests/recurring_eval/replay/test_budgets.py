"""Budgets: exact shares, halves to even, clamping."""

from decimal import ROUND_HALF_EVEN, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurring_eval.errors import InputError
from recurring_eval.replay.splits import distinct_sizes, parse_budget, parse_budgets


@pytest.mark.parametrize(
    ("n", "expected"),
    [(300, 30), (500, 50), (2294, 229), (730, 73), (25, 2), (35, 4), (45, 4), (5, 1), (1, 1)],
)
def test_ten_percent_as_specified(n: int, expected: int) -> None:
    assert parse_budget("10%").size(n) == expected


@given(hundredths=st.integers(1, 10_000), n=st.integers(1, 5_000))
def test_percentages_round_as_decimal_does(hundredths: int, n: int) -> None:
    text = f"{hundredths // 100}.{hundredths % 100:02d}"
    exact = Decimal(text) * n / 100
    expected = int(exact.quantize(Decimal(1), rounding=ROUND_HALF_EVEN))
    assert parse_budget(f"{text}%").size(n) == min(max(expected, 1), n)


@given(count=st.integers(1, 10_000), n=st.integers(1, 5_000))
def test_counts_are_clamped_to_the_bank(count: int, n: int) -> None:
    assert parse_budget(str(count)).size(n) == min(count, n)


def test_budgets_echo_what_was_written_and_sizes_are_distinct() -> None:
    budgets = parse_budgets("10%, 50 ,12.5%")
    assert [budget.text for budget in budgets] == ["10%", "50", "12.5%"]
    assert distinct_sizes(budgets, 500) == (50, 62)


@pytest.mark.parametrize(
    "text", ["", " , ", "0", "0%", "101%", "-5", "1e3", "ten", "10%%", "10,10"]
)
def test_wrong_budgets_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="budget"):
        parse_budgets(text)
