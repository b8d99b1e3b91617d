"""A chat from the command line to its end, and the commands that begin with a slash."""

import asyncio
import contextlib
import re
import secrets
import shlex
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

import attrs
import click

from agentic.cli._chat._chat_session import ChatSession, blaming
from agentic.cli._chat._terminal import Screen, read_pipe, read_prompt, remember
from agentic.cli._compaction import describe_compaction, describe_message, describe_undo
from agentic.cli._output import print_warnings
from agentic.cli._place import SessionPlace, find_agent
from agentic.cli._stdio import captured_stdio
from agentic.session import render_context

__all__ = ["chat_command"]

_INTERRUPTED = 130
_PATIENCE_SECONDS = 5
"""How long stopped work may take to end."""
_REMEMBERED = 100
"""The number of earlier requests that the arrow keys bring back."""
_COMMAND = re.compile(r"/([A-Za-z?]*)(?:\s+(.*))?", re.DOTALL)
"""Does not match a path such as /etc/hosts."""
_HISTORY = 20
"""The number of messages that /history shows by default."""


@click.command("chat")
@click.argument("name", metavar="AGENT")
@click.option("-s", "--session", "session_id", metavar="ID", help="Begin or resume that session.")
@click.option("-r", "--resume", is_flag=True, help="Resume the session that changed last.")
@click.option("-m", "--model", metavar="PROVIDER:NAME", help="Instead of the model in the file.")
def chat_command(*, name: str, session_id: str | None, resume: bool, model: str | None) -> int:
    """Talk with AGENT, by its YAML file or by its name.

    The session is kept after every message and can be resumed. Without --session and --resume it is
    a new one. /help lists what can be asked for besides; Ctrl-C stops a reply and Ctrl-D leaves.

    In a pipe each line is a request; stdout gets the replies and what commands such as /context
    answer, stderr all else, and the exit status is 1 if a request got no reply.

    Example: agentic chat agent.yaml --session monday
    """
    if session_id is not None and resume:
        raise click.UsageError("--session names a session, --resume takes the latest: choose one")
    agent = find_agent(name)
    if model is not None:
        agent = attrs.evolve(agent, model=model)
    with contextlib.ExitStack() as stack:
        if model is not None:
            stack.enter_context(blaming("--model"))
        screen, lines = _door(stack)
        loop = stack.enter_context(asyncio.Runner())
        stack.enter_context(print_warnings(screen.warn))
        if resume:
            session_id = loop.run(SessionPlace(name, agent).find(None))
        session_id = _new_id() if session_id is None else session_id
        talk = loop.run(ChatSession.begin(agent, session_id, screen))
        try:
            loop.run(_greet(talk))
            stopped = _serve(talk, loop, lines)
        finally:
            loop.run(talk.end())
        loop.run(print_resume_hint(talk, name))
    if stopped:
        return _INTERRUPTED
    return 1 if talk.has_failed and not screen.is_terminal else 0


def _door(stack: contextlib.ExitStack) -> tuple[Screen, Iterator[str]]:
    """Return a screen and the incoming lines, for a terminal or for a pipe."""
    if sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        return Screen(is_terminal=True), read_prompt(SLASHES)
    if sys.stdin is None:
        raise click.UsageError("stdin is closed: there is nothing to read requests from")
    captured = stack.enter_context(captured_stdio())
    return Screen(is_terminal=False, stdout=captured.out), read_pipe(captured.source)


def _serve(talk: ChatSession, loop: asyncio.Runner, lines: Iterator[str]) -> bool:
    """Process the lines one by one; return whether Ctrl-C ended a pipe or a blocking call."""
    for line in lines:
        try:
            loop.run(_take(talk, line))
        except Quit:
            break
        except SystemExit:
            _settle(loop)
            talk.screen.warn("sys.exit() was called instead of a reply: the chat continues.")
            continue
        except KeyboardInterrupt:
            _settle(loop)
            return True
        if talk.was_stopped and not talk.screen.is_terminal:
            return True
    return False


def _settle(loop: asyncio.Runner) -> None:
    """Stop the tasks that an exception left in the loop, and let them clean up."""
    left = asyncio.all_tasks(loop.get_loop())
    for task in left:
        task.cancel()
    if left:
        loop.run(_wait(left))


async def _wait(left: set[asyncio.Task[Any]]) -> None:
    await asyncio.wait(left, timeout=_PATIENCE_SECONDS)


async def _take(talk: ChatSession, line: str) -> None:
    talk.was_stopped = False
    if not await run_command(talk, line):
        await talk.ask(line)


async def _greet(talk: ChatSession) -> None:
    greeting = await talk.session.greeting()
    if not greeting:
        talk.screen.note(f"New session {talk.session.session_id}. /help lists the commands.")
        return
    talk.screen.note(greeting)
    if (ignored := (await talk.session.status()).ignored_summary) is not None:
        number = ignored.messages_summarized
        talk.screen.warn(
            f"A summary of {number:,} messages is ignored: it points past the history."
        )
    if talk.screen.is_terminal:
        messages = await talk.session.store.full()
        requests = [each.content for each in messages if each.role == "user"]
        remember(each for each in requests[-_REMEMBERED:] if each.isprintable())


async def print_resume_hint(talk: ChatSession, name: str) -> None:
    """Print how to resume the session, if there is something to resume."""
    if not talk.screen.is_terminal or talk.agent.store.kind == "memory":
        return
    if await talk.session.store.full():
        again = shlex.join(["agentic", "chat", name, "--session", talk.session.session_id])
        talk.screen.note(f"To continue: {again}")


def _new_id() -> str:
    return f"{datetime.now().astimezone():%Y-%m-%d}-{secrets.token_hex(3)}"


class Quit(Exception):
    """The user wants to leave."""


async def run_command(talk: ChatSession, line: str) -> bool:
    """Run the command in a line; return False if the line is not a command.

    Raises:
        Quit: the command is to leave.
    """
    found = _COMMAND.fullmatch(line)
    if found is None:
        return False
    slash = SLASHES.get(f"/{found[1].lower()}")
    if slash is None:
        talk.screen.warn(f"There is no /{found[1]}. There are {', '.join(SLASHES)}.")
    else:
        await slash.do(talk, (found[2] or "").strip())
    return True


async def _context(talk: ChatSession, _: str) -> None:
    if status := await talk.do(talk.session.status()):
        talk.screen.say(render_context(status))


async def _summarize(talk: ChatSession, focus: str) -> None:
    if done := await talk.do(talk.session.summarize(focus or None)):
        talk.screen.say(describe_compaction(done))


async def _undo(talk: ChatSession, _: str) -> None:
    if diff := await talk.do(talk.session.undo()):
        talk.screen.say(describe_undo(diff))


async def _history(talk: ChatSession, count: str) -> None:
    if count and not (count.isdecimal() and int(count)):
        talk.screen.warn(
            f"/history takes a number of messages, such as /history 50, not {count!r}."
        )
        return
    messages = await talk.do(talk.session.store.full())
    if messages is None:
        return
    latest = max(0, len(messages) - int(count or _HISTORY))
    if latest:
        talk.screen.note(f"{latest:,} earlier messages; /history {len(messages)} shows all.")
    for number, message in enumerate(messages[latest:], latest + 1):
        talk.screen.say(f"{f'm{number}':>5} {describe_message(message)}")
    if not messages:
        talk.screen.note("Nothing has been said yet.")


async def _model(talk: ChatSession, name: str) -> None:
    if not name:
        talk.screen.say(talk.agent.model or "no model")
        return
    if await talk.do(_changed(talk, name)):
        talk.screen.say(f"Now served by {name}.")


async def _changed(talk: ChatSession, name: str) -> bool:
    with blaming("/model"):
        await talk.use(attrs.evolve(talk.agent, model=name))
    return True


async def _help(talk: ChatSession, _: str) -> None:
    width = max(len(slash.usage) for slash in SLASHES.values())
    for slash in SLASHES.values():
        talk.screen.say(f"  {slash.usage:<{width}}  {slash.told}")
    talk.screen.say(r"Ctrl-C stops a reply, Ctrl-D leaves. A line that ends with \ goes on.")


async def _quit(_: ChatSession, __: str) -> None:
    raise Quit


@attrs.frozen
class _Slash:
    """A slash command of the chat."""

    usage: str
    told: str
    do: Callable[[ChatSession, str], Awaitable[None]]


SLASHES: Mapping[str, _Slash] = {
    "/context": _Slash(
        "/context", "how full the context is, and what triggers a summary", _context
    ),
    "/summarize": _Slash("/summarize [FOCUS]", "summarize the older messages now", _summarize),
    "/undo": _Slash("/undo", "undo the latest summary", _undo),
    "/history": _Slash("/history [N]", "the latest N messages", _history),
    "/model": _Slash(
        "/model [NAME]", "the model that replies; with a name, switch to that one", _model
    ),
    "/help": _Slash("/help", "this list", _help),
    "/quit": _Slash("/quit", "quit; the session is kept", _quit),
}
"""Every slash command, by its word."""
