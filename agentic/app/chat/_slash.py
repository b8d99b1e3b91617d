"""The commands of a chat that begin with a slash."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import takewhile

import attrs

from agentic.app.chat._models import choose_model, list_models
from agentic.app.chat._screen import describe_call
from agentic.app.chat._session import ChatSession, blaming
from agentic.app.cli._compaction import describe_compaction, describe_message, describe_undo
from agentic.app.cli._options import whole_number
from agentic.app.cli._output import clip, count_of
from agentic.messages import Message
from agentic.session import render_context

_COMMAND = re.compile(r"/([A-Za-z?]*)(?:\s+(.*))?", re.DOTALL)
"""Does not match a path such as /etc/hosts."""
_HISTORY = 20
"""The number of messages that /history shows by default."""


class Quit(Exception):
    """The user wants to leave."""


async def run_command(talk: ChatSession, line: str) -> bool:
    """Run the command in a line; return False if the line is not a command.

    Raises:
        Quit: the command is to leave.
    """
    match = _COMMAND.fullmatch(line)
    if match is None:
        return False
    slash = SLASHES.get(f"/{match[1].lower()}")
    # Not sent to the model: a misspelt command would cost a request, and a reply that guesses.
    if slash is None:
        talk.screen.warn(f"There is no /{match[1]}. There are {', '.join(SLASHES)}.")
    else:
        await slash.do(talk, (match[2] or "").strip())
    return True


async def _context(talk: ChatSession, _: str) -> None:
    if status := await talk.do(talk.measure()):
        talk.screen.say(render_context(status, bars=not talk.screen.is_plain))
    if cost := talk.spending.describe():
        talk.screen.note(f"This chat: {cost}.")


async def _summarize(talk: ChatSession, focus: str) -> None:
    if compaction := await talk.do(talk.session.summarize(focus or None)):
        sentence = describe_compaction(compaction)
        talk.screen.say(sentence.replace("→", "to") if talk.screen.is_plain else sentence)
    await talk.do(talk.measure())


async def _undo(talk: ChatSession, _: str) -> None:
    if (count := await talk.do(talk.undo())) is None:
        return
    if count:
        brings = "brings it back" if count == 1 else "brings them back"
        talk.screen.say(f"Taken back: {count_of(count, 'message')}. /restore {brings}.")
    else:
        talk.screen.say("There is no exchange to take back: /restore undoes a summary.")


async def _restore(talk: ChatSession, _: str) -> None:
    if diff := await talk.do(talk.session.undo()):
        talk.screen.say(describe_undo(diff))
    await talk.do(talk.measure())


async def _history(talk: ChatSession, count: str) -> None:
    most = whole_number(count) if count else _HISTORY
    if not most:
        talk.screen.warn(
            f"/history takes a number of messages, such as /history 50, not {clip(count, 20)!r}."
        )
        return
    messages = await talk.do(talk.session.store.full())
    if messages is None:
        return
    taken_back = await _taken_back(talk, messages)
    latest = max(0, len(messages) - most)
    if latest:
        earlier = count_of(latest, "earlier message")
        talk.screen.note(f"{earlier}; /history {len(messages)} shows all.")
    # Numbered from the start of the session, as `agentic replay --step` does.
    for number, message in enumerate(messages[latest:], latest + 1):
        mark = "  (taken back)" if number in taken_back else ""
        talk.screen.say(f"{f'm{number}':>5} {describe_message(message)}{mark}")
    if not messages:
        talk.screen.note("Nothing has been said yet.")


async def _taken_back(talk: ChatSession, messages: Sequence[Message]) -> set[int]:
    """Return the numbers of the messages that are neither in the history nor in its summary."""
    history = await talk.do(talk.session.store.load()) or []
    summaries = [each.summary for each in history if each.summary is not None]
    # The indices of a summary leave out the leading system messages.
    leading = sum(1 for _ in takewhile(lambda each: each.role == "system", messages))
    summary_end = max((each.last_message_idx + 1 for each in summaries), default=0) + leading
    positions, end = set[int](), len(history)
    # From the end: after /undo, the same request may have been typed again.
    for number in range(len(messages), 0, -1):
        if end and messages[number - 1] == history[end - 1]:
            end -= 1
        elif number > summary_end:
            positions.add(number)
    return positions


async def _open(talk: ChatSession, number: str) -> None:
    last = len(talk.outcomes)
    if not last:
        talk.screen.warn("There is no tool call to open yet.")
        return
    place = whole_number(number) if number else last
    if place is None or not 1 <= place <= last:
        sentence = f"/open takes the number of a tool call, 1 to {last}, not {clip(number, 20)!r}."
        talk.screen.warn(sentence)
        return
    outcome = talk.outcomes[place - 1]
    result = outcome.result
    # The history may hold the output cut; the store keeps the whole of it.
    get = getattr(talk.session.store, "get", None)
    whole = None
    if result.ref and get is not None:
        whole = await talk.do(get(result.ref))
    text = result.text if whole is None else whole
    talk.screen.say(f"{describe_call(outcome.call)}\n\n{text}")


async def _model(talk: ChatSession, name: str) -> None:
    if not name:
        # Without a list, because Ctrl-C stopped it, the name is still known.
        models = await talk.do(list_models(talk.agent))
        talk.screen.say(models or talk.agent.model or "no model")
        return
    if await talk.do(_changed(talk, name)):
        talk.screen.say(f"Now served by {name}.")


async def _changed(talk: ChatSession, name: str) -> bool:
    with blaming("/model"):
        await talk.use(choose_model(talk.agent, name))
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
    "/undo": _Slash("/undo", "take back the last exchange", _undo),
    "/restore": _Slash(
        "/restore", "take back the latest summary, or what /undo took back", _restore
    ),
    "/history": _Slash("/history [N]", "the latest N messages", _history),
    "/open": _Slash("/open [N]", "tool call N in full; the latest one by default", _open),
    "/model": _Slash(
        "/model [NAME]", "the models that are available; with a name, switch to that one", _model
    ),
    "/help": _Slash("/help", "this list", _help),
    "/quit": _Slash("/quit", "quit; the session is kept", _quit),
}
"""Every slash command, by its word."""
