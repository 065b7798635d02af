"""Settings of nights, the daemon and watched folders."""

from datetime import time, timedelta

import pytest

from jobs.app.config_file import load_settings
from jobs.schedule.full_runs import fill_in
from recurring_eval.errors import InputError


def write(folder, text):
    path = folder / "recurring-eval.toml"
    path.write_text(text)
    return path


def test_a_benchmark_inherits_from_defaults_and_those_from_the_schedule(folder):
    write(
        folder,
        "[schedule]\nat = '03:30'\nzone = 'Europe/Paris'\nattempts = 7\nlease = '1h'\n"
        "[defaults.schedule]\nattempts = 3\nfull_run_every = '7d'\n"
        "[benchmark.x.schedule]\nat = '04:00'\nenabled = false\n"
        "full_run_command = ['./go', '{benchmark}']\n",
    )
    settings, _ = load_settings()
    x, other = settings.nights_of("x"), settings.nights_of("other")
    assert (x.at, x.zone, x.attempts, x.enabled) == (time(4), "Europe/Paris", 3, False)
    assert (x.full_run_every, x.full_run_command) == (timedelta(days=7), ("./go", "{benchmark}"))
    assert (other.at, other.enabled, other.full_run_command) == (time(3, 30), True, ())
    assert other.retry_after == timedelta(minutes=10)
    assert settings.schedule.lease == timedelta(hours=1)


def test_the_default_is_two_in_the_morning_utc(folder):
    write(folder, "")
    nights = load_settings()[0].nights_of("x")
    assert (nights.at, nights.zone) == (time(2), "UTC")


def test_the_environment_wins_and_toml_times_are_understood(folder, monkeypatch):
    write(folder, "[schedule]\nat = 05:15:00\n")
    assert load_settings()[0].schedule.at == time(5, 15)
    monkeypatch.setenv("RECURRING_EVAL_SCHEDULE__AT", "06:45")
    assert load_settings()[0].nights_of("x").at == time(6, 45)


def test_watched_folders_start_at_the_file(folder, monkeypatch):
    write(folder, "[[watch]]\npath = 'logs'\nbenchmark = 'b'\nsettle = '3s'\n")
    inside = folder / "deep"
    inside.mkdir()
    monkeypatch.chdir(inside)
    (watch,) = load_settings()[0].watch
    assert (watch.path, watch.benchmark, watch.harness) == (folder / "logs", "b", "auto")
    assert watch.settle == timedelta(seconds=3)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[schedule]\nat = '25:00'", ["`schedule.at`", "such as 02:00", "'25:00'"]),
        ("[schedule]\nat = '2:00'", ["`schedule.at`", "such as 02:00"]),
        ("[schedule]\nat = 02:00:30", ["`schedule.at`", "hours and minutes"]),
        ("[schedule]\nzone = 'Paris'", ["`schedule.zone`", "Europe/Paris", "'Paris'"]),
        ("[schedule]\nretry_after = '10'", ["`schedule.retry_after`", "30s, 10m, 36h or 7d"]),
        ("[schedule]\nretry_after = 10", ["`schedule.retry_after`", "30s, 10m, 36h or 7d"]),
        ("[schedule]\nattempt = 1", ["`schedule.attempt`", "did you mean `attempts`?"]),
        ("[schedule]\nfull_run_every = '6h'", ["`schedule.full_run_every`"]),
        (
            "[schedule]\nfull_run_command = 'go now'",
            ["full_run_command`: must be a list"],
        ),
        ("[benchmark.b.schedule]\nlease = '1h'", ["`benchmark.b.schedule.lease`"]),
        ("[[watch]]\nbenchmark = 'b'", ["`watch.0.path`: is required"]),
        ("[[watch]]\npath = 'x'\npurpos = 'routine'", ["`watch.0.purpos`", "`purpose`"]),
    ],
)
def test_wrong_settings_name_the_key(folder, text, parts):
    path = write(folder, text)
    with pytest.raises(InputError) as caught:
        load_settings()
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    for part in parts:
        assert part in message


def test_words_are_filled_in_once_and_stay_one_argument():
    values = {"benchmark": "a b; {family}", "family": "$(x)", "date": "2027-01-01"}
    filled = fill_in(("run", "--name={benchmark}", "{family}{date}", "{other}"), values)
    assert filled == ["run", "--name=a b; {family}", "$(x)2027-01-01", "{other}"]
