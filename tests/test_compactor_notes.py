"""What a compactor leaves for its next generation arrives there, whoever keeps the conversation."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import pytest

from agentic.bridges.dicts import Conversation
from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest, first_of, with_digest
from agentic.context.strategies import FitContextWindow
from agentic.context.view import View
from agentic.history import JsonlStore, MemoryStore
from agentic.history.sqlite import SqliteStore
from agentic.loop import Runner
from agentic.messages import Message, SummaryText, from_plain, to_plain
from agentic.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from agentic.session import Session
from agentic.testing import ScriptedDecider
from agentic.tokens import CharCounter

pytestmark = pytest.mark.slow

_POLICY = Policy(1_000, min_recent_messages=3)
_LARGE = Policy(2_000, min_recent_messages=3)
_TURNS = 60
_WIRES = [openai_chat, openai_responses, anthropic, gemini, bedrock]
_KEYS = {"openai_responses": "input", "gemini": "contents"}
_SHORT, _LONG = 4, 70
"""How often a line is in a summary: within its share of the window, and over it."""


@attrs.define
class Counting:
    """A compactor that counts its generations in its notes, and is lost without them."""

    lines: int = _SHORT
    made: int = 0
    max_tokens: int = 100

    def write(self, messages: list[Message], /, *, counter: Any = None) -> str:
        """Summarize."""
        former = [each.summary for each in messages if each.summary is not None]
        counts = [summary.notes["counting"]["made"] for summary in former]
        assert counts == ([self.made] if self.made else [])
        self.made += 1
        text = f"\n {self.made} made\n" + "a line of it\n" * self.lines
        return SummaryText(text, {"counting": {"made": self.made, "odd": ["\ud83d", None]}})

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        return self.write(messages)


def _talk(number: int) -> list[Message]:
    return [
        Message("user", f"u{number} " + "please " * 20),
        Message("assistant", f"a{number} " + "done " * 20),
    ]


def _through_json(plain: Any) -> Any:
    return json.loads(json.dumps(plain))


@pytest.fixture(params=[_SHORT, _LONG], ids=["shown whole", "shortened"])
def counting(request: pytest.FixtureRequest) -> Iterator[Counting]:
    """Yield the compactor, and expect that it was asked often."""
    compactor = Counting(request.param)
    yield compactor
    assert compactor.made >= 4


def test_notes_reach_next_generation_by_manager(counting: Counting) -> None:
    """The caller goes on with the messages of the Compaction."""
    manager = Manager(CharCounter(), counting, _LARGE)
    history: list[Message] = []
    for number in range(3 * _TURNS):
        history += _talk(number)
        done = asyncio.run(manager.compact_if_needed(history))
        assert done.error is None
        history = done.messages


def _keep(view: View, _: Counting) -> View:
    return view


def _restart(view: View, compactor: Counting) -> View:
    state = _through_json(view.state())
    return View(_POLICY, counter=CharCounter(), compactor=compactor, state=state)


@pytest.mark.parametrize("go_on", [_keep, _restart])
def test_notes_reach_next_generation_by_appending(
    counting: Counting, go_on: Callable[[View, Counting], View]
) -> None:
    """The View alone knows of the summary, in its state, too."""
    view, talk = View(_POLICY, counter=CharCounter(), compactor=counting), list[Message]()
    for number in range(_TURNS):
        talk += _talk(number)
        prepared = view.prepare_sync(talk)
        assert not any(note.kind == "summary_failed" for note in prepared.notes)
        view = go_on(view, counting)


@pytest.mark.parametrize("go_on", [_keep, _restart])
@pytest.mark.parametrize(
    "store",
    [
        lambda message: message,
        lambda message: from_plain(_through_json(to_plain(message))),
        lambda message: Message(message.role, message.content),
    ],
    ids=["as objects", "as JSON", "as texts"],
)
def test_notes_reach_next_generation_when_resent(
    counting: Counting,
    go_on: Callable[[View, Counting], View],
    store: Callable[[Message], Message],
) -> None:
    """The owner goes on with what the View gave, in whatever form it is kept."""
    view, talk = View(_POLICY, counter=CharCounter(), compactor=counting), list[Message]()
    for number in range(_TURNS):
        talk += _talk(number)
        prepared = view.prepare_sync(talk)
        assert not any(note.kind == "summary_failed" for note in prepared.notes)
        talk = [store(message) for message in prepared.messages]
        view = go_on(view, counting)


@pytest.mark.parametrize("kind", ["jsonl", "sqlite", "memory"])
def test_notes_reach_next_generation_by_store(
    counting: Counting, kind: str, tmp_path: Path
) -> None:
    """The session is opened again at every turn, where it is on a disk."""
    memory = MemoryStore()
    stores: dict[str, Callable[[], Any]] = {
        "jsonl": lambda: JsonlStore(tmp_path / "monday.jsonl"),
        "sqlite": lambda: SqliteStore(tmp_path / "sessions.db", "monday"),
        "memory": lambda: memory,
    }

    async def turn(number: int) -> None:
        session = Session(
            "monday", stores[kind](), counter=CharCounter(), policy=_POLICY, compactor=counting
        )
        async with session:
            for message in _talk(number):
                await session.append(message)
            prepared = await session.prepare()
            assert not any(note.kind == "summary_failed" for note in prepared.notes)

    for number in range(_TURNS):
        asyncio.run(turn(number))


def test_notes_reach_next_generation_by_runner(counting: Counting) -> None:
    """Its store takes the summary in the place of the messages."""
    store, manager = MemoryStore(), Manager(CharCounter(), counting, _POLICY)
    decider = ScriptedDecider(*(_talk(number)[1].content for number in range(_TURNS)))
    runner = Runner(decider, store=store, budget=manager)
    for number in range(_TURNS):
        runner.run_sync(_talk(number)[0].content)

    assert counting.made > 1


@pytest.mark.parametrize("wire", _WIRES, ids=lambda wire: wire.ADAPTER.name)
@pytest.mark.parametrize("restarts", [False, True], ids=["one process", "a new one each turn"])
@pytest.mark.parametrize("replaces", [False, True], ids=["appended list", "list that was sent"])
@pytest.mark.parametrize("whole", [False, True], ids=["list", "request"])
def test_notes_reach_next_generation_as_dicts(
    counting: Counting, wire: ModuleType, *, restarts: bool, replaces: bool, whole: bool
) -> None:
    """Whether the summary is in the system prompt, a system message or a user's."""

    def make(state: Any) -> Conversation:
        return Conversation(
            wire, _POLICY, compactor=counting, counter=CharCounter(), state=_through_json(state)
        )

    key = _KEYS.get(wire.ADAPTER.name, "messages")
    conversation, request = make(None), dict[str, Any]({key: []})
    for number in range(_TURNS):
        new = wire.encode_request(_talk(number)[:1])[key]
        request[key] += new if isinstance(new, list) else [{"role": "user", "content": new}]
        items = request[key]
        sent = conversation.fit_request(request) if whole else {key: conversation.fit(items)}
        latest = conversation.latest
        assert latest is not None
        assert not any(note.kind == "summary_failed" for note in latest.notes)
        if replaces:
            request = _through_json(sent)
        if restarts:
            conversation = make(conversation.state())


def test_notes_reach_next_generation_beside_digest(counting: Counting) -> None:
    """A strategy's note is a summary like any other, with notes of its own."""
    strategy = FitContextWindow(1_000, CharCounter(), digest=counting)
    talk: list[Message] = []
    for number in range(_TURNS):
        talk += _talk(number)
        strategy.compact(talk)

    assert counting.made > 1


class Prose:
    """A compactor without notes, which is away every third time."""

    def __init__(self) -> None:
        self.asked = 0

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize; what it is given has no notes."""
        assert not any(each.summary.notes for each in messages if each.summary)
        self.asked += 1
        if not self.asked % 3:
            raise ConnectionError("away")
        return "Prose."


@attrs.frozen(kw_only=True)
class NotedDigest(Digest):
    """A digest in the place of the usual one, with notes."""

    counting: Counting

    async def compact(self, messages: list[Message], /) -> str:
        """Write what the other one writes, below the title by which digests are found."""
        said = self.counting.write(messages)
        title = Digest().write([Message("user", "Why?")]).split("\n")[0]
        return SummaryText(f"{title}\n{said.strip()}", SummaryText(said).notes)


def test_notes_pass_through_nested_compactors(counting: Counting) -> None:
    """The prose that a model writes above a digest takes no part in the digest's notes."""
    digest = NotedDigest(counting=counting)
    manager = Manager(CharCounter(), first_of(with_digest(Prose(), digest), digest), _LARGE)
    history: list[Message] = []
    for number in range(3 * _TURNS):
        history += _talk(number)
        done = asyncio.run(manager.compact_if_needed(history))
        assert done.error is None
        history = done.messages
