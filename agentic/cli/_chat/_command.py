"""From the command line to a conversation, and to its end."""

import asyncio
import contextlib
import secrets
import shlex
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import attrs
import click

from agentic.cli._chat._chat_session import ChatSession, blaming
from agentic.cli._chat._slash_commands import SLASHES, Quit, run_command
from agentic.cli._chat._terminal import Screen, read_pipe, read_prompt, remember
from agentic.cli._place import Place, find_agent
from agentic.cli._stdio import captured_stdio
from agentic.cli._warnings import print_warnings

__all__ = ["chat_command"]

_INTERRUPTED = 130
_PATIENCE_SECONDS = 5
"""How long what was stopped may take to end."""
_REMEMBERED = 100
"""Earlier requests that the arrow keys bring back."""


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
            session_id = loop.run(Place(name, agent).find(None))
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
    """Return a screen and the lines that come in: of a terminal, or of a pipe."""
    if sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        return Screen(is_terminal=True), read_prompt(SLASHES)
    captured = stack.enter_context(captured_stdio())
    return Screen(is_terminal=False, stdout=captured.out), read_pipe(captured.source)


def _serve(talk: ChatSession, loop: asyncio.Runner, lines: Iterator[str]) -> bool:
    """Take one line after the other; say whether Ctrl-C ended a pipe, or anything that blocked."""
    for line in lines:
        try:
            loop.run(_take(talk, line))
        except Quit:
            break
        except SystemExit:
            _settle(loop)
            talk.screen.warn("sys.exit() was called where a reply was due: the chat goes on.")
            continue
        except KeyboardInterrupt:
            _settle(loop)
            return True
        if talk.was_stopped and not talk.screen.is_terminal:
            return True
    return False


def _settle(loop: asyncio.Runner) -> None:
    """Stop what an exception that ended the loop has left in it, and let it be made whole."""
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
        talk.screen.note(f"To go on: {again}")


def _new_id() -> str:
    return f"{datetime.now().astimezone():%Y-%m-%d}-{secrets.token_hex(3)}"
