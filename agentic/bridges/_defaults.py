"""What a bridge uses where its caller gave nothing: the policy of a window, a counter, a digest."""

from agentic import limits, tokens
from agentic._validate import suggest
from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.errors import ConfigError
from agentic.tokens import Counter

__all__ = ["counter_for", "digest_for", "policy_for"]

_DIGEST_TOKENS = 2_000
_DIGEST_SHARE, _HEADING_TOKENS = 0.24, 64
"""The size of a digest, as a share of the available tokens. A View shows a summary of up to 30 %
whole, of which the heading and the mark take 46 to 53 tokens."""


def policy_for(window: Policy | int | str) -> Policy:
    """Return the policy for a model's name, a window in tokens, or a policy.

    >>> policy_for(128_000).context_window
    128000

    Raises:
        ConfigError: the model's window is unknown.
    """
    if isinstance(window, Policy):
        return window
    if not isinstance(window, str):
        return Policy(window)
    known = limits.lookup(window)
    if not known.known:
        raise ConfigError(
            "window",
            window,
            "a model whose context window is known",
            suggest(window, limits.CONTEXT_LIMITS, "pass the window in tokens, such as 128_000"),
        )
    return Policy(known.context_window)


def counter_for(window: Policy | int | str) -> Counter:
    """Return the best counter installed for a model's name, otherwise an estimate."""
    return tokens.for_model(window) if isinstance(window, str) else tokens.EstimateCounter()


def digest_for(policy: Policy, counter: Counter) -> Digest:
    """Return a compactor that needs no model, whose summaries are shown whole."""
    return Digest(max_tokens=_digest_tokens(policy), counter=counter)


def _digest_tokens(policy: Policy) -> int:
    """Return how large a digest may be so that it is shown whole."""
    limits_ = [policy.available_tokens] if policy.context_window else []
    limits_ += [] if policy.max_tokens is None else [policy.max_tokens]
    sizes = [
        min(int(_DIGEST_SHARE * most), int(policy.summary_share * most) - _HEADING_TOKENS)
        for most in limits_
    ]
    return min([_DIGEST_TOKENS, *(max(50, size) for size in sizes)])
