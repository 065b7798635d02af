"""A realistic nightly page and its hostile and empty relatives, without storage."""

import math
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np

from recurring_eval.records import (
    Flag,
    HsprDiagnostics,
    Run,
    RunKind,
    RunPurpose,
    ScoredRun,
    ScoreEstimate,
)
from reports.cache import CacheDay, CacheWindow
from reports.difficulty import DifficultyMap, DifficultyPoint
from reports.error_against_k import ErrorPoint, ErrorsByK
from reports.headline import DataHealth, Headline, MissingReason, TodaysError
from reports.index_page import IndexEntry, IndexPage
from reports.listings import (
    FlaggedQuestions,
    HsprSources,
    JobLedger,
    JobRow,
    PublishedSubsets,
    QuestionFlag,
    SubsetSummary,
)
from reports.nightly_page import NightlyPage, OpenAlert
from reports.run_history import EstimatedRun, RunHistory

DAY = date(2026, 11, 28)
MADE_AT = datetime(2026, 11, 28, 3, 12, tzinfo=UTC)
METHODS = ("stratified", "stratified+gpirt", "cache")
SIZES = (100, 200, 300, 400)


def part(page, kind):
    """The values of one kind of section."""
    (found,) = (section for section in page.sections if isinstance(section, kind))
    return found


def with_part(page, kind, **changes):
    """The page with the values of one kind of section changed."""
    changed = replace(part(page, kind), **changes)
    sections = (changed if isinstance(s, kind) else s for s in page.sections)
    return replace(page, sections=tuple(sections))


def stored_run(run_key: str, started_at: datetime, **changes) -> Run:
    """A full routine run of 519 questions, all valid."""
    run = Run(
        run_id=1,
        run_key=run_key,
        benchmark="swebench-verified",
        agent="agent-main",
        agent_config="",
        agent_family="main",
        purpose=RunPurpose.ROUTINE,
        kind=RunKind.FULL,
        subset_id=None,
        session_id=None,
        started_at=started_at,
        finished_at=None,
        imported_at=started_at,
        harness="table",
        tags=(),
        n_verdicts=519,
        n_valid=519,
        n_missing=0,
        pass_rate=0.5,
        bank_version="3f9a2c1b7d40",
        bank_size=519,
    )
    return replace(run, **changes)


def estimated(run: Run, k: int, pass_rate: float, half_width: float, **changes) -> EstimatedRun:
    """A run with an estimate of its full pass rate."""
    low, high = pass_rate - half_width, pass_rate + half_width
    estimate = ScoreEstimate(
        pass_rate=pass_rate,
        low=low,
        high=high,
        rerun_low=low,
        rerun_high=high,
        level=0.9,
        n_asked=k,
        n_valid=k,
        **changes,
    )
    return EstimatedRun(run=run, k=k, estimate=estimate)


def sample_page(*, n_runs: int = 52, n_questions: int = 519, seed: int = 0) -> NightlyPage:
    """Page of a benchmark run nightly, with a partial run before some of the nights."""
    rng = np.random.default_rng(seed)
    first = MADE_AT - timedelta(days=n_runs)
    history = []
    for night in range(n_runs):
        purpose = RunPurpose.CANDIDATE if night % 11 == 7 else RunPurpose.ROUTINE
        rate = 0.62 + 0.05 * math.sin(night / 14) + 0.0006 * (night % 60) + rng.normal(0, 0.009)
        history.append(
            ScoredRun(
                run=stored_run(
                    f"nightly-{(first + timedelta(days=night)):%Y%m%d}-{night:04d}",
                    first + timedelta(days=night, hours=-1),
                    purpose=purpose,
                    n_valid=n_questions * (70 if night == 20 else 95) // 100,
                    bank_size=n_questions,
                ),
                pass_rate=float(np.clip(rate, 0, 1)),
                n_valid=n_questions * (70 if night == 20 else 95 + int(rng.integers(0, 6))) // 100,
            )
        )
    partial = [
        estimated(
            stored_run(
                f"pr-{4000 + night}",
                first + timedelta(days=night, hours=10),
                kind=RunKind.PARTIAL,
            ),
            200,
            history[night].pass_rate + rng.normal(0, 0.012),
            0.031,
            method=METHODS[1],
        )
        for night in range(4, n_runs, max(5, n_runs // 40))
    ]
    last = history[-1]
    return NightlyPage(
        benchmark="swebench-verified",
        agent_family="main",
        day=DAY,
        made_at=MADE_AT,
        version="0.1.0",
        bank_version="3f9a2c1b7d40",
        n_questions=n_questions,
        headline=Headline(
            last_full_run=last,
            previous_pass_rate=history[-2].pass_rate,
            errors=tuple(
                TodaysError(
                    method=method,
                    k=k,
                    expected_error_pp=23 / math.sqrt(k) + 0.15 * place,
                    half_width_pp=55 / math.sqrt(k),
                    last_run_error_pp=(-1) ** place * 14 / math.sqrt(k),
                    last_run_covered=not (place == 2 and k == 400),
                )
                for place, method in enumerate(METHODS)
                for k in SIZES
            ),
            cache_share=0.418,
            health=DataHealth(
                n_full_runs=27,
                n_under_covered=1,
                n_partial_runs=6,
                valid_share=0.971,
                missing=(
                    MissingReason(reason="timeout", share=0.018, n_verdicts=252),
                    MissingReason(reason="error", share=0.009, n_verdicts=126),
                    MissingReason(reason="skipped", share=0.002, n_verdicts=28),
                ),
                model_age_hours=0.2,
                converged=True,
                n_iterations=7,
                data_from=MADE_AT - timedelta(days=28),
                data_until=last.run.started_at,
            ),
        ),
        interval_level=0.9,
        sections=(
            RunHistory(level=0.9, runs=tuple(history), estimates=tuple(partial)),
            ErrorsByK(level=0.9, methods=METHODS, points=_errors()),
            DifficultyMap(questions=_difficulty(n_questions, rng)),
            CacheWindow(n_days=7, min_trials=5, epsilon=0.05, days=_cache_days(n_runs, rng)),
            _hspr(),
            FlaggedQuestions(flags=_flags()),
            PublishedSubsets(subsets=_subsets()),
            JobLedger(jobs=_jobs()),
        ),
        index_href="index.html",
    )


def _subsets() -> tuple[SubsetSummary, ...]:
    return tuple(
        SubsetSummary(
            subset_id=f"swebench-verified-k{k}-{k:03x}9a2c1b",
            design="stratified",
            k=k,
            published_at=MADE_AT - timedelta(days=9),
            sha256=f"{k:064x}",
            kept_share=None if k == 400 else 0.83,
        )
        for k in SIZES
    )


def _difficulty(n_questions: int, rng: np.random.Generator) -> tuple[DifficultyPoint, ...]:
    """Difficulties pile up on few values, as they do when all runs answer all questions."""
    rates = np.round(np.clip(rng.beta(0.7, 0.5, n_questions), 0.0, 1.0) * 28) / 28
    members = {k: set(rng.choice(n_questions, min(k, n_questions), False).tolist()) for k in SIZES}
    return tuple(
        DifficultyPoint(
            question_id=f"django__django-{10000 + place}",
            difficulty=float(-np.log((rate * 28 + 0.3) / (28.3 - rate * 28))),
            pass_rate=float(rate),
            n_responses=28,
            in_subsets=tuple(k for k in SIZES if place in members[k]),
        )
        for place, rate in enumerate(rates)
    )


def _errors() -> tuple[ErrorPoint, ...]:
    return tuple(
        ErrorPoint(
            source=source,
            method=method,
            k=k,
            mae_pp=23 / math.sqrt(k) * (1.08 if source == "check" else 1) + 0.15 * place,
            bias_pp=0.3 - 0.2 * place,
            coverage=0.93 - 0.01 * place - 0.00005 * k - 0.03 * (source == "check"),
            n=14 if source == "replay" else 9,
        )
        for place, method in enumerate(METHODS)
        for k in SIZES
        for source in ("replay", "check")
    )


def _cache_days(n_days: int, rng: np.random.Generator) -> tuple[CacheDay, ...]:
    days = []
    for age in range(min(n_days, 200)):
        passes, fails = int(rng.integers(100, 125)), int(rng.integers(88, 105))
        few = int(rng.integers(5, 40))
        days.append(
            CacheDay(
                day=DAY - timedelta(days=age),
                share_cached=(passes + fails) / 519,
                n_settled_pass=passes,
                n_settled_fail=fails,
                n_unsettled=519 - passes - fails - few,
                n_too_few=few,
            )
        )
    return tuple(days)


def _flags() -> tuple[QuestionFlag, ...]:
    words = {
        "all-pass": ("Passed in every run of the window.", 28),
        "all-fail": ("Failed in every run of the window.", 0),
        "few-responses": ("Only 3 valid verdicts in the window; its difficulty is a guess.", 2),
        "flaky": ("Changed its verdict between runs of the same configuration.", 13),
    }
    sizes = {"all-pass": 96, "all-fail": 141, "few-responses": 4, "flaky": 17}
    return tuple(
        QuestionFlag(
            question_id=f"sympy__sympy-{11000 + place}",
            flag=flag,
            reason=words[flag][0],
            n_passes=words[flag][1],
            n_trials=3 if flag == "few-responses" else 28,
            n_runs=3 if flag == "few-responses" else 28,
        )
        for flag, size in sizes.items()
        for place in range(size)
    )


def _jobs() -> tuple[JobRow, ...]:
    rows = []
    for age in range(9):
        started = MADE_AT - timedelta(days=age, minutes=12)
        rows.append(
            JobRow(
                job="recalibrate",
                day=DAY - timedelta(days=age),
                status="failed" if age == 4 else "succeeded",
                started_at=started,
                seconds=3.41 + 0.1 * age,
                message="the history was locked by process 4711 for 10 s" if age == 4 else "",
            )
        )
        rows.append(
            JobRow(
                job="check",
                day=DAY - timedelta(days=age),
                status="succeeded",
                started_at=started + timedelta(minutes=5),
                seconds=0.62,
                message="1 full run against 8 subsets",
            )
        )
    return tuple(rows)


def _hspr() -> HsprSources:
    """Sources with estimates of a few release candidates."""
    return HsprSources(
        configuration="r8g4+r8g8-kappa4-score-lambda0.25",
        n_sources=27,
        n_groups=431,
        source_zero_share=0.137,
        n_questions=519,
        estimates=tuple(
            estimated(
                stored_run(f"release-{4000 + place}", MADE_AT - timedelta(days=3 * place)),
                100,
                0.6,
                0.03,
                method="hspr",
                flags=(Flag.EXTRAPOLATING,) if place == 3 else (),
                diagnostics=HsprDiagnostics(
                    configuration="r8g4+r8g8-kappa4-score-lambda0.25",
                    effective_sample_size=0.81 - 0.07 * place,
                    n_nodes=512,
                    n_groups=431,
                    n_sources=27,
                    source_zero_share=0.137,
                    queried_source_zero_share=0.02 * place,
                    latent_weights={},
                    calibration=(0.4 - 0.3 * place) / 100,
                    extrapolating=place == 3,
                ),
            )
            for place in range(5)
        ),
    )


def empty_page() -> NightlyPage:
    """Page of a history that holds nothing yet."""
    health = DataHealth(
        n_full_runs=0,
        n_under_covered=0,
        n_partial_runs=0,
        valid_share=None,
        missing=(),
        model_age_hours=None,
        converged=None,
    )
    return NightlyPage(
        benchmark="new-benchmark",
        agent_family="main",
        day=DAY,
        made_at=MADE_AT,
        version="0.1.0",
        bank_version="",
        n_questions=0,
        interval_level=0.9,
        headline=Headline(
            last_full_run=None, previous_pass_rate=None, errors=(), cache_share=None, health=health
        ),
        sections=(
            RunHistory(level=0.9),
            ErrorsByK(level=0.9),
            DifficultyMap(),
            CacheWindow(n_days=7, min_trials=5, epsilon=0.05),
            HsprSources(),
            FlaggedQuestions(),
            PublishedSubsets(),
            JobLedger(),
        ),
    )


HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)> '`{{7*7}}{% raw %}",
    "]]><svg/onload=alert(1)>&amp;&#60;",
    "name" * 90,
    "مرحبا-שלום-\u202eevil\u202c",
    "control\x00\x07\x1b\ud800\uffff",
    "日本語の長い名前" * 20,
)


def hostile_page(name: str) -> NightlyPage:
    """Realistic page in which every text comes from somebody unfriendly."""
    page = sample_page(n_runs=12, n_questions=40)
    headline = page.headline
    last, history = headline.last_full_run, part(page, RunHistory)

    def named_runs(estimates):
        return tuple(
            replace(
                e,
                run=replace(e.run, run_key=name),
                estimate=replace(e.estimate, method=name),
            )
            for e in estimates
        )

    page = with_part(
        page,
        RunHistory,
        runs=tuple(replace(s, run=replace(s.run, run_key=name, agent=name)) for s in history.runs),
        estimates=named_runs(history.estimates),
    )
    points = part(page, ErrorsByK).points[:8]
    page = with_part(
        page, ErrorsByK, methods=(name,), points=tuple(replace(p, method=name) for p in points)
    )
    questions = part(page, DifficultyMap).questions
    page = with_part(
        page,
        DifficultyMap,
        questions=tuple(replace(point, question_id=name) for point in questions),
    )
    hspr = part(page, HsprSources)
    page = with_part(page, HsprSources, configuration=name, estimates=named_runs(hspr.estimates))
    flags = part(page, FlaggedQuestions).flags[:5]
    page = with_part(
        page,
        FlaggedQuestions,
        flags=tuple(replace(f, question_id=name, reason=name) for f in flags),
    )
    subsets = part(page, PublishedSubsets).subsets
    page = with_part(
        page,
        PublishedSubsets,
        subsets=tuple(replace(s, subset_id=name, design=name, sha256=name) for s in subsets),
    )
    jobs = part(page, JobLedger).jobs[:4]
    page = with_part(
        page,
        JobLedger,
        jobs=tuple(replace(j, job=name, status=name, message=name) for j in jobs),
    )
    return replace(
        page,
        benchmark=name,
        agent_family=name,
        version=name,
        bank_version=name,
        headline=replace(
            headline,
            last_full_run=replace(last, run=replace(last.run, run_key=name, agent=name)),
            errors=tuple(replace(error, method=name) for error in headline.errors[:2]),
            health=replace(
                headline.health,
                missing=tuple(replace(m, reason=name) for m in headline.health.missing),
            ),
        ),
        open_alerts=(OpenAlert(rule=name, opened_at=MADE_AT, message=name),),
    )


def sample_index(n_reports: int = 30, *, name: str = "swebench-verified") -> IndexPage:
    """Index over nightly reports of one benchmark."""
    entries = tuple(
        IndexEntry(
            benchmark=name,
            agent_family="main",
            day=DAY - timedelta(days=age),
            href=f"report-{age}.html",
            pass_rate=0.64 - 0.001 * (age % 7),
            expected_error_pp=1.6,
            error_label="stratified, k 200",
            cache_share=0.41,
            n_attention=age % 3,
        )
        for age in range(n_reports)
    )
    return IndexPage(made_at=MADE_AT, version="0.1.0", entries=entries, n_total=n_reports)
