"""What to send to a model that refuses reasoning whose preceding request has changed.

Such a request is sent once more, and asks the server to drop that reasoning. Where the server does
not accept the setting, the reasoning is left out instead. Both are learned from a refusal, except
for models that check every account, which are asked from the first request on: on an account that
is not checked, the setting itself turns the check on (design/requests.md).

The setting: https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks
(2026-11-27).
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import attrs

from agentic.limits import binds_reasoning
from agentic.loop import InputTransformation
from agentic.providers.binding import is_bound_reasoning
from agentic.providers.kit import at, items_at, text_at

_T = TypeVar("_T")
_Body: TypeAlias = dict[str, Any]
_IsStale: TypeAlias = Callable[[Any], bool]

BINDING_BETA = "thinking-binding-controls-2026-08-01"
_BLOCK_BINDING = "block_binding"
_BEHAVIOR = "prefix_mismatch_behavior"
_THINKING = "thinking"
# Where a caller's options may hold the setting: at the top, in what an SDK adds to the body, and in
# what Converse hands on to the model.
_PLACES = ((), ("extra_body",), ("additionalModelRequestFields",))

# `thinking.adaptive.block_binding: Extra inputs are not permitted` is Bedrock's
# (https://github.com/BerriAI/litellm/pull/41203, 2026-09); so it and Vertex refuse a beta that they
# do not know: `invalid beta flag`, `Unexpected value(s) ... for the anthropic-beta header`
# (https://github.com/anthropics/claude-code/issues/11673, 2025-11). Then LiteLLM's
# UnsupportedParamsError, and servers that know no adaptive thinking.
_SETTING_REFUSED = re.compile(
    r"block_binding|thinking-binding-controls|beta flag|anthropic[-_]beta"
    r"|does not support parameters: .{0,80}thinking|input tag .?adaptive",
    re.IGNORECASE,
)


@attrs.define(eq=False)
class BoundRequests:
    """Sends the requests of one decider, and remembers what its server refused.

    That an account is checked is true for all conversations with it, so all of them ask from then
    on. What was left out is remembered block by block: whichever request holds it is sent without.
    """

    _ask_to_drop: Callable[[_Body], _Body | None]
    """Returns a request that asks the server to drop reasoning which it would refuse; None if it
    cannot, or if the caller chose what shall happen."""
    _leave_out: Callable[[_Body, _IsStale], _Body]
    """Returns a request without the reasoning of which a function of its signature is true."""
    _is_checked: bool = attrs.field(default=False, init=False)
    """Whether a refusal has shown that the account is checked."""
    _is_setting_accepted: bool = attrs.field(default=True, init=False)
    _stale: set[int] = attrs.field(factory=set, init=False)
    """The hashes of the signatures of refused reasoning."""

    async def send(self, call: Callable[[_Body], Awaitable[_T]], body: _Body, model: str) -> _T:
        """Call with a request; if its reasoning is refused, call once more with one that is not.

        A setting that the server does not know costs one more call, once.
        """
        was_bound = False
        while True:
            # What this call is sent with: a parallel one may learn of a refusal meanwhile.
            request, asks = self.fit(body, model)
            try:
                return await call(request)
            except Exception as error:
                is_bound = is_bound_reasoning(error)
                was_bound |= is_bound
                if not (is_bound or (asks and _SETTING_REFUSED.search(str(error)))):
                    raise
                if not self.learn(request, asks=asks, was_bound=was_bound):
                    raise

    def fit(self, body: _Body, model: str) -> tuple[_Body, bool]:
        """Return what to send for a request, and whether it asks the server to drop reasoning."""
        binding = binds_reasoning(model)
        is_checked = self._is_checked or (
            binding is not None and binding.enforced == "every_account"
        )
        asking = self._ask_to_drop(body) if is_checked and self._is_setting_accepted else None
        if asking is not None:
            return asking, True
        if not self._stale:
            return body, False
        return self._leave_out(body, lambda signature: hash(signature) in self._stale), False

    def learn(self, sent: _Body, *, asks: bool, was_bound: bool) -> bool:
        """Take in a refusal of the reasoning or of the setting; return whether to send anew."""
        if asks:
            # Refused although it asks: something between us and the server drops the setting.
            self._is_setting_accepted = False
            if was_bound:
                self._note_as_stale(sent)
            return True
        if _chosen_behavior(sent) == "error":
            return False
        if self._is_setting_accepted and self._ask_to_drop(sent) is not None:
            self._is_checked = True
            return True
        return self._note_as_stale(sent)

    def _note_as_stale(self, request: _Body) -> bool:
        """Note all reasoning of a request as stale; return whether there was any."""
        hashes: set[int] = set()

        def note(signature: Any) -> bool:
            hashes.add(hash(signature))
            return True

        # Removing only the named block is not enough: later ones record that it came before them.
        self._leave_out(request, note)
        self._stale |= hashes
        return bool(hashes)


def with_drop(body: Mapping[str, Any], place: tuple[str, ...] = ()) -> _Body | None:
    """Return a request that asks to drop reasoning; None if the caller chose, or thinks not at all.

    `place` is where `thinking` stands if the caller has not set it.

    >>> with_drop({"model": "m"})["thinking"]["type"]
    'adaptive'
    >>> with_drop({"thinking": {"type": "disabled"}}) is None
    True
    """
    place_there = next((each for each in _PLACES if at(body, *each, _THINKING) is not None), place)
    # Models that bind reasoning think adaptively by default, so this changes nothing else.
    thinking = at(body, *place_there, _THINKING) or {"type": "adaptive"}
    if not isinstance(thinking, Mapping) or thinking.get("type") == "disabled":
        return None
    if at(thinking, _BLOCK_BINDING, _BEHAVIOR) is not None:
        return None
    asking = {**thinking, _BLOCK_BINDING: {_BEHAVIOR: "drop_block"}}
    if not place_there:
        return {**body, _THINKING: asking}
    return {**body, place_there[0]: {**(body.get(place_there[0]) or {}), _THINKING: asking}}


def with_beta_header(
    body: Mapping[str, Any], headers: Mapping[str, Any], beta: str = BINDING_BETA
) -> _Body:
    """Return a request whose `extra_headers` also name a beta; by default that of the setting.

    `headers` are those that the client sends anyway, which one of the request would replace.
    """
    name = "anthropic-beta"
    own = body.get("extra_headers") or {}
    betas = [
        *(value for key, value in own.items() if key.lower() == name),
        *(value for key, value in headers.items() if key.lower() == name),
    ][:1]
    others = {key: value for key, value in own.items() if key.lower() != name}
    return {**body, "extra_headers": {**others, name: ",".join([*map(str, betas), beta])}}


def _chosen_behavior(body: Mapping[str, Any]) -> Any:
    behaviors = (at(body, *place, _THINKING, _BLOCK_BINDING, _BEHAVIOR) for place in _PLACES)
    return next(filter(None, behaviors), None)


def input_transformations(response: Any) -> tuple[InputTransformation, ...]:
    """Return what a response says of reasoning that the model did not see.

    >>> removed = {"type": "reasoning", "action": "removed", "id": "rs_1", "reason": "x"}
    >>> input_transformations({"input_transformations": [removed]})[0].kind
    'reasoning_removed'
    """
    return tuple(
        InputTransformation(
            kind="_".join(filter(None, (text_at(each, "type"), text_at(each, "action")))),
            place=text_at(each, "path") or text_at(each, "id"),
            reason=text_at(each, "reason"),
        )
        for each in items_at(response, "input_transformations")
    )


def leave_out_blocks(
    body: Mapping[str, Any], signature_of: Callable[[Any], Any], is_stale: _IsStale
) -> _Body:
    """Return a request without the content blocks whose signature is stale.

    `signature_of` returns None for a block that is no reasoning. A message of which nothing is left
    is left out, because the API takes none without content.

    >>> said = [{"type": "thinking", "signature": "EqQB"}]
    >>> body = {"messages": [{"role": "assistant", "content": said}]}
    >>> leave_out_blocks(body, lambda block: block.get("signature"), lambda signature: True)
    {'messages': []}
    """

    def is_kept(block: Any) -> bool:
        signature = signature_of(block)
        return signature is None or not is_stale(signature)

    messages = []
    for message in items_at(body, "messages"):
        blocks = items_at(message, "content")
        rest = list(filter(is_kept, blocks)) if at(message, "role") == "assistant" else blocks
        if len(rest) == len(blocks):
            messages.append(message)
        elif rest:
            messages.append({**message, "content": rest})
    return {**body, "messages": messages}
