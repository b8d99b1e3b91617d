"""The protocols that several rooms share: one declaration each, below all rooms that need it."""

import ast
import functools
import re
from collections import Counter
from pathlib import Path

import agentic
from agentic import history, loop, protocols, tokens, tools
from agentic.context import budget


@functools.cache
def _classes() -> dict[Path, list[ast.ClassDef]]:
    """Return the classes of every module, without those in functions and in other classes."""
    paths = sorted(Path(agentic.__file__).parent.rglob("*.py"))
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    return {
        path: [n for n in tree.body if isinstance(n, ast.ClassDef)] for path, tree in trees.items()
    }


def _protocols() -> list[ast.ClassDef]:
    classes = [each for found in _classes().values() for each in found]
    return [each for each in classes if "Protocol" in map(ast.unparse, each.bases)]


def test_each_protocol_is_declared_once() -> None:
    """A private copy would drift apart from what it copies."""
    declared = Counter(each.name.lstrip("_") for each in _protocols())

    assert declared["Compactor"] == declared["Executor"] == 1
    assert [name for name, times in declared.items() if times > 1] == []


def test_rooms_export_the_shared_protocols() -> None:
    """Whoever imports one by its room gets the class that every other room checks against."""
    assert budget.Compactor is protocols.Compactor
    assert budget.GuidedCompactor is protocols.GuidedCompactor
    assert loop.Executor is protocols.Executor
    assert history.Store is protocols.Store
    assert history.Rewriter is protocols.Rewriter
    assert loop.Store is protocols.Store
    assert loop.Rewriter is protocols.Rewriter
    assert history.Archive is protocols.Archive
    assert history.OutputStore is protocols.OutputStore
    assert loop.Decider is protocols.Decider
    assert tokens.Counter is budget.Counter is protocols.Counter
    assert tools.ToolDefinition is protocols.ToolDefinition


def test_a_protocol_has_one_or_two_methods() -> None:
    """Of its own: a further ability is a further protocol."""
    methods = {
        node.name: sum(
            isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) for each in node.body
        )
        for node in ast.walk(ast.parse(Path(protocols.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases)
    }

    assert len(methods) >= 9
    assert {name: count for name, count in methods.items() if not 1 <= count <= 2} == {}


def test_each_protocol_is_asked_for() -> None:
    """By an annotation, a check, another protocol, or a room that lists it for its users."""
    texts = [path.read_text(encoding="utf-8") for path in _classes()]
    words = Counter(word for text in texts for word in re.findall(r"\w+", text))
    imports = re.compile(r"^from .* import (?:\([^)]*\)|.*)$", re.MULTILINE)
    imported = Counter(
        word
        for text in texts
        for each in imports.findall(text)
        for word in re.findall(r"\w+", each)
    )

    names = {each.name for each in _protocols()}

    assert {name for name in names if words[name] - imported[name] < 2} == set()


_WHOLE = {"Bridge", "Prompt", "Wire"}
"""Not what somebody asks for, but all that a contract checks or a screen does: three or more."""


def test_no_room_asks_for_more_than_two_methods() -> None:
    """A place of sessions has seven, and each of them is in a protocol of one or two."""
    methods = {
        node.name: sum(
            isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) and not each.decorator_list
            for each in node.body
        )
        for node in _protocols()
    }

    assert {"Sessions", "LeasedSessions", "Budget", "ToolPolicy"} <= methods.keys()
    assert {name for name, count in methods.items() if count > 2} == _WHOLE


_BY_ADAPTER = {"Decider", "IncrementalDecoder", "StreamedResponse"}
"""Every adapter has one; its folder tells them apart."""
_BY_FRAMEWORK = {"TruncateToolOutputs"}
"""A bridge's form of a strategy."""
_OF_SOURCES = {"FitContextWindow", "Result"}
"""Names of the systems that this project unites: `compat.agentix` has the first, `truncate` and
`loop` the second."""


def test_no_two_modules_declare_a_class_of_one_name() -> None:
    """Whoever searches for a name finds one thing, even for a private one."""
    names = Counter(each.name for found in _classes().values() for each in found)

    twice = {name for name, times in names.items() if times > 1}
    assert twice == _BY_ADAPTER | _BY_FRAMEWORK | _OF_SOURCES
