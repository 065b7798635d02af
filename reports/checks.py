"""Checks every page value goes through when it is built."""

import math
import re
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING

from recurring_eval.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def check_fields(
    record: "DataclassInstance", *, shares: Sequence[str] = (), links: Sequence[str] = ()
) -> None:
    """Refuse values a page cannot show.

    Parameters
    ----------
    record : dataclass instance
    shares : sequence of str
        Fields that must lie in ``[0, 1]``.
    links : sequence of str
        Fields that must be a plain file name beside the page, so that no page
        ever points to another machine.

    Raises
    ------
    InputError
        If a number is not finite, a share is outside ``[0, 1]``, a time has no
        zone, a count is negative or a link is more than a file name.
    """
    for field in fields(record):
        value = getattr(record, field.name)
        where = f"`{field.name}` of {type(record).__name__}"
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{where} is {value}; use None for an unknown number")
        if isinstance(value, datetime) and value.tzinfo is None:
            raise InputError(f"{where} has no time zone; use an aware time")
        if isinstance(value, int) and value < 0:
            raise InputError(f"{where} is {value}; counts are not negative")
    for name in shares:
        value = getattr(record, name)
        if value is not None and not 0 <= value <= 1:
            raise InputError(
                f"`{name}` of {type(record).__name__} is {value}; it is a fraction in [0, 1]"
            )
    for name in links:
        value = getattr(record, name)
        if value is not None and not _FILE_NAME.fullmatch(value):
            raise InputError(
                f"`{name}` of {type(record).__name__} is {value!r}; use a file name beside the page"
            )
