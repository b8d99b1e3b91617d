"""The contract of a bridge: what whoever keeps a conversation in a list of their own relies on."""

import asyncio
import copy
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import attrs

from agentic.errors import ContextOverflow
from agentic.messages import Message, split_rounds
from agentic.tokens import CharCounter

_WINDOW, _TURNS = 700, 14


class Bridge(Protocol):
    """One conversation in somebody else's list, as `bridges.kit.ListView` keeps it."""

    def fit(self, items: Sequence[Any], /, *, refused: bool = False) -> list[Any]:
        """Return what to send of a list."""
        ...

    async def fit_async(self, items: Sequence[Any], /, *, refused: bool = False) -> list[Any]:
        """Return what `fit` returns."""
        ...

    def state(self) -> Mapping[str, Any]:
        """Return what must be kept between processes, as plain JSON."""
        ...


@attrs.define
class _Summaries:
    """A compactor whose summary has a number, and which keeps what it was given."""

    given: list[list[Message]] = attrs.field(factory=list)

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        self.given.append(list(messages))
        return f"Summary {len(self.given)} of {len(messages)} messages."


@attrs.frozen
class _Case:
    make: Callable[..., Bridge]
    exchange: Callable[[int], list[Any]]
    read: Callable[[Any], Sequence[Message]]
    edit: Callable[[Any, str], None] | None
    reload: Callable[[list[Any]], list[Any]]

    def bridge(
        self, window: int = _WINDOW, *, state: Mapping[str, Any] | None = None
    ) -> tuple[Bridge, _Summaries]:
        """Make a bridge, and the compactor that it asks."""
        summaries = _Summaries()
        instance = self.make(window, compactor=summaries, counter=CharCounter(), state=state)
        return instance, summaries

    def talk(self, turns: int = _TURNS, start: int = 0) -> list[Any]:
        """Return the items of some turns."""
        return [item for number in range(start, start + turns) for item in self.exchange(number)]

    def messages(self, items: Sequence[Any]) -> list[Message]:
        """Return what items say."""
        return [message for item in items for message in self.read(item)]


def check_bridge(
    make: Callable[..., Bridge],
    exchange: Callable[[int], list[Any]],
    read: Callable[[Any], Sequence[Message]],
    *,
    edit: Callable[[Any, str], None] | None = None,
    reload: Callable[[list[Any]], list[Any]] = copy.deepcopy,
) -> None:
    """Raise unless a bridge keeps what `bridges.kit` promises.

    Args:
        make: `make(window, *, compactor, counter, state)` returns a new bridge.
        exchange: returns the framework's items of the turn with this number: a request, a reply
            with one call, its result, a reply. About 60 words, and the number in each text.
        read: returns what one item says.
        edit: changes the text of a user's item in place, if the framework lets an owner do that.
        reload: returns equal new objects, as a store does.

    Raises:
        AssertionError: it breaks a promise, which the error quotes.
    """
    case = _Case(make, exchange, read, edit, reload)
    for check in _CHECKS:
        try:
            check(case)
        except AssertionError as problem:
            raise AssertionError(f"A bridge breaks a promise: {check.__doc__} {problem}") from None


def _keeps_what_fits(case: _Case) -> None:
    """A list that fits is sent as it is: the same list of the same objects."""
    bridge, _ = case.bridge(100_000)
    for turns in range(1, 4):
        items = case.talk(turns)
        if bridge.fit(items) is not items:
            raise AssertionError(f"{turns} turns came back as another list.")


def _never_changes_the_list(case: _Case) -> None:
    """The owner's list has the same objects afterwards, and they say the same."""
    bridge, _ = case.bridge()
    items = case.talk()
    before, messages = list(items), case.messages(items)
    request = bridge.fit(items)
    is_same = len(items) == len(before) and all(map(_is, items, before))
    if not is_same or case.messages(items) != messages:
        raise AssertionError("It was changed.")
    if request is items:
        raise AssertionError(f"{len(items)} items were sent in a window of {_WINDOW} tokens.")


def _loses_nothing(case: _Case) -> None:
    """Each message is sent, or was given to the compactor."""
    bridge, summaries = case.bridge()
    items: list[Any] = []
    for number in range(_TURNS):
        items += case.exchange(number)
        request = case.messages(bridge.fit(items))
        texts = {_said(each) for each in request}
        texts |= {_said(each) for batch in summaries.given for each in batch}
        missing = [each for each in case.messages(items) if _said(each) not in texts]
        if missing:
            raise AssertionError(f"Lost after turn {number}: {missing[0]!r}.")


def _keeps_rounds_whole(case: _Case) -> None:
    """No call is sent without its result, and no result without its call; the latest is there."""
    bridge, _ = case.bridge()
    items: list[Any] = []
    for number in range(_TURNS):
        items += case.exchange(number)
        request = bridge.fit(items)
        rounds = split_rounds(case.messages(request))
        if any(each.open_calls or each.orphaned for each in rounds):
            raise AssertionError(f"A round is open after turn {number}.")
        if request[-1] is not items[-1]:
            raise AssertionError(f"The newest item after turn {number} is not the owner's.")


def _summarizes_once(case: _Case) -> None:
    """What was summarized is not summarized again: neither as it is, nor loaded anew."""
    bridge, summaries = case.bridge()
    items = case.talk()
    request = case.messages(bridge.fit(items))
    for again in (items, case.reload(items), [*items]):
        if _all_said(case.messages(bridge.fit(again))) != _all_said(request):
            raise AssertionError("The same list led to another request.")
    if len(summaries.given) != 1:
        raise AssertionError(f"It took {len(summaries.given)} summaries.")


def _sends_the_same_objects(case: _Case) -> None:
    """What was sent is sent again as the same objects for as long as nothing begins anew."""
    bridge, summaries = case.bridge(3 * _WINDOW)
    items = case.talk(2 * _TURNS)
    before = bridge.fit(items)
    count = len(summaries.given)
    items += case.exchange(2 * _TURNS)
    after = bridge.fit(items)
    if len(summaries.given) == count and not all(map(_says_the_same, before, after)):
        raise AssertionError("The start of the request is another one after one more turn.")


def _follows_rewinds(case: _Case) -> None:
    """After a rewind or a fork nothing is sent that is no longer in the list."""
    bridge, _ = case.bridge()
    items = case.talk()
    bridge.fit(items)
    for length in (len(items) - 4, len(items) // 2, 4):
        items = [*items[:length], *case.talk(2, start=100 + length)]
        request = case.messages(bridge.fit(items))
        there = {_said(each) for each in case.messages(items)}
        surplus = [each for each in request if _said(each) not in there and not _is_ours(each)]
        if surplus:
            raise AssertionError(f"Not in the list any more: {surplus[0]!r}.")


def _sees_edits(case: _Case) -> None:
    """An item that is edited in place is sent as it is now."""
    if case.edit is None:
        return
    bridge, _ = case.bridge()
    items = [*case.talk(), case.exchange(200)[0]]
    bridge.fit(items)
    case.edit(items[-1], "edited in place")
    if case.messages(bridge.fit(items))[-1].content != "edited in place":
        raise AssertionError("The former text was sent.")


def _answers_overflows(case: _Case) -> None:
    """A request that was refused is followed by a smaller one, or by a ContextOverflow."""
    bridge, _ = case.bridge(4 * _WINDOW)
    items = case.talk()
    size = _size(case, bridge.fit(items))
    for _ in range(20):
        try:
            smaller = _size(case, bridge.fit(items, refused=True))
        except ContextOverflow:
            return
        if smaller >= size:
            raise AssertionError(f"{smaller} tokens after {size} were refused.")
        size = smaller
    raise AssertionError("It became smaller twenty times.")


def _survives_a_restart(case: _Case) -> None:
    """Another process that has the state, as JSON, sends the same, and summarizes nothing."""
    bridge, _ = case.bridge()
    items = case.talk()
    request = case.messages(bridge.fit(items))
    state = json.loads(json.dumps(bridge.state()))
    other, summaries = case.bridge(state=state)
    copy = case.reload(items)
    if _all_said(case.messages(other.fit(copy))) != _all_said(request) or summaries.given:
        raise AssertionError("The other one made a request of its own.")


def _awaits_as_it_calls(case: _Case) -> None:
    """`fit_async` sends what `fit` sends."""
    items = case.talk()
    for turns in range(4, len(items), 4):
        bridge, other = case.bridge()[0], case.bridge()[0]
        sync = bridge.fit(items[:turns])
        results = asyncio.run(_await(other, items[:turns]))
        if _all_said(case.messages(sync)) != _all_said(case.messages(results)):
            raise AssertionError(f"They differ for {turns} items.")


def _serves_threads_and_tasks(case: _Case) -> None:
    """Threads and tasks may ask at once; each gets a request that ends as its list does."""
    bridge, _ = case.bridge()
    items = case.talk()
    problems: list[str] = []

    def ask(number: int) -> None:
        length = len(items) - 4 * (number % 3)
        for _ in range(3):
            request = bridge.fit(items[:length])
            if request[-1] is not items[length - 1]:
                problems.append("A request ends with an item of another list.")

    async def tasks() -> None:
        lists = [items[: len(items) - 4 * (number % 3)] for number in range(6)]
        for part, request in zip(
            lists, await asyncio.gather(*(_await(bridge, each) for each in lists)), strict=True
        ):
            if request[-1] is not part[-1]:
                problems.append("An awaited request ends with an item of another list.")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    asyncio.run(tasks())
    for thread in threads:
        thread.join()
    if problems:
        raise AssertionError(problems[0])


_CHECKS = (
    _keeps_what_fits,
    _never_changes_the_list,
    _loses_nothing,
    _keeps_rounds_whole,
    _summarizes_once,
    _sends_the_same_objects,
    _follows_rewinds,
    _sees_edits,
    _answers_overflows,
    _survives_a_restart,
    _awaits_as_it_calls,
    _serves_threads_and_tasks,
)


async def _await(bridge: Bridge, items: list[Any]) -> list[Any]:
    return await bridge.fit_async(items)


def _is(one: object, other: object) -> bool:
    return one is other


def _says_the_same(one: Any, other: Any) -> bool:
    return one is other or bool(one == other)


def _said(message: Message) -> tuple[Any, ...]:
    calls = tuple((call.id, call.name) for call in message.tool_calls)
    results = tuple((result.call_id, result.output) for result in message.tool_results)
    return message.content, calls, results


def _all_said(messages: Sequence[Message]) -> list[tuple[Any, ...]]:
    return [_said(message) for message in messages]


def _is_ours(message: Message) -> bool:
    """Return whether a message is a record, or leads up to a reply."""
    texts: Iterator[str] = iter(("[Context Summary", "Continue.", "Understood."))
    return message.summary is not None or any(message.content.startswith(each) for each in texts)


def _size(case: _Case, items: Sequence[Any]) -> int:
    texts = [
        message.content + "".join(result.text for result in message.tool_results)
        for message in case.messages(items)
    ]
    return sum(map(CharCounter().count, texts))
