"""A request that is being made of a history, and how it relates to the last one."""

from collections.abc import Sequence

import attrs

from agentic.context.budget import Policy
from agentic.context.view._epoch import Epoch
from agentic.context.view._explain import Stage
from agentic.context.view._lineage import Branch
from agentic.context.view._window import Note
from agentic.limits import CacheTerms
from agentic.messages import Message
from agentic.protocols import RequestPrefix, ToolDefinition
from agentic.tokens._count import describe_largest

TO_BE_SENT = "request"
"""Names the step that leaves out what exceeds the bytes and the images of a request."""


@attrs.define(eq=False)
class Draft:
    """A history and the request that it would become. Sizes are in tokens.

    It is completed by the builder that made it, and not changed afterwards.
    """

    branch: Branch
    system_prompt: str
    tools: tuple[ToolDefinition, ...]
    repaired: list[Message]
    """The history as a provider accepts it."""
    epoch: Epoch
    """The epoch that the request belongs to."""
    overhead_tokens: int
    """The size of what is sent besides the messages."""
    number: int = 0
    """How many requests were sent before it was made."""
    tokens: int = 0
    fits: bool = True
    """Whether the size is within the window less the reserve."""
    continues: bool = False
    """Whether the epoch is that of the last request, which this one extends."""
    dead_tokens: int = 0
    """How much shorter a new epoch would make the request."""
    is_within: bool = False
    """Whether it was looked at: it fits, and no trigger fires."""
    is_edited: bool = False
    """Whether the history does not continue that of the last request."""
    may_lack_reasoning: bool = False
    """Whether the owner may have lost reasoning of the last request, or have it again."""
    notes: tuple[Note, ...] = ()
    shortened: tuple[Stage, ...] = ()
    """The steps that shortened messages of this request before they are first sent."""

    @property
    def view(self) -> list[Message]:
        """The messages to send."""
        return self.epoch.view

    @property
    def beside(self) -> RequestPrefix:
        """The system prompt and the tools that hold for this request."""
        return RequestPrefix(self.system_prompt, self.tools)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The steps that made the first request of the epoch."""
        return self.epoch.stages

    @property
    def drops_to_be_sent(self) -> bool:
        """Whether whole messages were left out because the request had too many bytes."""
        return not self.continues and any(
            each.part == TO_BE_SENT and len(each.after) < len(each.before) for each in self.stages
        )

    @property
    def new_stages(self) -> tuple[Stage, ...]:
        """The steps that were made for this request, and not for an earlier one."""
        return self.shortened if self.continues else self.epoch.stages

    def complete(
        self,
        history: Sequence[Message] | None,
        others: tuple[str | None, Sequence[ToolDefinition] | None],
    ) -> tuple[Sequence[Message], tuple[str, Sequence[ToolDefinition]]]:
        """Return a history, a system prompt and tools; this draft's where they are None."""
        system_prompt, tools = others
        beside = (
            self.system_prompt if system_prompt is None else system_prompt,
            self.tools if tools is None else tools,
        )
        return self.branch.given if history is None else history, beside

    def of_list(self, given: list[Message]) -> "Draft":
        """Return the draft of the owner's list instead of a copy of it, or the reverse."""
        former = self.branch.given

        def own(messages: list[Message]) -> list[Message]:
            return given if messages is former else messages

        branch = attrs.evolve(
            self.branch, given=given, read=own(self.branch.read), history=own(self.branch.history)
        )
        epoch = attrs.evolve(
            self.epoch,
            source=own(self.epoch.source),
            view=own(self.epoch.view),
            stages=tuple(each.with_list(given, former) for each in self.stages),
        )
        return attrs.evolve(self, branch=branch, repaired=own(self.repaired), epoch=epoch)


@attrs.frozen
class Continuity:
    """How a request relates to the last one."""

    extends: bool = True
    reused_tokens: int = 0
    changes: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    def then(self, later: "Continuity") -> "Continuity":
        """Return how the next request relates to the last one, if this one is not sent."""
        changes = dict.fromkeys((*self.changes, *later.changes))
        reused_tokens = min(self.reused_tokens, later.reused_tokens)
        notes = dict.fromkeys((*self.notes, *later.notes))
        return Continuity(
            self.extends and later.extends, reused_tokens, tuple(changes), tuple(notes)
        )


def begins_with(history: Sequence[Message], system_prompt: str) -> bool:
    """Return whether a history already begins with this system prompt."""
    first = history[0] if history else None
    return first is not None and (first.role, first.content) == ("system", system_prompt)


def prefix_changed(changes: Sequence[str], tokens: int, terms: CacheTerms) -> Note:
    """Return a note that prices a change before the first message of a request."""
    names = {"system_changed": "the system prompt", "tools_changed": "the tools"}
    parts = [name for change, name in names.items() if change in changes]
    verb = "have" if len(parts) > 1 or "tools_changed" in changes else "has"
    more = round((terms.write - terms.read) * tokens)
    text = (
        f"{' and '.join(parts)} {verb} changed: {tokens:,} tokens are written to the prompt cache "
        f"again, at the price of {more:,} more input tokens"
    )
    return Note("prefix_changed", text)


def over_window(draft: Draft, policy: Policy) -> Note:
    part = describe_largest(draft.view, overhead_tokens=draft.overhead_tokens)
    text = f"{draft.tokens:,} tokens of {policy.available_tokens:,}: most is {part}"
    return Note("over_window", text)
