"""The options of a replay, with their defaults, and the plan that follows from them."""

from dataclasses import dataclass
from typing import Final

from jobs.randomness import generator
from jobs.replaying.data import ReplayData
from recurring_eval.errors import InputError
from recurring_eval.methods.registry import method_named
from recurring_eval.replay import protocols
from recurring_eval.replay.splits import (
    Budget,
    CalibrationSpan,
    Plan,
    parse_budgets,
    spans_of_days,
    spans_of_runs,
)

DEFAULT_METHODS: Final = ("random", "stratified", "stratified+gpirt", "rasch-cat", "mirt-cat")
DEFAULT_BUDGETS: Final = "5%,10%,20%,40%"
N_FOLDS: Final = 4
N_SPLITS: Final = 6
SEEDS_OF_FOLDS: Final = 2
SEEDS_OTHERWISE: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """Options as the user gave them; None where they did not.

    Attributes
    ----------
    protocol, methods, budgets, windows : str or None
        Names; the last three separated by commas.
    n_folds, n_splits, n_seeds : int or None
    seed : int
    family : str or None
        The calibrating family of a transfer, else the only one replayed.
    """

    protocol: str | None = None
    methods: str | None = None
    budgets: str | None = None
    windows: str | None = None
    n_folds: int | None = None
    n_splits: int | None = None
    n_seeds: int | None = None
    seed: int = 0
    family: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySetup:
    """What a replay does.

    Attributes
    ----------
    plan : Plan
    methods : tuple of str
        As the user named them.
    budgets : tuple of Budget
    seeds : tuple of int
        For methods that draw; one is enough for the others.
    seed : int
        Root of every stream.
    described : str
        The protocol in words.
    """

    plan: Plan
    methods: tuple[str, ...]
    budgets: tuple[Budget, ...]
    seeds: tuple[int, ...]
    seed: int
    described: str


def set_up(options: ReplayOptions, data: ReplayData) -> ReplaySetup:
    """Fill in the defaults and divide the runs.

    Raises
    ------
    InputError
        For an option that is wrong or does not fit the protocol or the data.
    NotEnoughDataError
        For too few runs.
    """
    protocol = options.protocol or _protocol(options, data)
    if protocol not in protocols.PROTOCOLS:
        known = ", ".join(protocols.PROTOCOLS)
        raise InputError(f"no protocol is called {protocol!r}; choose from {known}")
    _refuse_misplaced(options, protocol)
    n_seeds = options.n_seeds
    if n_seeds is None:
        n_seeds = SEEDS_OF_FOLDS if protocol == protocols.FOLDS else SEEDS_OTHERWISE
    if n_seeds < 1:
        raise InputError(f"{n_seeds} seeds; take at least 1")
    plan, described = _plan(options, data, protocol)
    return ReplaySetup(
        plan=plan,
        methods=_methods(options.methods),
        budgets=parse_budgets(DEFAULT_BUDGETS if options.budgets is None else options.budgets),
        seeds=tuple(range(n_seeds)),
        seed=options.seed,
        described=described,
    )


def _protocol(options: ReplayOptions, data: ReplayData) -> str:
    if options.windows is not None:
        return protocols.WINDOW
    wants_folds = options.n_folds is not None or options.n_splits is not None
    can_fold = data.n_agents >= (options.n_folds or N_FOLDS)
    if wants_folds or (not data.timed and can_fold):
        return protocols.FOLDS
    return protocols.CHRONOLOGICAL


def _refuse_misplaced(options: ReplayOptions, protocol: str) -> None:
    given = {"--folds": options.n_folds, "--splits": options.n_splits}
    for flag, value in given.items():
        if value is not None and protocol != protocols.FOLDS:
            raise InputError(f"{flag} belongs to --protocol folds, not {protocol}")
    if options.windows is not None and protocol != protocols.WINDOW:
        raise InputError(f"--windows belongs to --protocol window, not {protocol}")


def _plan(options: ReplayOptions, data: ReplayData, protocol: str) -> tuple[Plan, str]:
    n_runs = data.matrix.n_runs
    if protocol == protocols.FOLDS:
        n_folds = N_FOLDS if options.n_folds is None else options.n_folds
        n_splits = N_SPLITS if options.n_splits is None else options.n_splits
        plan = protocols.folds(
            data.matrix.agents,
            n_folds=n_folds,
            n_splits=n_splits,
            rng=generator(options.seed, "replay", "folds"),
        )
        splits = "1 assignment" if n_splits == 1 else f"{n_splits} assignments"
        return plan, f"{splits} of {data.n_agents} agents to {n_folds} folds"
    if protocol == protocols.TRANSFER:
        family = options.family or _calibrating(data)
        plan = protocols.transfer(data.families, calibrating=family)
        n_source = plan.splits[0].folds[0].source.size
        return plan, f"the first {n_source} runs of {family} calibrate, other families are tested"
    half = protocols.first_half(n_runs)
    order = "in time order" if data.timed else "in the order of the file"
    if protocol == protocols.CHRONOLOGICAL:
        plan = protocols.chronological(n_runs)
        return plan, f"the first {half} of {n_runs} runs {order} calibrate"
    plan = protocols.window(n_runs, _spans(options, data, half))
    return plan, f"windows that end with run {half} of {n_runs} {order} calibrate"


def _calibrating(data: ReplayData) -> str:
    names = sorted(set(data.families))
    return "main" if "main" in names else max(names, key=data.families.count)


def _spans(options: ReplayOptions, data: ReplayData, half: int) -> list[CalibrationSpan]:
    starts = data.matrix.started_at[:half]
    if options.windows is None:
        return spans_of_days(starts) if data.timed else spans_of_runs(half)
    if not data.timed:
        raise InputError("--windows are days, and these runs have no `started_at`")
    days = []
    for text in options.windows.split(","):
        number = text.strip().removesuffix("d")
        if not number.isdecimal() or not 0 < int(number) < 100_000:
            raise InputError(f"window {text.strip()!r} is not a number of days such as 28d")
        days.append(int(number))
    return spans_of_days(starts, days)


def _methods(text: str | None) -> tuple[str, ...]:
    if text is None:
        return DEFAULT_METHODS
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise InputError("no method is named; write for example random,stratified")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"method {name} is listed twice; list it once")
    for name in names:
        method_named(name)
    return names
