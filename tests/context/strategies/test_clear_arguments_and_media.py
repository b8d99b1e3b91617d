"""On request, old arguments and media are cleared, too, and what was cleared is not sent."""

import json
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.context import budget, view
from agentic.context.strategies import ClearToolOutputs
from agentic.errors import ConfigError
from agentic.messages import Media, Message, ToolCall, ToolResult, split_rounds
from agentic.messages._landmarks import find_task
from agentic.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from agentic.testing import conversations
from agentic.tokens import CharCounter, count_tokens

ADAPTERS = [anthropic, bedrock, gemini, openai_chat, openai_responses]
LETTERS = CharCounter(1.0)
TEXT = "secret " * 60
IMAGE = Media("image/png", b"\x89PNG")


def _clear(max_tokens: int = 200, **options: Any) -> ClearToolOutputs:
    options = {"keep_rounds": 1, "min_tokens": 0, **options}
    return ClearToolOutputs(max_tokens, LETTERS, clear_arguments=True, clear_media=True, **options)


def _write(number: int, arguments: object = None) -> list[Message]:
    given = {"path": f"{number}.py", "text": TEXT} if arguments is None else arguments
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    call = ToolCall(f"c{number}", "write", text)
    return [
        Message("assistant", tool_calls=[call]),
        Message("tool", tool_results=[ToolResult(call.id, "write", "ok")]),
    ]


def test_long_arguments_but_newest_are_cleared() -> None:
    """The keys and what is short stay, so that the model still knows what it did."""
    talk = [Message("user", "Go."), *_write(1), *_write(2)]

    shown = _clear().compact(talk)

    first, second = (each for m in shown for each in m.tool_calls)
    assert first.parse() == {"path": "1.py", "text": "[Cleared: 420 characters]"}
    assert second is talk[3].tool_calls[0]


def test_arguments_are_kept_unless_asked_for() -> None:
    """So is the media of a message."""
    talk = [Message("user", "Go.", media=[IMAGE]), Message("user", "On."), *_write(1), *_write(2)]

    assert ClearToolOutputs(50, LETTERS, keep_rounds=0, min_tokens=0).compact(talk) is talk


@pytest.mark.parametrize(
    ("arguments", "cleared"),
    [
        (
            {"edits": [{"old": TEXT, "at": 3}]},
            {"edits": [{"old": "[Cleared: 420 characters]", "at": 3}]},
        ),
        (
            {"text": "\ud800" + TEXT, "mark": "\ud800"},
            {"text": "[Cleared: 421 characters]", "mark": "\ud800"},
        ),
        ({"text": "é" * 101, "ü": "ß"}, {"text": "[Cleared: 101 characters]", "ü": "ß"}),
        ('{"text": "' + TEXT, None),
        ("[" * 5_000 + TEXT, None),
        (json.dumps([TEXT]), None),
    ],
    ids=["nested", "surrogate", "accents", "cut off", "deep", "a list"],
)
def test_arguments_stay_what_they_are(arguments: object, cleared: object) -> None:
    """A JSON object stays one; anything else is as the model wrote it."""
    talk = [Message("user", "Go."), *_write(1, arguments), *_write(2)]

    [call] = _clear().compact(talk)[1].tool_calls

    if cleared is None:
        assert call is talk[1].tool_calls[0]
    else:
        assert call.parse() == cleared


def test_kept_tools_keep_their_arguments() -> None:
    """As they keep their outputs."""
    talk = [Message("user", "Go."), *_write(1), *_write(2)]

    assert _clear(keep_tools=["write"]).compact(talk) is talk


def test_old_media_become_a_line() -> None:
    """Those of the task stay, however old they are."""
    talk = [
        Message("user", "Why is it red?", media=[IMAGE, IMAGE]),
        Message("assistant", "A typo.", media=[IMAGE]),
        Message("assistant", "", media=[IMAGE]),
        Message("user", "And this?", media=[IMAGE]),
        *_write(1),
        *_write(2),
    ]

    shown = _clear().compact(talk)

    user, reply, blank, *_ = shown
    assert user.content == "[Cleared: 2 attachments (image/png, image/png).]\nWhy is it red?"
    assert reply.content == "[Cleared: 1 attachment (image/png).]\nA typo."
    assert (user.media, reply.media) == ((), ())
    assert blank is talk[2]  # with a line about its image, it would pass for an answer
    assert shown[3] is talk[3]


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.ADAPTER.name)
def test_what_was_cleared_is_not_sent(adapter: ModuleType) -> None:
    """Although the provider's own items of a decoded message still hold it."""
    image = attrs.evolve(IMAGE, data=b"image of the first request")
    talk = [
        Message("user", "See.", media=[image]),
        Message("assistant", "I see."),
        Message("user", "Go."),
        *_write(1),
        *_write(2),
    ]
    decoded = adapter.decode(adapter.encode(talk))
    whole = json.dumps(adapter.encode(decoded), default=repr)

    sent = json.dumps(adapter.encode(_clear().compact(decoded)), default=repr)

    assert whole.count("secret") == 2 * sent.count("secret") == 120
    assert "Cleared: 1 attachment" in sent
    assert not adapter.validate(adapter.encode_request(_clear().compact(decoded)))


def test_user_words_beside_results_keep_media() -> None:
    """One item of Anthropic's holds both, and its words may be the latest."""
    results = [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]
    source = {"type": "base64", "media_type": "image/png", "data": "aW1hZ2U="}
    use = {"type": "tool_use", "id": "c1", "name": "write", "input": {"text": TEXT}}
    wire = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [*results, {"type": "image", "source": source}]},
    ]
    talk = [*anthropic.decode(wire), *_write(2)]

    sent = json.dumps(anthropic.encode(_clear(60).compact(talk)))

    assert "aW1hZ2U=" in sent
    assert sent.count("secret") == 60


def test_newest_calls_are_always_kept() -> None:
    """A provider may refuse a last reply that was edited."""
    with pytest.raises(ConfigError, match="at least 1 with clear_arguments"):
        _clear(keep_rounds=0)


def test_explanation_names_what_was_shortened() -> None:
    """A message whose media were cleared is not gone."""
    noon = datetime(2026, 11, 23, 12, tzinfo=UTC)
    talk = [
        Message("user", "See.", media=[IMAGE], timestamp=noon),
        Message("assistant", "Seen."),
        Message("user", "Go."),
        *_write(1),
        *_write(2),
    ]
    seen = view.View(budget.Policy(0), counter=LETTERS, strategies=[_clear()])

    seen.prepare_sync(talk)

    found = [(each.positions, each.shortened) for each in seen.explain()]
    assert found == [((0, 3), True)]


@st.composite
def _loaded(draw: st.DrawFn) -> list[Message]:
    """Return a conversation with media and with long arguments."""
    messages = []
    for message in draw(conversations(max_rounds=10)):
        calls = [
            attrs.evolve(call, arguments=json.dumps({"text": "y" * draw(st.integers(0, 300))}))
            for call in message.tool_calls
        ]
        has_media = message.role in {"user", "assistant"} and draw(st.booleans())
        media = [IMAGE] if has_media else message.media
        messages.append(message.replace(tool_calls=calls, media=media))
    return messages


@given(
    talk=_loaded(),
    tokens=st.integers(1, 3_000),
    keep=st.integers(1, 3),
    cuts=st.sets(st.integers(0, 40)),
)
@settings(max_examples=60, deadline=None)
def test_clearing_keeps_every_promise(
    talk: list[Message], tokens: int, keep: int, cuts: set[int]
) -> None:
    """Pairing, the task, the size, and the fold: turn by turn, at once, and twice."""
    strategy = _clear(tokens, keep_rounds=keep)

    for length in [*sorted(cuts), len(talk)]:
        history = talk[:length]
        fit = strategy.fit(history)
        cold = _clear(tokens, keep_rounds=keep)
        assert fit.messages == cold.compact(history)
        assert fit.tokens == count_tokens(fit.messages, LETTERS, tokens_per_media=None)
        assert cold.compact(fit.messages) is fit.messages
        rounds = [found for found in split_rounds(history) if found.sound_messages]
        assert [len(f.sound_messages) for f in rounds] == [
            len(f.messages) for f in split_rounds(fit.messages)
        ]
        assert all(call.parse() is not None for m in fit.messages for call in m.tool_calls)
        task = [fit.messages[at] for at in find_task(fit.messages)]
        assert {id(m) for m in history}.issuperset(map(id, task))
