"""The offline agent: it takes a model's place without a network, and follows simple orders."""

import difflib
import json
from collections.abc import AsyncIterator
from typing import ClassVar

import attrs

from agentic.limits import ModelLimits, lookup
from agentic.loop import Decision, Input
from agentic.messages import ToolCall

OFFLINE = "offline"
"""The name that stands for no model."""
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
        *(f"- {sentence}" for sentence in _ORDERS.values()),
        "",
        "`/model` lists the models that could take my place, `/help` what the chat itself can do.",
    ]
)


@attrs.frozen
class OfflineDecider:
    """Decides by the first word of a request."""

    survives_stale_reasoning: ClassVar[bool] = True
    name: str = "offline:agent"

    def limits(self) -> ModelLimits:
        """Return a window that a long conversation can fill."""
        return lookup(OFFLINE)

    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Yield the reply line by line, and then the decision."""
        # In pieces, so that the chat shows what it does while a reply grows.
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
                return _call(request, "list_files", folder=folder or ".")
            case "read", path if path:
                return _call(request, "read_file", path=path)
            case "write", both if " " in both:
                path, _, text = both.partition(" ")
                return _call(request, "write_file", path=path, text=text)
            case "say", text if text:
                return Decision(text)
        near = difflib.get_close_matches(order.lower(), _ORDERS, 1)
        hint = f"Did you mean `{near[0]}`?\n\n" if near and order not in _ORDERS else ""
        return Decision(hint + _HELP)


def _call(request: Input, name: str, **arguments: str) -> Decision:
    if name not in {tool.name for tool in request.tools}:
        return Decision(f"This agent has no tool `{name}`, which the order needs.")
    # The Runner generates an id where there is none.
    return Decision(tool_calls=[ToolCall("", name, json.dumps(arguments))])
