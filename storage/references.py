"""What to answer when a reference fits nothing that is stored, or several things."""

import difflib
from collections.abc import Sequence
from typing import Final

from recurring_eval.errors import InputError

SUGGESTIONS: Final = 5


def not_one(
    kind: str,
    reference: str,
    *,
    found: Sequence[str],
    known: Sequence[str],
    advice: str,
    where: str = "the history",
) -> InputError:
    """Error for a reference that does not fit exactly one thing.

    Parameters
    ----------
    kind : str
        What was looked for, e.g. ``run``.
    reference : str
        As the user gave it.
    found : sequence of str
        What it fits.
    known : sequence of str
        Ids of all there are, the latest first.
    advice : str
        What to do where there are none yet.
    where : str
    """
    if found:
        more = f" and {len(found) - SUGGESTIONS} more" if len(found) > SUGGESTIONS else ""
        shown = ", ".join(found[:SUGGESTIONS])
        return InputError(
            f"{reference!r} fits {len(found)} {kind}s of {where}: {shown}{more}; give more of it"
        )
    if not known:
        return InputError(f"{where} has no {kind} {reference!r}, and no {kind}s yet; {advice}")
    near = difflib.get_close_matches(reference, known, n=SUGGESTIONS, cutoff=0.4)
    label = "near it" if near else "the latest"
    listed = ", ".join(near or known[:SUGGESTIONS])
    return InputError(f"{where} has no {kind} {reference!r}; {label}: {listed}")


def refuse_unknown(keys: Sequence[str], known: dict[str, int], what: str) -> None:
    """Refuse keys that the history does not have.

    Raises
    ------
    InputError
        Naming the first of them.
    """
    unknown = [key for key in keys if key not in known]
    if unknown:
        shown = ", ".join(unknown[:SUGGESTIONS])
        raise InputError(f"the history does not have the {what} {shown}; import them first")
