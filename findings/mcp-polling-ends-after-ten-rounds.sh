#!/usr/bin/env bash
# mcp 2.3.0: a tool that is not ready yet answers with a `request_state` alone (an input required
# result that asks for no input), and the client asks again. It does so ten times, in about two
# seconds, and then raises, although no time was over: `read_timeout_seconds` was 60. A tool that
# builds something for three seconds can't be polled unless `input_required_max_rounds` is raised,
# which counts rounds; no setting of the client gives the whole call a time.
#
# Output seen on 2026-11-28: 2.3.0 requests=11 InputRequiredRoundsExceededError
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" -q install mcp==2.3.0
cat > "$place/run.py" <<'PYTHON'
import asyncio
import importlib.metadata

import mcp_types as types
from mcp import Client
from mcp.client import InputRequiredRoundsExceededError
from mcp.server.lowlevel import Server

asked = 0


async def list_tools(ctx, params):
    tool = types.Tool(name="build", input_schema={"type": "object"})
    return types.ListToolsResult(tools=[tool])


async def call_tool(ctx, params):
    global asked
    asked += 1
    return types.InputRequiredResult(request_state=f"round {asked}")


async def main():
    server = Server("builder", on_list_tools=list_tools, on_call_tool=call_tool)
    async with Client(server, read_timeout_seconds=60) as client:
        try:
            await client.call_tool("build", {})
        except InputRequiredRoundsExceededError as error:
            return type(error).__name__


name = asyncio.run(main())
print(importlib.metadata.version("mcp"), f"requests={asked} {name}")
assert (asked, name) == (11, "InputRequiredRoundsExceededError")
PYTHON
"$place/env/bin/python" "$place/run.py"
