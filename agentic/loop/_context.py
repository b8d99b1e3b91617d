"""What a run sends: its conversation through a View."""

from collections.abc import Sequence

import attrs

from agentic._tool_definition import ToolDefinition
from agentic.context.budget import CompactionTarget
from agentic.context.view import Prepared, View
from agentic.loop._conversation import Conversation
from agentic.messages import ContextSummary, Message
from agentic.usage import Usage

__all__ = ["RunContext"]


@attrs.define(eq=False)
class RunContext:
    """Asks a View what to send of a conversation, and stores its compactions."""

    conversation: Conversation
    view: View
    summary: ContextSummary | None = attrs.field(init=False, default=None)
    """The latest summary of this run."""
    usage: Usage = attrs.field(init=False, factory=Usage)
    """What the summaries of this run used."""

    async def prepare(self, system_prompt: str, tools: Sequence[ToolDefinition]) -> Prepared:
        """Return what to send, after compacting the history if that is due."""
        await self.conversation.refresh()
        prepared = await self._prepare(system_prompt, tools)
        if prepared.compaction is not None:
            await self.conversation.refresh()
            if self.conversation.history is not prepared.history:
                # Others wrote while the summary was made.
                prepared = await self._prepare(system_prompt, tools)
        return prepared

    async def shrink(self, sent: Sequence[Message]) -> Prepared | None:
        """Return a strictly smaller request than one that a provider refused; None if none is."""
        prepared = await self.view.shrink(sent, target=self._target())
        self._take_in(prepared)
        return prepared

    async def _prepare(self, system_prompt: str, tools: Sequence[ToolDefinition]) -> Prepared:
        prepared = await self.view.prepare(
            self.conversation.history,
            system_prompt=system_prompt,
            tools=tools,
            target=self._target(),
        )
        self._take_in(prepared)
        return prepared

    def _target(self) -> CompactionTarget:
        event_sender = self.conversation.event_sender
        return CompactionTarget(event_sender.sender, event_sender.run_id, self.conversation.replace)

    def _take_in(self, prepared: Prepared | None) -> None:
        made = None if prepared is None else prepared.compaction
        if made is not None:
            self.usage += made.usage
            self.summary = made.summary if made.changed else self.summary
        if self.conversation.put_off is not None:
            raise self.conversation.put_off
