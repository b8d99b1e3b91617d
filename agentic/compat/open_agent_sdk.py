"""Context management and the lean utilities, under the names of open-agent-sdk.

A `ContextConfig` composes strategies, compactors and the budget, and calls a hook before each cut.
Nothing here decides where to cut: `strategies` and `budget` do. `max_context_tokens` is
`Policy.context_window`, and `target_tokens` is the size from which a compaction is due, not the
size after it.

>>> talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
>>> truncate_messages(talk, keep=0)
[{'role': 'system', 'content': 'Be brief.'}]
"""

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias, get_args

import attrs

from agentic._base._lazy import asyncio
from agentic._base._validate import must_be, must_count, suggest, whole
from agentic.context.budget import Compaction, Compactor, Manager, Policy
from agentic.context.budget._compaction import CompactionTarget
from agentic.context.compactors import Digest, Model, first_of
from agentic.context.compactors._model import Ask
from agentic.context.strategies import FitContextWindow, Importance, KeepLast
from agentic.context.strategies import truncate_messages as truncate_messages
from agentic.context.view import View
from agentic.errors import ConfigError
from agentic.events import CompactionReason
from agentic.messages import Message
from agentic.protocols import CompactionContext
from agentic.tokens import Counter, TokenCounter, approx_token_counter
from agentic.tokens import estimate_tokens as estimate_tokens
from agentic.tokens._count import TokenCache

__all__ = [
    "CompactContext",
    "CompactDecision",
    "ContextConfig",
    "ContextManager",
    "ImportanceStrategy",
    "SummarizationStrategy",
    "TokenCounter",
    "TruncationStrategy",
]

_log = logging.getLogger(__name__)

TruncationStrategy: TypeAlias = KeepLast
"""The name of this strategy in open-agent-sdk."""
ImportanceStrategy: TypeAlias = Importance
"""The name of this strategy in open-agent-sdk."""

_Choice: TypeAlias = Literal["truncation", "importance", "summarization"]
_CHOICES: tuple[str, ...] = get_args(_Choice)


def _callable(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    if value is not None and not callable(value):
        raise ConfigError(attribute.name, value, "a function or None", "pass the function itself")


@attrs.frozen
class SummarizationStrategy:
    """Replace old messages by one summary."""

    keep_recent: int = attrs.field(default=10, validator=whole(1))
    """How many of the newest messages are kept, in whole rounds."""
    summarize_chunk_size: int = attrs.field(default=20, validator=whole(1))
    """The most messages that the model summarizes at once; each part is merged into the next."""
    max_summary_tokens: int = attrs.field(default=500, validator=whole(50))
    summarize_with: Ask | None = attrs.field(default=None, validator=_callable)
    """The model that summarizes; None for a digest, which needs no model and is also the
    fallback."""


@attrs.frozen
class CompactContext:
    """What the hook receives. Sizes are in tokens."""

    trigger: Literal["auto", "manual"]
    """`auto` if the conversation is over `target_tokens`."""
    current_tokens: int
    target_tokens: int
    message_count: int
    custom_instructions: str | None = None
    """The instructions that the caller of `compact` passed."""


@attrs.frozen
class CompactDecision:
    """The hook's decision."""

    cancel: bool = attrs.field(default=False, validator=must_be(bool))
    """Whether to leave the conversation unchanged."""
    custom_instructions: str | None = attrs.field(
        default=None, validator=must_be(str, optional=True)
    )
    """What the summary should focus on, instead of the caller's instructions."""
    custom_summary: str | None = attrs.field(default=None, validator=must_be(str, optional=True))
    """The summary itself: it replaces the old messages, under every strategy."""


PreCompactHook: TypeAlias = Callable[[CompactContext], CompactDecision | Awaitable[CompactDecision]]
"""Called before every compaction, even a manual one; a plain or an async function. If it raises,
the compaction is cancelled, because what it should have done first, such as storing a copy, was not
done. The exception is logged, and the conversation is unchanged."""


def _or_estimate(counter: Counter | None) -> Counter:
    return approx_token_counter if counter is None else counter


@attrs.frozen
class ContextConfig:
    """When a conversation is compacted, and how.

    A `Runner` takes one in place of a budget.

    Raises:
        ConfigError: the target is not below the window, the strategy is unknown, or there is no
            counter.
    """

    max_context_tokens: int = attrs.field(default=32_000, validator=whole(2))
    target_tokens: int = attrs.field(default=28_000, validator=whole(1))
    """A larger conversation is compacted."""
    strategy: _Choice = attrs.field(default="truncation")
    truncation_options: TruncationStrategy | None = attrs.field(
        default=None, validator=must_be(KeepLast, optional=True)
    )
    importance_options: ImportanceStrategy | None = attrs.field(
        default=None, validator=must_be(Importance, optional=True)
    )
    summarization_options: SummarizationStrategy | None = attrs.field(
        default=None, validator=must_be(SummarizationStrategy, optional=True)
    )
    token_counter: Counter = attrs.field(default=None, converter=_or_estimate)
    on_pre_compact: PreCompactHook | None = attrs.field(default=None, validator=_callable)

    @target_tokens.validator
    def _check_target(self, _: object, value: int) -> None:
        if value >= self.max_context_tokens:
            raise ConfigError(
                "target_tokens",
                value,
                f"less than max_context_tokens ({self.max_context_tokens})",
                "the difference is left free for the reply",
            )

    @strategy.validator
    def _check_strategy(self, _: object, value: object) -> None:
        if value not in _CHOICES:
            choices = f"one of {', '.join(_CHOICES)}"
            raise ConfigError("strategy", value, choices, suggest(value, _CHOICES))

    @token_counter.validator
    def _check_counter(self, _: object, value: object) -> None:
        must_count("token_counter", value)

    def make_view(self, **options: Any) -> View:
        """Return a View of one conversation that compacts as this says; `options` are its own.

        >>> talk = [Message("user", f"message {number}") for number in range(9)]
        >>> options = TruncationStrategy(2)
        >>> view = ContextConfig(40, 30, truncation_options=options).make_view()
        >>> len(view.prepare_sync(talk).messages)
        2
        """
        return View.of(_Rewriting(ContextManager(self)), **options)

    @property
    def summarization(self) -> SummarizationStrategy:
        """The options of a summary, as passed or by default."""
        return self.summarization_options or SummarizationStrategy()


class _Given:
    """A compactor whose summary was already written by the hook."""

    def __init__(self, summary: str) -> None:
        self.summary = summary

    async def compact(self, messages: list[Message], /) -> str:
        return self.summary


@attrs.define(eq=False)
class ContextManager:
    """Rewrites histories according to a configuration. Sizes are in tokens.

    >>> import asyncio
    >>> manager = ContextManager(ContextConfig(40, 30, truncation_options=TruncationStrategy(2)))
    >>> talk = [Message("user", f"message {number}") for number in range(9)]
    >>> manager.count_tokens(talk), manager.should_compact(talk)
    (63, True)
    >>> len(asyncio.run(manager.compact(talk)))
    2
    """

    config: ContextConfig = attrs.field(validator=must_be(ContextConfig))
    _token_cache: TokenCache = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._token_cache = TokenCache(self.config.token_counter)

    def count_tokens(self, messages: list[Message]) -> int:
        """Return the size of a conversation; if it has grown, only its new messages are counted."""
        return self._token_cache.sizes(messages).total

    def should_compact(self, messages: list[Message]) -> bool:
        """Return whether a conversation is over `target_tokens`."""
        return self.count_tokens(messages) > self.config.target_tokens

    async def compact(
        self, messages: list[Message], *, custom_instructions: str | None = None
    ) -> list[Message]:
        """Return the history from now on: the same list if nothing can or may be removed.

        The result is within `target_tokens` if the minimum is: the system prompt, the task, pinned
        messages and the newest round. If the summary fails or the hook raises, nothing is changed.

        Raises:
            ConfigError: the hook did not return a CompactDecision.
        """
        compaction = await self.carry_out(messages, custom_instructions)
        return compaction.messages

    async def carry_out(
        self,
        messages: list[Message],
        instructions: str | None = None,
        *,
        reason: CompactionReason = CompactionReason.FORCE,
        tokens: int | None = None,
        target: CompactionTarget | None = None,
    ) -> Compaction:
        """Do what `compact` does on behalf of another object, and return the outcome.

        `tokens` is the size of the context as the caller measured it; by default it is counted.
        """
        config, before = self.config, self.count_tokens(messages)
        tokens = before if tokens is None else tokens
        target = attrs.evolve(target or CompactionTarget(self), reason=reason)
        decision = await self._consult(messages, tokens, instructions)
        if decision.cancel:
            return _unchanged(config, messages, tokens)
        summarizes = config.strategy == "summarization"
        if decision.custom_summary is not None:
            compactor: Compactor = _Given(decision.custom_summary)
        elif summarizes:
            compactor = self._compactor()
        else:
            return await self._drop(messages, reason, tokens, target)
        keep = (config.summarization if summarizes else self._dropping).keep_recent
        # A strategy may keep no recent message, but a Policy always keeps one.
        policy = _policy(config, min_recent_messages=max(1, keep))
        compaction = await Manager(config.token_counter, compactor, policy).compact_if_needed(
            messages,
            size=tokens,
            overhead_tokens=max(0, tokens - before),
            force=True,  # the caller or the user has decided that it is due
            instructions=decision.custom_instructions or instructions,
            target=target,
            allow_growth=isinstance(compactor, _Given),  # the hook wants exactly this summary
        )
        return attrs.evolve(compaction, reason=reason)

    async def _consult(
        self, messages: list[Message], tokens: int, instructions: str | None
    ) -> CompactDecision:
        """Call the hook, if there is one."""
        if self.config.on_pre_compact is None:
            return CompactDecision()
        context = CompactContext(
            trigger="auto" if tokens > self.config.target_tokens else "manual",
            current_tokens=tokens,
            target_tokens=self.config.target_tokens,
            message_count=len(messages),
            custom_instructions=instructions,
        )
        try:
            # Any awaitable will do: a hook may return a Future of its own.
            verdict = self.config.on_pre_compact(context)
            decision = await verdict if inspect.isawaitable(verdict) else verdict
        except Exception:  # noqa: BLE001  a hook may raise anything
            _log.exception("on_pre_compact raised; the conversation is not compacted")
            return CompactDecision(cancel=True)
        if not isinstance(decision, CompactDecision):
            raise ConfigError(
                "on_pre_compact's answer", decision, "a CompactDecision", "return CompactDecision()"
            )
        return decision

    @property
    def _dropping(self) -> KeepLast | Importance:
        """The strategy that leaves messages out; it also says how many to keep with a summary."""
        if self.config.strategy == "importance":
            return self.config.importance_options or Importance()
        return self.config.truncation_options or KeepLast()

    async def _drop(
        self,
        messages: list[Message],
        reason: CompactionReason,
        tokens: int,
        target: CompactionTarget,
    ) -> Compaction:
        """Leave messages out, between the two events of a compaction."""
        dropping, config = self._dropping, self.config
        if isinstance(dropping, Importance):
            rest = dropping.compact_to(
                messages, config.target_tokens, config.token_counter
            ).messages
        else:
            rest = dropping.compact(messages)
        # The strategy alone may keep more than the target, and so may what is sent besides the
        # messages: the next check would fire at once.
        before = self.count_tokens(messages)
        room = max(1, config.target_tokens - max(0, tokens - before))
        after = FitContextWindow(room, config.token_counter).compact(rest)
        if after is messages:
            return _unchanged(config, messages, tokens)
        # A pinned message that lost its orphans is a new object, which holds the same results.
        stays = {id(part) for message in after for part in (message, *message.tool_results)}
        missing = tuple(m for m in messages if stays.isdisjoint(map(id, (m, *m.tool_results))))
        count, length = self._token_cache.count_message, len(messages)
        tokens_freed = before - sum(map(count, after))
        try:
            await target.announce(reason, tokens, len(missing))
            # The owner may append while a receiver is waiting.
            late = messages[length:]
            result = await target.replace(messages, [*after, *late])
        except (Exception, asyncio.CancelledError) as error:  # a store may raise anything
            compaction = _unchanged(config, messages, tokens, reason=reason, error=error)
            await target.conclude(reason, compaction)
            if isinstance(error, asyncio.CancelledError):
                raise
            return compaction
        # What the provider measured may be less than the counted size of what is gone.
        tokens_after = max(0, tokens - tokens_freed) + sum(map(count, late))
        compaction = Compaction(
            messages=result,
            changed=True,
            dropped=missing,
            tokens_before=tokens,
            tokens_after=tokens_after,
            reason=reason,
            fits=tokens_after <= config.target_tokens,
        )
        await target.conclude(reason, compaction)
        return compaction

    def _compactor(self) -> Compactor:
        options, counter = self.config.summarization, self.config.token_counter
        digest = Digest(max_tokens=options.max_summary_tokens, counter=counter)
        if options.summarize_with is None:
            return digest
        model = Model(
            options.summarize_with,
            max_tokens=options.max_summary_tokens,
            # A Model refuses a window without room for its prompt, however small the context is.
            window=max(
                self.config.max_context_tokens, Model.least_window(options.max_summary_tokens)
            ),
            chunk_messages=options.summarize_chunk_size,
            counter=counter,
        )
        # Without a fallback, a conversation over its target would stay so while the model is down.
        return first_of(model, digest)


def _unchanged(
    config: ContextConfig, messages: list[Message], tokens: int, **facts: Any
) -> Compaction:
    fits = tokens <= config.target_tokens
    return Compaction(
        messages=messages, tokens_before=tokens, tokens_after=tokens, fits=fits, **facts
    )


def _policy(config: ContextConfig, **options: Any) -> Policy:
    """Return the limits of a configuration, with other options of a Policy."""
    return Policy(
        config.max_context_tokens,
        reserve_tokens=config.max_context_tokens - config.target_tokens,
        # Not the default, which is a share of the window and may be over the target.
        keep_recent_tokens=config.target_tokens // 3,
        **options,
    )


@attrs.frozen(eq=False)
class _Rewriting:
    """A budget that a ContextManager carries out."""

    manager: ContextManager
    policy: Policy = attrs.field()
    """Its window less its reserve is the size from which a compaction is due."""
    compactor: None = attrs.field(default=None, init=False)
    """What compacts is the configuration's own."""

    @policy.default
    def _make_policy(self) -> Policy:
        return _policy(self.manager.config)

    @property
    def counter(self) -> Counter:
        return self.manager.config.token_counter

    def with_policy(self, policy: Policy, /) -> "_Rewriting":
        return attrs.evolve(self, policy=policy)

    def with_digest(self, _: Compactor, /) -> "_Rewriting":
        """Return one that asks no model: the configuration says how large its digest is."""
        config = self.manager.config
        options = config.summarization
        if config.strategy != "summarization" or options.summarize_with is None:
            return self
        options = attrs.evolve(options, summarize_with=None)
        config = attrs.evolve(config, summarization_options=options)
        return attrs.evolve(self, manager=ContextManager(config))

    def due(self, _: list[Message], *, size: int) -> CompactionReason | None:
        """Return WINDOW if a conversation exceeds what the policy makes available."""
        return CompactionReason.WINDOW if size > self.policy.available_tokens else None

    # No back-off: leaving messages out costs nothing, and a model that fails is not asked alone.
    async def compact_if_needed(
        self,
        messages: list[Message],
        *,
        size: int,
        overhead_tokens: int,
        force: bool,
        instructions: str | None,
        allow_growth: bool,
        target: CompactionTarget,
        context: CompactionContext,
    ) -> Compaction:
        """Compact a history with the configuration's strategy, if it exceeds the target."""
        reason = CompactionReason.FORCE if force else self.due(messages, size=size)
        if reason is None:
            return _unchanged(self.manager.config, messages, size)
        return await self.manager.carry_out(
            messages, instructions, reason=reason, tokens=size, target=target
        )
