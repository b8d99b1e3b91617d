"""The chat as a person sees it: a real terminal, real keys, real signals."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("agent")]


def test_stopped_call_is_answered(chat: Any) -> None:
    """What is stored is what a provider accepts, and the next request is served."""
    chat.enter("nap")
    chat.question()
    chat.press("ctrl-c")
    chat.prompt()
    chat.ask("say next")
    chat.ask("/history")

    kept = [line.strip() for line in chat.lines if re.match(r" +m\d", line)]
    assert kept[:2] == ["m1 user       nap", 'm2 assistant  nap {"seconds": 60}']
    assert kept[2].startswith("m3 tool       nap: Error: nap was not run, because approval was")
    assert kept[3:] == ["m4 user       say next", "m5 assistant  next"]


def test_a_session_has_one_chat(terminal: Any) -> None:
    """The second one is told so in a sentence, and can go on when the first has left."""
    first = terminal("chat", "agent.yaml", "--session", "work")
    first.prompt()
    first.ask("say one")
    second = terminal("chat", "agent.yaml", "--session", "work")
    second.prompt()

    second.ask("say two")
    second.shows("is in use by another writer")
    first.press("ctrl-d")
    assert first.end() == 0
    second.ask("say three")

    second.shows("\nthree\n")
    assert "Traceback" not in second.text


def test_reply_is_read_not_obeyed(terminal: Any, agent: Path) -> None:
    """What would clear the screen or ring a bell is left out of what a model says."""
    (agent.parent / "evil.txt").write_text("red\x1b[2J\x1b]0;title\x07 green")
    agent.write_text(f"{agent.read_text()}approve: never\n")
    chat = terminal("chat", "agent.yaml")
    chat.prompt()

    chat.ask("read evil.txt")

    assert "\nred" in chat.text
    assert "\nNew session " in chat.text


@pytest.mark.usefixtures("note")
def test_tab_completes_commands_and_files(chat: Any) -> None:
    """Somebody who half remembers it types the half; a file may be anywhere in a request."""
    chat.type("/cont")
    chat.press("tab")
    chat.shows_at_cursor("> /context")
    chat.press("ctrl-c")
    chat.prompt()
    chat.type("say ./no")
    chat.press("tab")
    chat.shows_at_cursor("> say ./note.txt")


@pytest.mark.long
def test_backslash_or_alt_enter_begins_line(chat: Any) -> None:
    """A request of several lines can be typed, too."""
    chat.type("say one\\\rtwo\x1b\rthree")
    chat.shows_at_cursor("  three")
    chat.press("enter")
    chat.prompt()
    chat.ask("/history")

    assert "   m1 user       say one two three" in chat.lines


@pytest.mark.usefixtures("note")
def test_typed_ahead_text_answers_no_question(chat: Any) -> None:
    """A line that was meant for the chat must not let a tool run."""
    chat.enter("count 20")
    chat.shows("0 1 2 ")
    chat.type("read note.txt\ronce\r")
    chat.question()
    chat.type("no")
    chat.shows_at_cursor("because ...] no")

    assert "because ...] once" not in chat.text


@pytest.mark.long
def test_a_spinner_shows_seconds_and_tokens(chat: Any) -> None:
    """It is below the reply while that grows, and gone when it is whole."""
    chat.enter("count 60")
    chat.shows(" received")
    growing = next(line for line in chat.lines if "received" in line)
    chat.prompt()

    assert re.fullmatch(r". \d s · \d+ tokens sent · ~\d+ received", growing)
    assert "received" not in chat.text


@pytest.mark.long
def test_a_missing_prompt_names_its_extra(
    terminal: Any, agent: Path, remedy: Callable[[str], str]
) -> None:
    """An installation from before has no prompt_toolkit; a plain chat needs none."""
    parts = agent.parent / "parts"
    parts.mkdir()
    missing = "raise ModuleNotFoundError('none', name='prompt_toolkit')"
    (parts / "prompt_toolkit.py").write_text(missing)
    chat = terminal("chat", "agent.yaml", PYTHONPATH=str(parts))

    assert chat.end() == 1
    assert "".join(chat.lines) == (
        f"agentic: a chat in a terminal needs prompt_toolkit: {remedy('cli')}, or add --plain"
    )


def test_what_went_wrong_is_red(chat: Any) -> None:
    """NO_COLOR, which takes the colour away, has a scenario of its own."""
    chat.ask("/nonsense")

    assert chat.lines[2].startswith("There is no /nonsense. There are /context, /summarize")
    assert chat.screen.buffer[2][0].fg == "red"


def test_ctrl_c_clears_continued_lines(terminal: Any, agent: Path) -> None:
    """At a plain prompt, too, where each line has been read by then."""
    chat = terminal("chat", agent.name, "--plain")
    chat.prompt()
    chat.enter("say one \\")
    chat.prompt()
    chat.press("ctrl-c")
    chat.shows("(Ctrl-C again leaves)")
    chat.prompt()
    chat.ask("say two")

    assert "two" in chat.lines
    assert "one" not in chat.lines
