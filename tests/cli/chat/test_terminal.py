"""The chat as a person sees it: a real terminal, real keys, real signals."""

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("agent")]

CTRL_C, CTRL_D = "\x03", "\x04"

FIRST = """
New session work. /help lists the commands.
> say hello there
hello there
[114 / 128,000 tokens (0%)]
> read note.txt
Let me look.
→ read {"path": "note.txt"}
← read: 17 characters in 0.1 s
The build is red.
[162 / 128,000 tokens (0%)]
> /context
Context Status
  No summary yet

Summarization Triggers (N messages OR K tokens)
  Messages: 6 / 30 (20%)
           [████░░░░░░░░░░░░░░░░]
  Tokens:   162 / 128,000 (0%)
           [░░░░░░░░░░░░░░░░░░░░]
>
To continue: agentic chat agent.yaml --session work
"""
STOPPED = """
New session work. /help lists the commands.
> count 1000
0 1 2 3 4 5 ^C
Stopped. What was complete is kept.
[109 / 128,000 tokens (0%)]
> say still here
still here
[122 / 128,000 tokens (0%)]
> /history
   m1 user       count 1000
   m2 user       say still here
   m3 assistant  still here
>
To continue: agentic chat agent.yaml --session work
"""
RESUMED = """
Resuming session work
10 messages in history (6 summarized)
> /context
Context Status
  Last summary: 6 messages → 98 tokens
  Created: 2024-01-15 10:30

Summarization Triggers (N messages OR K tokens)
  Messages: 0 / 30 (0%)
           [░░░░░░░░░░░░░░░░░░░░]
  Tokens:   1,339 / 128,000 (1%)
           [░░░░░░░░░░░░░░░░░░░░]
> /undo
Back in the context: 2 messages and the summary before.
> /context
Context Status
  Last summary: 4 messages → 644 tokens
  Created: 2024-01-15 10:30

Summarization Triggers (N messages OR K tokens)
  Messages: 4 / 30 (13%)
           [██░░░░░░░░░░░░░░░░░░]
  Tokens:   1,896 / 128,000 (1%)
           [░░░░░░░░░░░░░░░░░░░░]
> /undo
Back in the context: 4 messages.
>
To continue: agentic chat agent.yaml --session work
"""


def test_a_conversation_its_context_and_its_end(terminal: Any, agent: Path) -> None:
    """Greeting, streamed reply, tool, size, /context cell for cell, and how to come back."""
    (agent.parent / "note.txt").write_text("The build is red.")
    chat = terminal("chat", "agent.yaml", "--session", "work")
    chat.prompt()
    chat.ask("say hello there")
    chat.ask("read note.txt")
    chat.ask("/context")
    chat.type(CTRL_D)

    assert chat.end() == 0
    assert chat.text == FIRST


def test_ctrl_c_stops_a_reply_and_the_chat_goes_on(terminal: Any) -> None:
    """The session is whole: what was asked is in it, and the next request is served."""
    chat = terminal("chat", "agent.yaml", "--session", "work")
    chat.prompt()
    chat.type("count 1000\n")
    chat.shows("\n0 1 2 3 4 5 ")
    chat.type(CTRL_C)
    chat.shows("Stopped. What was complete is kept.")
    chat.prompt()
    chat.ask("say still here")
    chat.ask("/history")
    chat.type(CTRL_C)

    assert chat.end() == 0
    assert re.sub(r"5 [\d ^C]*\n", "5 ^C\n", chat.text) == STOPPED


def test_ctrl_c_stops_a_tool_and_its_call_is_answered(terminal: Any) -> None:
    """What is stored is what a provider accepts, and the next request is served."""
    chat = terminal("chat", "agent.yaml", "--session", "work")
    chat.prompt()
    chat.type("nap\n")
    chat.shows("→ nap")
    chat.type(CTRL_C)
    chat.shows("Stopped. What was complete is kept.")
    chat.prompt()
    chat.ask("say next")
    chat.ask("/history")

    kept = [line.strip() for line in chat.lines if re.match(r" +m\d", line)]
    assert kept[:2] == ["m1 user       nap", 'm2 assistant  nap {"seconds": 60}']
    assert kept[2].startswith("m3 tool       nap: Error: the run was cancelled before this call")
    assert kept[3:] == ["m4 user       say next", "m5 assistant  next"]


def test_a_session_is_resumed_in_another_process(terminal: Any, agent: Path) -> None:
    """It greets with what is there, and every summary can be taken back."""
    (agent.parent / "note.txt").write_text("The build is red. " * 100)
    first = terminal("chat", "agent.yaml", "--session", "work")
    first.prompt()
    first.ask("read note.txt")
    first.ask("say two")
    first.ask("/summarize the numbers")
    first.ask("read note.txt")
    first.ask("/summarize")
    first.type("/quit\n")
    assert first.end() == 0

    chat = terminal("chat", "agent.yaml", "--resume")
    chat.prompt()
    chat.ask("/context")
    chat.ask("/undo")
    chat.ask("/context")
    chat.ask("/undo")
    chat.type(CTRL_D)

    assert chat.end() == 0
    assert chat.text == RESUMED


def test_two_chats_on_one_session_are_one_too_many(terminal: Any) -> None:
    """The second one is told so in a sentence, and can go on when the first has left."""
    first = terminal("chat", "agent.yaml", "--session", "work")
    first.prompt()
    first.ask("say one")
    second = terminal("chat", "agent.yaml", "--session", "work")
    second.prompt()

    second.ask("say two")
    second.shows("is being written by somebody else")
    first.type(CTRL_D)
    assert first.end() == 0
    second.ask("say three")

    second.shows("\nthree\n")
    assert "Traceback" not in second.text


def test_a_reply_is_read_and_not_obeyed(terminal: Any, agent: Path) -> None:
    """What would clear the screen or ring a bell is left out of what a model says."""
    (agent.parent / "evil.txt").write_text("red\x1b[2J\x1b]0;title\x07 green")
    chat = terminal("chat", "agent.yaml")
    chat.prompt()

    chat.ask("read evil.txt")

    assert "\nred" in chat.text
    assert "\nNew session " in chat.text


def test_the_tabulator_completes_a_command(terminal: Any) -> None:
    """Somebody who half remembers it types the half."""
    chat = terminal("chat", "agent.yaml")
    chat.prompt()

    chat.type("/cont\t\n")

    chat.shows("Context Status")


@pytest.mark.parametrize(("environment", "colour"), [({}, "red"), ({"NO_COLOR": "1"}, "default")])
def test_colour_is_for_those_who_want_it(
    terminal: Any, environment: dict[str, str], colour: str
) -> None:
    """What went wrong is red, unless NO_COLOR says otherwise."""
    chat = terminal("chat", "agent.yaml", **environment)
    chat.prompt()
    chat.ask("/nonsense")

    assert chat.lines[2].startswith("There is no /nonsense. There are /context, /summarize")
    assert chat.screen.buffer[2][0].fg == colour
