"""The promises of a store's further abilities: keys, outputs, redaction, counting its writes.

`check_store` runs the checks of the abilities that a store has.
"""

import contextlib
import inspect
import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import attrs

from agentic.errors import (
    ConfigError,
    HistoryConflict,
    MessageNotFound,
    NothingToRestore,
    OutputNotFound,
)
from agentic.history import Archive, DiffArchive, OutputStore, Redactor, Rewriter
from agentic.history._replace import counts_replaced
from agentic.messages import (
    ContextSummary,
    Media,
    Message,
    ProviderPayload,
    ToolCall,
    ToolResult,
    to_plain,
)
from agentic.testing._promises import (
    ANSWER,
    ASK,
    MORE,
    SUMMARY,
    TALK,
    Promise,
    append_all,
    expect,
    expect_equal,
    expect_refusal,
)

_NEVER_KEPT = "out-0123456789abcdef"
_SECRET = "sk-live-4f9c1a77"  # noqa: S105  made up
# A secret with quotes, a line feed and a backslash, which JSON writes with escapes.
_ODD = 'pass "word"\n\\ two'
_MARK = '[a "key" was here]'
# Wherever a message can hold a text. The call is answered by _ECHO, which holds none.
_LEAK = Message(
    "assistant",
    f"The key is {_SECRET}.",
    reasoning=f"I saw {_SECRET}.",
    tool_calls=[ToolCall("c9", "login", f'{{"key": "{_SECRET}"}}', extra={"raw": _SECRET})],
    media=[Media("text/plain", _SECRET.encode(), url=f"https://example.org/{_SECRET}")],
    native=ProviderPayload("acme", {"content": [{"text": _SECRET}]}),
    id="leak",
    extra={"nested": [_SECRET]},
)
_ECHO = Message("tool", tool_results=[ToolResult("c9", "login", "welcome")])
_NO_KEYS: Sequence[Any] = ["", "k" * 201, 3, b"k1"]


async def _stores_a_key_once(store: Any) -> None:
    """append() with a key that the session has stores nothing, and succeeds."""
    later = datetime(2026, 11, 23, tzinfo=UTC)
    # If JSON escaped the two lone surrogates, they would come back as one character.
    for key in ("k", "k" * 200, '\ud83d\ude00 "\\\n'):
        await store.append(ASK, key=key)
        await store.append(ANSWER)
        # A workflow that repeats an append may make the time and the id anew.
        await store.append(attrs.evolve(ASK, timestamp=later, id="again"), key=key)
        if not await store.has_key(key) or await store.has_key(f"{key[1:]}x"):
            raise AssertionError(f"has_key() is wrong about {key!r}.")
    expect(await store.load(), [ASK, ANSWER] * 3)


async def _keeps_equal_messages_apart(store: Any) -> None:
    """Equal messages with different keys, or without a key, are all stored."""
    for key in ("k1", None, "k2", None):
        await store.append(ASK, key=key)
    expect(await store.load(), [ASK] * 4)


async def _refuses_a_second_message(store: Any) -> None:
    """append() of a message that says something else than the one with its key raises an error."""
    # Of each kind one: texts, calls and results are compared field by field.
    for number, message in enumerate(TALK):
        await store.append(message, key=f"k{number}")
        other = MORE if message is ASK else ASK
        await expect_refusal(HistoryConflict, store.append(other, key=f"k{number}"), "append()")
    expect(await store.load(), TALK)


async def _refuses_no_keys(store: Any) -> None:
    """A key that is not a str of 1 to 200 characters is a ConfigError, and nothing is stored."""
    for key in _NO_KEYS:
        await expect_refusal(ConfigError, store.append(ASK, key=key), f"The key {key!r}")
    expect(await store.load(), [])


async def _remembers_what_was_compacted(store: Any) -> None:
    """A key outlives a replace() and a restore(): the repeated message is not in the view again."""
    if not _is(store, Archive):
        return
    await store.append(ASK, key="k1")
    await store.replace([SUMMARY])
    await store.append(ASK, key="k1")
    await store.append(MORE, key="k2")
    expect(await store.load(), [SUMMARY, MORE])
    await store.restore()
    await store.append(ASK, key="k1")
    await store.append(MORE, key="k2")
    expect(await store.load(), [ASK, MORE])
    expect(await store.full(), [ASK, MORE])


async def _remembers_what_was_redacted(store: Any) -> None:
    """A key outlives redact(): the message of before is neither stored again nor refused."""
    if not _is(store, Redactor):
        return
    await store.append(_LEAK, key="k1")
    await store.append(_ECHO, key="k2")
    await store.redact("leak", _MARK)
    # Compared with what is left of it, the repeated message would say something else.
    await store.append(_LEAK, key="k1")
    await store.append(_ECHO, key="k2")
    await _expect_none(store, _SECRET)
    expect_equal((await store.full())[0].content, _MARK)
    # Nothing of _ECHO was redacted, so its key still refuses what says something else.
    expect((await store.full())[1:], [_ECHO])
    await expect_refusal(HistoryConflict, store.append(ASK, key="k2"), "append()")


async def _counts_what_was_repeated(store: Any) -> None:
    """A repeated append() counts among what `replaces` replaces, like the first."""
    if not _is(store, Rewriter) or not counts_replaced(store):
        return
    await store.load()
    for _ in range(2):
        await store.append(ASK, key="k1")
        await store.append(ANSWER, key="k2")
    await store.append(MORE)
    # Four appends were asked for, and two messages stored: a caller knows the two.
    await store.replace([SUMMARY], replaces=2)
    expect(await store.load(), [SUMMARY, MORE])


async def _stores_several_at_once(store: Any) -> None:
    """append() of several messages stores each one that the session does not have, in order."""
    if not _takes_several(store):
        return
    await store.append(ASK, ANSWER, key=["k1", None])
    await store.append(ASK, MORE, ANSWER, key=["k1", "k2", "k3"])
    expect(await store.load(), [ASK, ANSWER, MORE, ANSWER])
    await store.append(MORE, ASK)
    await store.append()
    expect(await store.load(), [ASK, ANSWER, MORE, ANSWER, MORE, ASK])


async def _stores_all_or_none(store: Any) -> None:
    """append() of several messages stores none if one of them, or its key, is refused."""
    if not _takes_several(store):
        return
    await store.append(ASK, key="k1")
    several = store.append(MORE, ANSWER, MORE, key=["k2", "k1", None])
    await expect_refusal(HistoryConflict, several, "append()")
    refusals: Sequence[Any] = [["k2"], ["k2", "k2"], "k2", ["k2", ""]]
    for keys in refusals:
        await expect_refusal(ConfigError, store.append(MORE, ANSWER, key=keys), "append()")
    await expect_refusal(ConfigError, store.append(MORE, "no message"), "append()")
    expect(await store.load(), [ASK])
    await store.append(MORE, ANSWER, key=["k2", "k3"])
    expect(await store.load(), [ASK, MORE, ANSWER])


def _takes_several(store: Any) -> bool:
    parameters = inspect.signature(store.append).parameters.values()
    return any(each.kind is each.VAR_POSITIONAL for each in parameters)


KEYED_STORE_PROMISES: Sequence[Promise] = [
    _stores_a_key_once,
    _keeps_equal_messages_apart,
    _refuses_a_second_message,
    _refuses_no_keys,
    _remembers_what_was_compacted,
    _remembers_what_was_redacted,
    _counts_what_was_repeated,
    _stores_several_at_once,
    _stores_all_or_none,
]


async def _keeps_outputs(store: OutputStore) -> None:
    """get() gives back what put() was given: nothing, lines, lone surrogates, a million bytes."""
    # A file opened as text would lose \r, and PostgreSQL's `text` refuses NUL.
    for output in (
        "",
        "one\r\ntwo\x85\x00",
        "\ud83d\ude00 \U0001f600 \udfff",
        "0123456789" * 100_000,
    ):
        expect_equal(await store.get(await store.put(output)), output)


async def _refers_by_content(store: OutputStore) -> None:
    """The reference is out- and 16 hex digits; equal outputs have the same, others another."""
    first, again, other = [await store.put(text) for text in ("red", "red", "green")]
    expect_equal(again, first)
    if other == first or not re.fullmatch("out-[0-9a-f]{16}", first):
        raise AssertionError(f"It gave {first!r} and {other!r}.")


async def _misses_what_was_never_kept(store: OutputStore) -> None:
    """get() of a reference that was never given raises OutputNotFound."""
    await expect_refusal(OutputNotFound, store.get(_NEVER_KEPT), "get() before any put()")
    await store.put("red")
    await expect_refusal(OutputNotFound, store.get(_NEVER_KEPT), "get()")


async def _refuses_what_is_no_reference(store: OutputStore) -> None:
    """get() of anything but a reference is a ConfigError: nobody reads other files with it."""
    ref = await store.put("red")
    # Upper case, because some file systems find a file whatever the case of its name.
    for other in ("", f"../{ref}", f"{ref}/..", f"{ref}\n", ref.upper(), "out-red", "/etc/passwd"):
        await expect_refusal(ConfigError, store.get(other), f"get({other!r})")


async def _keeps_outputs_beside_the_history(store: Any) -> None:
    """What is kept is no message: load() and full() do not have it."""
    await store.append(ASK)
    await store.put("red")
    expect(await store.load(), [ASK])
    if isinstance(store, Archive):
        expect(await store.full(), [ASK])


OUTPUT_STORE_PROMISES: Sequence[Promise] = [
    _keeps_outputs,
    _refers_by_content,
    _misses_what_was_never_kept,
    _refuses_what_is_no_reference,
    _keeps_outputs_beside_the_history,
]


async def _redacts_everywhere(store: Any) -> None:
    """redact() leaves nothing of what a message said: in the archive, in views, through an undo."""
    await append_all(store, [ASK, _LEAK, _ECHO])
    # Two views stand above the archive: one has the message itself, the other quotes it.
    await store.replace([ASK, _LEAK, _ECHO])
    await store.append(MORE)
    await store.replace([_summary(f"They used '{_SECRET}' to log in."), MORE])
    await store.redact("leak", _MARK)
    await _expect_none(store, _SECRET)
    full = await store.full()
    expect_equal(full[1].content, _MARK)
    expect([full[0], *full[2:]], [ASK, _ECHO, MORE], "The others:")
    # A redaction that emptied every summary would hide the secret, too.
    if "log in" not in (await store.load())[0].content:
        raise AssertionError("The rest of the summary is gone.")
    await store.restore()
    await _expect_none(store, _SECRET)
    await store.restore()
    expect(await store.load(), full, "After two restores:")


async def _redacts_notes(store: Any) -> None:
    """redact() leaves no notes of a summary, in whatever form they hold what a message said."""
    # Also in pieces, in which no search would find it.
    pieces = {"keys": [{_SECRET: 1}, {_SECRET[:7]: [*_SECRET[7:]]}]}
    summary = ContextSummary("They logged in.", 3, notes=pieces)
    await append_all(store, [ASK, _LEAK, _ECHO])
    await store.replace([summary.to_message(), ASK])
    await store.replace([attrs.evolve(summary, generation=2).to_message()])
    await store.redact("leak", _MARK)
    await _expect_none(store, _SECRET[:7])
    expect(await store.load(), [attrs.evolve(summary, generation=2, notes={}).to_message()])
    await store.restore()
    expect(await store.load(), [attrs.evolve(summary, notes={}).to_message(), ASK])


async def _keeps_rounds(store: Any) -> None:
    """What redact() leaves of a message keeps its calls and results, so that they still pair."""
    result = Message("tool", tool_results=[ToolResult("c9", "login", _SECRET, error=_SECRET)])
    await append_all(store, [ASK, _LEAK, result])
    await store.redact("leak", _MARK)
    # By its position: most messages have no id.
    await store.redact(2, _MARK)
    await _expect_none(store, _SECRET)
    # The arguments stay an object of JSON, or providers would refuse the call.
    _, call, answer = await store.load()
    if call.tool_calls[0].parse() != {"redacted": _MARK} or call.id != "leak":
        raise AssertionError(f"It gave {call}.")
    (found,) = answer.tool_results
    if (found.call_id, found.output, found.error.message) != ("c9", _MARK, _MARK):
        raise AssertionError(f"It gave {found}.")


async def _redacts_a_named_secret(store: Any) -> None:
    """redact() with a secret removes it from every other message, in whatever JSON it stands."""
    shown = ToolCall("c1", "run", json.dumps({"text": _ODD}))
    # In `extra` it is JSON within JSON: a search in the stored line finds no such text.
    other = Message("assistant", f"see {_ODD}", tool_calls=[shown], extra={_ODD: json.dumps(_ODD)})
    await append_all(store, [attrs.evolve(_LEAK, content=_ODD), other])
    await store.replace([_summary(f"so far: {_ODD}")])
    await store.redact("leak", "[gone]", secret=_ODD)
    await _expect_none(store, _ODD)
    await _expect_none(store, json.dumps(_ODD)[1:-1])
    (call,) = (await store.full())[1].tool_calls
    if call.parse() != {"text": "[gone]"}:
        raise AssertionError(f"It gave {call}.")


async def _redacts_outputs(store: Any) -> None:
    """redact() removes the kept outputs that a message refers to, and those that say the same."""
    if not _is(store, OutputStore):
        return
    text = f"red\nexport KEY={_SECRET}\n"
    whole, copy = await store.put(text), await store.put(f"{text}more")
    other = await store.put("nothing of it")
    result = ToolResult("c1", "run", "red", notice=f"[see {whole}]", ref=whole)
    await append_all(store, [*TALK[:2], Message("tool", tool_results=[result])])
    await store.redact(2, _MARK)
    await expect_refusal(OutputNotFound, store.get(whole), "get() of what it refers to")
    # Still there: nothing that was redacted quotes it, and the secret was not named yet.
    await store.get(copy)
    await store.redact(0, _MARK, secret=_SECRET)
    await expect_refusal(OutputNotFound, store.get(copy), "get() of what holds the secret")
    await store.get(other)


async def _redacts_equal_messages(store: Any) -> None:
    """redact() of one of two equal messages redacts both."""
    await append_all(store, [ASK, ANSWER, ASK])
    await store.redact(0, _MARK)
    # The other one would still say it.
    contents = [one.content for one in await store.full()]
    expect_equal(contents, [_MARK, ANSWER.content, _MARK])


async def _misses_messages(store: Any) -> None:
    """redact() of a message that is not there raises MessageNotFound, and changes nothing."""
    await expect_refusal(MessageNotFound, store.redact(0, _MARK), "redact() of an empty store")
    await append_all(store, TALK)
    for target in ("leak", len(TALK)):
        await expect_refusal(MessageNotFound, store.redact(target, _MARK), f"redact({target!r})")
    expect(await store.full(), TALK)


async def _goes_on(store: Any) -> None:
    """After redact(), what is appended follows, and a second redact() works."""
    await append_all(store, TALK)
    await store.redact(0, _MARK)
    await store.append(MORE)
    # Positions are those of the archive, which a redaction makes no longer.
    await store.redact(4, "[more]")
    expect(
        await store.load(), [ASK.replace(content=_MARK), *TALK[1:], MORE.replace(content="[more]")]
    )


async def _refuses_what_is_outdated(store: Any) -> None:
    """What was loaded before redact() cannot replace the history: it still has the secret."""
    if not _is(store, Rewriter):
        return
    await append_all(store, [ASK, _LEAK, _ECHO])
    # As another task does, whose summary is stored after the redaction.
    before = await store.load()
    await store.redact("leak", _MARK)
    await expect_refusal(HistoryConflict, store.replace(before[1:]), "An outdated replace()")
    if counts_replaced(store):
        step = store.replace(before[1:], replaces=3)
        await expect_refusal(HistoryConflict, step, "An outdated replace() with replaces")
    await _expect_none(store, _SECRET)
    await store.load()
    await store.replace([MORE])
    expect(await store.load(), [MORE])


async def _refuses_what_cannot_be_meant(store: Any) -> None:
    """redact() with a blank replacement, or one that holds the secret, raises ConfigError."""
    await append_all(store, TALK)
    for target, replacement, secret in (
        ("", _MARK, None),
        (-1, _MARK, None),
        # A bool is an int in Python: True would be position 1.
        (True, _MARK, None),
        (0, " ", None),
        (0, f"was {_SECRET}", _SECRET),
        (0, _MARK, ""),
    ):
        step = store.redact(target, replacement, secret=secret)
        await expect_refusal(ConfigError, step, f"redact({target!r}, {replacement!r})")
    expect(await store.full(), TALK)


REDACTOR_PROMISES: Sequence[Promise] = [
    _redacts_everywhere,
    _redacts_notes,
    _keeps_rounds,
    _redacts_a_named_secret,
    _redacts_outputs,
    _redacts_equal_messages,
    _misses_messages,
    _goes_on,
    _refuses_what_is_outdated,
    _refuses_what_cannot_be_meant,
]


async def _counts_its_writes(store: Any) -> None:
    """revision() grows by 1 with each write of this store, and with nothing else."""
    # A run compares it to learn whether a tool has appended meanwhile.
    before = await store.revision()
    await append_all(store, [ASK, MORE])
    await store.load()
    expect_equal(await store.revision() - before, 2, "After two appends:")
    if _is(store, Rewriter):
        await store.replace([SUMMARY])
        expect_equal(await store.revision() - before, 3, "After a replace():")
    if _is(store, Archive):
        await store.restore()
        expect_equal(await store.revision() - before, 4, "After a restore():")


REVISIONED_PROMISES: Sequence[Promise] = [_counts_its_writes]


def _is(store: Any, role: type[Any]) -> bool:
    # isinstance() would make mypy forget the store's other abilities.
    return isinstance(store, role)


def _summary(text: str) -> Message:
    return ContextSummary(text, 3).to_message()


async def _expect_none(store: Any, secret: str) -> None:
    """Fail if a message of the view, the archive or the latest diff contains the secret."""
    messages = [*await store.load()]
    if isinstance(store, Archive):
        messages += await store.full()
    if isinstance(store, DiffArchive):
        with contextlib.suppress(NothingToRestore):
            diff = await store.diff()
            messages += [*diff.dropped, *diff.added]
    # Not in the JSON as a whole: escapes would hide quotes, line feeds and lone surrogates.
    if any(secret in text for message in messages for text in _strings(to_plain(message))):
        raise AssertionError(f"{secret!r} is in {messages}.")


def _strings(plain: Any) -> Iterator[str]:
    if isinstance(plain, dict):
        for key, value in plain.items():
            yield key
            yield from _strings(value)
    elif isinstance(plain, list):
        for value in plain:
            yield from _strings(value)
    elif isinstance(plain, str):
        yield plain
