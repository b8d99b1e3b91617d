"""Clearing old tool outputs when the conversation exceeds a budget, and shortening long ones.

Clearing is a deterministic fold over the rounds from the start of the history, with a low
watermark. When the budget is exceeded, the oldest outputs are cleared until the view is down to the
watermark. Then the start of the view stays unchanged until the budget is full again, so that the
provider's prompt cache stays valid.
"""

import operator
from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from agentic._base._validate import all_are, must_be, share, whole
from agentic.context.strategies._cleared import (
    attachments,
    cleared_arguments,
    cleared_result,
    place_of,
)
from agentic.context.strategies._known_rounds import KnownRounds
from agentic.context.strategies._strategy import Fit
from agentic.errors import ConfigError
from agentic.messages import Message, Round, ToolCall, ToolResult
from agentic.messages._landmarks import Task
from agentic.messages._timeline import RecentConversations, renew
from agentic.tokens import Counter, approx_token_counter
from agentic.tokens._count import MessageSizes, TokenCache


def _names(names: Any) -> frozenset[str]:
    # A str is iterable, too: each of its letters would be a name.
    if isinstance(names, str):
        raise ConfigError(
            "ClearToolOutputs.keep_tools", names, "several names", f"write [{names!r}]"
        )
    return frozenset(all_are(str, names, "ClearToolOutputs.keep_tools"))


@attrs.frozen(eq=False)
class ClearToolOutputs:
    """Clear the oldest tool outputs once the conversation is over `max_tokens`.

    All messages are kept, except orphaned results, and keep their ids. A cleared output, with the
    media in it, is replaced by a notice that names the tool, the output's size, and how to read it
    again. An error is kept. The newest `keep_rounds` tool rounds, pinned rounds and outputs of
    `keep_tools` are not cleared.

    With `clear_arguments`, long texts in the arguments of the same rounds' calls are replaced by
    their lengths; the arguments stay a JSON object with the same keys. With `clear_media`, images
    and other media in old messages of the user and the model are replaced by a line of text. The
    reasoning of an edited reply goes back to its provider.

    >>> from agentic.messages import ToolCall, ToolResult
    >>> strategy = ClearToolOutputs(120, keep_rounds=1, min_tokens=1)
    >>> talk = [Message("user", "Look.")]
    >>> for name in ("a", "b"):
    ...     talk.append(Message("assistant", tool_calls=[ToolCall(name, "read")]))
    ...     talk.append(Message("tool", tool_results=[ToolResult(name, "read", "x" * 200)]))
    >>> strategy.compact(talk)[2].tool_results[0].text
    '[Cleared: read gave 200 characters in 1 line. Call it again if you need them.]'
    """

    max_tokens: int = attrs.field(validator=whole(1, remedy="pass the model's window, or less"))
    counter: Counter = approx_token_counter
    keep_rounds: int = attrs.field(default=3, kw_only=True, validator=whole(0))
    min_tokens: int | None = attrs.field(
        default=None, kw_only=True, validator=whole(0, optional=True)
    )
    """Clear nothing if that would free fewer tokens than this: the gain must be worth invalidating
    the prompt cache. None means a twentieth of `max_tokens`."""
    keep_tools: frozenset[str] = attrs.field(default=(), kw_only=True, converter=_names)
    """The names of tools whose outputs are never cleared."""
    clear_arguments: bool = attrs.field(default=False, kw_only=True, validator=must_be(bool))
    """Whether to clear long arguments, too: a file that a call wrote, for example."""
    clear_media: bool = attrs.field(default=False, kw_only=True, validator=must_be(bool))
    """Whether to clear the media of messages, too. A message with media then counts towards
    `keep_rounds`, and those of the task are kept."""
    recall: str | None = attrs.field(
        default=None, kw_only=True, validator=must_be(str, optional=True)
    )
    """The name of the tool with which the model can read earlier parts of its session, for use in
    the notices; None if there is no such tool. A View sets it if it knows of one."""
    per_message_overhead: int = attrs.field(default=4, kw_only=True, validator=whole(0))
    tokens_per_media: int | None = attrs.field(
        default=None, kw_only=True, validator=whole(0, optional=True)
    )
    """None for what each image costs with the counter's model."""
    low_watermark: float = attrs.field(default=0.75, kw_only=True, validator=share)
    """The share of the budget that should remain after a clearing."""
    _token_cache: TokenCache = attrs.field(init=False, repr=False)
    _known: KnownRounds = attrs.field(factory=KnownRounds, init=False, repr=False)
    _recent: "RecentConversations[_Fold]" = attrs.field(
        factory=lambda: RecentConversations(_Fold.renew), init=False, repr=False
    )

    @_token_cache.default
    def _make_token_cache(self) -> TokenCache:
        return TokenCache(self.counter, self.per_message_overhead, self.tokens_per_media)

    @clear_arguments.validator
    def _check_arguments(self, _: object, value: object) -> None:
        # Anthropic wants the last reply back as it was made, with its signed thinking:
        # https://platform.claude.com/docs/en/build-with-claude/extended-thinking (2026-11).
        if value and self.keep_rounds == 0:
            raise ConfigError(
                "keep_rounds",
                self.keep_rounds,
                "at least 1 with clear_arguments",
                "the newest calls must be sent as they were made",
            )

    def for_conversation(self, *, recall: str | None = None) -> "ClearToolOutputs":
        """Return a copy for one conversation, with its own cache, that names the recall tool."""
        return attrs.evolve(self, recall=self.recall or recall)

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if nothing is cleared."""
        return self.fit(messages).messages

    def fit(self, messages: list[Message], /) -> Fit:
        """Return the view, its size, and whether it is within `max_tokens`."""
        rounds, sizes = self._known.of(messages), self._token_cache.sizes(messages)
        former = self._recent.find(messages)
        fold = former or _Fold(self)
        fold.add(
            rounds.rounds[fold.rounds : rounds.settled], messages[: len(rounds.messages)], sizes
        )
        fold.messages += messages[len(fold.messages) : len(rounds.messages)]
        if former is None and fold.messages:
            self._recent.add(fold)
        # A round that waits for results is folded in a copy, because it will have changed next
        # time.
        if rounds.open:
            fold = fold.copy()
            fold.add(rounds.open, messages, sizes)
        # A copy, because the next clearing edits `shown` in place.
        view = rounds.view(fold.shown.copy() if fold.edited else messages, 0, set())
        return Fit(view, fold.tokens, fits=fold.tokens <= self.max_tokens)

    @property
    def least(self) -> int:
        """The minimum number of tokens that a clearing must free."""
        return self.max_tokens // 20 if self.min_tokens is None else self.min_tokens

    def may_clear(self, group: Round) -> bool:
        """Return whether a round has anything that could be cleared some time."""
        first = group.messages[0]
        media = self.clear_media and _has_old_media(first, {})
        return not group.pinned and (bool(first.tool_calls) or media)

    def clear_round(self, group: Round) -> tuple[dict[int, Message], int]:
        """Return the edits, by position, that clear a round, and how many tokens they free."""
        calls = {call.id: call for call in group.tool_calls}
        count = self._token_cache.count_message
        edits: dict[int, Message] = {}
        tokens_freed = 0
        for position, message in zip(group.positions, group.messages, strict=True):
            edit = self._clear_message(message, calls)
            if edit is not message:
                edits[position] = edit
                tokens_freed += count(message) - count(edit)
        return edits, tokens_freed

    def _clear_message(self, message: Message, calls: Mapping[str, ToolCall]) -> Message:
        changes: dict[str, Any] = {}
        results = [self._clear_result(each, calls) for each in message.tool_results]
        if any(map(operator.is_not, results, message.tool_results)):
            changes["tool_results"] = results
        if self.clear_arguments:
            clearings = [self._clear_call(each) for each in message.tool_calls]
            if any(map(operator.is_not, clearings, message.tool_calls)):
                changes["tool_calls"] = clearings
        if self.clear_media and _has_old_media(message, calls):
            note = f"[Cleared: {attachments(message.media)}.]"
            size = sum(map(self._token_cache.count_media, message.media))
            if self._token_cache.count_text(note) < size:
                # Before the text, whose end says whether a reply answers, and so what the task is.
                text = f"{note}\n{message.content}" if message.content else note
                changes |= {"media": (), "content": text}
        # Edited, not replaced: some providers want the reasoning in a reply's payload back.
        # https://github.com/cloudwego/eino-ext/issues/700
        return message.edit(**changes) if changes else message

    def _clear_call(self, call: ToolCall) -> ToolCall:
        if call.name in self.keep_tools:
            return call
        arguments = cleared_arguments(call)
        count = self._token_cache.count_text
        if arguments is None or count(arguments) >= count(call.arguments):
            return call
        return attrs.evolve(call, arguments=arguments)

    def _clear_result(self, result: ToolResult, calls: Mapping[str, ToolCall]) -> ToolResult:
        """Clear a result if it is larger than the notice that would replace it."""
        call = calls[result.call_id]
        # Either name counts, because a result may lack its own.
        if {result.name, call.name} & self.keep_tools or not (result.output or result.media):
            return result
        short = cleared_result(result, call, self.recall)
        count = self._token_cache.count_text
        media = sum(map(self._token_cache.count_media, result.media))
        return short if count(short.text) < count(result.text) + media else result


def _has_old_media(message: Message, calls: Mapping[str, ToolCall]) -> bool:
    """Return whether a message of a round with these calls has media that may be cleared."""
    if not message.media:
        return False
    if message.role == "assistant":
        # A reply without text is no answer; with a line about its media it would pass for one.
        return bool(message.tool_calls or message.content.strip())
    # In a tool round, the user's words came with the results, and may be the latest ones.
    return message.role == "user" and not calls


@attrs.define(eq=False)
class _Fold:
    """The fold over one conversation."""

    strategy: ClearToolOutputs
    messages: list[Message] = attrs.field(factory=list)
    """The settled part."""
    shown: list[Message] = attrs.field(factory=list)
    """The same part as the model sees it."""
    rounds: int = 0
    """The number of rounds that were folded."""
    tokens: int = 0
    """The size of `shown`."""
    edited: bool = False
    waiting: deque[Round] = attrs.field(factory=deque)
    """Rounds that may be cleared and were not examined yet, oldest first."""
    task: Task = attrs.field(factory=Task)
    """The requests that must be kept as they are, by position."""
    ready: dict[int, Message] = attrs.field(factory=dict)
    """Edits, by position, that were not worth carrying out yet."""
    freeing: int = 0
    """The number of tokens that they free."""

    def renew(self, messages: list[Message]) -> None:
        """Show the objects of a list that was loaded anew."""
        self.shown = renew(self.shown, self.messages, messages)

    def copy(self) -> "_Fold":
        """Return a copy that can be folded further without changing this fold."""
        return attrs.evolve(
            self, shown=self.shown.copy(), waiting=self.waiting.copy(), ready=self.ready.copy()
        )

    def add(self, fresh: list[Round], messages: list[Message], sizes: MessageSizes) -> None:
        """Fold some more rounds of a conversation, one by one."""
        self.shown += messages[len(self.shown) :]
        for group in fresh:
            self.rounds += 1
            if not group.sound_messages:
                continue
            self.tokens += self.strategy._token_cache.size_of(group, sizes)  # noqa: SLF001
            # Only media are kept for the task's sake: calls and results are never a request.
            if self.strategy.clear_media:
                for position, message in zip(group.positions, group.messages, strict=True):
                    self.task = self.task.after(message, position)
            if self.strategy.may_clear(group):
                self.waiting.append(group)
            if self.tokens > self.strategy.max_tokens:
                self._clear()

    def _clear(self) -> None:
        """Clear the oldest outputs down to the watermark, if it frees enough."""
        target = int(self.strategy.max_tokens * self.strategy.low_watermark)
        while self.freeing < self.tokens - target and (group := self._take_oldest()):
            edits, tokens_freed = self.strategy.clear_round(group)
            self.ready |= edits
            self.freeing += tokens_freed
        # What is ready stays ready: a later turn may free enough together with it.
        if self.freeing < self.strategy.least:
            return
        for position, message in self.ready.items():
            self.shown[position] = message
        self.edited |= bool(self.ready)
        self.ready.clear()
        self.tokens, self.freeing = self.tokens - self.freeing, 0

    def _take_oldest(self) -> Round | None:
        """Remove and return the oldest round that may be cleared now."""
        for index in range(len(self.waiting) - self.strategy.keep_rounds):
            group = self.waiting[index]
            # Passed over, but not removed: it may be cleared once another request is the task.
            if group.positions[0] not in self.task.requests:
                del self.waiting[index]
                return group
        return None


@attrs.define(eq=False)
class _Shortened:
    """One conversation as last seen, and its view with shortened outputs."""

    messages: list[Message] = attrs.field(factory=list)
    view: list[Message] = attrs.field(factory=list)
    edited: bool = False

    def renew(self, messages: list[Message]) -> None:
        """Show the objects of a list that was loaded anew."""
        self.view = renew(self.view, self.messages, messages)


@attrs.frozen(eq=False)
class TruncateToolOutputs:
    """Keep the beginning and the end of each tool output longer than `max_chars` characters.

    All messages are kept, except orphaned results, as are ids, errors and earlier notices. A notice
    says how much is missing and, if the result has a reference or there is a `recall` tool, how to
    read the whole output.

    >>> from agentic.messages import ToolCall
    >>> call = Message("assistant", tool_calls=[ToolCall("c1", "run")])
    >>> answer = Message("tool", tool_results=[ToolResult("c1", "run", "x" * 1_200)])
    >>> TruncateToolOutputs(1_000).compact([call, answer])[1].tool_results[0].notice
    '[Characters 501-700 of 1,200 are left out.]'
    """

    shortens_new: ClassVar[bool] = True
    """A View applies it to messages before they are first sent, not only when an epoch begins."""

    max_chars: int = attrs.field(validator=whole(1, remedy="pass how many characters to keep"))
    recall: str | None = attrs.field(
        default=None, kw_only=True, validator=must_be(str, optional=True)
    )
    """The name of the tool with which the model can read earlier parts of its session, for use in
    the notices; None if there is no such tool. A View sets it if it knows of one."""
    _known: KnownRounds = attrs.field(factory=KnownRounds, init=False, repr=False)
    _recent: RecentConversations[_Shortened] = attrs.field(
        factory=lambda: RecentConversations(_Shortened.renew), init=False, repr=False
    )

    def for_conversation(self, *, recall: str | None = None) -> "TruncateToolOutputs":
        """Return a copy for one conversation, with its own cache, that names the recall tool."""
        return attrs.evolve(self, recall=self.recall or recall)

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if every output is short enough."""
        # Orphans first: a pinned message without them is a copy that was made of the long outputs.
        return self._shortened(self._known.of(messages).view(messages, 0, set()))

    def _shortened(self, messages: list[Message]) -> list[Message]:
        former = self._recent.find(messages)
        memory = former or _Shortened()
        fresh = messages[len(memory.messages) :]
        view = [self._shorten(message) for message in fresh]
        memory.edited |= any(map(operator.is_not, view, fresh))
        memory.messages += fresh
        memory.view += view
        if former is None and messages:
            self._recent.add(memory)
        # A copy, because the cached view grows with the conversation.
        return memory.view.copy() if memory.edited else messages

    def _shorten(self, message: Message) -> Message:
        if all(len(result.output) <= self.max_chars for result in message.tool_results):
            return message
        return message.replace(tool_results=[self._clip(each) for each in message.tool_results])

    def _clip(self, result: ToolResult) -> ToolResult:
        length = len(result.output)
        if length <= self.max_chars:
            return result
        # Both ends, because errors tend to be at the end.
        head = (self.max_chars + 1) // 2
        tail = length - (self.max_chars - head)
        notice = f"[Characters {head + 1:,}-{tail:,} of {length:,} are left out.]"
        if place := place_of(result, self.recall):
            notice = f"{notice[:-1]} All of it: {place}]"
        return attrs.evolve(
            result,
            output=result.output[:head] + result.output[tail:],
            notice="\n".join(part for part in (result.notice, notice) if part),
        )
