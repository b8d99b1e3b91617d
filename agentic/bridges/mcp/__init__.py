"""The tools of MCP servers as an executor, over stdio or streamable HTTP.

Start with `McpServer` and `McpTools`. Needs the extra `mcp`, which
installs the official SDK (https://github.com/modelcontextprotocol/python-sdk), 1.19 or newer.

- The tools of a server are listed once, and again after the server says that they changed. A prefix
  and a policy say under which names which of them are shown; a policy can read the annotations.
- Text goes to `ToolResult.output`; images, sounds and other binary content to `ToolResult.media`;
  structured content to `ToolResult.extra["structured_content"]`, and to the output if no text of
  the result has it.
- A server that dies, hangs or cannot be reached fails the call, not the run. The next call connects
  again.
"""

from agentic._base import _imports
from agentic._base._versions import require as _require

_require("bridges.mcp", "mcp", "mcp", "1.19")

with _imports.quietly():
    from agentic.bridges.mcp._errors import McpServerUnavailable
    from agentic.bridges.mcp._server import McpServer
    from agentic.bridges.mcp._tools import McpTools

__all__ = ["McpServer", "McpServerUnavailable", "McpTools"]
