"""Which benchmarks and agent families a job works on."""

from dataclasses import dataclass

from recurring_eval.errors import InputError
from storage.file.history import History
from storage.runs.benchmarks import agent_families, benchmark_names, benchmark_row_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One benchmark and one agent family."""

    benchmark: str
    family: str

    @property
    def key(self) -> tuple[str, str]:
        """Benchmark and family, as storage takes them."""
        return self.benchmark, self.family

    def __str__(self) -> str:
        return f"{self.benchmark} ({self.family})"


def choose_targets(
    history: History, *, benchmark: str | None = None, family: str | None = None
) -> list[Target]:
    """List the benchmarks and families with runs, narrowed to those named.

    Raises
    ------
    InputError
        If the history has no runs, or not the benchmark or family named.
    """
    if benchmark is not None:
        benchmark_row_id(history, benchmark)
    names = benchmark_names(history) if benchmark is None else [benchmark]
    found = [
        Target(benchmark=name, family=f) for name in names for f in agent_families(history, name)
    ]
    if not found:
        raise InputError("the history has no runs yet; import some with `recurring-eval import`")
    chosen = [target for target in found if family in (None, target.family)]
    if not chosen:
        known = ", ".join(sorted({target.family for target in found}))
        raise InputError(f"no runs of agent family {family!r}; known families: {known}")
    return chosen


def one_target(
    history: History, *, benchmark: str | None = None, family: str | None = None
) -> Target:
    """Find the benchmark and family a question is about.

    Without a name, the only benchmark; without a family, ``main`` or the only one.

    Raises
    ------
    InputError
        If it is not clear which one is meant, listing those there are.
    """
    found = choose_targets(history, benchmark=one_benchmark(history, benchmark), family=family)
    if len(found) == 1:
        return found[0]
    main = [target for target in found if target.family == "main"]
    if main:
        return main[0]
    families = ", ".join(target.family for target in found)
    raise InputError(f"there are several agent families, {families}; choose with --agent-family")


def one_benchmark(history: History, benchmark: str | None = None) -> str:
    """Check a benchmark's name, or find the only one with runs.

    Raises
    ------
    InputError
        If it is unknown, or several are there to choose from.
    """
    names = sorted({t.benchmark for t in choose_targets(history, benchmark=benchmark)})
    if len(names) > 1:
        raise InputError(
            f"there are several benchmarks, {', '.join(names)}; choose one with --benchmark"
        )
    return names[0]
