"""What the work needs is read again after a compaction, and shown behind the summary."""

import asyncio
import json
from typing import Any

import attrs
import pytest

from agentic.bridges import dicts
from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest, ReadAgain, with_restoration
from agentic.context.view import View
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.loop import Runner
from agentic.messages import Message, ToolCall, ToolResult, from_plain, to_plain
from agentic.messages._restoration import Restoration
from agentic.protocols import CompactionContext, Decision, Input
from agentic.providers import anthropic, openai_chat
from agentic.testing import check_compactor
from agentic.tokens import CharCounter
from agentic.tools import Registry, tool

_HEAD = "[Read again after the summary: "


@attrs.define
class _Disk:
    """Reads files as the agent's own tool does, and keeps what it was asked."""

    files: dict[str, str]
    calls: list[ToolCall] = attrs.field(factory=list)

    async def execute(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        path = call.parse()["path"]
        if path not in self.files:
            raise FileNotFoundError(path)
        return ToolResult(call.id, call.name, self.files[path])


def _call(name: str, output: str = "ok", **arguments: Any) -> list[Message]:
    call = ToolCall(f"{name}-{hash(str(arguments)) % 999}", name, json.dumps(arguments))
    return [
        Message("assistant", tool_calls=[call]),
        Message("tool", tool_results=[ToolResult(call.id, name, output)]),
    ]


def _talk(*rounds: list[Message]) -> list[Message]:
    return [Message("user", "Mend the parser."), *(each for found in rounds for each in found)]


def _restored(
    disk: _Disk, messages: list[Message], *, kept: tuple[Message, ...] = (), **options: Any
) -> dict[str, str]:
    """Return what is shown of which file, newest first."""
    context = CompactionContext(execute=disk.execute, kept=kept, context_window=100_000)
    texts = asyncio.run(ReadAgain(**options)(messages, context))
    parts = [text.content.partition("]\n") for text in texts]
    return {head.removeprefix(_HEAD): text for head, _, text in parts}


def test_files_read_or_changed_last_come_back_as_they_are_now() -> None:
    """By the tool that the agent read with; a file that was deleted stays away."""
    disk = _Disk({"a.py": "new a", "b.py": "b", "c.py": "c"})
    talk = _talk(
        _call("read", "b", path="b.py", offset=4),
        _call("edit", path="a.py", old="old a", new="new a"),
        _call("read", "c", path="c.py"),
        _call("delete", path="c.py"),
    )

    assert _restored(disk, talk) == {"a.py": "new a", "b.py": "b"}
    assert [call.parse() for call in disk.calls] == [{"path": "a.py"}, {"path": "b.py"}]


def test_file_that_stays_visible_is_not_read_again() -> None:
    """What is kept shows it; after an edit it shows only the change."""
    disk = _Disk({"a.py": "a", "b.py": "b2"})
    kept = (*_call("read", "a", path="a.py"), *_call("edit", path="b.py", old="b", new="b2"))

    assert _restored(disk, _talk(_call("read", "b", path="b.py")), kept=kept) == {"b.py": "b2"}


@pytest.mark.parametrize(
    ("stored", "now"),
    [("key = [removed]\nport = 1", "key = 4711\nport = 1"), ("[removed]", "key = 4711")],
)
def test_redacted_text_does_not_come_back(stored: str, now: str) -> None:
    """What the conversation was made to forget is still in the file."""
    disk = _Disk({"a.py": now})

    assert _restored(disk, _talk(_call("read", stored, path="a.py"))) == {}


def test_file_that_cannot_be_read_costs_only_itself() -> None:
    """An error result, an empty file."""
    disk = _Disk({"a.py": "a", "b.py": " "})
    talk = _talk(_call("read", "b", path="b.py"), _call("read", "a", path="a.py"))

    assert _restored(disk, talk) == {"a.py": "a"}


def test_number_and_sizes_are_limited() -> None:
    """The newest five by default, the middle of a long one left out, a fifth of the window."""
    names = [f"{number}.py" for number in range(9)]
    disk = _Disk(dict.fromkeys(names, "x = 1 " * 9_000))
    talk = _talk(*[_call("read", "x = 1", path=name) for name in names])

    texts = _restored(disk, talk)
    few = _restored(disk, talk, max_files=2, max_tokens=50)

    assert list(texts) == ["8.py", "7.py", "6.py", "5.py", "4.py"]
    assert sum(map(CharCounter().count, texts.values())) <= 20_000
    assert list(few) == ["8.py", "7.py"]
    assert all(CharCounter().count(text) <= 50 for text in few.values())


def test_without_a_tool_that_reads_nothing_comes_back() -> None:
    """There is nobody to ask, or nothing to ask with."""
    read = _talk(_call("read", "a", path="a.py"))

    assert asyncio.run(ReadAgain()(read, CompactionContext())) == []
    assert _restored(_Disk({"a.py": "a"}), _talk(_call("edit", path="a.py", new="a"))) == {}


class _Prose:
    async def compact(self, _: list[Message], /) -> str:
        return "The parser was mended."


async def _plan(_: list[Message], __: CompactionContext) -> list[Message]:
    return [Message("user", "The plan: lexer, then parser.")]


def _view(restore: Any = _plan, **state: Any) -> View:
    compactor = with_restoration(_Prose(), restore)
    policy = Policy(2_000, 500, keep_recent_tokens=100, min_recent_messages=1)
    return View(policy, counter=CharCounter(), compactor=compactor, **state)


def _long() -> list[Message]:
    return [
        Message(role, f"{role} {number}. " + "so it goes. " * 20)
        for number in range(20)
        for role in ("user", "assistant")
    ] + [Message("user", "Go on.")]


def test_view_shows_it_behind_the_summary_until_the_next_one() -> None:
    """The history does not have it, and each request extends the last one."""
    view, talk = _view(), _long()

    first = view.prepare_sync(talk)
    talk.append(Message("assistant", "I do."))
    second = view.prepare_sync(talk)
    again = _view(state=json.loads(json.dumps(view.state()))).prepare_sync(talk)

    assert [each.content for each in first.messages[1:2]] == ["The plan: lexer, then parser."]
    assert not any(each.content.startswith("The plan") for each in first.history)
    assert second.extends
    assert second.messages[: len(first.messages)] == first.messages
    assert again.messages == second.messages
    assert first.compaction is not None
    assert first.compaction.tokens_after == first.tokens


def test_stored_summary_keeps_it_and_one_without_notes_does_not() -> None:
    """A redaction removes the notes of all summaries."""
    summary = _view().prepare_sync(_long()).history[0].summary
    assert summary is not None
    stored = from_plain(json.loads(json.dumps(to_plain(summary.to_message())))).summary
    assert stored is not None

    assert len(Restoration.of_summary(stored).messages) == 1
    assert Restoration.of_summary(attrs.evolve(stored, notes={})).messages == ()


@pytest.mark.parametrize("wire", [anthropic, openai_chat])
def test_lists_of_dicts_show_it_too(wire: Any) -> None:
    """In the provider's own form."""
    policy = Policy(2_000, 500, keep_recent_tokens=100, min_recent_messages=1)
    talk = [{"role": each.role, "content": each.content} for each in _long()]

    sent = dicts.Conversation(wire, policy, compactor=with_restoration(_Prose(), _plan)).fit(talk)

    assert "The plan: lexer, then parser." in str(sent)
    assert wire.decode(sent)


async def _broken(*_: Any) -> list[Message]:
    raise OSError("the disk is gone")


def test_failure_leaves_the_summary_alone() -> None:
    """And is reported among the fallbacks."""
    prepared = _view(_broken).prepare_sync(_long())

    assert prepared.compaction is not None
    assert prepared.compaction.changed
    assert "the disk is gone" in prepared.compaction.fallbacks[0]


@pytest.mark.parametrize("what", ["a text", Message("assistant", "I read it.")])
def test_anything_but_user_messages_is_refused(what: Any) -> None:
    """Other roles break the order of some provider's request."""

    async def restore(*_: Any) -> list[Any]:
        return [what]

    compactor = with_restoration(_Prose(), restore)

    with pytest.raises(ConfigError, match="user messages"):
        asyncio.run(compactor.compact(_long()))
    with pytest.raises(ConfigError, match="restore"):
        with_restoration(_Prose(), "read it")  # type: ignore[arg-type]


def test_it_is_a_compactor() -> None:
    """With whatever compactor."""
    check_compactor(lambda: with_restoration(_Prose()))
    assert Digest() == with_restoration(Digest()).compactor


_TEXT = "def parse(): ..."


@tool
def read(path: str) -> str:
    """Read a file."""
    return f"{path}: {_TEXT}"


@attrs.define
class _Reader:
    """Reads a file per turn and ends, and keeps the requests."""

    requests: list[Input] = attrs.field(factory=list)

    async def decide(self, request: Input, /) -> Decision:
        self.requests.append(request)
        if request.turn > 12:
            return Decision("Done.")
        call = ToolCall(f"c{request.turn}", "read", json.dumps({"path": f"{request.turn}.py"}))
        return Decision("I read on. " * 30, [call])


def test_runner_reads_with_its_own_executor() -> None:
    """The files of the calls that the summary replaced, in the request after it."""
    policy = Policy(1_500, 300, keep_recent_tokens=200, min_recent_messages=1)
    manager = Manager(CharCounter(), with_restoration(Digest(max_tokens=200)), policy)
    decider, store = _Reader(), MemoryStore()

    asyncio.run(Runner(decider, Registry([read]), store, manager).run("Mend the parser."))

    texts = [
        each.content
        for request in decider.requests
        for each in request.history
        if each.role == "user" and each.content.startswith(_HEAD)
    ]
    assert texts
    assert all(_TEXT in text for text in texts)
    assert not any(_HEAD in each.content for each in asyncio.run(store.full()))
