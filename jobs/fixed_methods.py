"""Methods that work with a fixed subset, and why the others do not."""

from recurring_eval.errors import InputError
from recurring_eval.methods import METHODS, Method, method_named


def estimating_method(name: str) -> Method:
    """Find a method that estimates from the verdicts on the questions a run was asked.

    Raises
    ------
    InputError
        If it is unknown, needs more than these verdicts, or is there for replays alone.
    """
    return _offered(name, [method for method in METHODS if not method.needs_cache])


def choosing_method(name: str) -> Method:
    """Find a method that chooses its questions before any is asked.

    Raises
    ------
    InputError
        If it is unknown, asks step by step, leaves the number of questions open, or is
        there for replays alone.
    """
    fixed = [m for m in METHODS if not m.needs_cache and not m.adaptive]
    if any(method.name == name and method.adaptive for method in METHODS):
        raise InputError(
            f"method {name!r} asks step by step: start it with "
            "`recurring-eval adaptive start --k K`; it does not publish subsets"
        )
    return _offered(name, fixed)


def _offered(name: str, usable: list[Method]) -> Method:
    names = ", ".join(method.name for method in usable)
    try:
        method = method_named(name)
    except InputError:
        if _is_compared(name):
            raise InputError(
                f"method {name!r} is offered by `recurring-eval replay` alone; "
                f"choose one of {names}"
            ) from None
        raise
    if method not in usable:
        raise InputError(
            f"method {name!r} does not estimate from a subset; choose auto or one of {names}"
        )
    return method


def _is_compared(name: str) -> bool:
    from recurring_eval.methods.replay_methods import REPLAY_METHODS

    return any(method.name == name for method in REPLAY_METHODS)
