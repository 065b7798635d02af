"""`recurring-eval status`."""

from jobs.commands.options import (
    BenchmarkOption,
    ConfigOption,
    FamilyOption,
    JsonOption,
    QuietOption,
)


def run(
    benchmark: BenchmarkOption = None,
    family: FamilyOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show what is stored, how old the models are, the last jobs."""
    from jobs.app.app import start_app
    from jobs.upkeep.status import (
        describe_scheduler,
        describe_status,
        scheduler_state,
        show_status,
    )

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    states = show_status(app, benchmark=benchmark, family=family)
    scheduler = scheduler_state(app)
    app.console.result(
        {"benchmarks": states, "scheduler": scheduler},
        [*describe_status(states), describe_scheduler(scheduler, app.clock.now())],
    )
