"""The budget of an agent: its numbers, and the compactor. Sizes are in tokens.

The numbers depend on one another: defaults give way to numbers in the file.
"""

import logging
from collections.abc import Callable
from typing import Any

import attrs

from agentic.app.config._problems import Fault, Origin, show
from agentic.app.config._records import ContextSettings
from agentic.context.budget import Compactor, Policy
from agentic.context.compactors import Digest, Model, first_of, with_digest
from agentic.errors import CompactionRefused, ContextOverflow
from agentic.loop import Decider, Input
from agentic.messages import Message
from agentic.tokens import Counter
from agentic.usage import StopReason, report

_logger = logging.getLogger(__name__)

_PROSE_TOKENS = 1_000
_LEAST_PROSE = 50
"""The least that `Model` accepts."""
_DIGEST_TOKENS = 2_000
_BY_HAND = (
    "max_messages_before_summary",
    "max_tokens_before_summary",
    "min_recent_messages",
    "response_reserve",
)
"""The numbers that belong together, in supyagent's table of defaults."""
_SHARE = Policy(0).summary_share - 0.05
"""The size of a summary, as a share of the tokens for the conversation. It is below the policy's
share, because a session applies that to less: to what its prompt leaves."""
_DEFAULTS = ContextSettings()


def make_policy(settings: ContextSettings, window: int, origin: Origin, reply: int = 0) -> Policy:
    """Return the policy for a window; 0 means no window.

    It is that of a bare window, as everywhere, unless one of the four numbers is written that
    supyagent has: then all four are those of its table.

    `reply` is the length of the reply that each request asks for: some providers refuse a request
    that exceeds the window together with the reply.

    Raises:
        ConfigProblems: a reserve in the file fills the window.
        ConfigError: numbers of settings that were created in Python contradict one another.
    """
    if any(_is_written(settings, key, origin) for key in _BY_HAND):
        policy = _by_hand(_give_way(settings, window, origin, reply), window, origin)
    else:
        policy = Policy.for_window(window, reply_tokens=reply)
    return attrs.evolve(
        policy,
        tokens_per_media=settings.tokens_per_media,
        max_request_bytes=settings.max_request_bytes,
        max_images=settings.max_images,
    )


def _by_hand(settings: ContextSettings, window: int, origin: Origin) -> Policy:
    """Return the policy of numbers that somebody wrote, beside supyagent's for the others."""
    reserve, most = settings.response_reserve, settings.max_tokens_before_summary
    if window and reserve >= window:
        raise origin.problems([fills_window(reserve, window)])
    return Policy(
        window,
        reserve,
        _keep_recent(window, reserve, most) if window else None,
        max_tokens=most,
        max_messages=settings.max_messages_before_summary,
        min_recent_messages=settings.min_recent_messages,
    )


def _is_written(settings: ContextSettings, key: str, origin: Origin) -> bool:
    # Settings created in Python have no lines; a value equal to the default counts as omitted.
    same = bool(getattr(settings, key) == getattr(_DEFAULTS, key))
    return not same or origin.has("context", key)


def fills_window(reserve: int, window: int) -> Fault:
    """Return the fault of a reserve that leaves nothing of the window."""
    return Fault(
        ("context", "response_reserve"),
        show(reserve),
        f"less than the context window ({window})",
    )


def make_digest(policy: Policy, counter: Counter) -> Digest:
    """Return a digest that is small enough to be shown whole."""
    return Digest(max_tokens=policy.digest_tokens, counter=counter)


def make_compactor(
    find_decider: Callable[[], Decider], window: int, policy: Policy, counter: Counter
) -> Compactor:
    """Return a compactor that asks a decider, adds a digest, and falls back to a digest alone.

    If the window or the share of a summary is too small for prose, it is only a digest.
    """
    digest = make_digest(policy, counter)
    # 0 means no limit, but `Model` needs one: this is its default.
    window = window or 32_000
    room = min(_PROSE_TOKENS, _room(policy) // 2)
    if window < Model.least_window(_LEAST_PROSE) or room < _LEAST_PROSE:
        return digest
    prose = min(room, (window - Model.least_window(0)) // 3)
    model = Model(_Asker(find_decider), max_tokens=prose, window=window, counter=counter)
    below = attrs.evolve(digest, max_tokens=min(policy.digest_tokens, _room(policy) - prose))
    return first_of(with_digest(model, below), digest)


def _give_way(
    settings: ContextSettings, window: int, origin: Origin, reply: int
) -> ContextSettings:
    """Adjust defaults that contradict the other numbers."""

    def free(key: str) -> bool:
        return not _is_written(settings, key, origin)

    changes: dict[str, Any] = {}
    most, recent = settings.max_messages_before_summary, settings.min_recent_messages
    if most is not None and most < recent + Policy.trigger_margin:
        if free("min_recent_messages"):
            changes["min_recent_messages"] = max(1, most - Policy.trigger_margin)
        elif free("max_messages_before_summary"):
            changes["max_messages_before_summary"] = recent + Policy.trigger_margin
    if window and free("response_reserve"):
        changes["response_reserve"] = min(max(settings.response_reserve, reply), window // 2)
    return attrs.evolve(settings, **changes)


def _keep_recent(window: int, reserve: int, most: int | None) -> int:
    """Return how much to keep when the window is full: the default, less room for a summary."""
    room = window - reserve if most is None else min(window - reserve, most)
    return min(Policy(window).keep_recent_tokens, room * 2 // 3)


def _room(policy: Policy) -> int:
    """Return the most tokens that a summary may take."""
    limits = [policy.trigger_tokens] if policy.context_window else []
    limits += [] if policy.max_tokens is None else [policy.max_tokens]
    return max(1, int(_SHARE * min(limits))) if limits else _PROSE_TOKENS + _DIGEST_TOKENS


@attrs.frozen(eq=False)
class _Asker:
    """A decider used to answer a plain question. Connects when it is first called."""

    find_decider: Callable[[], Decider]

    async def __call__(self, prompt: str) -> str:
        try:
            return await self._answer(prompt)
        except ContextOverflow as error:
            _logger.warning("the summary model was sent too much: %s", error)
            raise
        except Exception as error:
            _logger.warning("no summary by a model, a digest takes its place: %s", error)
            raise

    async def _answer(self, prompt: str) -> str:
        request = Input(user_message=prompt, history=(Message("user", prompt),))
        decision = await self.find_decider().decide(request)
        # Before the check: what a refused summary used was paid for as well.
        report(
            decision.usage,
            model=decision.response_model or decision.request_model,
            provider=decision.provider,
        )
        # What was cut off or withheld would be kept as if it were the whole summary.
        if decision.stop_reason is not StopReason.STOP:
            raise CompactionRefused(f"the summary model ended with {decision.stop_reason}")
        return decision.reply
