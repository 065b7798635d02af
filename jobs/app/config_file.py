"""Find and read the configuration file; errors name the file, the key and what is valid."""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsError,
)

from jobs.app.config import CONFIG_NAME, ENVIRONMENT_PREFIX, Settings
from recurring_eval.errors import InputError

_PATH_KEYS: Final = ("history", "reports", "backups")
_WORDS: Final = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be above {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be below {lt}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "missing": "is required",
    "int": "must be a whole number",
    "float": "must be a number",
    "bool": "must be true or false",
    "string": "must be a text",
    "path": "must be a path",
    "tuple": "must be a list",
    "dict": "must be a table",
    "model": "must be a table",
}
"""What is wrong with a value, by the type of pydantic's error or by its first word."""


def find_config(start: Path) -> Path | None:
    """Nearest `recurring-eval.toml` in `start` or the folders above it."""
    for folder in (start, *start.parents):
        candidate = folder / CONFIG_NAME
        if candidate.is_file():
            return candidate
    return None


def load_settings(
    config: Path | None = None, *, flags: Mapping[str, Any] | None = None, required: bool = True
) -> tuple[Settings, Path | None]:
    """Read the settings: flags over environment over file over defaults.

    Parameters
    ----------
    config : Path or None
        The file; by default RECURRING_EVAL_CONFIG, then the nearest
        `recurring-eval.toml` upwards from the working directory.
    flags : mapping or None
        Values given on the command line, by settings key.
    required : bool
        Refuse to go on without a file, unless the environment names the history.

    Returns
    -------
    settings : Settings
        Paths are absolute: those of the file (and the defaults) start at the
        file's folder, those of flags and environment at the working directory.
    path : Path or None
        The file that was read.

    Raises
    ------
    InputError
        Naming file, key and the nearest valid key, or the line of a syntax error.
    """
    here = Path.cwd()
    path = _choose_file(config, here)
    if path is None and required and not os.environ.get(f"{ENVIRONMENT_PREFIX}HISTORY"):
        raise InputError(
            f"no {CONFIG_NAME} in {here} or above it; "
            "run `recurring-eval init` first, or name one with --config FILE"
        )
    from_file = {} if path is None else _read_toml(path)
    base = here if path is None else path.parent.absolute()
    data = _with_paths_from(base, from_file)
    try:
        settings = _merge(data, dict(flags or {}))
    except ValidationError as error:
        raise InputError("; ".join(_explain(error, path))) from None
    except SettingsError as error:
        raise InputError(f"the environment has an unreadable setting: {error}") from None
    absolute = {key: (here / getattr(settings, key)).absolute() for key in _PATH_KEYS}
    return settings.model_copy(update=absolute), path


def _choose_file(config: Path | None, here: Path) -> Path | None:
    named = config or os.environ.get(f"{ENVIRONMENT_PREFIX}CONFIG")
    if not named:
        return find_config(here)
    path = Path(named)
    if path.is_dir():
        path = path / CONFIG_NAME
    if not path.is_file():
        raise InputError(f"{path}: no such configuration file; `recurring-eval init` writes one")
    return path


def _read_toml(path: Path) -> dict[str, Any]:
    text = ""
    try:
        text = path.read_text(encoding="utf-8-sig")
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        last = max(len(text.splitlines()), 1)
        where = str(error).replace("at end of document", f"at the end, line {last}")
        raise InputError(f"{path}: not valid TOML: {where}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text; save it as UTF-8") from None


def _with_paths_from(base: Path, data: dict[str, Any]) -> dict[str, Any]:
    anchored = dict(data)
    for key in _PATH_KEYS:
        value = anchored.get(key, Settings.model_fields[key].default)
        if isinstance(value, str | Path):
            anchored[key] = base / value
    if isinstance(watched := anchored.get("watch"), list):
        anchored["watch"] = [
            folder | {"path": base / folder["path"]}
            if isinstance(folder, dict) and isinstance(folder.get("path"), str)
            else folder
            for folder in watched
        ]
    return anchored


def _merge(from_file: dict[str, Any], flags: dict[str, Any]) -> Settings:
    class FileSettings(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # signature of pydantic
            file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # likewise
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, InitSettingsSource(settings_cls, from_file)

    return FileSettings(**flags)


def _explain(error: ValidationError, path: Path | None) -> list[str]:
    lines = []
    for problem in error.errors(include_url=False):
        keys = tuple(key for key in problem["loc"] if key != "[key]")
        place = _place(keys, path)
        name = ".".join(str(key) for key in keys)
        if problem["type"] == "extra_forbidden":
            lines.append(f"{place}: unknown key `{name}`; {_advice(keys)}")
        else:
            got = "" if problem["type"] == "missing" else f", got {_shown(problem['input'])}"
            lines.append(f"{place}: `{name}`: {_wording(problem)}{got}")
    return lines


def _wording(problem: ErrorDetails) -> str:
    kind = problem["type"]
    words = _WORDS.get(kind) or _WORDS.get(kind.split("_")[0])
    if words is None:
        return problem["msg"].removeprefix("Value error, ")
    return words.format(**problem.get("ctx", {}))


def _place(keys: tuple[int | str, ...], path: Path | None) -> str:
    for depth in range(len(keys), 0, -1):
        variable = ENVIRONMENT_PREFIX + "__".join(str(key) for key in keys[:depth]).upper()
        if variable in os.environ:
            return f"environment variable {variable}"
    return "configuration" if path is None else str(path)


def _advice(keys: tuple[int | str, ...]) -> str:
    valid = _valid_keys(keys[:-1])
    near = difflib.get_close_matches(str(keys[-1]), valid, n=1)
    if near:
        return f"did you mean `{near[0]}`?"
    return f"valid keys here are {', '.join(valid)}"


def _valid_keys(parents: tuple[int | str, ...]) -> list[str]:
    kind: Any = Settings
    for key in parents:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            field = kind.model_fields.get(str(key))
            kind = None if field is None else field.annotation
        elif get_origin(kind) is dict:
            kind = get_args(kind)[1]
        elif get_origin(kind) in (tuple, list):
            kind = get_args(kind)[0]
    return list(kind.model_fields) if hasattr(kind, "model_fields") else []


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
