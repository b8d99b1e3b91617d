"""The parts of a bridge's Views, also those that its caller left out, and what it tells of them."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Self

import attrs

from agentic import tokens
from agentic.context.budget import Compactor, Policy
from agentic.context.budget._policy import policy_for
from agentic.context.compactors import Digest
from agentic.context.strategies import Chain, ContextStrategy
from agentic.context.strategies._strategy import as_chain
from agentic.context.view import Prepared, View
from agentic.limits._model_limits import as_tokens
from agentic.providers.overflow import read_size_refusal
from agentic.providers.overflow._size_refusal import SizeRefusal
from agentic.tokens import Counter, EstimateCounter
from agentic.tokens._models import ModelCounter
from agentic.tools import ToolDefinition

_LOGGED = {
    "over_window": "the request is over the window",
    "prefix_changed": "the beginning of the request has changed",
    "summary_by_digest": "summary by digest",
    "summary_failed": "summary failed",
}


def read_window(window: Policy | int | str) -> Policy | int | str:
    """Return a window in tokens as a number if it is written as `16k`; anything else itself.

    >>> read_window("16k"), read_window("gpt-5")
    (16000, 'gpt-5')
    """
    number: Policy | int | str = as_tokens(window)
    return number


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
        """Return the parts for a model's name, a window in tokens (also `16k`), or a policy.

        By default, the counter is the best one installed for the model, otherwise an estimate, and
        the compactor needs no model: its summaries are short enough to be shown whole. If `window`
        names no model, media count as for the model `family`.

        Raises:
            ConfigError: the model's window is unknown.
        """
        window = read_window(window)
        policy = policy_for(window)
        if counter is None:
            counter = tokens.for_model(window) if isinstance(window, str) else _estimate(family)
        if compactor is None:
            compactor = Digest(max_tokens=policy.digest_tokens, counter=counter)
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


def read_refusal(refused: object, *frameworks: type[Exception]) -> SizeRefusal | None:
    """Return what a refused request had too much of; None if it was not refused for its size.

    `refused` is a bool, or the error. Those of a framework may say by their class alone that a
    request does not fit the window.

    >>> read_refusal(True).kind, read_refusal("too many images: 12 > 8"), read_refusal("no key")
    ('tokens', SizeRefusal(kind='images', sent=12, limit=8), None)
    """
    if refused is None or isinstance(refused, bool):
        return SizeRefusal("tokens") if refused else None
    refusal = read_size_refusal(refused)
    if refusal is None and isinstance(refused, frameworks):
        return SizeRefusal("tokens")
    return refusal


def tools_as_one(schemas: Any) -> tuple[ToolDefinition, ...]:
    """Return tools as a View measures them: as one, since a provider's own may have no name."""
    parameters = {"type": "object", "tools": schemas}
    return (ToolDefinition("tools", parameters=parameters),) if schemas else ()


def log_notes(log: logging.Logger, request: Prepared) -> None:
    """Log what went wrong with a request: whoever sends it may never look at its notes."""
    for note in request.notes:
        if note.kind in _LOGGED:
            log.warning("%s: %s", _LOGGED[note.kind], note.text)


def _estimate(family: str) -> ModelCounter:
    """Return the counter for a model that nobody named."""
    description = f"estimated: no model is named; media as for {family or 'a usual one'}"
    return ModelCounter(family, EstimateCounter(), is_exact=False, description=description)
