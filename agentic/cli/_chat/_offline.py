"""An agent that needs no model: it shows what a chat does, and works on files by simple orders."""

import difflib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import attrs

from agentic.limits import ModelLimits
from agentic.loop import Decision, Input
from agentic.messages import ToolCall
from agentic.tools import tool

__all__ = ["OfflineModel", "list_files", "read_file", "write_file"]

_WINDOW = 32_000
_ORDERS = {
    "list": "`list [FOLDER]` lists files",
    "read": "`read FILE` shows a file",
    "write": "`write FILE TEXT` replaces what is in a file; you are asked first",
    "say": "`say TEXT` repeats a text",
}
_HELP = "\n".join(
    [
        "I am the offline agent: no model, so I only follow orders.",
        "",
        *(f"- {told}" for told in _ORDERS.values()),
        "",
        "`/model` lists the models that could take my place, `/help` what the chat itself can do.",
    ]
)


@attrs.frozen
class OfflineModel:
    """Decides by the first word of a request."""

    name: str = "offline:agent"

    def limits(self) -> ModelLimits:
        """Return a window that a long conversation can fill."""
        return ModelLimits(_WINDOW, 0)

    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Yield the reply line by line, and then the decision."""
        decision = await self.decide(request)
        for line in decision.reply.splitlines(keepends=True):
            yield line
        yield decision

    async def decide(self, request: Input, /) -> Decision:
        """Follow an order, or explain which there are."""
        if request.tool_results:
            result = request.tool_results[-1]
            return Decision(result.text if result.error else f"```text\n{result.text}\n```")
        order, _, rest = request.user_message.strip().partition(" ")
        match order.lower(), rest.strip():
            case "list", folder:
                return _call("list_files", folder=folder or ".")
            case "read", path if path:
                return _call("read_file", path=path)
            case "write", both if " " in both:
                path, _, text = both.partition(" ")
                return _call("write_file", path=path, text=text)
            case "say", text if text:
                return Decision(text)
        near = difflib.get_close_matches(order.lower(), _ORDERS, 1)
        hint = f"Did you mean `{near[0]}`?\n\n" if near and order not in _ORDERS else ""
        return Decision(hint + _HELP)


def _call(name: str, **arguments: str) -> Decision:
    # The Runner generates an id where there is none.
    return Decision(tool_calls=[ToolCall("", name, json.dumps(arguments))])


@tool(annotations={"readOnlyHint": True})
def list_files(folder: str) -> str:
    """List the files and folders of a folder."""
    found = sorted(Path(folder).iterdir())
    return "\n".join(f"{each.name}/" if each.is_dir() else each.name for each in found)


@tool(annotations={"readOnlyHint": True})
def read_file(path: str) -> str:
    """Return the text of a file."""
    return Path(path).read_text(encoding="utf-8", errors="replace")


def write_file(path: str, text: str) -> str:
    """Replace the content of a file, which is created if necessary."""
    Path(path).write_text(text + "\n", encoding="utf-8")
    return f"{path} now has {len(text) + 1:,} characters"
