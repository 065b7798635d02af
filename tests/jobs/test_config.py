"""Precedence of settings, and clear words about wrong ones."""

from pathlib import Path

import pytest

from jobs.app.config import BenchmarkSettings, Settings, window_days
from jobs.app.config_file import load_settings
from jobs.upkeep.start_project import CONFIG_TEXT
from recurring_eval.errors import InputError
from recurring_eval.records import RunPurpose


def write(folder: Path, text: str) -> Path:
    path = folder / "recurring-eval.toml"
    path.write_text(text)
    return path


def test_the_written_file_states_the_defaults(folder):
    path = write(folder, CONFIG_TEXT)
    settings, found = load_settings()
    assert found == path
    expected = Settings(
        history=folder / "history.duckdb",
        reports=folder / "recurring-eval-reports",
        backups=folder / "recurring-eval-backups",
    )
    assert settings.model_dump() == expected.model_dump()


def test_commented_examples_are_valid(folder):
    shown = CONFIG_TEXT.replace('# timeout = "fail"', 'timeout = "fail"')
    head, tail = shown.split("# [benchmark.my-benchmark]")
    lines = [
        line.removeprefix("# ")
        for line in ("# [benchmark.my-benchmark]" + tail).splitlines()
        if line.startswith("# [") or " = " in line
    ]
    write(folder, head + "\n".join(lines))
    settings, _ = load_settings()
    assert settings.defaults.missing == {"timeout": "fail"}
    assert settings.for_benchmark("my-benchmark").window == "90d"
    assert [rule.purpose or rule.family for rule in settings.rules] == [
        RunPurpose.EXPERIMENT,
        "small",
    ]


def test_flag_over_environment_over_file_over_default(folder, monkeypatch):
    write(folder, "seed = 1\nreports = 'file'\n[defaults]\nlevel = 0.5\nwindow = '7d'\n")
    assert load_settings()[0].seed == 1
    monkeypatch.setenv("RECURRING_EVAL_SEED", "2")
    monkeypatch.setenv("RECURRING_EVAL_DEFAULTS__LEVEL", "0.8")
    settings, _ = load_settings()
    assert (settings.seed, settings.defaults.level, settings.defaults.window) == (2, 0.8, "7d")
    assert load_settings(flags={"seed": 3})[0].seed == 3
    assert settings.defaults.minimum_runs == 30


def test_paths_start_at_the_file_or_the_working_directory(folder, monkeypatch):
    write(folder, "history = 'data/h.duckdb'\n")
    inside = folder / "a" / "b"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    settings, path = load_settings()
    assert path == folder / "recurring-eval.toml"
    assert settings.history == folder / "data" / "h.duckdb"
    assert settings.reports == folder / "recurring-eval-reports"
    monkeypatch.setenv("RECURRING_EVAL_HISTORY", "mine.duckdb")
    assert load_settings()[0].history == inside / "mine.duckdb"


def test_benchmark_inherits_what_it_does_not_say(folder):
    write(
        folder,
        "[defaults]\nwindow = 'all'\ncache.epsilon = 0.1\nmissing.timeout = 'fail'\n"
        "[benchmark.x]\nlevel = 0.5\ncache.days = 3\nmissing.skipped = 'fail'\n",
    )
    settings, _ = load_settings()
    own = settings.for_benchmark("x")
    assert (own.level, own.window) == (0.5, "all")
    assert (own.cache.days, own.cache.epsilon, own.cache.min_trials) == (3, 0.1, 5)
    assert own.missing == {"timeout": "fail", "skipped": "fail"}
    assert settings.for_benchmark("y") == settings.defaults


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("histroy = 'a'", ["unknown key `histroy`", "did you mean `history`?"]),
        ("[defaults]\nwindw = '3d'", ["`defaults.windw`", "`window`"]),
        ("[defaults.cache]\ndays = 999999999", ["`defaults.cache.days`", "must be at most 3650"]),
        ("[benchmark.x.cache]\nepsilno = 1", ["`benchmark.x.cache.epsilno`", "`epsilon`"]),
        ("[[rules]]\nagnt = 'x'\npurpose = 'routine'", ["`rules.0.agnt`", "`agent`"]),
        ("zzz = 1", ["unknown key `zzz`", "valid keys here are history, reports, backups"]),
        ("[defaults]\nwindow = '3w'", ["`defaults.window`", "28d, or all", "'3w'"]),
        ("[defaults]\nlevel = 2", ["`defaults.level`: must be below 1.0, got 2"]),
        (
            "[defaults]\nsubset_sizes = [0]",
            ["subset_sizes.0`: must be at least 1, got 0"],
        ),
        ("[defaults]\nhspr = 'on'", ["must be 'average', 'staged' or 'off', got 'on'"]),
        ("[defaults]\nminimum_runs = 'x'", ["`defaults.minimum_runs`: must be a whole number"]),
        ("[defaults]\nsubset_sizes = 5", ["`defaults.subset_sizes`: must be a list, got 5"]),
        ("[defaults]\ncache = 5", ["`defaults.cache`: must be a table, got 5"]),
        ("history = 5", ["`history`: must be a path"]),
        ("[defaults.missing]\ntimeot = 'fail'", ["`defaults.missing.timeot`", "'timeout'"]),
        ("[[rules]]\nagent = 'x'", ["`rules.0`", "needs a `purpose` or a `family`"]),
        ("[[rules]]\nfamily = 'x'", ["`rules.0`", "`agent`, `tag` or `benchmark`"]),
        ("seed = 1\nb = [", ["not valid TOML", "line 2"]),
        ("seed = 1\nb 3\n", ["not valid TOML", "line 2"]),
        ("seed = -1", ["`seed`: must be at least 0, got -1"]),
    ],
)
def test_wrong_settings_name_file_and_key(folder, text, parts):
    path = write(folder, text)
    with pytest.raises(InputError) as caught:
        load_settings()
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_wrong_environment_is_named(folder, monkeypatch):
    write(folder, "")
    monkeypatch.setenv("RECURRING_EVAL_DEFAULTS__LEVEL", "8")
    with pytest.raises(InputError, match="environment variable RECURRING_EVAL_DEFAULTS__LEVEL"):
        load_settings()


def test_missing_file_says_what_to_do(folder):
    with pytest.raises(InputError, match=r"run `recurring-eval init` first"):
        load_settings()
    with pytest.raises(InputError, match="no such configuration file"):
        load_settings(folder / "other.toml")
    assert load_settings(required=False)[1] is None


@pytest.mark.parametrize(("window", "days"), [("28d", 28), ("1d", 1), ("all", None)])
def test_windows(window, days):
    assert window_days(window) == days


@pytest.mark.parametrize("window", ["", "0d", "28", "d", "-3d", "28 d", "ALL"])
def test_unreadable_windows(window):
    with pytest.raises(InputError, match="28d, or all"):
        window_days(window)


def test_first_matching_rule_wins_separately_for_purpose_and_family(folder):
    write(
        folder,
        "[[rules]]\ntag = 'branch:*'\npurpose = 'experiment'\n"
        "[[rules]]\nagent = 'small-*'\nfamily = 'small'\n"
        "[[rules]]\nagent = '*'\nbenchmark = 'b'\npurpose = 'candidate'\nfamily = 'rest'\n",
    )
    settings, _ = load_settings()

    def rule(benchmark: str, agent: str, *tags: str) -> tuple[RunPurpose | None, str | None]:
        return settings.rule_for(benchmark=benchmark, agent=agent, tags=tags)

    assert rule("b", "small-1", "branch:x") == (RunPurpose.EXPERIMENT, "small")
    assert rule("b", "large") == (RunPurpose.CANDIDATE, "rest")
    assert rule("c", "large", "other") == (None, None)


def test_sizes_are_sorted_and_distinct():
    assert BenchmarkSettings(subset_sizes=(300, 100, 300)).subset_sizes == (100, 300)
