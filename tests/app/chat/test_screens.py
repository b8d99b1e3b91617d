"""Scenarios of the chat, compared screen by screen: a real terminal, real keys, real signals."""

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("agent")]


@pytest.mark.usefixtures("note")
def test_first_conversation_with_a_tool(chat: Any) -> None:
    """A reply, a question before the tool runs, its block, its opening, and how to come back."""
    chat.ask("say hello there")
    chat.enter("read note.txt")
    chat.answer("once")
    chat.ask("/open 1")
    before = chat.text
    chat.press("ctrl-d")

    assert chat.end() == 0
    assert before == f"{FIRST}\n162 / 123,904 tokens (0%) · scripted.py:Scripted\n"
    assert chat.text == f"{FIRST}To continue: agentic chat agent.yaml --session work\n"


FIRST = """
New session work. /help lists the commands.
> say hello there
hello there
> read note.txt
Let me look.
read
  path: note.txt
always allows this tool in this chat. `approve: never` in the agent's file allows all.
Run read? [once / always / no, because ...] once
▸ 1 read {"path": "note.txt"} · 17 characters · 0.1 s
The build is red.
> /open 1
read
  path: note.txt

The build is red.
>
"""


def test_paste_of_forty_lines(chat: Any) -> None:
    """It is one message, sent by Enter and not before; its last line ends nothing."""
    lines = [f"line {n}" for n in range(1, 41)]
    chat.paste("say " + "\n".join(lines))
    chat.shows_at_cursor("line 40")
    chat.press("enter")
    chat.prompt()
    chat.ask("/history")

    assert chat.lines[-4].startswith("   m1 user       say line 1 line 2 line 3 ")
    assert chat.lines[-3].startswith("   m2 assistant  line 1 line 2 line 3 ")
    assert chat.lines[-2:] == [">", "420 / 123,904 tokens (0%) · scripted.py:Scripted"]


@pytest.mark.usefixtures("note")
def test_refusal_with_a_reason(chat: Any) -> None:
    """The model reads the reason; an answer that is none is asked again."""
    chat.enter("read note.txt")
    chat.question()
    chat.enter("maybe")
    chat.shows("Answer once")
    chat.answer("no, because it is out of date")

    assert chat.text == REFUSED


REFUSED = """
New session work. /help lists the commands.
> read note.txt
Let me look.
read
  path: note.txt
always allows this tool in this chat. `approve: never` in the agent's file allows all.
Run read? [once / always / no, because ...] maybe
Answer once, always (for this tool, in this chat), or no, because ...
Run read? [once / always / no, because ...] no, because it is out of date
✗ 1 read {"path": "note.txt"} · read was not run, because approval was refused: it i… · 0.1 s
Error: read was not run, because approval was refused: it is out of date
>

171 / 123,904 tokens (0%) · scripted.py:Scripted
"""


@pytest.mark.long
@pytest.mark.usefixtures("note")
def test_always_is_asked_once(chat: Any) -> None:
    """For that tool in that chat, also among the calls of one turn."""
    chat.enter("read note.txt note.txt")
    chat.answer("always")
    chat.ask("read note.txt")

    assert chat.text.count("Run read?") == 1
    assert [line.split()[1] for line in chat.lines if line.startswith("▸")] == ["1", "2", "3"]


def test_ctrl_c_at_each_stage(chat: Any) -> None:
    """It clears a line, stops a reply, a question and a tool, and leaves on an empty line."""
    chat.type("not what I meant")
    chat.shows_at_cursor("not what I meant")
    chat.press("ctrl-c")
    chat.prompt()
    chat.enter("count 1000")
    chat.shows("0 1 2 3 4 5 ")
    chat.press("ctrl-c")
    chat.prompt()
    chat.enter("nap")
    chat.question()
    chat.press("ctrl-c")
    chat.prompt()
    chat.enter("nap")
    chat.question()
    chat.enter("always")
    chat.shows("tokens sent · nap")
    chat.press("ctrl-c")
    chat.prompt()
    chat.press("ctrl-c")

    assert chat.end() == 0
    assert re.sub(r"0 1 2 3 4 5 [\d ]*\n", "0 1 2 3 4 5\n", chat.text) == STOPPED


STOPPED = """
New session work. /help lists the commands.
> count 1000
0 1 2 3 4 5
Stopped. What has arrived is kept.
> nap
nap
  seconds: 60
always allows this tool in this chat. `approve: never` in the agent's file allows all.
Run nap? [once / always / no, because ...]
✗ 1 nap {"seconds": 60} · nap was not run, because approval was refused: the us… · 0.1 s
Stopped. What has arrived is kept.
> nap
nap
  seconds: 60
Run nap? [once / always / no, because ...] always
✗ 2 nap {"seconds": 60} · the run was cancelled before this call ended. Whether… · 0.1 s
Stopped. What has arrived is kept.
>
To continue: agentic chat agent.yaml --session work
"""


def test_broken_connection_keeps_what_was_seen(terminal: Any, ollama: str) -> None:
    """The part of the reply stays on the screen and in the session, and the chat goes on."""
    chat = terminal("chat", "--model", "ollama:parrot:1b", "-s", "work", OLLAMA_HOST=ollama)
    chat.prompt()
    chat.ask("this will break soon")
    chat.ask("still there?")
    chat.ask("/history")

    assert chat.text == BROKEN


BROKEN = """
the window of ollama:parrot:1b is not known: 8,192 tokens are assumed; write context_window
New session work. /help lists the commands.
> this will break soon
this will break soon
the connection ended after 21 characters of the reply
> still there?
still there?
> /history
   m1 user       this will break soon
   m2 assistant  this will break soon [The reply was broken off here.]
   m3 user       still there?
   m4 assistant  still there?
>

22 / 6,144 tokens (0%) · 22 tokens used · ollama:parrot:1b
"""


def test_resumed_session_takes_back_and_restores(terminal: Any, quiet: Path) -> None:
    """Another process knows the calls and the requests; an exchange and a summary come back."""
    (quiet.parent / "note.txt").write_text("The build is red. " * 100)
    first = terminal("chat", "agent.yaml", "--session", "work")
    first.prompt()
    first.ask("read note.txt")
    first.ask("say two")
    first.ask("/summarize the numbers")
    first.enter("/quit")
    assert first.end() == 0

    chat = terminal("chat", "agent.yaml", "--resume")
    chat.prompt()
    chat.press("up")
    chat.shows_at_cursor("> say two")
    chat.press("ctrl-c")
    chat.prompt()
    for line in ("/undo", "/restore", "/restore", "/context"):
        chat.ask(line)

    assert chat.text == RESUMED


RESUMED = """
Resuming session work
6 messages in history (4 summarized)
> say two
two
> /undo
Taken back: 2 messages. /restore brings them back.
> /restore
Back in the context: 2 messages.
> /restore
Back in the context: 4 messages.
> /context
Context Status
  No summary yet

Summarization Triggers (N messages OR K tokens)
  Messages: 6 / 30 (20%)
           [████░░░░░░░░░░░░░░░░]
  Tokens:   1,252 / 123,904 (1%)
           [░░░░░░░░░░░░░░░░░░░░]
>

1,252 / 123,904 tokens (1%) · scripted.py:Scripted
"""


@pytest.mark.usefixtures("note")
def test_narrow_window(terminal: Any) -> None:
    """Thirty columns: nothing is cut off but what has a mark, and the status says what matters."""
    chat = terminal("chat", "agent.yaml", "--session", "work", columns=30)
    chat.prompt()
    chat.ask("markdown")
    chat.enter("read note.txt")
    chat.answer("once")

    assert chat.text == NARROW


NARROW = """
New session work. /help lists
the commands.
> markdown
Why it is red

The parser fails, see parse:

  def parse(text):
      return text

 1 Mend parse
 2 Run the tests
   (https://example.org/tests)
> read note.txt
Let me look.
read
  path: note.txt
always allows this tool in
this chat. `approve: never` in
the agent's file allows all.
Run read? [once / always / no,
 because ...] once
▸ 1 read · 17 charac… · 0.1 s
The build is red.
>

218 / 123,904 tokens (0%)
"""


def test_no_color_has_no_color(terminal: Any) -> None:
    """Bold and dim are no colours; an error is told by its words."""
    chat = terminal("chat", "agent.yaml", "--session", "work", NO_COLOR="1")
    chat.prompt()
    chat.ask("markdown")
    chat.ask("/nonsense")

    cells = [cell for row in chat.screen.buffer.values() for cell in row.values()]
    assert {(cell.fg, cell.bg) for cell in cells} == {("default", "default")}
    assert chat.text == MARKDOWN


MARKDOWN = """
New session work. /help lists the commands.
> markdown
Why it is red

The parser fails, see parse:

  def parse(text):
      return text

 1 Mend parse
 2 Run the tests (https://example.org/tests)
> /nonsense
There is no /nonsense. There are /context, /summarize, /undo, /restore, /history, /open, /model,
/help, /quit.
>

170 / 123,904 tokens (0%) · scripted.py:Scripted
"""


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [(["--plain"], {}), pytest.param([], {"TERM": "dumb"}, marks=pytest.mark.long)],
)
@pytest.mark.usefixtures("note")
def test_plain_mode_is_text_only(
    terminal: Any, arguments: list[str], environment: dict[str, str]
) -> None:
    """Nothing is drawn, moved or coloured, and every line is read as it stands."""
    chat = terminal("chat", "agent.yaml", "-s", "work", *arguments, **environment)
    chat.prompt()
    chat.ask("say hello there")
    chat.enter("read note.txt")
    chat.answer("once")
    chat.ask("/summarize")
    chat.ask("/context")
    chat.type("half a line\x03")
    chat.shows("again leaves")
    chat.press("ctrl-c")

    assert chat.end() == 0
    assert chat.text == PLAIN
    assert chat.text.isascii()


PLAIN = """
New session work. /help lists the commands.
> say hello there
hello there
[114 / 123,904 tokens (0%)]
> read note.txt
Let me look.
calls read {"path": "note.txt"}
read
  path: note.txt
always allows this tool in this chat. `approve: never` in the agent's file allows all.
Run read? [once / always / no, because ...] once
read: 17 characters in 0.1 s
The build is red.
[162 / 123,904 tokens (0%)]
> /summarize
Nothing was summarized: the summary would be larger than what it replaces (84 > 13 tokens). 162 toke
ns, as before.
> /context
Context Status
  No summary yet

Summarization Triggers (N messages OR K tokens)
  Messages: 6 / 30 (20%)
  Tokens:   162 / 123,904 (0%)
>
(Ctrl-C again leaves)
>
To continue: agentic chat agent.yaml --session work
"""


def test_without_file_local_server_is_offered(terminal: Any, ollama: str) -> None:
    """And the offline agent, which shows the whole of it without any model."""
    chat = terminal("chat", "-s", "work", OLLAMA_HOST=ollama, **dict.fromkeys(KEYS, ""))
    chat.shows_at_cursor("Number [1]:")

    assert chat.text.replace(ollama, "http://127.0.0.1:11434").startswith(OFFERED)
    number = re.search(r"(\d+)  offline \(no model", chat.text)
    assert number is not None
    chat.enter(number[1])
    chat.prompt()
    assert chat.lines[-1].endswith("%) · offline")


KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
OFFERED = """
Whom do you want to talk with?
  1  ollama:parrot:1b (on this machine, http://127.0.0.1:11434)
"""


@pytest.mark.long
def test_text_from_right_to_left(agent: Path, chat: Any) -> None:
    """Letters stay in their order; marks that would change it are left out."""
    (agent.parent / "note.txt").write_text("שלום \u202eevil\u200f\u200e עולם")
    chat.enter("read note.txt")
    chat.answer("once")

    assert "\nשלום evil עולם\n" in chat.text  # noqa: RUF001  Hebrew
    assert not re.search("[\u200e\u200f\u202e]", chat.text)


@pytest.mark.long
def test_window_of_16000_shows_what_triggers(terminal: Any, agent: Path) -> None:
    """The status line and /context name one size and one limit: the window less its reserve."""
    agent.write_text(
        f"{agent.read_text()}context_window: 16000\n".replace("context_window", "context_window")
    )
    chat = terminal("chat", "agent.yaml", "--session", "work")
    chat.prompt()
    chat.ask("say hello there")
    chat.ask("/context")

    sizes = re.findall(r"[\d,]+ / [\d,]+(?= \(| tokens)", chat.text)
    assert sizes[1:] == ["114 / 11,904", "114 / 11,904"]
