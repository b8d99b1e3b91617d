"""A call that had no result was answered for it; the result that comes later changes nothing."""

import json
from typing import Any

import pytest

from agentic.bridges.dicts import Conversation
from agentic.context.budget import Policy
from agentic.context.view import View
from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers import anthropic
from agentic.testing import ModelServer, ScriptedAnswer
from agentic.tokens import CharCounter

_TOOLS = [{"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}]
_REST: dict[str, Any] = {"model": "claude-fable-5-2", "max_tokens": 1_000, "tools": _TOOLS}
_OUTPUT = "The build is green."


class _Talk:
    """An owner's list, and a server that refuses reasoning behind a changed beginning."""

    def __init__(self, *replies: ScriptedAnswer) -> None:
        script = iter(replies)
        self.server = ModelServer(script=lambda _: next(script), strict=True)
        self.conversation = Conversation(anthropic, Policy(100_000), model=_REST["model"])
        self.items: list[Any] = []

    def ask(self) -> str:
        """Send the list, append the reply, and return the request as text."""
        request = self.conversation.fit_request({**_REST, "messages": self.items})
        sent = json.dumps(request)
        reply = self.server.post("/v1/messages", json.loads(sent))
        assert reply.status == 200, reply.body
        self.items.append({"role": "assistant", "content": reply.body["content"]})
        return sent

    def restart(self) -> None:
        """Go on in another process."""
        state = json.loads(json.dumps(self.conversation.state()))
        self.conversation = Conversation(
            anthropic, Policy(100_000), model=_REST["model"], state=state
        )

    def say(self, text: str) -> None:
        self.items.append({"role": "user", "content": text})

    def answer(self, number: int) -> None:
        """Append the result of the call in a reply."""
        content = self.items[number]["content"]
        (call,) = [block["id"] for block in content if block["type"] == "tool_use"]
        block = {"type": "tool_result", "tool_use_id": call, "content": _OUTPUT}
        self.items.append({"role": "user", "content": [block]})


_CALL = ScriptedAnswer(calls=({"path": "log"},), tool="read")
_WORDS = ScriptedAnswer(text="I will see.")


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("waits", [False, True])
def test_late_result_extends_the_request(*, waits: bool, restarts: bool) -> None:
    """It follows as a text; the reasoning behind the call's first result stays valid."""
    talk = _Talk(_CALL, _WORDS, _WORDS, _WORDS)
    talk.say("Is the build green?")
    talk.ask()
    if waits:
        talk.say("Do not wait for it.")
    talk.ask()  # the call is answered for the tool
    talk.answer(1)
    talk.say("And now?")

    if restarts:
        talk.restart()
    sent = talk.ask()
    if restarts:
        talk.restart()
    talk.say("Fine.")
    talk.ask()

    report = talk.server.report
    assert (report.refused, report.changes, report.reasoning_lost) == ({}, 0, 0)
    assert report.reasoning_stale == 0
    assert sent.count(_OUTPUT) == 1
    assert sent.index("there is no result") < sent.index("I will see.") < sent.index(_OUTPUT)


def test_result_takes_its_place_when_nothing_was_answered() -> None:
    """Nobody has seen what stood there, so no reasoning depends on it."""
    talk = _Talk(_CALL, _WORDS)
    talk.say("Is the build green?")
    talk.ask()
    talk.conversation.fit_request({**_REST, "messages": talk.items})  # nobody sends it

    talk.answer(1)
    sent = talk.ask()

    assert "there is no result" not in sent
    assert talk.server.report.changes == 0


def _history() -> list[Message]:
    call = ToolCall("c1", "read", '{"path": "log"}')
    return [
        Message("user", "Is the build green?"),
        Message("assistant", tool_calls=[call]),
        Message("assistant", "I will see."),
        Message("tool", tool_results=[ToolResult("c1", "read", _OUTPUT)]),
        Message("user", "And now?"),
    ]


def _sent(view: View, history: list[Message]) -> list[tuple[str, str]]:
    messages = view.prepare_sync(history).messages
    return [
        (each.role, each.content + "".join(r.text for r in each.tool_results)) for each in messages
    ]


def test_result_takes_its_place_when_an_epoch_begins() -> None:
    """What is written again anyway is written as it was."""
    history = _history()
    view = View(Policy(100_000), counter=CharCounter())
    for length in (1, 2, 4):
        view.prepare_sync(history[:length])
    held = _sent(view, history)

    changed = view.prepare_sync(history, system_prompt="Be brief.")

    assert [role for role, _ in held] == ["user", "assistant", "tool", "assistant", "user", "user"]
    assert held[4][1].endswith(_OUTPUT)
    assert changed.changes == ("system_changed",)
    assert changed.messages == history


def test_rewind_forgets_what_was_held() -> None:
    """To before the call was answered for the tool, or to before the result came."""
    history = _history()
    view = View(Policy(100_000), counter=CharCounter())
    for length in (1, 2, 3, 5):
        view.prepare_sync(history[:length])

    assert view.prepare_sync(history[:3]).messages[-1].content == "I will see."
    other = [*history[:2], history[3], history[4]]
    assert view.prepare_sync(other).messages == other


def test_result_behind_a_reply_between_results() -> None:
    """A View that has sent nothing of it puts it to the others; one that has sends it as a text."""
    calls = [ToolCall(each, "read") for each in ("a", "b")]
    first, second = (
        Message("tool", tool_results=[ToolResult(call.id, call.name, _OUTPUT)]) for call in calls
    )
    start = [Message("user", "Is the build green?"), Message("assistant", tool_calls=calls), first]
    reply = Message("assistant", "One of them is.")
    history = [*start, reply, second]
    view, fresh = (View(Policy(100_000), counter=CharCounter()) for _ in range(2))

    sent = view.prepare_sync(start).messages
    extension = view.prepare_sync(history).messages

    assert fresh.prepare_sync(history).messages == [*start, second, reply]
    assert extension[: len(sent)] == sent
    assert extension[len(sent)] is reply
    assert _OUTPUT in extension[-1].content
