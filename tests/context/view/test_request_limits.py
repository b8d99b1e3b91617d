"""The limits on bytes and images, besides the window: no request is refused for its size."""

import asyncio
from typing import Any

import pytest

from agentic.context import compactors
from agentic.context.budget import Policy
from agentic.context.strategies import FitRequest
from agentic.context.view import View
from agentic.messages import Media, Message, ToolCall, ToolResult
from agentic.tokens import CharCounter

_PHOTO = Media("image/png", b"\x89PNG" + b"0" * 3_000)


def _round(number: int, output: str = "read", media: tuple[Media, ...] = ()) -> list[Message]:
    call = ToolCall(f"c{number}", "look", "{}")
    result = ToolResult(f"c{number}", "look", output, media=media)
    return [
        Message("user", f"Look at part {number}."),
        Message("assistant", tool_calls=[call]),
        Message("tool", tool_results=[result]),
        Message("assistant", f"Part {number} is seen."),
    ]


def _images(messages: list[Message]) -> int:
    return sum(len(message.all_media) for message in messages)


def _view(**limits: Any) -> View:
    policy = Policy(1_000_000, **limits)
    return View(policy, counter=CharCounter(), compactor=compactors.Digest())


def test_images_never_exceed_their_number() -> None:
    """The oldest go first, in epochs; each leaves a line, and no message goes with them."""
    view, history, epochs = _view(max_images=8), [Message("user", "Begin.")], 0
    for number in range(30):
        history += _round(number, media=(_PHOTO,))
        prepared = view.prepare_sync([*history, Message("user", "Go on.")])
        history.append(Message("user", "Go on."))
        epochs += not prepared.extends
        assert _images(prepared.messages) <= 8
        assert len(prepared.messages) == len(history)
    assert 5 < epochs < 15
    notices = [each.tool_results[0].notice for each in prepared.messages if each.tool_results]
    assert notices[0] == "[Left out: 1 attachment (image/png).]"
    assert notices[-1] == ""


def test_bytes_are_summarized_before_they_are_refused() -> None:
    """As with Kimi, which takes two megabytes although its window has room for more."""
    view, history = _view(max_request_bytes=200_000), []
    compactions = 0
    for number in range(40):
        history += _round(number, output="x" * 12_000)
        history.append(Message("user", f"Go on {number}."))
        prepared = view.prepare_sync(history)
        compactions += prepared.compaction is not None
        measured = FitRequest(max_bytes=200_000).measure(prepared.messages)
        assert measured[0] <= 200_000
        assert not [note for note in prepared.notes if note.kind == "over_request"]
    assert 0 < compactions < 8
    assert any(message.summary for message in prepared.messages)


def test_limit_of_the_model_holds_without_a_policy() -> None:
    """Each model has its own; a policy of 0 takes it away."""
    history = [Message("user", "Look.", media=[_PHOTO] * 60), Message("assistant", "Seen.")]
    history.append(Message("user", "And now?"))
    view = _view()
    view.model = "meta/muse-spark-1.3"
    assert _images(view.prepare_sync(history).messages) == 37
    other = _view()
    other.model = "claude-opus-4-8"
    assert _images(other.prepare_sync(history).messages) == 60
    free = _view(max_images=0)
    free.model = "meta/muse-spark-1.3"
    assert _images(free.prepare_sync(history).messages) == 60


def test_refusal_teaches_a_limit() -> None:
    """A server that resells a model takes fewer images than its maker."""
    view = _view()
    history = [Message("user", f"Photo {n}.", media=[_PHOTO]) for n in range(12)]
    assert _images(view.prepare_sync(history).messages) == 12
    view.limit_request("images", 8)
    prepared = view.prepare_sync(history)
    assert (_images(prepared.messages), prepared.extends, prepared.changes) == (6, False, ("cut",))


@pytest.mark.parametrize(("limit", "images"), [(8, 6), (None, 6), (100, 6), (2, 1)])
@pytest.mark.parametrize("awaited", [False, True])
def test_refused_images_are_left_out(limit: int | None, images: int, *, awaited: bool) -> None:
    """Also if the limit that was stated is one that the request kept."""
    view = _view()
    history = [Message("user", f"Photo {n}.", media=[_PHOTO]) for n in range(12)]
    sent = view.prepare_sync(history).messages
    options: dict[str, Any] = {"kind": "images", "limit": limit}

    if awaited:
        smaller = asyncio.run(view.shrink(sent, **options))
    else:
        smaller = view.shrink_sync(sent, **options)

    assert smaller is not None
    assert _images(smaller.messages) == images
    assert len(smaller.messages) == len(history)


@pytest.mark.parametrize("limit", [None, 60_000, 1])
def test_refused_bytes_are_left_out(limit: int | None) -> None:
    """Of a history that has no media, by a summary."""
    view, history = _view(), []
    for number in range(12):
        history += _round(number, output="x" * 6_000)
    sent = view.prepare_sync(history).messages

    smaller = view.shrink_sync(sent, kind="bytes", limit=limit)

    assert smaller is not None
    measure = FitRequest().measure
    assert measure(smaller.messages)[0] < min(limit or 75_000, 75_000) or limit == 1
    assert measure(smaller.messages)[0] < measure(sent)[0]


@pytest.mark.parametrize("kind", ["bytes", "images"])
def test_nothing_smaller_is_no_request(kind: Any) -> None:
    """One message that is too large stays what it is."""
    view = _view()
    sent = view.prepare_sync([Message("user", "Why?")]).messages
    assert view.shrink_sync(sent, kind=kind) is None


def test_what_cannot_be_left_out_is_said() -> None:
    """A request of the user's that is larger than the provider takes."""
    view = _view(max_request_bytes=10_000)
    prepared = view.prepare_sync([Message("user", "y" * 20_000)])
    note = next(note for note in prepared.notes if note.kind == "over_request")
    assert note.text == "the request is too large to send: 20,068 bytes of 10,000"


def test_restart_sends_the_same_request() -> None:
    """The state holds the epoch, and the limits make the same view of it."""
    history = [Message("user", f"Photo {n}.", media=[_PHOTO]) for n in range(12)]
    view = _view(max_images=8)
    former = view.prepare_sync(history)
    history += [Message("assistant", "Seen."), Message("user", "Go on.")]
    again = View(view.policy, counter=CharCounter(), state=view.state())
    prepared = again.prepare_sync(history)
    assert prepared.extends
    assert prepared.messages[:12] == former.messages


@pytest.mark.parametrize("limit", [3, 7])
def test_newest_images_stay_longest(limit: int) -> None:
    """Also within one message."""
    photos = [Media("image/png", bytes([n])) for n in range(10)]
    view = FitRequest(max_images=limit, low_watermark=1.0)
    (message,) = view.compact([Message("user", "All of it.", media=photos)])
    assert [each.data[0] for each in message.media] == list(range(10 - limit, 10))


def test_other_media_stay_where_only_images_are_limited() -> None:
    """A document is no image."""
    paper = Media("application/pdf", b"%PDF")
    message = Message("user", "Both.", media=[_PHOTO, paper, _PHOTO])
    (left,) = FitRequest(max_images=1, low_watermark=1.0).compact([message])
    assert list(left.media) == [paper, _PHOTO]
