"""Methods that work with a fixed subset, and why the others do not."""

from recurring_eval.errors import InputError
from recurring_eval.methods import METHODS, REPLAY_METHODS, Method, method_named


def fixed_method(name: str) -> Method:
    """Find a method that estimates from a fixed subset of questions.

    Raises
    ------
    InputError
        If it is unknown, needs more than the verdicts on a subset, or is there for
        replays alone.
    """
    usable = [method.name for method in METHODS if not method.needs_cache]
    compared = {method.name for method in REPLAY_METHODS} - {method.name for method in METHODS}
    if name in compared:
        raise InputError(
            f"method {name!r} is offered by `recurring-eval replay` alone; "
            f"choose one of {', '.join(usable)}"
        )
    method = method_named(name)
    if method.needs_cache:
        raise InputError(
            f"method {name!r} does not estimate from a subset; choose auto or one of "
            + ", ".join(usable)
        )
    return method
