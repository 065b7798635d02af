"""JUnit XML, streamed, from files of unknown origin."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.parsers import expat

from recurring_eval.errors import InputError

PASSED: Final = ""
PROBLEMS: Final = ("failure", "error", "skipped")

_BLOCK: Final = 1 << 18
_MOST_BYTES: Final = 1 << 30
_DEEPEST: Final = 64
_ROOT: Final = re.compile(rb"<(testsuites?)\b([^>]*)>")
_MOST_CASES: Final = 5_000_000


@dataclass(slots=True, kw_only=True)
class Suite:
    """A ``testsuite`` that has begun."""

    name: str
    timestamp: str
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Case:
    """A ``testcase``.

    Attributes
    ----------
    suite : Suite
    classname, name, file : str
        Attributes; empty where absent.
    seconds : float
        NaN where absent.
    problems : list of (str, str, str)
        Kind (one of `PROBLEMS`), type and message of each; empty for a passed test.
    properties : dict of str to str
    """

    suite: Suite
    classname: str
    name: str
    file: str
    seconds: float
    problems: list[tuple[str, str, str]] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)


def root_of(head: bytes) -> tuple[str, str] | None:
    """Name of the root element and its attributes as text, if the head is that of JUnit XML."""
    if not head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<"):
        return None
    match = _ROOT.search(head)
    return (match[1].decode(), match[2].decode(errors="replace")) if match else None


def read_junit(path: Path) -> Iterator[Case]:
    """Cases in order of the file; texts of failures are skipped.

    Raises
    ------
    InputError
        If it is cut short, no XML, or has declarations that only attacks need.
    """
    if path.stat().st_size > _MOST_BYTES:
        raise InputError(f"is too large: {path.stat().st_size >> 20:,} MB of XML")
    handler = _Handler()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.StartDoctypeDeclHandler = _refuse_declarations
    parser.EntityDeclHandler = _refuse_declarations
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                parser.Parse(block, False)
                yield from handler.take()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        what = expat.errors.messages.get(error.code, "unknown error")
        if what in ("no element found", "unclosed token", "unclosed CDATA section"):
            size = path.stat().st_size
            raise InputError(
                "is empty" if not size else "is cut short: the XML does not end"
            ) from None
        raise InputError(f"is no XML: line {error.lineno}: {what}") from None
    except (LookupError, ValueError) as error:
        raise InputError(f"is no usable XML: {str(error)[:80]}") from None
    yield from handler.take()
    if not handler.is_junit:
        raise InputError("is XML, but no JUnit report")


class _Handler:
    def __init__(self) -> None:
        self.is_junit = False
        self._done: list[Case] = []
        self._suites: list[Suite] = []
        self._case: Case | None = None
        self._depth = 0
        self._n_cases = 0

    def take(self) -> list[Case]:
        done, self._done = self._done, []
        return done

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise InputError("is XML nested too deeply")
        get = attributes.get
        if name in ("testsuites", "testsuite"):
            self.is_junit = True
            outer = self._suites[-1] if self._suites else None
            stamp = get("timestamp") or (outer.timestamp if outer else "")
            self._suites.append(Suite(name=get("name", ""), timestamp=stamp))
        elif name == "testcase" and self._suites:
            self._n_cases += 1
            if self._n_cases > _MOST_CASES:
                raise InputError(f"has more than {_MOST_CASES:,} test cases")
            self._case = Case(
                suite=self._suites[-1],
                classname=get("classname", ""),
                name=get("name", ""),
                file=get("file", ""),
                seconds=_number(get("time", "")),
            )
        elif name in PROBLEMS and self._case is not None:
            self._case.problems.append((name, get("type", ""), get("message", "")))
        elif name == "property":
            owner = self._case or (self._suites[-1] if self._suites else None)
            if owner is not None:
                owner.properties[get("name", "")] = get("value", "")

    def end(self, name: str) -> None:
        self._depth -= 1
        if name == "testcase" and self._case is not None:
            self._done.append(self._case)
            self._case = None
        elif name in ("testsuites", "testsuite"):
            self._suites.pop()


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _refuse_declarations(*_: object) -> None:
    raise InputError("is XML with a document type or entities, which no JUnit report has; refused")
