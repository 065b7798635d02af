"""Each outside library, and each kind of text, has one home."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("recurring_eval", "jobs", "storage", "reports")
HOMES = {
    "duckdb": r"storage/",
    "jinja2": r"reports/",
    "altair": r"reports/",
    "vl_convert": r"reports/",
    "apscheduler": r"jobs/scheduler\.py$",
    "fastapi": r"jobs/service",
    "uvicorn": r"jobs/service",
    "typer": r"jobs/(cli|app/console)\.py$|jobs/commands/",
    "pydantic": r"jobs/(app/config|service)",
    "pydantic_settings": r"jobs/app/config",
}
SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|INSERT\s+INTO|DELETE\s+FROM|CREATE\s+TABLE|UPDATE\s+\w+\s+SET)\b",
    re.DOTALL,
)
HTML = re.compile(
    r"</?(html|body|div|span|table|td|tr|svg|script|style|p|h[1-6])\b[^>]*>", re.IGNORECASE
)
MAX_LINES = 350


def sources() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def strings_but_docstrings(tree: ast.AST) -> Iterator[str]:
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
        ):
            yield node.value


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_source_file_keeps_to_its_home(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT).as_posix()
    tree = ast.parse(text)
    for module in imports(tree):
        assert module not in HOMES or re.match(HOMES[module], name), f"{name} imports {module}"
    for value in strings_but_docstrings(tree):
        assert name.startswith("storage/") or not SQL.search(value), f"SQL in {name}: {value[:80]}"
        assert name.startswith("reports/") or not HTML.search(value), (
            f"HTML in {name}: {value[:80]}"
        )
    assert text.count("\n") <= MAX_LINES, f"{name} has outgrown one idea"


def test_top_level_holds_only_what_the_owner_fixed() -> None:
    allowed = {*PACKAGES, "tests", "docs", ".ci", ".git"}
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and any(p.rglob("*.py"))}
    tracked = {
        name
        for name in folders
        if not name.startswith(".") and not (ROOT / name / "pyvenv.cfg").exists()
    }
    assert tracked - {"build", "dist"} <= allowed


def test_every_silenced_check_says_why() -> None:
    silenced = re.compile(r"#\s*(type: ignore|noqa)(\[[^\]]*\]|:\s*[A-Z0-9, ]+)?\s*$")
    for path in [*sources(), *sorted((ROOT / "tests").rglob("*.py"))]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            assert not silenced.search(line), (
                f"{path.name}:{number} silences a check without a reason"
            )


def test_import_contracts_hold() -> None:
    """The core imports no other package; storage and reports know only the core."""
    forbidden = {
        "recurring_eval": {"jobs", "storage", "reports"},
        "storage": {"jobs", "reports"},
        "reports": {"jobs", "storage"},
        "jobs": set(),
    }
    for path in sources():
        package = path.relative_to(ROOT).parts[0]
        used = set(imports(ast.parse(path.read_text(encoding="utf-8"))))
        assert not used & forbidden[package], f"{path.name} imports {used & forbidden[package]}"
