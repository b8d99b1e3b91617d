"""Runs every Python snippet of the README and the docs, each page in a folder of its own.

A comment right below a `print` is what must be printed; `...` in it stands for anything.

A property is tried with ten examples, with up to 25 by `--hypothesis-profile=most`, which `make
test` passes, and with all of them by `--hypothesis-profile=full`, as in `make test-all`. One that
has parameters is tried with ten for each of them by `most`, too: together these are more. Coverage
measures the project's own tests: not those marked `corpus`, nor those of growth, and of a property
its first examples.
"""

import ast
import contextlib
import functools
import gc
import io
import itertools
import os
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Generator, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import coverage
import pytest
from hypothesis import HealthCheck, settings
from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, SkipParser

_MEMORY = Path("/dev/shm")  # noqa: S108  as large as the machine says, but 64 MB in a container
if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 4 << 30:
    # Tests of stores wait for the disk half of their time, and none of them cuts the power.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

_MOST_EXAMPLES = {"quick": 10, "most": 25}
"""By the name of a profile; a property may ask for fewer."""
# A busy machine is no failure: neither an example nor all of them have a time.
settings.register_profile(
    "full", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
for _name, _examples in _MOST_EXAMPLES.items():
    settings.register_profile(_name, settings.get_profile("full"), max_examples=_examples)
settings.load_profile("quick")


_FRAMEWORKS = {
    "dbos": "dbos",
    "langchain": "langchain",
    "litellm": "litellm",
    "mcp": "mcp",
    "openai_agents": "openai-agents",
    "otel": "opentelemetry-api",
    "proxy": "uvicorn",
    "pydantic_ai": "pydantic-ai-slim",
}
"""The bridges, and the package that each needs."""


def _is_missing(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return True
    return False


_MISSING = [name for name, package in _FRAMEWORKS.items() if _is_missing(package)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which bridges were left out, and why."""
    for name in _MISSING:
        package = _FRAMEWORKS[name]
        terminalreporter.write_line(f"SKIPPED bridges.{name}: {package} is not installed")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the code, the tests and the page of a bridge without its framework."""
    path = collection_path.relative_to(Path(__file__).parent).as_posix()
    for name in _MISSING:
        page = f"docs/how-to/use-with-{name.replace('_', '-')}.md"
        if path == page or path.startswith((f"agentic/bridges/{name}", f"tests/bridges/{name}")):
            return True
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what collection makes to no garbage collector: a million objects, of which all stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow or not traced, and let no property ask for more than its profile allows."""
    most = _MOST_EXAMPLES.get(settings.get_current_profile_name())
    least = min(_MOST_EXAMPLES.values())
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")
        # These would take four times as long, and what is traced grows otherwise.
        if item.get_closest_marker("corpus") or "growth" in getattr(item, "fixturenames", ()):
            item.add_marker("no_cover")
        if most is not None:
            _limit_examples(item, least if hasattr(item, "callspec") else most)


def _limit_examples(item: pytest.Item, most: int) -> None:
    """Lower what the decorator of a property asks for: it takes precedence over a profile."""
    test = getattr(item, "obj", None)
    asked = getattr(test, "_hypothesis_internal_use_settings", None)
    if asked and asked.max_examples > most:
        test._hypothesis_internal_use_settings = settings(asked, max_examples=most)


_TRACED_EXAMPLES = 10
"""How many examples of a property are traced: tracing takes longer than running."""


_NO_RUNS_IN_SQLITE = "runs in SQLite need SQLite 3.42"
"""How the service refuses what its engine cannot use, on Python 3.12 and newer."""
_IS_OLD_SQLITE = sys.version_info >= (3, 12) and sqlite3.sqlite_version_info < (3, 42)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip what keeps runs in SQLite where that is refused: elsewhere the same test runs."""
    report = yield
    if _IS_OLD_SQLITE and report.failed and _NO_RUNS_IN_SQLITE in report.longreprtext:
        report.outcome = "skipped"
        reason = f"Skipped: {_NO_RUNS_IN_SQLITE}, this is {sqlite3.sqlite_version}"
        report.longrepr = (str(item.path), item.reportinfo()[1] or 0, reason)
    return report


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Trace the first examples of a property; the others run as fast as without coverage."""
    tracing = coverage.Coverage.current()
    handle = getattr(getattr(item, "obj", None), "hypothesis", None)
    if tracing is None or handle is None:
        return (yield)
    whole, examples = handle.inner_test, 0

    @functools.wraps(whole)
    def counted(*args: object, **kwargs: object) -> object:
        nonlocal examples
        examples += 1
        if examples == _TRACED_EXAMPLES + 1:
            tracing.stop()
        return whole(*args, **kwargs)

    handle.inner_test = counted
    try:
        return (yield)
    finally:
        handle.inner_test = whole
        if examples > _TRACED_EXAMPLES:
            tracing.start()


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[None]:
    """Keep what a page writes out of the checkout."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        yield
        os.chdir(before)


def _start(namespace: dict[str, Any]) -> None:
    namespace["__name__"] = "__main__"


_run = PythonEvaluator()


def _run_and_compare(example: Example) -> str | None:
    """Run a snippet, and return what it should have printed and did not."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        _run(example)
    lines = iter(printed.getvalue().split("\n"))
    for expected in _expected(example.parsed):
        pattern = re.escape(expected).replace(re.escape("..."), ".*")
        if not any(re.fullmatch(pattern, line) for line in lines):
            return f"this is not printed:\n{expected}\nbut:\n{printed.getvalue()}"
    return None


def _expected(source: str) -> Iterator[str]:
    """Yield the lines of the comments right below the prints of a snippet."""
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print":
            below = map(str.strip, lines[node.end_lineno :])
            for line in itertools.takewhile(lambda each: each.startswith("#"), below):
                yield line[1:].removeprefix(" ")


pytest_collect_file = Sybil(
    parsers=[CodeBlockParser("python", _run_and_compare), SkipParser()],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    setup=_start,
    fixtures=["elsewhere"],
).pytest()
