"""What `prepare` does besides following a list: races, sync and async, usage, overflow."""

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from agentic import events
from agentic.context import compactors
from agentic.context.budget import Compaction, Manager, Policy
from agentic.context.strategies import KeepLast
from agentic.context.view import View
from agentic.messages import Message
from agentic.protocols import CompactionReason
from agentic.tokens import CharCounter
from agentic.usage import Usage


def _talk(number: int) -> list[Message]:
    roles = ("user", "assistant")
    return [Message(roles[at % 2], f"m{at} " + "word " * 30) for at in range(number)]  # type: ignore[arg-type]


@attrs.define
class Slow:
    """A compactor that waits until it is told to go on."""

    go_on: asyncio.Event = attrs.field(factory=asyncio.Event)
    started: asyncio.Event = attrs.field(factory=asyncio.Event)
    asked: int = 0

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        self.asked += 1
        self.started.set()
        await self.go_on.wait()
        return f"{len(messages)} messages"


@attrs.define
class Broken:
    """A compactor that always fails."""

    asked: int = 0

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        self.asked += 1
        raise ConnectionError("no route to the model")


def _view(compactor: Any = None, **options: Any) -> View:
    policy = options.pop("policy", Policy(1_000))
    return View(policy, counter=CharCounter(), compactor=compactor, **options)


def test_request_that_another_thread_overtakes_is_sent_as_it_is() -> None:
    """It extends the one before, which is longer by then, and not the last one."""
    view, talk = _view(), _talk(9)
    view.prepare_sync(talk[:3])
    draft = view._draft(talk[:5], "", (), 0.0)
    view.prepare_sync(talk)

    request = view._cut(draft, None)

    assert request.messages == talk[:5]
    assert not request.extends
    assert view.prepare_sync(talk[:7]).extends


def test_message_appended_during_summary_is_sent() -> None:
    """What the owner appends while a summary is made stands behind it in the same request."""

    async def race() -> list[Message]:
        slow, talk = Slow(), _talk(40)
        view = _view(slow)
        preparing = asyncio.create_task(view.prepare(talk))
        await slow.started.wait()
        talk.append(Message("user", "late"))
        slow.go_on.set()
        return (await preparing).messages

    assert asyncio.run(race())[-1].content == "late"


def test_request_that_was_exchanged_meanwhile_is_sent() -> None:
    """The owner goes back and asks something else while a thread reads the list."""
    talk = [*_talk(40), Message("user", "How?")]

    class Meanwhile(CharCounter):
        def count(self, text: str, /) -> int:
            talk[-1] = last
            return super().count(text)

    last = Message("user", "Why?")
    view = View(Policy(90_000), counter=Meanwhile())

    assert asyncio.run(view.prepare(talk)).messages[-1].content == "Why?"


def test_two_prepares_share_one_summary() -> None:
    """The second waits for the first, and finds the summary made."""

    async def both() -> int:
        slow, talk = Slow(), _talk(40)
        view = _view(slow)
        preparing = [asyncio.create_task(view.prepare(talk)) for _ in range(2)]
        await slow.started.wait()
        slow.go_on.set()
        first, second = await asyncio.gather(*preparing)
        assert first.messages == second.messages
        return slow.asked

    assert asyncio.run(both()) == 1


def test_each_event_loop_may_have_waiters() -> None:
    """Sync code starts a loop for each call, and one View serves them all."""

    class Short:
        async def compact(self, messages: list[Message], /) -> str:
            await asyncio.sleep(0)
            return "short"

    view, talk = _view(Short()), _talk(40)

    async def prepare_twice() -> int:
        both = await asyncio.gather(view.prepare(talk), view.prepare(talk))
        return sum(each.compaction is not None for each in both)

    assert asyncio.run(prepare_twice()) == 1
    talk += _talk(40)
    assert asyncio.run(prepare_twice()) == 1


def test_any_budget_is_served() -> None:
    """It need not be one of attrs; ahead of a limit, it alone knows what to do."""

    class Own:
        def __init__(self) -> None:
            self.manager = Manager(CharCounter(), Slow(), Policy(1_000))
            self.policy, self.counter = self.manager.policy, self.manager.counter
            self.compactor = self.manager.compactor

        def due(self, messages: list[Message], *, size: int) -> CompactionReason | None:
            return self.manager.due(messages, size=size)

        async def compact_if_needed(self, messages: list[Message], **options: Any) -> Compaction:
            return await self.manager.compact_if_needed(messages, **options)

    async def prepare_in_a_loop(view: View) -> list[str]:
        assert await view.prepare_ahead(_talk(25)) is None
        return [note.kind for note in view.prepare_sync(_talk(40)).notes]

    assert asyncio.run(prepare_in_a_loop(View.of(Own()))) == ["summary_by_digest"]


def test_summary_made_ahead_keeps_nobody_waiting() -> None:
    """Near a limit the summary is made in the background; the next request finds it."""

    async def ahead() -> None:
        slow, talk = Slow(), _talk(0)
        view = _view(slow)
        while view.check(talk).tokens < 0.9 * view.policy.available_tokens:
            talk += _talk(1)
        assert (await view.prepare(talk)).compaction is None
        background = asyncio.create_task(view.prepare_ahead(talk))
        await slow.started.wait()
        talk.append(Message("user", "meanwhile"))
        assert (await view.prepare(talk)).messages == talk  # nobody waits where none is due
        slow.go_on.set()
        done = await background

        assert done is not None
        assert done.changed
        sent = (await view.prepare(talk)).messages
        assert sent[0].summary is not None
        assert sent[-1].content == "meanwhile"
        assert slow.asked == 1

    asyncio.run(ahead())


def test_nothing_is_made_ahead_too_early() -> None:
    """`prepare_ahead` may be called after every turn."""
    slow = Slow()

    assert asyncio.run(_view(slow).prepare_ahead(_talk(4))) is None
    assert slow.asked == 0


def test_a_plain_sync_turn_needs_no_coroutine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No loop, no thread, no coroutine: a sync agent pays for none of them."""

    def refuse(*_: object, **__: object) -> None:
        pytest.fail("something asynchronous was made")

    view = _view(compactors.Digest())
    monkeypatch.setattr(asyncio, "run", refuse)
    monkeypatch.setattr(asyncio, "new_event_loop", refuse)
    monkeypatch.setattr("threading.Thread.start", refuse)

    assert view.prepare_sync(_talk(4)).fits


def test_a_running_loop_gets_a_digest() -> None:
    """A compactor that has to wait would block the loop: a digest is made, and a note says so."""

    async def inside() -> None:
        prepared = _view(Slow()).prepare_sync(_talk(40))

        assert prepared.compaction is not None
        assert prepared.compaction.changed
        assert [note.kind for note in prepared.notes] == ["summary_by_digest"]

    asyncio.run(inside())


def test_a_running_loop_keeps_context_variables() -> None:
    """A summary that is made in another thread belongs to the same trace."""
    trace: contextvars.ContextVar[str] = contextvars.ContextVar("trace", default="")
    seen: list[str] = []

    def note(_: object, **_event: object) -> None:
        seen.append(trace.get())

    async def inside() -> None:
        trace.set("t1")
        _view(Slow()).prepare_sync(_talk(40))

    with events.context_compaction_end.connected_to(note):
        asyncio.run(inside())

    assert seen == ["t1"]


def test_digest_in_loop_needs_no_note() -> None:
    """A digest is what was asked for."""

    async def inside() -> None:
        prepared = _view(compactors.Digest(max_tokens=100)).prepare_sync(_talk(40))

        assert prepared.compaction is not None
        assert prepared.compaction.changed
        assert prepared.notes == ()

    asyncio.run(inside())


def test_failing_compactor_is_asked_less_often() -> None:
    """The back-off belongs to the conversation, however many there are."""
    broken = Broken()
    views = [_view(broken, policy=Policy(4_000)) for _ in range(9)]
    talks = [_talk(100) for _ in views]
    for _ in range(5):
        for view, talk in zip(views, talks, strict=True):
            talk.append(Message("user", "and?"))
            prepared = view.prepare_sync(talk)
            assert prepared.fits

    assert broken.asked == len(views)


def test_failure_is_noted_and_loses_nothing() -> None:
    """The request is cut to the window, and the history is what it was."""
    talk = _talk(40)

    prepared = _view(Broken()).prepare_sync(talk)

    assert prepared.history is talk
    assert "summary_failed" in [note.kind for note in prepared.notes]
    assert "no route to the model" in prepared.notes[0].text


def test_nothing_due_returns_the_same_list() -> None:
    """A view that changes nothing is the list that was given."""
    talk = _talk(4)

    assert _view(compactors.Digest()).prepare_sync(talk).messages is talk


def test_usage_in_history_calibrates_fresh_view() -> None:
    """A View that is made for one request knows the size from the replies in the history."""
    talk = _talk(4)
    talk[3] = talk[3].replace(usage=Usage(input=700, output=40))
    talk.append(Message("user", "more " * 4))

    tokens = _view().check(talk).tokens

    assert 740 < tokens < 760


def test_reply_is_recognized_by_its_words() -> None:
    """A dump of the provider's object is still the reply whose usage was reported."""
    view, talk = _view(), _talk(3)
    view.prepare_sync(talk)
    view.report(Message("assistant", "Yes.", id="r1"), Usage(input=700, output=40))
    talk.append(Message("assistant", "Yes.", reasoning="hm"))
    talk.append(Message("user", "more " * 4))

    assert 740 < view.check(talk).tokens < 760


def test_overhead_is_part_of_the_size() -> None:
    """The system prompt is measured, unless the history begins with it."""
    view = _view()
    prompt = "Be brief. " * 40

    bare = view.check(_talk(3)).tokens
    beside = view.check(_talk(3), system_prompt=prompt).tokens
    within = view.check([Message("system", prompt), *_talk(3)], system_prompt=prompt).tokens

    assert beside == bare + 100
    assert within == bare + 104


def test_shrink_is_strictly_smaller_or_none() -> None:
    """After an overflow the second request is smaller than the first, whatever the counter says."""

    async def refused() -> None:
        view, talk = _view(compactors.Digest(max_tokens=100), policy=Policy(100_000)), _talk(20)
        sent = (await view.prepare(talk)).messages
        smaller = await view.shrink(sent)

        assert smaller is not None
        assert len(smaller.messages) < len(sent)
        assert smaller.messages[-1] is talk[-1] or talk[-2] in smaller.messages
        assert await view.shrink([talk[-2]]) is None

    asyncio.run(refused())


def test_shrink_needs_no_event_loop() -> None:
    """Nor does it block one: a digest stands in for a compactor that would have to wait."""
    talk = _talk(20)
    view = _view(Slow(), policy=Policy(100_000, timeout_seconds=60))
    calm = _view(compactors.Digest(max_tokens=100), policy=Policy(100_000))

    async def refused() -> list[str]:
        smaller = view.shrink_sync(view.prepare_sync(talk).messages)
        assert smaller is not None
        assert len(smaller.messages) < len(talk)
        return [note.kind for note in smaller.notes]

    smaller = calm.shrink_sync(calm.prepare_sync(talk).messages)

    assert smaller is not None
    assert smaller.notes == ()
    assert asyncio.run(refused())[0] == "summary_by_digest"


def test_sync_calls_never_await_async_ones() -> None:
    """While a summary is made ahead in the running loop, they only cut: to wait would block it."""

    async def meanwhile() -> None:
        slow, talk = Slow(), _talk(40)
        view = _view(slow)
        sent = view.prepare_sync(talk[:12]).messages
        background = asyncio.create_task(view.prepare_ahead(talk))
        await slow.started.wait()

        smaller = view.shrink_sync(sent)

        assert smaller is not None
        assert len(smaller.messages) < len(sent)
        assert view.prepare_sync(talk).compaction is smaller.compaction is None
        slow.go_on.set()
        done = await background
        assert done is not None
        assert done.changed

    asyncio.run(meanwhile())


def test_covered_counts_to_the_cut() -> None:
    """What the latest request took from the list as it is begins there."""
    view, talk = _view(compactors.Digest(max_tokens=100)), _talk(40)
    assert view.covered == 0

    sent = view.prepare_sync(talk).messages

    assert 0 < view.covered < len(talk)
    assert sent[-1] is talk[-1]
    assert talk[view.covered] in sent
    assert view.prepare_sync(talk[:3]).messages == talk[:3]
    assert view.covered == 0


def test_events_come_from_the_view() -> None:
    """A View that is used alone sends what a Manager would send, and what changed the view."""
    seen: list[str] = []

    def note(name: str) -> Callable[..., None]:
        return lambda sender, **_: seen.append(f"{name} {type(sender).__name__}")

    async def note_later(_: object, **__: object) -> None:
        await asyncio.sleep(0)
        seen.append("later")

    start, changed = note("start"), note("changed")
    events.context_compaction_start.connect(start)
    events.context_changed.connect(changed)
    events.context_changed.connect(note_later)
    _view(Broken()).prepare_sync(_talk(40))

    assert seen == ["start View", "changed View", "later"]


def test_a_receiver_may_prepare_a_request() -> None:
    """What changed is told when the turn is over, so that nobody waits for themselves."""
    view, talk = _view(strategies=[KeepLast(3)]), _talk(9)
    requests: list[list[Message]] = []

    async def prepare_again(_: object, **__: object) -> None:
        if not requests:
            requests.append([])
            requests.append((await view.prepare(talk)).messages)

    async def prepare() -> None:
        async with asyncio.timeout(60):
            requests.append((await view.prepare(talk)).messages)

    with events.context_changed.connected_to(prepare_again):
        asyncio.run(prepare())

    assert requests == [[], talk[-3:], talk[-3:]]


def test_waiting_for_its_sender_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    """A compaction ends once its receivers have: to wait for the View would be for ever."""
    view, talk = _view(compactors.Digest(max_tokens=100)), _talk(40)

    async def prepare_again(_: object, **__: object) -> None:
        await view.prepare(talk)

    async def prepare() -> None:
        async with asyncio.timeout(60):
            assert (await view.prepare(talk)).fits

    with events.context_compaction_end.connected_to(prepare_again):
        asyncio.run(prepare())

    assert "cannot await the View" in caplog.text


def test_explain_names_part_and_place() -> None:
    """What was summarized, what was cut, why, and where it is."""
    view, talk = _view(compactors.Digest(max_tokens=100)), _talk(40)
    view.prepare_sync(talk)

    (removal,) = view.explain()

    assert removal.part == "compaction"
    assert "window" in removal.reason
    assert removal.positions == tuple(range(len(removal.positions)))
    assert removal.tokens > 0


def test_state_of_another_kind_is_refused() -> None:
    """Anything but what `state()` returned is an error, not a lost summary."""
    for wrong in ({"v": 2}, {"v": 1, "compaction": {}}, {}):
        with pytest.raises(ValueError, match="state"):
            _view(state=wrong)


def test_cancelled_summary_changes_nothing() -> None:
    """The next request makes the summary after all."""

    async def cancel() -> None:
        slow, talk = Slow(), _talk(40)
        view = _view(slow)
        preparing = asyncio.create_task(view.prepare(talk))
        await slow.started.wait()
        preparing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await preparing
        slow.go_on.set()
        talk += [Message("user", "more " * 60)]
        prepared = await view.prepare(talk)

        assert prepared.compaction is not None
        assert prepared.compaction.changed

    asyncio.run(cancel())
