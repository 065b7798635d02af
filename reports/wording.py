"""How numbers, times and names are put into words; the same on every page."""

import math
import re
from datetime import UTC, datetime

UNKNOWN = "–"
_MINUS = "\N{MINUS SIGN}"

# Control characters end an XML document, lone surrogates cannot be encoded, and
# direction overrides make one name look like another.
_UNSHOWABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]"
)


def clean(text: str) -> str:
    """`text` with characters that cannot or must not be shown replaced by U+FFFD."""
    return _UNSHOWABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def clipped(text: str, length: int) -> str:
    """`text`, cut with an ellipsis when it is longer than `length`."""
    return text if len(text) <= length else text[: length - 1] + "…"


def hover(text: str) -> str:
    """Text that appears when the pointer rests on a mark."""
    return clipped(clean(text), 200)


def percent(share: float | None) -> str:
    """Fraction as a percentage with one decimal; like all numbers, unknown when None or NaN."""
    return UNKNOWN if share is None or math.isnan(share) else f"{100 * share:.1f}%"


def nominal(level: float) -> str:
    """Nominal coverage of intervals, with the digits it was configured with."""
    return f"{100 * level:.6g}%"


def points(value_pp: float | None) -> str:
    """Percentage points, unsigned context."""
    return (
        UNKNOWN
        if value_pp is None or math.isnan(value_pp)
        else f"{value_pp:.1f} pp".replace("-", _MINUS)
    )


def signed_points(value_pp: float | None) -> str:
    """Percentage points with their sign."""
    if value_pp is None or math.isnan(value_pp):
        return UNKNOWN
    text = f"{value_pp:+.1f}"
    return "0.0 pp" if text in ("+0.0", "-0.0") else text.replace("-", _MINUS) + " pp"


def decimal(value: float | None, digits: int = 2) -> str:
    """Plain number with a true minus sign."""
    if value is None or math.isnan(value):
        return UNKNOWN
    text = f"{value:.{digits}f}"
    return f"{0:.{digits}f}" if float(text) == 0 else text.replace("-", _MINUS)


def number(value: int) -> str:
    """Whole number with thousands separators."""
    return f"{value:,}"


def counted(value: int, noun: str) -> str:
    """Whole number with its noun, in the plural unless it is one."""
    return f"{number(value)} {noun}" if value == 1 else f"{number(value)} {noun}s"


def moment(at: datetime | None) -> str:
    """Time to the minute, in UTC."""
    return UNKNOWN if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def day(at: datetime | None) -> str:
    """UTC date of a time."""
    return UNKNOWN if at is None else f"{at.astimezone(UTC):%Y-%m-%d}"


def duration(seconds: float | None) -> str:
    """Wall time."""
    if seconds is None:
        return UNKNOWN
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def age(hours: float | None) -> str:
    """Age of a model."""
    if hours is None:
        return UNKNOWN
    if hours < 1:
        return "under 1 h"
    return f"{hours:.0f} h" if hours < 72 else f"{hours / 24:.1f} days"
