"""One look at a history: what it stands for, how a request is made of it, and how large it is."""

from collections.abc import Sequence

import attrs

from agentic._tool_definition import ToolDefinition
from agentic.context.budget import Policy
from agentic.context.strategies import Chain
from agentic.context.view._explain import Stage
from agentic.context.view._lineage import Branch, Lineage
from agentic.context.view._meter import ReplyMeter
from agentic.context.view._overhead import Overhead
from agentic.context.view._records import Note
from agentic.context.view._repair import Repair
from agentic.context.view._strategies import Part, parts_of
from agentic.context.view._window import WindowFitter
from agentic.errors import ConfigError
from agentic.messages import Message
from agentic.tokens import Counter, TokenCache, describe_largest

__all__ = ["Look", "Looker"]

_SHARE = "summary share"


@attrs.frozen(eq=False)
class Look:
    """A history and the request that would be made of it. Sizes in tokens."""

    branch: Branch
    system_prompt: str
    tools: Sequence[ToolDefinition]
    view: list[Message]
    """What is sent."""
    stages: tuple[Stage, ...]
    """How it was made of the history."""
    overhead_tokens: int
    """What is sent beside the messages."""
    tokens: int
    fits: bool
    """Whether it is within the window less the reserve."""
    notes: tuple[Note, ...] = ()


@attrs.define(eq=False)
class Looker:
    """Makes requests of one conversation; never compacts it. What is new costs, nothing else."""

    policy: Policy
    counter: Counter | None
    strategies: Chain
    recall: str | None
    lineage: Lineage = attrs.field(factory=Lineage, init=False)
    token_cache: TokenCache | None = attrs.field(init=False)
    meter: ReplyMeter | None = attrs.field(init=False)
    window: WindowFitter | None = attrs.field(default=None, init=False)
    """None if there is no window, or nothing counts."""
    _parts: tuple[Part, ...] = attrs.field(init=False)
    _overhead: Overhead | None = attrs.field(init=False)
    _repair: Repair = attrs.field(factory=Repair, init=False)

    def __attrs_post_init__(self) -> None:
        self._parts = parts_of(self.strategies)
        self.token_cache = self.meter = self._overhead = None
        if self.counter is not None:
            self.token_cache, self.meter = TokenCache(self.counter), ReplyMeter(self.counter)
            self._overhead = Overhead(self.token_cache)
            if self.policy.context_window:
                self.window = WindowFitter(self.policy, self.counter, self.token_cache, self.recall)

    def look(
        self, history: Sequence[Message], system_prompt: str, tools: Sequence[ToolDefinition]
    ) -> Look:
        """Return what a history is through the strategies, and how large; nothing is cut yet."""
        branch = self.lineage.follow(history if isinstance(history, list) else list(history))
        overhead = 0
        if self._overhead is not None:
            overhead = self._overhead.count(system_prompt, tools, branch.history)
        view, stages = self._through_strategies(self._repair.close(branch.history))
        if self.window is not None:
            shown = self.window.shorten_summary(view, overhead)
            stages.append(Stage(_SHARE, "it is over its share of the window", view, shown))
            view = shown
        if self.meter is not None:
            self.meter.read_replies(branch.history, view)
        tokens = self._measure(view, overhead)
        fits = self._fits(tokens)
        return Look(branch, system_prompt, tools, view, tuple(stages), overhead, tokens, fits)

    def cut(self, look: Look) -> Look:
        """Return the look with a view that fits into the window, as far as one can be made."""
        notes: list[Note] = []
        if any(each.part == _SHARE and each.after is not each.before for each in look.stages):
            text = "the summary is over its share of the window: it is shown in part"
            notes.append(Note("summary_shortened", text))
        room = self.room(look)
        if self.window is not None and room is not None:
            view, made = self.window.cut(look.view, room)
            notes += made
            look = self.with_view(look, view, "the request would not fit into the window")
        if not look.fits:
            notes.append(_over_window(look, self.policy))
        return attrs.evolve(look, notes=tuple(notes))

    def with_view(self, look: Look, view: list[Message], reason: str) -> Look:
        """Return the look with another view, cut for a reason."""
        tokens = self._measure(view, look.overhead_tokens)
        stages = (*look.stages, Stage("window", reason, look.view, view))
        return attrs.evolve(look, view=view, stages=stages, tokens=tokens, fits=self._fits(tokens))

    def room(self, look: Look) -> int | None:
        """Return what the messages may take, by the counter, if they are over the window."""
        if look.fits or self.meter is None:
            return None
        available = self.policy.available_tokens
        return max(1, self.meter.estimate_within(available, look.overhead_tokens))

    def _through_strategies(self, view: list[Message]) -> tuple[list[Message], list[Stage]]:
        stages: list[Stage] = []
        for part in self._parts:
            made = part.make_view(view)
            stages.append(Stage(part.name, "as it is configured", view, made))
            view = made
        if stages and view is not stages[0].before:
            _check_request(stages[0].before, view)
        return view, stages

    def _measure(self, view: list[Message], overhead: int) -> int:
        return 0 if self.meter is None else self.meter.measure(view, overhead)

    def _fits(self, tokens: int) -> bool:
        return not self.policy.context_window or tokens <= self.policy.available_tokens


def _check_request(history: list[Message], view: list[Message]) -> None:
    if not _has_user(view) and _has_user(history):
        raise ConfigError(
            "the strategy's view",
            f"{len(view)} messages",
            "a view with the current request in it",
            "keep the latest user message",
        )


def _has_user(messages: list[Message]) -> bool:
    return any(message.role == "user" for message in messages)


def _over_window(look: Look, policy: Policy) -> Note:
    part = describe_largest(look.view, overhead_tokens=look.overhead_tokens)
    text = f"{look.tokens:,} tokens of {policy.available_tokens:,}: most is {part}"
    return Note("over_window", text)
