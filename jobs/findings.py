"""One line of a check-up."""

from dataclasses import dataclass
from typing import Final

FINE: Final = "ok"
WARNING: Final = "warning"
FAULT: Final = "FAULT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check found, and what to do about it.

    Attributes
    ----------
    name : str
    status : str
        ``ok``, ``warning`` or ``FAULT``.
    detail : str
    advice : str
        Empty if nothing is to be done.
    """

    name: str
    status: str
    detail: str
    advice: str = ""
