import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic import truncate
from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.strategies import ClearToolOutputs
from agentic.errors import ConfigError
from agentic.history import JsonlStore, MemoryStore
from agentic.history.sqlite import SqliteStore
from agentic.loop import Decision, Runner
from agentic.messages import ContextSummary, Message, ToolCall, ToolError, ToolResult
from agentic.session import RecallTool, Session
from agentic.session._grep import find_matches, find_text
from agentic.session._search import hidden_pieces
from agentic.testing import ScriptedDecider, ScriptedExecutor, conversations
from agentic.tokens import CharCounter
from agentic.tools import CompositeExecutor, Registry

pytestmark = pytest.mark.slow

_LOG = "".join(f"line {number}: all is well\n" for number in range(4_000))
_LONG = _LOG.replace("line 1234: all is well", "line 1234: the disk is full")


def _round(call_id: str, output: str, name: str = "read", **fields: Any) -> list[Message]:
    call = ToolCall(call_id, name, '{"path": "a.py"}')
    result = ToolResult(call_id, name, output, **fields)
    return [Message("assistant", tool_calls=[call]), Message("tool", tool_results=[result])]


async def _filled(messages: Sequence[Message], view: Sequence[Message] | None = None) -> Any:
    """Make a store of messages, replaced by a view; by default none of them is in it."""
    store = MemoryStore()
    for message in messages:
        await store.append(message)
    summary = ContextSummary("past", len(messages), 0, max(0, len(messages) - 1)).to_message()
    await store.replace([summary] if view is None else view)
    return store


def _recall(store: Any, **arguments: Any) -> Any:
    return asyncio.run(RecallTool(store).run(arguments))


def _ask(messages: Sequence[Message], **arguments: Any) -> Any:
    return _recall(asyncio.run(_filled(messages)), **arguments)


def test_dropped_message_is_found_with_neighbours() -> None:
    """A place names its reference, and the reference gives the whole."""
    talk = [Message("user", "one\ntwo\nThe PORT is 8417.\nfour\nfive"), *_round("c1", "text")]

    found = _ask(talk, query="port is")
    read = _ask(talk, ref="m1")

    assert found.output == ("[m1] user, line 3 of 5, offset 4\n  two\n> The PORT is 8417.\n  four")
    assert found.notice == '[Read on with recall(ref="m1", offset=4)]'
    assert read.output == talk[0].content
    assert read.notice == "[m1 (user), characters 0-35 of 35]"


def test_search_shows_newest_first_and_more() -> None:
    """Places are counted over the whole search."""
    talk = [Message("user", f"port {number}") for number in range(12)]

    first = _ask(talk, query="port", limit=5)
    rest = _ask(talk, query="port", limit=5, offset=10)

    assert re.findall(r"> port (\d+)", first.output) == ["11", "10", "9", "8", "7"]
    assert "see more places with offset=5" in first.notice
    assert re.findall(r"> port (\d+)", rest.output) == ["1", "0"]
    assert "more places" not in rest.notice
    assert "only 12 places" in _ask(talk, query="port", offset=50).output


def test_visible_messages_are_not_found() -> None:
    """Of two equal messages the newer one is taken for the one in sight."""
    hello = Message("user", "hello")
    store = asyncio.run(_filled([hello, Message("user", "port"), hello], view=[hello]))

    assert "[m1]" in _recall(store, query="hello").output
    assert "m3" not in _recall(store, query="hello").output


def test_call_finds_its_cleared_output() -> None:
    """It is in the history, but not in the view."""
    clear = ClearToolOutputs(60, keep_rounds=0, min_tokens=0)
    session = _session(strategies=[clear])
    tool = session.recall_tool()
    asyncio.run(_append(session, [Message("user", "Read."), *_round("c1", "x " * 400 + "8417")]))

    found = asyncio.run(tool.run({"query": "8417"}))

    assert found.output.startswith("[c1] read, m3, line 1 of 1, offset ")
    assert asyncio.run(tool.run({"ref": "c1"})).output == "x " * 400 + "8417"


def test_truncated_part_is_recalled_by_pages() -> None:
    """From the notice of a truncated output to all of it, through a Runner."""
    session = _session()
    registry = Registry(session.recall_tool())
    executor = CompositeExecutor(registry, ScriptedExecutor({"read": _LONG}))
    decider = ScriptedDecider(
        Decision("", [ToolCall("c1", "read")]),
        Decision("", [ToolCall("c2", "recall", '{"query": "DISK IS"}')]),
        lambda request: Decision("", [_read_on(request)]),
        "Full.",
    )
    runner = session.runner(decider, executor, truncation=truncate.Options(max_lines=10))

    cut, found, page = asyncio.run(runner.run("Why?")).tool_results

    assert f"the full text is in {cut.ref}" in cut.notice
    assert f"[{cut.ref}] read, m3, line 1,235 of 4,000" in found.output
    assert page.output.splitlines()[:2] == ["line 1233: all is well", "line 1234: the disk is full"]


def _read_on(request: Any) -> ToolCall:
    notice = request.tool_results[0].notice
    ref, offset = re.findall(r'ref="(.*?)", offset=(\d+)', notice)[0]
    return ToolCall("c3", "recall", f'{{"ref": "{ref}", "offset": {offset}, "limit": 200}}')


def test_pages_make_the_whole() -> None:
    """Each says where it stands and how to go on; together they are the text."""
    talk = _round("c1", _LONG)
    pages, arguments = [], {"ref": "c1"}

    while arguments:
        got = _ask(talk, **arguments)
        pages.append(got.output)
        onward = re.search(r"offset=(\d+)", got.notice)
        arguments = {"ref": "c1", "offset": int(onward[1])} if onward else {}

    assert "".join(pages) == _LONG
    assert max(map(len, pages)) <= 6_000
    assert all(page.endswith("\n") for page in pages)


@given(
    text=st.text("ab\n\u65e5", max_size=90),
    limit=st.integers(1, 20),
)
@settings(max_examples=50, deadline=None)
def test_any_page_size_gives_the_whole(text: str, limit: int) -> None:
    """Also pages of one character, and texts without a line end."""
    store, pages, offset = asyncio.run(_filled(_round("c1", text))), [], 0

    while True:
        got = _recall(store, ref="c1", offset=offset, limit=limit)
        pages.append(got.output)
        offset += len(got.output)
        if "go on with" not in got.notice:
            break

    assert "".join(pages) == text


def test_page_stays_within_tool_limits() -> None:
    """Neither its lines nor its bytes are truncated by the default options."""
    for text in ("\n" * 50_000, "\u65e5\n" * 50_000, "\U0001f600" * 50_000):
        page = _ask(_round("c1", text), ref="c1", limit=10**9)

        assert not truncate.Options().apply(page.output).truncated


def test_bounded_search_shows_long_lines_partly() -> None:
    """One line of a megabyte is shown around the place, and can be read on from there."""
    output = "x" * 300_000 + " needle " + "y" * 300_000
    talk = [message for n in range(12) for message in _round(f"c{n}", output)]

    found = _ask(talk, query="needle", limit=30)
    offset = int(re.findall(r"offset=(\d+)", found.notice)[0])

    assert len(found.output.encode()) <= 13_000
    assert "… needle" not in found.output
    assert " needle y" in found.output
    assert "needle" in _ask(talk, ref="c11", offset=offset, limit=400).output


def test_search_stops_when_it_has_enough() -> None:
    """Kept outputs are read from the newest on, and no further than they must be."""

    class _Counting(MemoryStore):
        def __init__(self) -> None:
            super().__init__()
            self.reads = 0

        async def get(self, ref: str) -> str:
            self.reads += 1
            return await super().get(ref)

    async def search() -> int:
        store = _Counting()
        for number in range(50):
            ref = await store.put(f"{number} needle {'x' * 300_000}")
            for message in _round(f"c{number}", "cut", ref=ref):
                await store.append(message)
        await store.replace([])
        await RecallTool(store).run({"query": "needle", "limit": 2})
        return store.reads

    assert asyncio.run(search()) <= 6


def test_regular_expressions_find_more_than_text() -> None:
    """Case is ignored, lines begin and end at line feeds; surrogates pass."""
    talk = [Message("user", "a \ud83d lone\nPort = 8417\nport: none")]

    found = _ask(talk, query=r"^port\s*=\s*\d+$", regex=True)

    assert "line 2 of 3" in found.output
    assert "> Port = 8417" in found.output
    assert "Nothing" in _ask(talk, query=r"^port\s*=\s*\d+$").output


@pytest.mark.parametrize("pattern", ["(", "*x", "(?P<a", "[z-a]", "a{9999999999999}", "(" * 500])
def test_invalid_pattern_is_told(pattern: str) -> None:
    """In words that a model can act on."""
    failure = _ask([Message("user", "port")], query=pattern, regex=True)

    assert failure.kind == "bad_arguments"
    assert "is not a valid regular expression" in failure.message
    assert "regex=false" in failure.message


def test_endless_pattern_is_stopped() -> None:
    """Catastrophic backtracking is killed with the process that it runs in."""
    store = asyncio.run(_filled([Message("user", "a" * 60)]))
    tool = RecallTool(store, regex_seconds=0.5)

    failure: Any = asyncio.run(tool.run({"query": "(a+)+$b", "regex": True}))

    assert failure.kind == "bad_arguments"
    assert "takes too long" in failure.message


@pytest.mark.parametrize("said", [["a"], []])
def test_loop_runs_while_pattern_compiles(said: list[str]) -> None:
    """Compiling alone can take seconds: `(?i)` with a large set, repeated."""
    store = asyncio.run(_filled([Message("user", text) for text in said]))
    slow = {"query": "(?i)" + "[\0-\uffff]" * 199, "regex": True}

    async def turns_of_the_loop() -> int:
        search = asyncio.ensure_future(RecallTool(store, regex_seconds=0.5).run(slow))
        turns = 0
        while not search.done():
            await asyncio.sleep(0.01)
            turns += 1
        assert isinstance(search.result(), ToolError | ToolResult)
        return turns

    # Two if the loop compiled it: the turn before and the one behind.
    assert asyncio.run(turns_of_the_loop()) > 4


def test_a_pattern_is_checked_without_text() -> None:
    """Nothing to search is no reason to take any pattern."""
    store = asyncio.run(_filled([Message("user", "port")], [Message("user", "port")]))

    assert "is not a valid regular expression" in _recall(store, query="(", regex=True).message


def test_recall_does_not_find_itself() -> None:
    """Neither what it was asked nor what it gave."""
    asked = Message("assistant", tool_calls=[ToolCall("c9", "recall", '{"query": "needle"}')])
    gave = ToolResult("c9", "recall", "[m1] a needle")
    talk = [Message("user", "hay"), asked, Message("tool", tool_results=[gave])]

    assert _ask(talk, query="needle").output.startswith("Nothing among")
    assert _ask([*talk, Message("user", "needles")], query="needle").output.startswith("[m4]")


@pytest.mark.parametrize(
    ("ref", "told"),
    [
        ("call_12", "Similar ones: call_1"),
        ("out-0123456789abcdef", "16 hex digits"),
        ("text-0123456789ab", "text- and 12"),
        ("m99", "m1 to m3"),
        ("m0", "m1 to m3"),
        ("full.log", 'What the session holds of it: recall(ref="call_1")'),
    ],
)
def test_unknown_reference_lists_what_exists(ref: str, told: str) -> None:
    """What references look like, which are near, and where one of another place leads."""
    talk = [Message("user", "Read."), *_round("call_1", "text", ref="full.log")]

    failure = _ask(talk, ref=ref)

    assert failure.kind == "bad_arguments"
    assert told in failure.message


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "pass a query to search for, or a ref to read"),
        ({"query": ""}, "pass a query"),
        ({"query": 3}, "pass a JSON string"),
        ({"query": "a", "offset": -1}, "an offset from 0"),
        ({"query": "a", "limit": 0}, "a limit from 1"),
        ({"query": "a", "limit": True}, "pass a JSON integer"),
        ({"query": "a", "regex": "yes"}, "pass a JSON boolean"),
        ({"pattern": "a"}, "there is no argument 'pattern'"),
        ({"a" * 2_000: "a"}, "there is no argument 'aaa"),
        ({"query": "a" * 2_000}, "longer than 1,000"),
        ({"ref": "m1", "offset": 500}, "m1 has 4 characters"),
    ],
)
def test_models_mistake_is_told(arguments: dict[str, Any], told: str) -> None:
    """What is wrong, and what to pass instead."""
    failure = _ask([Message("user", "port")], **arguments)

    assert failure.kind == "bad_arguments"
    assert told in failure.message
    assert len(failure.message) < 300


def test_null_is_no_argument() -> None:
    """Strict schemas make a model write every argument."""
    found = _ask(
        [Message("user", "port")], query="port", ref=None, regex=None, offset=None, limit=None
    )

    assert "> port" in found.output


def test_search_can_stay_in_one_output() -> None:
    """A query with a reference."""
    talk = [*_round("c1", "needle 1"), *_round("c2", "needle 2")]

    assert "needle 1" in _ask(talk, query="needle", ref="c1").output
    assert "needle 2" not in _ask(talk, query="needle", ref="c1").output


def test_an_empty_output_can_be_read() -> None:
    """It has no character, and one page."""
    got = _ask(_round("c1", ""), ref="c1")

    assert (got.output, got.notice) == ("", "[c1 (read), characters 0-0 of 0]")


def test_repeated_id_means_the_newest() -> None:
    """The older result is reached by its message."""
    talk = [*_round("c1", "old needle"), *_round("c1", "new needle")]

    found = _ask(talk, query="needle").output

    assert re.findall(r"^\[(\w+)\]", found, re.MULTILINE) == ["c1", "m2"]
    assert _ask(talk, ref="c1").output == "new needle"
    assert _ask(talk, ref="m2").output == "old needle"


def test_window_cuts_are_found_unsummarized() -> None:
    """The session knows what is cut for the window, too."""
    session = _session(Policy(2_000, 500, 400), auto_summarize=False)
    tool = session.recall_tool()
    talk = [Message("user", f"{number} needle {'x' * 800}") for number in range(20)]
    asyncio.run(_append(session, talk))

    found = asyncio.run(tool.run({"query": "10 needle"}))

    assert "[m11]" in found.output


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_recall_works_on_disk_after_resume(tmp_path: Path, kind: str) -> None:
    """What one process kept, the next one recalls."""

    def open_store() -> Any:
        path = tmp_path / f"s.{kind}"
        return JsonlStore(path) if kind == "jsonl" else SqliteStore(path, "s")

    async def first() -> None:
        async with open_store() as store:
            runner = Runner(
                ScriptedDecider(Decision("", [ToolCall("c1", "read")]), "Done."),
                ScriptedExecutor({"read": _LONG}),
                store,
                truncation=truncate.Options(max_lines=2),
            )
            await runner.run("Why?")

    async def second() -> Any:
        async with open_store() as store:
            return await RecallTool(store).run({"query": "disk is full"})

    asyncio.run(first())
    found = asyncio.run(second())

    assert re.match(r"\[out-[0-9a-f]{16}\] read, m3, line 1,235 of 4,000", found.output)


def test_unkeeping_store_is_searched_as_is() -> None:
    """An Archive is enough; what is named and not there falls back on the history."""
    talk = _round("c1", "the end", ref="out-0123456789abcdef")

    assert "> the end" in _ask(talk, query="end").output
    with pytest.raises(ConfigError, match="an object with async load"):
        RecallTool(object())  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="above 0"):
        RecallTool(MemoryStore(), regex_seconds=0)
    with pytest.raises(ConfigError, match="above 0"):
        RecallTool(MemoryStore(), regex_seconds=None)  # type: ignore[arg-type]


@given(messages=conversations(), kept=st.integers(0, 40))
@settings(max_examples=50, deadline=None)
def test_everything_out_of_sight_is_found(messages: list[Message], kept: int) -> None:
    """A text of the archive is in the view, or in a piece, whatever the history."""
    view = messages[len(messages) - min(kept, len(messages)) :]

    pieces = list(hidden_pieces(messages, view, "recall"))

    shown = "\n".join(piece.text for piece in pieces)
    for message in messages[: len(messages) - len(view)]:
        assert message.content in shown or message in view
        assert all(result.output in shown for result in message.tool_results) or any(
            result in other.tool_results for result in message.tool_results for other in view
        )


@given(text=st.text("abAB\n\u0130", max_size=40), query=st.sampled_from(["a", "b", "ab", "b\na"]))
def test_places_are_where_the_text_is(text: str, query: str) -> None:
    """The first place is the first, every place is one, and a pattern finds the same."""
    places = [at for _, at in find_text(query, [text], 99)]

    first = re.search(query, text, re.IGNORECASE)
    assert places[:1] == ([first.start()] if first else [])
    assert all(text[at:].lower().startswith(query) for at in places)
    assert places == sorted(set(places))
    assert find_matches(query, [text], 99) == [(0, at) for at in places]


def _session(policy: Policy | None = None, **options: Any) -> Session:
    policy = policy or Policy(0)
    return Session(
        "s", MemoryStore(), counter=CharCounter(), policy=policy, compactor=Digest(), **options
    )


async def _append(session: Session, messages: Sequence[Message]) -> None:
    for message in messages:
        await session.append(message)


def test_twice_kept_output_is_found_once() -> None:
    """The same text has one reference; it is read without any message that names it, too."""

    async def search() -> list[Any]:
        store = MemoryStore()
        ref = await store.put("a needle")
        for message in [*_round("c1", "cut", ref=ref), *_round("c2", "cut", ref=ref)]:
            await store.append(message)
        await store.replace([])
        alone = RecallTool(store)
        other = await store.put("nobody names it")
        return [ref, await alone.run({"query": "needle"}), await alone.run({"ref": other})]

    ref, found, read = asyncio.run(search())

    assert found.output.count("> a needle") == 1
    assert found.output.startswith(f"[{ref}] read, m4")
    assert read.output == "nobody names it"


def test_without_processes_plain_text_is_offered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a program that was frozen into one file."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    failure = _ask([Message("user", "port")], query="p.rt", regex=True)

    assert "cannot be tried here" in failure.message
    assert "use plain text" in failure.message
    assert "> port" in _ask([Message("user", "port")], query="port").output


def test_search_without_end_can_be_asked_for() -> None:
    """No number of seconds is too large for the process that searches."""
    store = asyncio.run(_filled([Message("user", "The port is 8417.")]))
    tool = RecallTool(store, regex_seconds=float("inf"))

    found = asyncio.run(tool.run({"query": "p.rt", "regex": True}))

    assert isinstance(found, ToolResult)
    assert "8417" in found.output
