"""The tools of a real server, over stdio and over streamable HTTP."""

import asyncio
import base64
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp
import pytest

from agentic import events, loop, tools
from agentic.bridges.mcp import McpServer, McpTools
from agentic.messages import Media, ToolCall, ToolResult
from agentic.testing import ScriptedDecider

pytestmark = pytest.mark.slow

PICTURE = b"\x89PNG\r\n"


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest) -> McpServer:
    """Return the same server over each transport."""
    if request.param == "http":
        return McpServer.http("notes", request.getfixturevalue("shared_http").url)
    made: McpServer = request.getfixturevalue("served")().server
    return made


EITHER = pytest.mark.parametrize(
    "server", ["http", pytest.param("stdio", marks=pytest.mark.long)], indirect=True
)
"""What a result says is read in one place, whichever transport it comes over."""


def test_tools_are_listed_and_called(server: McpServer, call: Any) -> None:
    """With their schema and their annotations; a structured result is kept as well."""

    async def run() -> None:
        async with McpTools(server) as mcp_tools:
            listed = {found.name: found for found in await mcp_tools.list_tools()}
            result = await call(mcp_tools, "add", a=2, b=3)

        assert listed["add"].description == "Add two numbers."
        assert sorted(listed["add"].parameters["properties"]) == ["a", "b"]
        assert listed["add"].annotations["readOnlyHint"] is True
        assert (result.call_id, result.name, result.output) == ("c1", "add", "5")
        assert result.extra == {"structured_content": {"result": 5}}

    asyncio.run(run())


@EITHER
def test_every_type_of_content_is_kept(server: McpServer, call: Any) -> None:
    """Text and links in the output, what is binary as media."""

    async def run() -> None:
        async with McpTools(server) as mcp_tools:
            result = await call(mcp_tools, "show")

        assert result.output.split("\n") == [
            "a cat",
            "[file:///a.py: a.py, 9 bytes]",
            "[file:///notes.txt]",
            "remember",
            "[file:///a.pdf]",
        ]
        assert result.media == (
            Media("image/png", PICTURE),
            Media("audio/wav", PICTURE),
            Media("application/pdf", PICTURE),
        )

    asyncio.run(run())


@EITHER
@pytest.mark.parametrize(
    ("tool", "texts"),
    [("shoot", ["a cat", "plain", '"size": 3']), ("frame", ["[image/png, 6 bytes]"])],
)
def test_structured_blocks_are_sent_once(
    server: McpServer, call: Any, tool: str, texts: list[str]
) -> None:
    """The bytes as media, and neither as text nor beside it."""

    async def run() -> None:
        async with McpTools(server) as mcp_tools:
            result = await call(mcp_tools, tool)

        assert [result.output.count(text) for text in texts] == [1] * len(texts)
        assert result.media == (Media("image/png", PICTURE),)
        assert result.extra["structured_content"]
        assert base64.b64encode(PICTURE).decode() not in result.output + repr(result.extra)

    asyncio.run(run())


@EITHER
def test_failure_is_a_tool_error(server: McpServer, call: Any) -> None:
    """With what the server says about it."""

    async def run() -> None:
        async with McpTools(server) as mcp_tools:
            result = await call(mcp_tools, "fail")

        assert result.error is not None
        assert "no such table" in result.error.message
        assert result.output == ""

    asyncio.run(run())


@EITHER
def test_unfit_arguments_are_explained(server: McpServer, call: Any) -> None:
    """By this side if they are no JSON, by the server otherwise."""

    async def run() -> None:
        async with McpTools(server) as mcp_tools:
            misfit = await call(mcp_tools, "add", a="two", b=3)
            no_json = await mcp_tools.execute(ToolCall("c1", "add", "{oops"))

        assert misfit.error is not None
        assert "integer" in misfit.error.message
        assert no_json.error is not None
        assert no_json.error.kind == "bad_arguments"

    asyncio.run(run())


def test_calls_run_side_by_side(server: McpServer, call: Any) -> None:
    """Over one connection: each waits for the others."""

    async def run() -> list[str]:
        async with McpTools(server) as mcp_tools, asyncio.timeout(60):
            results = await asyncio.gather(*(call(mcp_tools, "meet", guests=4) for _ in range(4)))
            return [result.output for result in results]

    assert asyncio.run(run()) == ["met"] * 4


def test_a_change_of_tools_is_noticed(server: McpServer, call: Any) -> None:
    """As soon as the server says so; the new tool can be called."""

    async def run() -> None:
        async with McpTools(server) as mcp_tools:
            before = await mcp_tools.list_tools()
            await call(mcp_tools, "learn")
            after = before
            for _ in range(200):  # the notice may arrive after the result
                after = await mcp_tools.list_tools()
                if len(after) > len(before):
                    break
                await asyncio.sleep(0.05)
            assert {found.name for found in after} - {found.name for found in before} == {"learned"}
            assert (await call(mcp_tools, "learned")).output == "new"

    asyncio.run(run())


def test_progress_is_reported_in_the_run(server: McpServer) -> None:
    """As events of the Runner that makes the call."""
    asked = loop.Decision("", [ToolCall("c1", "wait", '{"seconds": 0.3}')])
    seen: list[tuple[str, float, float | None, str]] = []

    def note(_: object, event: events.ToolExecutionProgress) -> None:
        seen.append((event.call.id, event.progress, event.total, event.message))

    async def run() -> loop.Result:
        async with McpTools(server) as mcp_tools:
            runner = loop.Runner(ScriptedDecider(asked, "Done."), mcp_tools)
            with events.tool_execution_progress.connected_to(note, sender=runner):
                return await runner.run("Wait.")

    assert asyncio.run(run()).tool_results[0].output == "waited"
    assert seen == [("c1", float(step), 3.0, f"step {step}") for step in (1, 2, 3)]


@pytest.mark.parametrize("how", ["cancelled", "timeout"])
def test_a_server_is_told_to_stop(how: str, request: pytest.FixtureRequest, call: Any) -> None:
    """If the call is cancelled, as the Runner does at its limit, or by a limit of the server's."""
    served = request.getfixturevalue("served")(call_timeout_seconds=3 if how == "timeout" else None)

    async def run() -> Any:
        async with McpTools(served.server) as mcp_tools:
            await call(mcp_tools, "add", a=1, b=1)  # so that the limit counts no start
            calling = asyncio.create_task(call(mcp_tools, "wait", seconds=30))
            await served.until_noted("started")
            if how == "cancelled":
                calling.cancel()
            (outcome,) = await asyncio.gather(calling, return_exceptions=True)
            await served.until_noted("cancelled")
            assert (await call(mcp_tools, "add", a=1, b=1)).output == "2"
            return outcome

    outcome = asyncio.run(run())

    if how == "cancelled":
        assert isinstance(outcome, asyncio.CancelledError)
    else:
        assert outcome.error.kind == "timeout"
        assert outcome.error.message.startswith("no result in 3 seconds")


def test_servers_combine_with_a_registry(
    served: Callable[..., Any], odd: Callable[..., McpServer]
) -> None:
    """Each with a prefix and a list of what is allowed."""

    @tools.tool
    def local() -> str:
        """Run here."""
        return "here"

    async def run() -> list[str]:
        notes = served(prefix="notes_", allow=["add", "wipe"]).server
        async with McpTools(notes, odd("paged", prefix="odd.")) as mcp_tools:
            both = tools.CompositeExecutor(tools.Registry(local), mcp_tools)
            names = [found.name for found in await both.list_tools()]
            results = [
                await both.execute(ToolCall("c1", name, arguments))
                for name, arguments in (
                    ("local", "{}"),
                    ("notes_add", '{"a": 1, "b": 2}'),
                    ("notes_fail", "{}"),
                )
            ]
        assert [result.output for result in results] == ["here", "3", ""]
        assert results[-1].error is not None
        assert results[-1].error.kind == "not_found"
        return names

    assert asyncio.run(run()) == [
        "local",
        *("notes_add", "notes_wipe"),
        *("odd.first", "odd.second_third", "odd.fourth"),
    ]


def test_a_policy_reads_the_annotations(served: Callable[..., Any], call: Any) -> None:
    """What is not declared as read-only is neither shown nor run."""

    def is_read_only(found: tools.ToolDefinition) -> bool:
        return found.annotations.get("readOnlyHint") is True

    async def run() -> None:
        notes = served(allow=is_read_only)
        async with McpTools(notes.server) as mcp_tools:
            assert [found.name for found in await mcp_tools.list_tools()] == ["add"]
            assert (await call(mcp_tools, "wipe")).error.kind == "not_found"
        assert notes.notes("wiped") == []

    asyncio.run(run())


@pytest.mark.skipif(not hasattr(mcp, "Client"), reason="version 1 does not speak this protocol")
def test_listing_lasts_for_its_stated_time(
    odd: Callable[..., McpServer], tmp_path: Path, grow_old: Callable[..., None]
) -> None:
    """If the server does not report changes."""
    notes = tmp_path / "notes"

    async def run() -> list[int]:
        counts = []
        async with McpTools(odd("brief", env={"NOTES": str(notes)})) as mcp_tools:
            for _ in range(2):
                for _ in range(3):
                    await mcp_tools.list_tools()
                counts.append(notes.read_text().count("listed"))
                grow_old(mcp_tools, 600)
        return counts

    assert asyncio.run(run()) == [1, 2]


@pytest.mark.skipif(not hasattr(mcp, "Client"), reason="version 1 does not speak this protocol")
@pytest.mark.parametrize(
    ("limit", "text"), [(60, "after 40 polls"), (0.2, "no result in 0.2 seconds")]
)
def test_a_call_is_asked_for_until_its_own_timeout(
    odd: Callable[..., McpServer],
    call: Any,
    monkeypatch: pytest.MonkeyPatch,
    limit: float,
    text: str,
) -> None:
    """And not until the SDK gives up, which it does after ten rounds."""
    driver = importlib.import_module("mcp.client._input_required")
    # One server needs no pauses; for the other, they are longer than the limit.
    pause = 0 if limit > 1 else 10
    monkeypatch.setattr(driver, "_STATE_ONLY_BACKOFF_INITIAL_SECONDS", pause)
    monkeypatch.setattr(driver, "_STATE_ONLY_BACKOFF_CAP_SECONDS", pause)

    async def run() -> ToolResult:
        async with McpTools(odd("polled", call_timeout_seconds=limit)) as mcp_tools:
            result: ToolResult = await call(mcp_tools, "first")
            return result

    assert text in asyncio.run(run()).text
