"""`recurring-eval adaptive`: the commands of an evaluation question by question."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import (
    BenchmarkOption,
    ConfigOption,
    JsonOption,
    QuietOption,
    read_purpose,
)

SessionArgument = Annotated[
    str,
    typer.Argument(metavar="SESSION", help="A session: its id, a unique prefix, or last."),
]

group = typer.Typer(
    name="adaptive",
    help="""Evaluate an agent question by question.

    Each question is chosen from the verdicts so far, so that few are needed. `start` opens
    a session and prints the first question; run it with your agent and record its verdict
    with `tell`, which prints the next one, until k questions have a verdict; `finish` stores
    the run and its estimate. A session is kept in the history and may rest for days.
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@group.command("start")
def start(
    k: Annotated[int, typer.Option("--k", help="Number of questions with a valid verdict.")],
    method: Annotated[
        str,
        typer.Option(metavar="M", help="Step-by-step method, such as hspr, rasch-cat or mirt-cat."),
    ] = "hspr",
    benchmark: BenchmarkOption = None,
    family: Annotated[
        str | None,
        typer.Option("--agent-family", "--family", metavar="F", help="Only this agent family."),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(metavar="A", help="Name of the agent evaluated.", show_default="unknown"),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Breaks ties between equally informative questions.",
            show_default="from the settings' seed",
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Open a session and print its first question."""
    from jobs.app.app import start_app
    from jobs.sessions.describe import describe_next, session_document
    from jobs.sessions.session import start_session

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    view = start_session(
        app, k=k, method=method, benchmark=benchmark, family=family, agent=agent, seed=seed
    )
    session_id = view.record.session_id
    app.console.result(session_document(view), [f"session: {session_id}", *describe_next(view)])
    app.console.progress(
        "run that question, then record its verdict: "
        "recurring-eval adaptive tell last QUESTION=pass"
    )


@group.command("next")
def next_(
    session: SessionArgument,
    n: Annotated[
        int, typer.Option("-n", "--count", metavar="N", help="How many, chosen together.")
    ] = 1,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print the questions to run next, one a line.

    The same ones again until more verdicts are recorded; never more than are left of k.
    """
    from jobs.app.app import start_app
    from jobs.sessions.describe import describe_next, session_document
    from jobs.sessions.session import ask_session

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    view = ask_session(app, session, n)
    app.console.result(session_document(view), view.questions)
    if not view.questions:
        app.console.progress(describe_next(view)[0])


@group.command("tell")
def tell(
    session: SessionArgument,
    verdicts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUESTION=VERDICT...]",
            help="VERDICT is pass, fail, missing, missing:REASON, or PASSES/TRIALS such as 3/5.",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Log of an evaluation tool, or a table, with the verdicts."
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Record verdicts; print the estimate so far and the next question.

    Either all are stored or none. A missing verdict is not a fail: another question is
    asked in its place. Verdicts recorded before are skipped, so a growing log can be
    passed again and again; a verdict that differs is refused.
    """
    from jobs.app.app import start_app
    from jobs.sessions.answers import answers_of_log, parse_answers
    from jobs.sessions.describe import describe_progress, session_document
    from jobs.sessions.session import find_open, tell_session

    if not verdicts and file is None:
        raise typer.BadParameter("name QUESTION=VERDICT, or a log with --file FILE")
    app = start_app(config=config, as_json=as_json, quiet=quiet)
    answers = parse_answers(verdicts or [])
    with app.open_history(read_only=True) as history:
        record = find_open(history, session)
    if file is not None:
        answers += answers_of_log(app, file, record)
    view = tell_session(app, record.session_id, answers)
    before = len({answer.question for answer in answers}) - len(view.new)
    were = "was" if before == 1 else "were"
    again = f"; {before} {were} stored before" if before else ""
    stored = "1 verdict" if len(view.new) == 1 else f"{len(view.new)} verdicts"
    app.console.progress(f"stored {stored}{again}")
    app.console.result(session_document(view), describe_progress(view))


@group.command("show")
def show(
    session: Annotated[
        str | None,
        typer.Argument(metavar="[SESSION]", help="A session: its id, a unique prefix, or last."),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show a session with its steps and estimate, or list the open ones."""
    from jobs.app.app import start_app
    from jobs.sessions.describe import (
        describe_list,
        describe_whole,
        list_document,
        session_document,
    )
    from jobs.sessions.session import look_at_session, open_sessions

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    if session is None:
        found = open_sessions(app)
        app.console.result(list_document(app, found), describe_list(app, found))
        return
    view = look_at_session(app, session)
    document = session_document(view) | {"steps": view.record.steps}
    app.console.result(document, describe_whole(view))


@group.command("finish")
def finish(
    session: SessionArgument,
    give_up: Annotated[
        bool,
        typer.Option("--give-up", help="Close it without storing a run.", show_default=False),
    ] = False,
    early: Annotated[
        bool, typer.Option("--early", help="Finish before k valid verdicts.", show_default=False)
    ] = False,
    purpose: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Purpose of the run: routine, candidate or experiment.",
            show_default="as the rules say, else routine",
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Close a session: store its run and final estimate."""
    from jobs.app.app import start_app
    from jobs.sessions.describe import describe_progress, session_document
    from jobs.sessions.finish import finish_run

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    view = finish_run(
        app,
        session,
        give_up=give_up,
        early=early,
        purpose=read_purpose(purpose),
    )
    app.console.result(session_document(view), describe_progress(view))
