"""The protocols that several rooms share: one declaration each, below all rooms that need it."""

import ast
from collections import Counter
from pathlib import Path

import agentic
from agentic import _protocols, _tool_definition, history, loop, tools
from agentic.context import budget


def test_each_protocol_is_declared_once() -> None:
    """A private copy would drift apart from what it copies."""
    declared = Counter(
        node.name.lstrip("_")
        for path in Path(agentic.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)
    )

    assert declared["Compactor"] == declared["Executor"] == 1
    assert [name for name, times in declared.items() if times > 1] == []


def test_rooms_export_the_shared_protocols() -> None:
    """Whoever imports one by its room gets the class that every other room checks against."""
    assert budget.Compactor is _protocols.Compactor
    assert budget.GuidedCompactor is _protocols.GuidedCompactor
    assert loop.Executor is _protocols.Executor
    assert history.Store is _protocols.Store
    assert history.Rewriter is _protocols.Rewriter
    assert loop.Store is _protocols.Store
    assert loop.Rewriter is _protocols.Rewriter
    assert tools.ToolDefinition is _tool_definition.ToolDefinition
