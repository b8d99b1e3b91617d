"""Servers that die, hang, cannot be reached, or do not do as they should."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentic import loop
from agentic.bridges.mcp import McpServer, McpServerUnavailable, McpTools
from agentic.errors import ConfigError
from agentic.messages import ToolCall, ToolError
from agentic.testing import ScriptedDecider

pytestmark = pytest.mark.slow


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_dying_server_fails_one_call(served: Callable[..., Any], call: Any) -> None:
    """The next one starts it again."""
    notes = served()

    async def run() -> None:
        async with McpTools(notes.server) as mcp_tools:
            died = await call(mcp_tools, "die")
            listed = await mcp_tools.list_tools()
            again = await call(mcp_tools, "add", a=1, b=2)

        assert died.error == ToolError(
            "the MCP server 'notes' stopped before it answered: it is unknown whether the tool "
            "ran to its end. The next call connects to the server again.",
            "interrupted",
        )
        assert "add" in {found.name for found in listed}
        assert again.output == "3"
        assert len(notes.notes("processes")) == 2

    asyncio.run(run())


def test_all_open_calls_fail_at_once(served: Callable[..., Any], call: Any) -> None:
    """When the process is killed from outside, in the middle of several calls."""
    notes = served()

    async def run() -> None:
        async with McpTools(notes.server) as mcp_tools:
            calls = [asyncio.create_task(call(mcp_tools, "wait", seconds=600)) for _ in range(3)]
            await notes.until_noted("started", times=3)
            notes.kill()
            async with asyncio.timeout(60):
                results = await asyncio.gather(*calls)

        assert [result.error.kind for result in results] == ["interrupted"] * 3

    asyncio.run(run())


def test_death_between_calls_is_not_felt(
    served: Callable[..., Any], call: Any, until_closed: Callable[..., Any]
) -> None:
    """The call that finds the connection closed opens another."""
    notes = served()

    async def run() -> None:
        async with McpTools(notes.server) as mcp_tools:
            await call(mcp_tools, "add", a=1, b=2)
            notes.kill()
            await until_closed(mcp_tools)
            assert (await call(mcp_tools, "add", a=1, b=2)).output == "3"

    asyncio.run(run())


def test_run_continues_after_server_death(served: Callable[..., Any]) -> None:
    """The model reads what happened, and calls again."""
    script = [
        loop.Decision("", [ToolCall("c1", "die")]),
        loop.Decision("", [ToolCall("c2", "add", '{"a": 1, "b": 2}')]),
        "Three.",
    ]

    async def run() -> loop.Result:
        async with McpTools(served().server) as mcp_tools:
            return await loop.Runner(ScriptedDecider(*script), mcp_tools).run("Add.")

    result = asyncio.run(run())

    assert result.reply == "Three."
    assert [each.error is None for each in result.tool_results] == [False, True]


def test_dead_http_server_comes_back(http: Any, call: Any) -> None:
    """Killed between calls, and started again on the same port."""

    async def run() -> list[Any]:
        async with McpTools(McpServer.http("notes", http.url, call_timeout_seconds=3)) as mcp_tools:
            results = [await call(mcp_tools, "add", a=1, b=2)]
            http.kill()
            results.append(await call(mcp_tools, "add", a=1, b=2))
            results.append(await call(mcp_tools, "add", a=1, b=2))
            http.start()
            results += [await call(mcp_tools, "add", a=1, b=2) for _ in range(2)]
        return results

    first, dead, refused, *later = asyncio.run(run())

    assert first.output == "3"
    assert dead.error is not None
    assert dead.error.kind in {"interrupted", "not_run"}
    assert refused.error is not None
    assert refused.error.kind == "not_run"
    assert refused.error.message.startswith("cannot connect to the MCP server 'notes': ")
    assert later[-1].output == "3"


def test_dying_http_server_fails_the_call(http: Any, call: Any) -> None:
    """At once with version 2 of the SDK, at the limit with version 1, which goes on waiting."""

    async def run() -> Any:
        async with McpTools(McpServer.http("notes", http.url, call_timeout_seconds=5)) as mcp_tools:
            calling = asyncio.create_task(call(mcp_tools, "wait", seconds=60))
            await http.until_started("wait")
            http.kill()
            return await calling

    assert asyncio.run(run()).error.kind in {"interrupted", "timeout"}


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (McpServer.stdio("gone", "no-such-command-here"), "No such file or directory"),
        (McpServer.stdio("gone", sys.executable, ["-c", ""]), "Connection closed"),
        (McpServer.http("gone", "http://127.0.0.1:9/mcp"), "connection attempts failed"),
    ],
    ids=["absent", "exits", "refuses"],
)
def test_unreachable_server_is_named(server: McpServer, reason: str, call: Any) -> None:
    """At the start and in a listing, where somebody can act on it; a call only fails."""

    async def enter() -> None:
        async with McpTools(server):
            pass

    with pytest.raises(McpServerUnavailable, match=rf"the MCP server 'gone': .*{reason}"):
        asyncio.run(enter())
    with pytest.raises(McpServerUnavailable, match=reason):
        asyncio.run(McpTools(server).list_tools())
    assert asyncio.run(call(McpTools(server), "add")).error.kind == "not_run"


def test_a_mute_server_is_given_up(odd: Callable[..., McpServer]) -> None:
    """After the time for connecting."""

    async def enter() -> None:
        async with McpTools(odd("mute", connect_timeout_seconds=1)):
            pass

    begun = time.monotonic()
    with pytest.raises(McpServerUnavailable, match="no answer in 1 seconds"):
        asyncio.run(enter())
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize("mode", ["paged", "mute"])
def test_one_bad_server_closes_the_others(odd: Any, mode: str, tmp_path: Path) -> None:
    """Whether they are connected already or still starting."""
    notes = tmp_path / "process"
    other = attrs.evolve(odd(mode, env={"NOTES": str(notes)}), name="other")

    async def enter() -> None:
        async with McpTools(other, odd("mute", connect_timeout_seconds=2)):
            pass

    with pytest.raises(McpServerUnavailable, match="'odd'"):
        asyncio.run(enter())
    assert not _is_running(int(notes.read_text()))


def test_closing_never_hangs(odd: Callable[..., McpServer], call: Any) -> None:
    """Although the process ignores the end of its input and SIGTERM."""

    async def run() -> float:
        async with McpTools(odd("stubborn")) as mcp_tools:
            assert (await call(mcp_tools, "fourth")).output == 'ran fourth\n{"name": "fourth"}'
            begun = time.monotonic()
        return time.monotonic() - begun

    assert asyncio.run(run()) < 60


def test_closing_ignores_a_frozen_server(http: Any, call: Any) -> None:
    """An HTTP server is told that the session ends, and may not listen."""

    async def run() -> float:
        async with McpTools(McpServer.http("notes", http.url)) as mcp_tools:
            await call(mcp_tools, "add", a=1, b=2)
            http.process.send_signal(signal.SIGSTOP)
            begun = time.monotonic()
        return time.monotonic() - begun

    assert asyncio.run(run()) < 60


def test_cancelled_listing_loses_no_change(
    http: Any, served: Callable[..., Any], call: Any, until_changed: Callable[..., Any]
) -> None:
    """What one server listed before another one was given up is listed the next time."""

    async def run() -> set[str]:
        over_http = McpServer.http("frozen", http.url, prefix="http_")
        async with McpTools(served().server, over_http) as mcp_tools:
            await call(mcp_tools, "http_learn")
            await mcp_tools.list_tools()
            # The second time, the frozen server reports a change where there is none.
            await asyncio.gather(call(mcp_tools, "learn"), call(mcp_tools, "http_learn"))
            await until_changed(mcp_tools)  # its notice may arrive after the result
            http.process.send_signal(signal.SIGSTOP)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await mcp_tools.list_tools()
            http.process.send_signal(signal.SIGCONT)
            return {tool.name for tool in await mcp_tools.list_tools()}

    assert {"learned", "http_learned"} <= asyncio.run(run())


def test_noise_on_stdout_does_no_harm(odd: Callable[..., McpServer], call: Any) -> None:
    """A line that is no JSON is skipped."""

    async def run() -> str:
        async with McpTools(odd("loud")) as mcp_tools:
            return str((await call(mcp_tools, "first")).output)

    assert asyncio.run(run()).startswith("ran first")


def test_unexplained_failure_still_has_words(odd: Callable[..., McpServer], call: Any) -> None:
    """And a refusal of the protocol is an error of the tool, too."""

    async def run() -> None:
        async with McpTools(odd("vague")) as mcp_tools:
            silent = await call(mcp_tools, "first")
            refused = await call(mcp_tools, "fourth")

        assert silent.error == ToolError("the tool failed, and its server did not say why")
        assert refused.error is not None
        assert refused.error.message.endswith("fourth is closed today")

    asyncio.run(run())


def test_loops_side_by_side_keep_their_servers(served: Callable[..., Any], call: Any) -> None:
    """As with `run_sync` in several threads: whoever calls next does not take the other's away."""
    notes = served()
    mcp_tools = McpTools(notes.server)
    # In turn, so that each call follows one of the other loop.
    turns = threading.Barrier(2, timeout=60)

    async def talk(place: int) -> list[str]:
        outputs = []
        for turn in range(6):
            if turn % 2 == place:
                outputs.append((await call(mcp_tools, "add", a=turn, b=0)).output)
            turns.wait()
        return outputs

    with ThreadPoolExecutor(2) as threads:
        outputs = list(threads.map(lambda place: asyncio.run(talk(place)), (0, 1)))

    assert outputs == [["0", "2", "4"], ["1", "3", "5"]]
    assert len(notes.notes("processes")) == 2


def test_another_event_loop_connects_anew(served: Callable[..., Any], call: Any) -> None:
    """As with two calls of run_sync; no process outlives its loop."""
    notes = served()
    mcp_tools = McpTools(notes.server)

    results = [asyncio.run(call(mcp_tools, "add", a=1, b=2)) for _ in range(2)]

    assert [result.output for result in results] == ["3", "3"]
    assert len(notes.notes("processes")) == 2
    assert not any(map(_is_running, map(int, notes.notes("processes"))))


@pytest.mark.parametrize("servers", [(), ("files",), (McpServer.stdio("a", "x"),) * 2])
def test_servers_without_own_names_are_refused(servers: Any) -> None:
    """Messages could not say which of them is meant."""
    with pytest.raises(ConfigError, match=r"McpServer\.stdio\(name, command\)"):
        McpTools(*servers)


@pytest.mark.parametrize(
    "options", [{"prefix": "a b"}, {"connect_timeout_seconds": 0}, {"call_timeout_seconds": -1}]
)
def test_options_are_checked(options: dict[str, Any]) -> None:
    """When the server is described, not when it is first used."""
    with pytest.raises(ConfigError):
        McpServer.stdio("files", "files-server", **options)
