"""The parts of a bridge's Views, also those that its caller left out, and what it tells of them."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Self

import attrs

from agentic import limits, tokens
from agentic._validate import suggest
from agentic.context.budget import Compactor, Policy
from agentic.context.compactors import Digest
from agentic.context.strategies import Chain, ContextStrategy
from agentic.context.view import Prepared, View, as_chain
from agentic.errors import ConfigError
from agentic.tokens import Counter, EstimateCounter, ModelCounter
from agentic.tools import ToolDefinition

_logger = logging.getLogger(__name__)
_DIGEST_TOKENS = 2_000
# Of a policy that compacts before the window is full: see `Policy.for_window`.
_MOST_DIGEST_TOKENS, _PARTS_OF_WINDOW = 8_000, 8
# The size of a digest, as a share of the available tokens. A View shows a summary of up to 30 %
# whole, of which the heading and the mark take 46 to 53 tokens.
_DIGEST_SHARE, _HEADING_TOKENS = 0.24, 64
_LOGGED = {
    "over_window": "the request is over the window",
    "summary_by_digest": "summary by digest",
    "summary_failed": "summary failed",
}


@attrs.frozen
class ViewParts:
    """What each View of a bridge is made of: one for each conversation.

    >>> ViewParts.of(128_000).policy.context_window
    128000
    """

    policy: Policy
    counter: Counter
    compactor: Compactor
    strategies: Chain = attrs.field(converter=as_chain)

    @classmethod
    def of(
        cls,
        window: Policy | int | str,
        compactor: Compactor | None = None,
        strategies: Chain | Sequence[ContextStrategy] = (),
        counter: Counter | None = None,
        family: str = "",
    ) -> Self:
        """Return the parts for a model's name, a window in tokens, or a policy.

        By default, the counter is the best one installed for the model, otherwise an estimate, and
        the compactor needs no model: its summaries are short enough to be shown whole. If `window`
        names no model, media count as for the model `family`.

        Raises:
            ConfigError: the model's window is unknown.
        """
        policy = _policy_for(window)
        if counter is None:
            counter = tokens.for_model(window) if isinstance(window, str) else _estimate(family)
        if compactor is None:
            compactor = Digest(max_tokens=_digest_tokens(policy), counter=counter)
        return cls(policy, counter, compactor, strategies)

    def view(self, state: Mapping[str, Any] | None, *, model: str = "") -> View:
        """Return the View of a conversation, which goes on from a state if there is one."""
        return View(
            self.policy,
            counter=self.counter,
            compactor=self.compactor,
            strategies=self.strategies,
            model=model,
            state=state,
        )


def tools_as_one(schemas: Any) -> tuple[ToolDefinition, ...]:
    """Return tools as a View measures them: as one, since a provider's own may have no name."""
    parameters = {"type": "object", "tools": schemas}
    return (ToolDefinition("tools", parameters=parameters),) if schemas else ()


def log_notes(log: logging.Logger, prepared: Prepared) -> None:
    """Log what went wrong with a request: whoever sends it may never look at its notes."""
    for note in prepared.notes:
        if note.kind in _LOGGED:
            log.warning("%s: %s", _LOGGED[note.kind], note.text)


def _policy_for(window: Policy | int | str) -> Policy:
    if isinstance(window, Policy):
        return window
    if not isinstance(window, str):
        return Policy.for_window(window)
    model_limits = limits.lookup(window)
    if not model_limits.usable:
        raise ConfigError(
            "window",
            window,
            "a model whose context window is known",
            suggest(window, limits.CONTEXT_LIMITS, "pass the window in tokens, such as 128_000"),
        )
    if model_limits.note:
        _logger.warning("the window of %s is not known: %s", window, model_limits.note)
    return Policy.for_window(model_limits.context_window)


def _estimate(family: str) -> ModelCounter:
    """Return the counter for a model that nobody named."""
    description = f"estimated: no model is named; media as for {family or 'a usual one'}"
    return ModelCounter(family, EstimateCounter(), is_exact=False, description=description)


def _digest_tokens(policy: Policy) -> int:
    """Return how large a digest may be so that it is shown whole."""
    limits_ = [policy.trigger_tokens] if policy.context_window else []
    limits_ += [] if policy.max_tokens is None else [policy.max_tokens]
    sizes = [
        min(int(_DIGEST_SHARE * most), int(policy.summary_share * most) - _HEADING_TOKENS)
        for most in limits_
    ]
    most = _DIGEST_TOKENS
    if policy.compact_at is not None:
        most = min(_MOST_DIGEST_TOKENS, policy.context_window // _PARTS_OF_WINDOW)
    return min([most, *(max(50, size) for size in sizes)])
