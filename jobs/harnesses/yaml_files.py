"""YAML from files nobody vouches for."""

from pathlib import Path
from typing import Final

from recurring_eval.errors import InputError

_MOST_BYTES: Final = 64 << 20
_DEEPEST: Final = 200


def read_yaml(path: Path) -> object:
    """Read a YAML document of plain values; anchors are shared, never copied.

    Raises
    ------
    InputError
        If it is too large, too deep, cut short or no YAML.
    """
    import yaml  # slow to load, and few files are YAML

    size = path.stat().st_size
    if size > _MOST_BYTES:
        raise InputError(f"is {size >> 20:,} MB of YAML, too large; export JSON")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        content = path.read_bytes().decode("utf-8-sig")
        _refuse_depth(content, loader)
        document: object = yaml.load(content, Loader=loader)  # noqa: S506  # a safe loader
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8: byte {error.start:,} cannot be read") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f": line {mark.line + 1}" if mark is not None else ""
        what = str(getattr(error, "problem", "") or "unreadable")[:80]
        raise InputError(f"is no YAML{where}: {what}") from None
    except (RecursionError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"is no usable YAML: {str(error)[:80]}") from None
    return document


def _refuse_depth(content: str, loader: type) -> None:
    """Refuse what would exhaust the stack; the events come without recursion."""
    import yaml  # see above

    depth = 0
    for event in yaml.parse(content, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise InputError("is YAML nested too deeply")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
