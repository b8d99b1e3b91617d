"""Which requests continue a conversation, how many are remembered, and how a body is rewritten."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.app.proxy import Proxy
from agentic.app.proxy._body import RequestBody
from agentic.app.proxy._pool import PooledConversation, ProxyPool
from agentic.bridges.dicts import Conversation
from agentic.providers import anthropic, openai_chat

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)
_OBJECTS = st.dictionaries(st.text(), _VALUES, max_size=3)


def _make(wire: ModuleType, state: Mapping[str, Any] | None) -> Conversation:
    return Conversation(wire, 2_000, state=state)


def _items(*texts: str) -> list[Any]:
    return [{"role": "user", "content": text} for text in texts]


@pytest.fixture
def pool() -> ProxyPool:
    """Return a pool of few conversations."""
    return ProxyPool(_make, max_conversations=3, max_bytes=1_000)


def _take(pool: ProxyPool, *arguments: Any) -> PooledConversation:
    return asyncio.run(pool.take(*arguments))


def _release(pool: ProxyPool, pooled: PooledConversation) -> None:
    asyncio.run(pool.release(pooled))


def _ask(
    pool: ProxyPool, *texts: str, owner: str = "ann", size: int = 10, session: str = ""
) -> Conversation:
    pooled = _take(pool, owner, openai_chat.ADAPTER, _items(*texts), size, session)
    _release(pool, pooled)
    return pooled.conversation


def test_longer_list_continues_the_conversation(pool: ProxyPool) -> None:
    """Also an equal one, as a client that tries again sends it."""
    first = _ask(pool, "a")

    assert _ask(pool, "a", "b") is first
    assert _ask(pool, "a", "b") is first


def test_other_beginning_is_another_conversation(pool: ProxyPool) -> None:
    """A rewound list, a changed one, another API and another credential as well."""
    first = _ask(pool, "a", "b")

    assert _ask(pool, "a") is not first
    assert _ask(pool, "a", "c", "d") is not first
    assert _ask(pool, "a", "b", owner="bob") is not first
    other = _take(pool, "ann", anthropic.ADAPTER, _items("a", "b"), 10)
    assert other.conversation is not first


def test_equal_beginnings_of_two_sessions_are_apart(pool: ProxyPool) -> None:
    """Two programs that name their sessions, with the same words so far and the same key."""
    first = _ask(pool, "a", "b", session="s1")
    second = _ask(pool, "a", "b", session="s2")
    unnamed = _ask(pool, "a", "b")

    assert len({id(each) for each in (first, second, unnamed)}) == 3
    assert _ask(pool, "a", "b", "c", session="s1") is first
    assert _ask(pool, "a", "b", "c", session="s2") is second


def test_session_under_a_new_name_begins_with_the_summary(pool: ProxyPool) -> None:
    """As when a program resumes a session: no timeline is shared, and nothing is asked again."""
    words = [f"{number} " + "so it goes. " * 60 for number in range(20)]
    first = _take(pool, "ann", openai_chat.ADAPTER, _items(*words), 10, "s1")
    sent = first.conversation.fit(_items(*words))
    _release(pool, first)

    second = _take(pool, "ann", openai_chat.ADAPTER, _items(*words, "go on"), 10, "s2")

    assert second.conversation is not first.conversation
    assert second.conversation.fit(_items(*words, "go on"))[0] == sent[0]


def test_longest_beginning_wins(pool: ProxyPool) -> None:
    """Of two conversations that a list could continue."""
    _ask(pool, "a", "b")
    short = _take(pool, "ann", openai_chat.ADAPTER, _items("a"), 10)
    _release(pool, short)
    longest = _ask(pool, "a", "b", "c")

    assert _ask(pool, "a", "b", "c", "d") is longest


def test_busy_conversation_is_not_shared(pool: ProxyPool) -> None:
    """Two requests at once never have one View, even if they are equal."""
    first = _take(pool, "ann", openai_chat.ADAPTER, _items("a"), 10)
    second = _take(pool, "ann", openai_chat.ADAPTER, _items("a"), 10)
    _release(pool, first)

    assert first.conversation is not second.conversation
    assert _ask(pool, "a", "b") is first.conversation


def test_pool_is_bounded_by_number(pool: ProxyPool) -> None:
    """The one that was idle longest goes first; one that is being answered stays."""
    busy = _take(pool, "ann", openai_chat.ADAPTER, _items("busy"), 10)
    kept = [_ask(pool, text) for text in "abcd"]

    assert len(pool) == 3
    assert _ask(pool, "d", "more") is kept[-1]
    assert _ask(pool, "a", "more") is not kept[0]
    _release(pool, busy)
    assert _ask(pool, "busy", "more") is busy.conversation


def test_pool_is_bounded_by_bytes(pool: ProxyPool) -> None:
    """Counted by the latest request of each."""
    for size in (400, 500):
        _ask(pool, "a", size=size)
    _ask(pool, "b", size=600)

    assert [one.size for one in pool._pooled.entries] == [600]
    _ask(pool, "c", size=2_000)
    assert len(pool) == 0


@pytest.mark.parametrize("wrong", [None, float("inf"), "?"])
@pytest.mark.parametrize("place", ["covered", "size"])
def test_damaged_file_count_is_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, place: str, wrong: object
) -> None:
    """The proxy starts, and the conversation is summarized again."""
    state = _make(openai_chat.ADAPTER, None).state()
    saved = {"v": 1, "owner": "ann", "hashes": [], "size": 10, "state": state}
    (saved if place == "size" else state)[place] = wrong
    (tmp_path / "x.json").write_text(json.dumps(saved))

    Proxy("http://localhost:9", 2_000, store=tmp_path)

    assert "x.json is skipped" in caplog.text


def test_unreadable_files_are_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A link to nothing, and a text that is nested too deeply."""
    (tmp_path / "link.json").symlink_to(tmp_path / "nothing")
    (tmp_path / "deep.json").write_text("[" * 100_000)

    Proxy("http://localhost:9", 2_000, store=tmp_path)

    assert caplog.text.count("is skipped") == 2


def test_file_that_stays_harms_no_request(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The conversation is forgotten, although its file cannot be removed."""
    pool = Proxy("http://localhost:9", 2_000, max_conversations=1, store=tmp_path)._pool
    for name in ("a", "b"):
        pooled = _take(pool, "ann", openai_chat.ADAPTER, _items(name), 10)
        pooled.saved = tmp_path / f"{name}.json"
        pooled.saved.mkdir()
        _release(pool, pooled)

    assert len(pool) == 1
    assert "a.json is not removed" in caplog.text


def test_failed_save_leaves_no_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Somebody has made a folder of that name; a full disk would do the same."""
    pool = Proxy("http://localhost:9", 2_000, store=tmp_path)._pool
    pooled = _take(pool, "ann", openai_chat.ADAPTER, _items("a"), 10)
    pooled.conversation.fit(_items(*(f"Remark {n}. " * 50 for n in range(40))))
    pooled.saved = tmp_path / "taken.json"
    pooled.saved.mkdir()

    _release(pool, pooled)

    assert "a summary is not stored" in caplog.text
    assert list(tmp_path.iterdir()) == [pooled.saved]


@given(
    st.dictionaries(st.text(), _VALUES), st.lists(st.dictionaries(st.text(), _VALUES)), st.data()
)
@settings(max_examples=40)
def test_rewritten_body_has_the_new_values(
    fields: dict[str, Any], messages: list[Any], data: st.DataObject
) -> None:
    """Whatever the white space, and whatever is left out, put in or added."""
    fields["messages"] = messages
    indent = data.draw(st.sampled_from([None, 0, 2]))
    raw = json.dumps(fields, indent=indent, ensure_ascii=data.draw(st.booleans()))
    try:
        body = RequestBody.read(raw.encode())
    except UnicodeEncodeError:
        return  # a lone surrogate has no form in UTF-8
    kept = [m for m in body.data["messages"] if data.draw(st.booleans())]
    changed = {**body.data, "messages": [{"new": 1}, *kept], "system": "new"}

    assert json.loads(body.write(changed)) == changed
    assert body.write(body.data) == raw.encode()


@given(
    st.lists(st.dictionaries(st.text(), _VALUES) | _VALUES),
    st.lists(st.dictionaries(st.text(), _VALUES) | _VALUES),
    st.sampled_from([None, 2]),
    st.booleans(),
)
@settings(max_examples=60)
def test_list_beginning_alike_is_read_alike(
    before: list[Any], more: list[Any], indent: int | None, is_moved: bool
) -> None:
    """Grown, changed or somewhere else in the text: with the objects of the earlier request."""
    known = RequestBody.read(json.dumps({"messages": before}, indent=indent).encode())
    texts = [text for text in [known.list_text("messages")] if text is not None]
    fields = {"model": "m"} if is_moved else {}
    raw = json.dumps({**fields, "messages": before + more, "n": [1]}, indent=indent).encode()

    body, fresh = RequestBody.read(raw, texts), RequestBody.read(raw)

    shared = zip(known.data["messages"], body.data["messages"], strict=False)
    assert not texts or all(old is new for old, new in shared)
    assert (body.data, body.list_text("messages")) == (fresh.data, fresh.list_text("messages"))
    kept = body.data["messages"][::2]
    again = fresh.data["messages"][::2]
    changed, expected = {**body.data, "messages": kept}, {**fresh.data, "messages": again}
    assert body.write(changed) == fresh.write(expected)
    assert body.write(body.data) == raw
