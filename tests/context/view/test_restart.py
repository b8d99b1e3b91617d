"""What a View made from the state of another one still knows: a restart loses no summary."""

import asyncio
import json
import math
from collections.abc import Iterator
from typing import Any

import attrs

from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.view import View
from agentic.errors import ConfigError
from agentic.messages import Message
from agentic.tokens import CharCounter
from agentic.usage import Usage

SMALL = Policy(1_000, summary_share=0.2)


class Wordy:
    """Writes more than a summary's share of the window."""

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        return f"The first word. {'a word ' * 200}The last word."


class Broken:
    """Fails, and counts how often it is asked."""

    asked = 0

    async def compact(self, messages: list[Message], /) -> str:
        """Fail."""
        self.asked += 1
        raise ConnectionError("no route to the model")


def _talk(number: int) -> list[Message]:
    roles = ("user", "assistant")
    return [Message(roles[at % 2], f"m{at} " + "word " * 30) for at in range(number)]  # type: ignore[arg-type]


def _view(policy: Policy = SMALL, state: Any = None, compactor: Any = None) -> View:
    return View(policy, counter=CharCounter(), compactor=compactor or Wordy(), state=state)


def _again(view: View) -> View:
    return _view(view.policy, json.loads(json.dumps(view.state())), view.compactor)


def _summary_of(messages: list[Message]) -> Message:
    (found,) = [each for each in messages if each.summary is not None]
    return found


def test_a_returned_short_summary_is_recognized() -> None:
    """An owner who stores what was sent has a plain system message, with part of the text."""
    first = _view()
    sent = first.prepare_sync(_talk(40))
    shown, whole = _summary_of(sent.messages), _summary_of(sent.history)
    stored = [attrs.evolve(m, summary=None) if m is shown else m for m in sent.messages]

    for view in (first, _again(first)):
        kept = _summary_of(view.prepare_sync([*stored, Message("user", "Go on.")]).history)

        assert "Shortened to fit" in shown.content
        assert kept.summary == whole.summary


def test_an_edited_short_summary_is_another() -> None:
    """It is a summary of its own: its text is all that is known of it."""
    first = _view()
    sent = first.prepare_sync(_talk(40))
    shown, whole = _summary_of(sent.messages), _summary_of(sent.history)
    edited = Message("system", shown.content.replace("first", "1st"))
    stored = [edited if m is shown else m for m in sent.messages]

    kept = _summary_of(_again(first).prepare_sync([*stored, Message("user", "Go on.")]).history)

    assert kept.summary is not None
    assert whole.summary is not None
    assert "1st" in kept.summary.content
    assert kept.summary.content != whole.summary.content


def test_providers_count_survives_a_restart() -> None:
    """The next size is what was reported, and what was appended since."""
    view, talk = _view(Policy(4_000)), _talk(3)
    view.prepare_sync(talk)
    talk.append(Message("assistant", "Yes."))
    view.report(talk[-1], Usage(input=700, output=40))
    talk.append(Message("user", "more " * 4))

    before = view.check(talk)

    assert 740 < before.tokens < 760
    assert _again(view).check(talk) == before


def test_a_back_off_survives_a_restart() -> None:
    """A compactor that failed is not asked by the next process either, until there is more."""
    broken, talk = Broken(), _talk(100)
    view = _view(Policy(4_000), compactor=broken)
    view.prepare_sync(talk)
    talk.append(Message("user", "and?"))
    again = _again(view)

    again.check([])  # nothing was loaded yet
    again.prepare_sync(talk)

    assert broken.asked == 1


def test_state_without_following_request_is_kept() -> None:
    """A process may end before it sends anything: then the next one knows as much."""
    view, talk = _view(Policy(4_000), compactor=Broken()), _talk(100)
    view.prepare_sync(talk)
    talk.append(Message("assistant", "Yes."))
    view.report(talk[-1], Usage(input=3_900, output=40))
    state = json.loads(json.dumps(view.state()))

    assert {"backoff", "size"} <= state.keys()
    assert _view(Policy(4_000), state, Broken()).state() == state


def test_a_state_of_another_list_is_compared_once() -> None:
    """Compared at every turn, a thousand long messages would take a minute."""
    talk = [Message("user", "word " * 2_000)] * 1_000
    view = _view(Policy(100_000_000))
    asyncio.run(view.compact(talk))
    view.prepare_sync(talk)
    another = _again(view)
    talk[0] = Message("user", "Another beginning.")

    for number in range(1_000):
        talk.append(Message("user", f"m{number}"))
        assert another.prepare_sync(talk).messages is talk


def _damaged(value: Any) -> Iterator[Any]:
    """Yield a state with one value missing or of another type, in turn for each value."""
    for key in value if isinstance(value, dict) else range(len(value)):
        for wrong in (None, "?", "", [], {}, [999], 0, 10**30, math.inf):  # JSON may hold Infinity
            yield _with(value, key, wrong)
        if isinstance(value, dict):
            yield {name: each for name, each in value.items() if name != key}
        if isinstance(value[key], dict | list):
            for inner in _damaged(value[key]):
                yield _with(value, key, inner)


def _with(value: Any, key: Any, inner: Any) -> Any:
    changed = value.copy()
    changed[key] = inner
    return changed


def test_damaged_state_is_refused_at_once() -> None:
    """Or it is of no consequence: no request fails because of it."""
    view, talk = _view(), _talk(40)
    for _ in range(2):
        view.prepare_sync(talk)
        talk.append(Message("assistant", "Yes."))
        view.report(talk[-1], Usage(input=600, output=40))
    whole = json.loads(json.dumps(view.state() | {"backoff": {"tokens": 500, "growth": 1.25}}))
    refused: list[str] = []

    for state in _damaged(whole):
        try:
            restarted = _view(state=state)
        except ConfigError as error:
            refused.append(error.name)
        else:
            assert all(each.content for each in restarted.prepare_sync(talk).messages)

    assert len(refused) > 50
    assert set(refused) == {"state"}


def test_a_rewound_list_has_its_branchs_state() -> None:
    """The latest request decides which summary is remembered, not the latest summary."""
    view, talk = _view(Policy(100_000), compactor=Digest(max_tokens=100)), _talk(60)
    asyncio.run(view.compact(talk))
    view.prepare_sync(talk)
    early = view.state()["compaction"]
    asyncio.run(view.compact([*talk, *_talk(60)]))

    view.prepare_sync([*talk, Message("user", "Go back.")])

    assert view.state()["compaction"] == early


def test_cut_after_a_refusal_survives_a_restart() -> None:
    """The next request extends the smaller one, from whichever View."""
    talk = _talk(60)
    view = View(Policy(2_000), counter=CharCounter())
    sent = view.prepare_sync(talk).messages
    smaller = view.shrink_sync(sent)
    again = View(Policy(2_000), counter=CharCounter(), state=json.loads(json.dumps(view.state())))
    talk += [Message("assistant", "Done."), Message("user", "Go on.")]

    warm, cold = view.prepare_sync(talk), again.prepare_sync(talk)

    assert smaller is not None
    assert len(smaller.messages) < len(sent)
    assert warm.messages == cold.messages == [*smaller.messages, *talk[-2:]]
    assert warm.extends
    assert cold.extends
    assert again.state()["epoch"] == view.state()["epoch"]


def test_state_from_before_refusals_were_stored_is_read() -> None:
    """As a version wrote it that did not know them."""
    view = View(Policy(2_000), counter=CharCounter())
    view.prepare_sync(_talk(60))
    state = view.state()
    del state["epoch"]["shrunk_tokens"]

    again = View(Policy(2_000), counter=CharCounter(), state=state)

    assert again.prepare_sync(_talk(60)).messages == view.prepare_sync(_talk(60)).messages
