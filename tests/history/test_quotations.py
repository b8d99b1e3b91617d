"""What a redaction removes from messages that only quote the one that is redacted."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentic.errors import ConfigError
from agentic.history import JsonlSessions, JsonlStore, MemoryStore
from agentic.history.sqlite import SqliteSessions
from agentic.messages import Message, ProviderPayload, ToolCall, ToolResult

KEY = "sk-live-4f9c1a77"
LEAK = Message("user", f"The key of the server is {KEY}.", id="leak")
MARK = "[gone]"


def _redacted(*view: Message, others: tuple[Message, ...] = ()) -> list[Message]:
    """Redact the leak after these messages took its place, and return what is sent then."""

    async def run() -> list[Message]:
        store = MemoryStore()
        for message in (LEAK, *others):
            await store.append(message)
        await store.replace(view)
        await store.redact("leak", MARK)
        return await store.load()

    return asyncio.run(run())


def test_word_is_found_without_full_stop() -> None:
    """A sentence ends with the key; a summary quotes the key alone, or at the end of its own."""
    found = _redacted(Message("user", f"Use {KEY} to log in"), Message("user", f"It was {KEY}!"))

    assert [each.content for each in found] == [f"Use {MARK} to log in", f"It was {MARK}!"]


def test_calls_and_results_hide_no_quotation() -> None:
    """Wherever a message has text; its names and ids stay."""
    call = ToolCall("c1", "login", json.dumps({"keys": [KEY, "other"], "tries": 2}))
    result = ToolResult("c1", "login", f"logged in as {KEY}")
    asked, told = _redacted(
        Message("assistant", tool_calls=[call]), Message("tool", tool_results=[result])
    )

    assert asked.tool_calls[0].parse() == {"keys": [MARK, "other"], "tries": 2}
    assert (asked.tool_calls[0].id, asked.tool_calls[0].name) == ("c1", "login")
    assert told.tool_results[0].output == f"logged in as {MARK}"


@pytest.mark.parametrize("field", ["keys", "name", "id", "kind"])
def test_arguments_are_text_whatever_their_names(field: str) -> None:
    """What a message calls `name` or `id` is no text; a tool's own arguments may be called so."""
    arguments = json.dumps({field: KEY})

    async def run() -> list[Message]:
        store = MemoryStore()
        await store.append(Message("assistant", tool_calls=[ToolCall("c1", "login", arguments)]))
        await store.replace(
            [
                Message("system", f"Logged in as {KEY}."),
                Message("assistant", tool_calls=[ToolCall("c2", "again", arguments)]),
            ]
        )
        await store.redact(0, MARK)
        return await store.load()

    summary, asked, *_ = asyncio.run(run())

    assert summary.content == f"Logged in as {MARK}."
    assert asked.tool_calls[0].parse() == {field: MARK}


@pytest.mark.parametrize("content", [f"It is {KEY}", "It is a secret."])
def test_quoting_message_loses_native_payload(content: str) -> None:
    """A provider's own form repeats the text; it may also hold what the text does not."""
    native = ProviderPayload("openai_chat", {"content": LEAK.content})

    (found,) = _redacted(Message("assistant", content, native=native))
    (edited,) = _redacted(Message("assistant", content, native=native).edit(pinned=True))

    assert found.native is edited.edited_native is None
    assert KEY not in found.content


def _redact_text(leak: str, view: str) -> str:
    async def run() -> str:
        store = MemoryStore()
        await store.append(Message("user", leak))
        await store.replace([Message("system", view)])
        await store.redact(0, MARK)
        return (await store.load())[0].content

    return asyncio.run(run())


def test_lines_that_begin_alike_are_removed() -> None:
    """A line that is the beginning of another leaves no rest of it, in whatever order."""
    lines = [f"box no {number}:{rest}" for number in range(10, 30) for rest in ("", " by the oak")]

    assert _redact_text("\n".join(lines), "\n".join(lines)) == "\n".join([MARK] * 40)


@pytest.mark.slow
def test_time_grows_with_the_text(growth: Any) -> None:
    """A megabyte is redacted as long as it takes to read, not once for each word of a summary."""

    def redact(count: int) -> None:
        leak = " ".join(f"{number * 7919:010x}" for number in range(4 * count))
        told = " ".join(f"{number * 104_729:010x}g" for number in range(count))
        assert _redact_text(leak, f"{told} {leak[:10]}") == f"{told} {MARK}"

    assert growth(redact, 3_000) < 10


def test_commonly_said_text_is_no_quotation() -> None:
    """A native payload stays with a message that quotes nothing."""
    native = ProviderPayload("openai_chat", {"content": "The server is up."})
    said = Message("assistant", "The server is up.", native=native)
    other = Message("user", "Which server is it?")

    assert _redacted(said, other, others=(other,)) == [said, other]


def test_order_of_fields_means_nothing() -> None:
    """Another program may write the fields of a payload in another order."""
    fields = {"a": 1, "b": KEY}
    turned = {"b": KEY, "a": 1}
    first, second = (
        Message("user", "hello", native=ProviderPayload("openai_chat", each))
        for each in (fields, turned)
    )

    async def redact() -> list[Message]:
        store = MemoryStore()
        await store.append(first)
        await store.append(second)
        await store.redact(0, MARK)
        return await store.full()

    assert [each.content for each in asyncio.run(redact())] == [MARK, MARK]


@pytest.mark.parametrize("kind", [JsonlSessions, SqliteSessions])
def test_title_keeps_all_but_the_secret(tmp_path: Path, kind: type[Any]) -> None:
    """It is only blanked where nothing readable is left."""
    place = kind(tmp_path / "sessions")

    async def title() -> str:
        async with place.open("monday") as store:
            await store.append(LEAK)
        await place.rename("monday", f"about {KEY} and more")
        await place.redact("monday", "leak", MARK, secret=KEY)
        (info,) = await place.list()
        return str(info.title)

    assert asyncio.run(title()) == f"about {MARK} and more"


@pytest.mark.parametrize("written", ["Mine\n", f"Mine\nand {KEY}\n", f"Mine\n{KEY}"])
def test_edited_title_keeps_its_first_line(tmp_path: Path, written: str) -> None:
    """An editor ends the line, and may have added others, which nobody reads."""
    place = JsonlSessions(tmp_path)
    title = tmp_path / "monday.jsonl.title"

    async def redact() -> list[str]:
        async with place.open("monday") as store:
            await store.append(LEAK)
        await asyncio.to_thread(title.write_text, written)
        await place.redact("monday", "leak", MARK, secret=KEY)
        return [info.title for info in await place.list()]

    assert asyncio.run(redact()) == ["Mine"]
    assert KEY not in title.read_text()


@pytest.mark.parametrize(
    ("output", "stays"), [(LEAK.content, False), ("The server is up. \ud83d", True)]
)
def test_exported_output_that_quotes_is_removed(path: Path, output: str, *, stays: bool) -> None:
    """An export that is used as a session holds its outputs in lines of their own."""
    sessions = JsonlSessions(path.parent / "sessions")

    async def run() -> str:
        async with sessions.open("monday") as store:
            await store.append(LEAK)
            ref = await store.put(output)
        await asyncio.to_thread(
            path.write_bytes, b"".join([line async for line in sessions.export("monday")])
        )
        async with JsonlStore(path) as copy:
            await copy.redact("leak", MARK)
        return ref

    ref = asyncio.run(run())

    left = path.read_bytes()
    assert (ref.encode() in left) is stays
    assert KEY.encode() not in left


def test_secret_within_the_format_is_refused() -> None:
    """Without it, an entry could not be read; the error says what to name instead."""

    async def redact() -> None:
        store = MemoryStore()
        await store.append(LEAK)
        await store.redact("leak", MARK, secret="role")  # noqa: S106  nobody's

    with pytest.raises(ConfigError, match="name the whole secret"):
        asyncio.run(redact())
