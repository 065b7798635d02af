"""promptfoo: exports in JSON, YAML, JSON lines, CSV and JUnit XML."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from jobs.harnesses.harness import Harness, LogFile, ReadOptions
from jobs.harnesses.log_files import LogUnit, Peek
from jobs.harnesses.log_values import (
    CONTENT,
    choose_id_field,
    dated,
    digest,
    keys_of,
    logged_id,
    settings_text,
)
from jobs.harnesses.promptfoo.export import (
    DESCRIPTION,
    FORMS,
    Export,
    Form,
    Row,
    form_of,
    read_export,
)
from jobs.harnesses.run_builder import ERROR, LoggedVerdict, build_run, missing_reason
from jobs.harnesses.selection import Selection, SelectionContext, shell_command, subset_marked
from jobs.harnesses.verdict_rule import VerdictRule, choose, score_outcome
from recurring_eval.errors import InputError
from recurring_eval.records import MISSING, RunLog

_NAME: Final = "promptfoo"
_SUFFIXES: Final = (".junit.xml", ".xml", ".jsonl", ".json", ".csv", ".yaml", ".yml")
_CONFIG_TAGS: Final = ("agent", "agent_version", "version", "commit", "config_hash")
_SUCCESS: Final = "success"


def _find(files: Sequence[Peek]) -> Iterable[LogUnit]:
    """Claim exports; those of one name in one folder are one evaluation."""
    groups: dict[Path, list[tuple[int, Path]]] = {}
    for file in files:
        form = form_of(file)
        if form is not None:
            group = groups.setdefault(file.path.with_name(_stem(file.path)), [])
            group.append((FORMS.index(form), file.path))
    for group in groups.values():
        paths = [path for _, path in sorted(group)]
        yield LogUnit(path=paths[0], files=tuple(paths))


def _read(unit: LogUnit, options: ReadOptions) -> LogFile:
    """Read an evaluation."""
    form = _form(unit.path)
    export = read_export(unit.path, form)
    if not export.rows:
        raise InputError("has no rows: the filter of the evaluation matched no test")
    beside = unit.files[1:] or _beside(unit.path)
    export, notes = _completed(export, form, beside)
    rule = options.rule(_NAME, None)
    field = _id_field(export.rows, form, rule)
    metric = choose("metric", [_SUCCESS, *_metrics(export.rows)], rule.verdict or _SUCCESS)
    started, undated = dated(export.started_at, unit.path)
    notes += undated
    keys = keys_of([row.fields for row in export.rows], [r.content for r in export.rows], field)
    columns: dict[int, list[tuple[str, Row]]] = {}
    for key, row in zip(keys, export.rows, strict=True):
        columns.setdefault(row.column, []).append((key, row))
    run_key = export.eval_id or _key_of_rows(export.rows)
    tags = [f"{key}={value}" for key, value in export.tags.items() if value]
    facts = {key: export.tags.get(key) for key in _CONFIG_TAGS}
    runs: list[RunLog] = []
    for column, pairs in sorted(columns.items()):
        first = pairs[0][1]
        runs.append(
            build_run(
                [_verdict(key, row, metric, rule) for key, row in pairs],
                run_key=run_key if len(columns) == 1 else f"{run_key}/{column}",
                task=None,
                agent=options.agent or first.provider,
                harness=_NAME,
                started_at=started,
                agent_config=settings_text(**facts, prompt=first.prompt),
                tags=[tag for tag in tags if subset_marked([tag]) is None],
                subset_id=subset_marked([*tags, export.description, unit.path.name]),
            )
        )
    if rule.question is None:
        notes.append(_told_id(field))
    return LogFile(
        runs=tuple(runs),
        notes=tuple(notes),
        decided=VerdictRule(question=field),
        locators={"": _descriptions(keys, export.rows)},
    )


def _selection(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Phrase a pattern on the descriptions, the one thing promptfoo picks single tests by.

    Raises
    ------
    InputError
        If a test has no description, or shares it with another.
    """
    by_key = dict(context.locators)
    if context.rule.question == "description":
        by_key |= {key: str(logged_id(key)) for key in {*ids, *context.bank_ids} - by_key.keys()}
    lost = [key for key in ids if not by_key.get(key)]
    if lost:
        raise InputError(
            f"promptfoo picks tests by their description, and that of {len(lost)} is not "
            f"known, among them {lost[0]!r}; give each test a description of its own (its id "
            "will do) and import a JSON export of a full run first"
        )
    chosen = {by_key[key] for key in ids}
    others = [key for key, text in by_key.items() if text in chosen and key not in set(ids)]
    if others or len(chosen) < len(ids):
        twin = others[0] if others else ids[0]
        raise InputError(
            f"promptfoo picks tests by their description, and {by_key[twin]!r:.80} is that of "
            "several; "
            "give each test its own and import a full run again"
        )
    pattern = "^(" + "|".join(_literal(by_key[key]) for key in ids) + ")$"
    label = context.label
    output = f"{label}.json"
    return Selection(
        command=shell_command(
            *("promptfoo", "eval", "-c", "CONFIG", "--filter-pattern", pattern),
            *(
                "--tag",
                f"subset={context.subset_id}",
                "--no-cache",
                "-o",
                context.path_of(output),
            ),
        ),
        files={f"{label}.pattern.txt": pattern + "\n"},
        notes=(
            "put the configuration in the place of CONFIG; leave out the other --filter options",
            f"import {output}; promptfoo ends with status 100 when a test failed, and with 0 "
            "even when the pattern matched nothing",
        ),
    )


def _stem(path: Path) -> str:
    for suffix in _SUFFIXES:
        if path.name.lower().endswith(suffix):
            return path.name[: -len(suffix)] or path.name
    return path.name


def _form(path: Path) -> Form:
    form = form_of(Peek(path))
    if form is None:
        raise InputError("is no export of promptfoo")
    return form


def _beside(path: Path) -> tuple[Path, ...]:
    """Other exports of the same evaluation, for a file imported alone."""
    near = [path.with_name(_stem(path) + suffix) for suffix in _SUFFIXES]
    return tuple(file for file in near if file != path and file.is_file() and form_of(Peek(file)))


def _completed(export: Export, form: Form, beside: Sequence[Path]) -> tuple[Export, list[str]]:
    """Fill in what other exports of the evaluation say, which must agree with it.

    Raises
    ------
    InputError
        If one has other verdicts.
    """
    notes = []
    told = Counter((row.column, row.outcome) for row in export.rows)
    for path in beside:
        try:
            other = read_export(path, _form(path))
        except InputError as error:
            notes.append(f"{path.name} beside it was not used: it {error}")
            continue
        if Counter((row.column, row.outcome) for row in other.rows) != told:
            raise InputError(
                f"{path.name} beside it has the same name but other verdicts; give the exports of "
                "each evaluation a name of their own"
            )
        if FORMS.index(_form(path)) < FORMS.index(form):
            # Imported alone, beside a fuller export: that one names the run.
            export, form = other, _form(path)
        elif export.started_at is None and other.started_at is not None:
            export = replace(export, started_at=other.started_at)
    return export, notes


def _id_field(rows: Sequence[Row], form: Form, rule: VerdictRule) -> str:
    """Field that identifies a test.

    Raises
    ------
    InputError
        If the export does not have the field the benchmark goes by.
    """
    fields = {name for row in rows for name in row.fields}
    chosen = rule.question
    if form is Form.JUNIT and chosen not in (None, DESCRIPTION):
        raise InputError(
            "names tests by their description alone, but the benchmark identifies them by "
            f"{chosen!r}; export JSON (promptfoo export eval ID -o FILE.json)"
        )
    if form is Form.CSV and chosen not in (None, CONTENT) and chosen not in fields:
        raise InputError(f"has no {chosen!r}, as CSV holds no metadata; export JSON")
    contents = [row.content for row in rows]
    field = choose_id_field([row.fields for row in rows], contents, chosen, last=DESCRIPTION)
    if field == CONTENT and not any(contents):
        raise InputError(
            "has tests that cannot be told apart; give each a description or a var `id`"
        )
    return field


def _metrics(rows: Sequence[Row]) -> list[str]:
    return [name for name in dict.fromkeys(name for row in rows for name in row.scores) if name]


def _verdict(key: str, row: Row, metric: str, rule: VerdictRule) -> LoggedVerdict:
    outcome, reason = row.outcome, row.reason
    if metric != _SUCCESS and outcome != MISSING:
        score = row.scores.get(metric, float("nan"))
        outcome = score_outcome(score, rule.threshold, where=f"test {key!r}")
        reason = missing_reason(ERROR, f"no score {metric}")
    return LoggedVerdict(
        question=key, outcome=outcome, reason=reason, duration_s=row.duration_s, cost=row.cost
    )


def _key_of_rows(rows: Sequence[Row]) -> str:
    """Identity of an evaluation that has none: the random ids of its rows, or its content."""
    uids = sorted(row.uid for row in rows if row.uid)
    content = [[row.column, row.outcome, row.content, dict(row.scores)] for row in rows]
    return f"promptfoo-{digest(uids or content)}"


def _told_id(field: str) -> str:
    if field == CONTENT:
        return (
            "tests are identified by a hash of their vars, which changes with them; give each a var"
            " `id`, or name a field with --question vars.NAME, metadata.NAME or description"
        )
    return f"tests are identified by {field}; --question names another field"


def _descriptions(keys: Sequence[str], rows: Sequence[Row]) -> Mapping[str, str]:
    found = {key: row.fields.get(DESCRIPTION) for key, row in zip(keys, rows, strict=True)}
    return {key: text for key, text in found.items() if isinstance(text, str) and len(text) < 2000}


_SPECIAL: Final = re.compile(r"[\\^$.*+?()\[\]{}|/]")


def _literal(text: str) -> str:
    """Regular expression of JavaScript that matches only this text."""
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", text)


PROMPTFOO: Final = Harness(name=_NAME, find=_find, read=_read, selection=_selection)
"""Evaluations of ``promptfoo eval -o FILE``; each provider with a prompt is a run."""
