"""Requests that the proxy cut, and what follows if the provider refuses their reasoning.

What a client sends of its own is never changed because of that: see design/0061.
"""

from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

from agentic.bridges.proxy._upstream import Relay
from agentic.providers import anthropic
from agentic.providers._bound_requests import BINDING_BETA, BoundRequests, with_drop
from agentic.providers.anthropic._decider import leave_out_reasoning as leave_out_thinking
from agentic.providers.openai_chat._decider import cannot_ask, leave_out_reasoning

_BETA = b"anthropic-beta"


class _Refused(Exception):
    """An answer with an error status, with its text."""


def bound_requests(wire: ModuleType) -> BoundRequests:
    """Return what sends the requests of one conversation on a wire."""
    if wire is anthropic:
        return BoundRequests(with_drop, leave_out_thinking)
    return BoundRequests(cannot_ask, leave_out_reasoning)


async def send_bound(
    bound: BoundRequests,
    body: dict[str, Any],
    send: Callable[[dict[str, Any], bool], Awaitable[Relay]],
) -> Relay:
    """Send a request, and once more if its reasoning is refused; return the last answer.

    `send` is also told whether the request asks for something that needs the beta.
    """
    relays: list[Relay] = []

    async def call(content: dict[str, Any]) -> Relay:
        # Before the next request, so that the provider stops answering the last one.
        if relays:
            await relays[-1].close()
        relays.append(await send(content, content.get("thinking") != body.get("thinking")))
        answer = await relays[-1].read_error()
        if answer is not None:
            raise _Refused(answer.text)
        return relays[-1]

    try:
        return await bound.send(call, body, str(body.get("model", "")))
    except _Refused:
        return relays[-1]
    except BaseException:
        if relays:
            await relays[-1].close()
        raise


def with_beta(headers: list[tuple[bytes, bytes]]) -> tuple[bytes, bytes]:
    """Return the header that names the beta of the setting, after those that the client names.

    >>> with_beta([(b"Anthropic-Beta", b"own-1")])
    (b'anthropic-beta', b'own-1,thinking-binding-controls-2026-08-01')
    """
    own = [value for name, value in headers if name.lower() == _BETA]
    return _BETA, b",".join([*own, BINDING_BETA.encode()])
