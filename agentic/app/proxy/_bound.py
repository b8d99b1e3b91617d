"""Requests that the proxy cut, and what follows if the provider refuses their reasoning.

What a client sends of its own is never changed because of that: see design/requests.md.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from agentic.app.proxy._upstream import Relay
from agentic.providers._bound_requests import BoundRequests
from agentic.providers.kit import HttpApi


class _Refused(Exception):
    """An answer with an error status, with its text."""


async def send_bound(
    requests: BoundRequests,
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
        return await requests.send(call, body, str(body.get("model", "")))
    except _Refused:
        return relays[-1]
    except BaseException:
        if relays:
            await relays[-1].close()
        raise


def with_drop_header(api: HttpApi, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the header that the setting needs, if any, after what the client names in it.

    >>> from agentic.providers import anthropic
    >>> with_drop_header(anthropic.ADAPTER.http, [(b"Anthropic-Beta", b"own-1")])
    [(b'anthropic-beta', b'own-1,thinking-binding-controls-2026-08-01')]
    """
    if api.drop_header is None:
        return []
    header, word = (text.encode() for text in api.drop_header)
    own = [value for name, value in headers if name.lower() == header]
    return [(header, b",".join([*own, word]))]
