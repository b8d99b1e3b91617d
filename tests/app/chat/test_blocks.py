"""Tool calls in a terminal: blocks of one line, whatever script they are in."""

import io
import unicodedata
from typing import Any

import pytest

from agentic.app.chat._screen import Screen, describe_call
from agentic.messages import ToolCall, ToolError, ToolResult

TEXTS = [
    "plain words ",
    "\u8aad\u307f\u8fbc\u307f\u4e2d ",
    "\N{ROCKET}",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 ",
]
"""English, Japanese, emoji and Arabic; a letter of the second and third takes two columns."""


def columns(line: str) -> int:
    """Count the columns of a line by the Unicode database."""
    return sum(1 + (unicodedata.east_asian_width(each) in "WF") for each in line)


@pytest.mark.parametrize("width", [20, 30, 40, 100])
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("is_error", [False, True])
def test_any_scripts_block_is_one_line(width: int, text: str, is_error: bool) -> None:
    """Arguments, the outcome and the name are clipped by the columns that they take."""
    screen = Screen(is_terminal=True, stdout=io.StringIO())
    screen.out.width = width
    screen.make_live()
    call = ToolCall("c1", text.strip() * 9, text * 90)
    failed = ToolError(text * 90) if is_error else None

    screen.show_outcome(call, ToolResult("c1", call.name, "ok", failed), 12, 1.5)

    [line] = screen.stdout.getvalue().splitlines()  # type: ignore[attr-defined]
    assert columns(line) <= width


def test_endlessly_nested_call_is_shown() -> None:
    """Its arguments are shown as they are, where Python refuses to read them."""
    call = ToolCall("c1", "bash", '{"command": ' + "[" * 100_000)

    assert describe_call(call).startswith('bash\n  {"command": [[[')


@pytest.mark.slow
def test_long_table_is_parsed_rarely(growth: Any) -> None:
    """Not at each of its lines again."""

    def show(rows: int) -> None:
        screen = Screen(is_terminal=True, stdout=io.StringIO())
        screen.make_live()
        screen.stream("| number | square |\n| - | - |\n")
        for number in range(rows):
            screen.stream(f"| {number} | {number**2} |\n")
        screen.end_line()
        assert f" {(rows - 1) ** 2} " in screen.stdout.getvalue()  # type: ignore[attr-defined]

    assert growth(show, 100) < 10
