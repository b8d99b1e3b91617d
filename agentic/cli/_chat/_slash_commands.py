"""The commands of a chat: what a line means that begins with a slash."""

import re
from collections.abc import Awaitable, Callable, Mapping

import attrs

from agentic.cli._chat._chat_session import ChatSession, blaming
from agentic.cli._compaction import describe_compaction, describe_message, describe_undo
from agentic.session import render_context

__all__ = ["SLASHES", "Quit", "run_command"]

_COMMAND = re.compile(r"/([A-Za-z?]*)(?:\s+(.*))?", re.DOTALL)
"""A path such as /etc/hosts is none."""
_HISTORY = 20
"""Messages that /history shows unless told otherwise."""


class Quit(Exception):
    """The user wants to leave."""


async def run_command(talk: ChatSession, line: str) -> bool:
    """Do what a line says, if it is a command.

    Raises:
        Quit: it says to leave.
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
    """A command of the chat."""

    usage: str
    told: str
    do: Callable[[ChatSession, str], Awaitable[None]]


SLASHES: Mapping[str, _Slash] = {
    "/context": _Slash(
        "/context", "how full the context is, and what triggers a summary", _context
    ),
    "/summarize": _Slash("/summarize [FOCUS]", "summarize the older messages now", _summarize),
    "/undo": _Slash("/undo", "take the latest summary back", _undo),
    "/history": _Slash("/history [N]", "the latest N messages", _history),
    "/model": _Slash("/model [NAME]", "who replies; with a name, go on with that model", _model),
    "/help": _Slash("/help", "this list", _help),
    "/quit": _Slash("/quit", "leave; the session is kept", _quit),
}
"""Every command by the word that calls it."""
