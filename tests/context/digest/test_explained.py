"""Where each line of a note comes from."""

import json

from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.digest._explained import explain_note
from agentic.context.view import View
from agentic.messages import Message, ToolCall, ToolError, ToolResult
from agentic.tokens import CharCounter


def ran(number: int, tool: str, output: str, error: str = "", **arguments: str) -> list[Message]:
    """Make the two messages of a call and its answer."""
    call = ToolCall(f"c{number}", tool, json.dumps(arguments))
    result = ToolResult(f"c{number}", tool, output, ToolError(error) if error else None)
    return [Message("assistant", tool_calls=[call]), Message("tool", tool_results=[result])]


TALK = [
    Message("user", "Mend the parser. # Never touch the lexer."),
    *ran(1, "bash", "3 passed", command="cd src && pytest 'tests/a b' | tail -3"),
    *ran(2, "bash", "", "a.c:3: error: no ;", command="make all"),
    *ran(3, "edit", "ok", path="src/parser.py", new="x"),
    Message("assistant", "The root cause is a tab in the parser."),
]


def test_each_line_has_its_messages_and_a_reason() -> None:
    """Found again by its words, without the marks that the note adds."""
    lines = explain_note(Digest().write(TALK), TALK)

    places = {line.text: line.positions for line in lines}
    assert places["- Mend the parser. # Never touch the lexer."] == (0,)
    assert places["- `make all`: a.c:3: error: no ;"] == (3, 4)
    assert places["- src/: parser.py (edited)"] == (5,)
    assert places["- `pytest tests/a b` (3 passed)"] == (1,)
    assert places["- The root cause is a tab in the parser."] == (7,)
    assert all(line.reason for line in lines)


def test_commands_in_one_line_have_all_of_their_messages() -> None:
    """The outcome stands in each of them, and counts once."""
    talk = [
        *ran(1, "bash", "nothing to be done", command="make all"),
        *ran(2, "bash", "nothing to be done", command="make docs"),
    ]

    lines = explain_note(Digest().write(talk), talk)

    places = {line.text: line.positions for line in lines}
    assert places["- `make docs`, `make all` (nothing to be done)"] == (0, 2, 3)


def test_line_that_was_cut_is_found_by_its_beginning() -> None:
    """And a count of what was left out comes from nowhere."""
    talk = [Message("user", f"Wish {n}: " + "Details follow here. " * 60) for n in range(400, 480)]

    lines = explain_note(Digest(max_tokens=700).write(talk), talk)

    assert [line.positions for line in lines if "Wish 479" in line.text] == [(79,)]
    assert all(len(line.positions) == 1 for line in lines if line.text.startswith("- Wish"))


def test_view_links_a_note_to_its_messages() -> None:
    """By the positions in the owner's list."""
    talk = [*TALK, *[Message("user", "so it goes. " * 40)] * 6, Message("user", "Go on.")]
    view = View(
        Policy(500, reserve_tokens=0), counter=CharCounter(), compactor=Digest(max_tokens=200)
    )
    view.prepare_sync(talk)

    removal = next(each for each in view.explain() if each.part == "compaction")

    assert removal.note
    assert all(set(line.positions) <= set(range(len(talk))) for line in removal.note)
    assert any(0 in line.positions for line in removal.note)
