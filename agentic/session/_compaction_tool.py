"""The tool with which a model has its own context compacted."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import attrs

from agentic._base._validate import whole
from agentic.errors import ConfigError
from agentic.messages import ToolError, ToolResult
from agentic.protocols import ToolDefinition

_NAME = "compact_context"
_DESCRIPTION = """\
Have the older part of this conversation replaced by a summary, before you go on. Call it when a \
piece of work is finished and its details are no longer needed, not in the middle of one. The \
newest messages and the user's latest request stay as they are. It happens after this round."""
_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "description": "Why now."},
        "keep": {
            "type": "string",
            "description": "What the summary must have: decisions, names, numbers, open work.",
        },
    },
    "required": ["reason", "keep"],
}
_ACCEPTED = "The older part will be summarized after this round. Go on as before."
_REFUSED = (
    "Not again: it was summarized {most} times since the user's latest request. Go on without."
)


@attrs.frozen(eq=False)
class CompactionTool:
    """Lets a model ask for a compaction, which happens at the end of the round.

    Put it into a `tools.Registry`. `Session.compaction_tool()` makes that of a session; for any
    other loop, pass the `compact_next` of its View.

    >>> import asyncio
    >>> focus = []
    >>> tool = CompactionTool(lambda text, most: focus.append(text) or True)
    >>> call = {"reason": "the parser is done", "keep": "the names of its tests"}
    >>> asyncio.run(tool.run(call)).output
    'The older part will be summarized after this round. Go on as before.'
    >>> focus
    ['the names of its tests (asked because: the parser is done)']

    Raises:
        ConfigError: `ask` cannot be called, or `most` is below 1.
    """

    name: ClassVar[str] = _NAME
    definition: ClassVar[ToolDefinition] = ToolDefinition(_NAME, _DESCRIPTION, _PARAMETERS)

    ask: Callable[[str, int], bool] = attrs.field()
    """Takes what the summary should focus on, and the most summaries between two of the user's
    requests; returns whether there will be one."""
    most: int = attrs.field(default=3, kw_only=True, validator=whole(1))
    """How often a model may ask between two of the user's requests."""

    @ask.validator
    def _check_ask(self, _: object, value: object) -> None:
        if not callable(value):
            raise ConfigError("ask", value, "a function", "pass the compact_next of a View")

    async def run(self, arguments: Mapping[str, Any], /) -> ToolResult | ToolError:
        """Ask for a compaction with the model's reason and what it wants to keep."""
        texts = {name: arguments.get(name) for name in _PARAMETERS["required"]}
        for name, text in texts.items():
            if not isinstance(text, str) or not text.strip():
                return ToolError(f"{name} must be a text that is not blank, got {text!r:.80}")
        accepted = self.ask(f"{texts['keep']} (asked because: {texts['reason']})", self.most)
        text = _ACCEPTED if accepted else _REFUSED.format(most=self.most)
        return ToolResult("", self.name, text)
