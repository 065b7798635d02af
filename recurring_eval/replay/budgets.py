"""Budgets as a user writes them: a number of questions or a share of the bank."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from recurring_eval.errors import InputError

_COUNT: Final = re.compile(r"[0-9]{1,9}")
_PERCENTAGE: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})\s*%")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A budget and how it was written.

    Attributes
    ----------
    text : str
        As the user wrote it; rows of a replay echo it.
    count : int or None
        Number of questions.
    share : Fraction or None
        Exact share of the bank, in place of a number.
    """

    text: str
    count: int | None
    share: Fraction | None

    def size(self, n_questions: int) -> int:
        """Turn it into questions of a bank, 1 to all; a half goes to the even number."""
        wanted = self.count if self.count is not None else round((self.share or 0) * n_questions)
        return min(max(wanted, 1), n_questions)


def parse_budget(text: str) -> Budget:
    """Read ``100`` or ``10%``.

    Raises
    ------
    InputError
        For anything else, for 0 and for more than 100 %.
    """
    written = text.strip()
    if _COUNT.fullmatch(written) and int(written) > 0:
        return Budget(text=written, count=int(written), share=None)
    match = _PERCENTAGE.fullmatch(written)
    if match is not None and 0 < Fraction(match[1]) <= 100:
        return Budget(text=written, count=None, share=Fraction(match[1]) / 100)
    raise InputError(
        f"budget {text!r} is neither a number of questions such as 100 nor a share such as 10%"
    )


def parse_budgets(text: str) -> tuple[Budget, ...]:
    """Read budgets separated by commas.

    Raises
    ------
    InputError
        If one cannot be read or is there twice.
    """
    budgets = tuple(parse_budget(part) for part in text.split(",") if part.strip())
    if not budgets:
        raise InputError("no budget is given; write for example 10%,100")
    written = [budget.text for budget in budgets]
    for budget in written:
        if written.count(budget) > 1:
            raise InputError(f"budget {budget} is there twice; give it once")
    return budgets


def distinct_sizes(budgets: Sequence[Budget], n_questions: int) -> tuple[int, ...]:
    """Numbers of questions the budgets come to, in ascending order."""
    return tuple(sorted({budget.size(n_questions) for budget in budgets}))
