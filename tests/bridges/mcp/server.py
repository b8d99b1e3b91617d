"""A server on the SDK, of either version: over stdio, or over HTTP if a port is given as well.

It keeps notes in the folder: the ids of its processes, and which calls were cancelled.
"""

import asyncio
import base64
import os
import signal
import sys
from pathlib import Path
from typing import Any

import uvicorn
from mcp import types

try:
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    VERSION = 2
except ImportError:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.server.fastmcp.exceptions import ToolError

    VERSION = 1

FOLDER = Path(sys.argv[1])
PICTURE = base64.b64encode(b"\x89PNG\r\n").decode()
server = MCPServer("test")


def _note(name: str, text: str) -> None:
    with (FOLDER / name).open("a") as notes:
        notes.write(f"{text}\n")


def _made(model: str, **fields: Any) -> Any:
    """Make one of the SDK's records, whose fields have other names in each version."""
    return getattr(types, model).model_validate(fields)


@server.tool(annotations=_made("ToolAnnotations", readOnlyHint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(annotations=_made("ToolAnnotations", destructiveHint=True))
def wipe() -> str:
    """Delete everything."""
    _note("wiped", "all")
    return "wiped"


@server.tool()
def fail() -> str:
    """Fail."""
    raise ToolError("no such table")


@server.tool(structured_output=False)
def show() -> list[Any]:
    """Return one content block of each type."""
    resource = {"uri": "file:///notes.txt", "text": "remember"}
    blob = {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": PICTURE}
    return [
        _made("TextContent", type="text", text="a cat"),
        _made("ImageContent", type="image", mimeType="image/png", data=PICTURE),
        _made("AudioContent", type="audio", mimeType="audio/wav", data=PICTURE),
        _made("ResourceLink", type="resource_link", uri="file:///a.py", name="a.py", size=9),
        _made("EmbeddedResource", type="resource", resource=resource),
        _made("EmbeddedResource", type="resource", resource=blob),
    ]


@server.tool()
def shoot() -> list[Any]:
    """Return content blocks that the SDK repeats in structured content, and what it puts there."""
    picture = _made("ImageContent", type="image", mimeType="image/png", data=PICTURE)
    return [_made("TextContent", type="text", text="a cat"), picture, "plain", {"size": 3}]


@server.tool()
def frame() -> dict[str, Any]:
    """Return a content block inside a record, which the SDK also writes as the JSON of a text."""
    return {"image": _made("ImageContent", type="image", mimeType="image/png", data=PICTURE)}


@server.tool()
async def wait(seconds: float, ctx: Context) -> str:
    """Wait, and report progress."""
    _note("started", "wait")
    try:
        for step in range(1, 4):
            await ctx.report_progress(step, 3, f"step {step}")
            await asyncio.sleep(seconds / 3)
    except asyncio.CancelledError:
        _note("cancelled", "wait")
        raise
    return "waited"


_came = 0
_complete = asyncio.Event()


@server.tool()
async def meet(guests: int) -> str:
    """Wait until as many calls as guests run at once."""
    global _came  # noqa: PLW0603  one party for each process
    _came += 1
    if _came == guests:
        _complete.set()
    await _complete.wait()
    return "met"


@server.tool()
def die() -> str:
    """Kill this process at once."""
    os.kill(os.getpid(), signal.SIGKILL)
    return "dead"


@server.tool()
async def learn(ctx: Context) -> str:
    """Add a tool, and tell the client."""
    server.add_tool(lambda: "new", name="learned", description="Something new.")
    await ctx.session.send_tool_list_changed()
    if VERSION == 2:
        await ctx.notify_tools_changed()
    return "learned"


def main() -> None:
    """Serve until killed."""
    _note("processes", str(os.getpid()))
    if len(sys.argv) == 2:
        server.run()
        return
    uvicorn.run(
        server.streamable_http_app(), host="127.0.0.1", port=int(sys.argv[2]), log_level="error"
    )


if __name__ == "__main__":
    main()
