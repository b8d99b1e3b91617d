"""Whatever conversation a client holds, the provider gets one that it accepts."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, assume, given, settings

from agentic.bridges.dicts import Conversation
from agentic.messages import Message
from agentic.providers import anthropic, openai_chat
from agentic.testing import conversations

pytestmark = pytest.mark.slow
_WINDOW = 600


def _rules(wire: ModuleType, request: dict[str, Any]) -> set[str]:
    return {found.rule for found in wire.validate(request)} - {"unanswered_call"}


@pytest.mark.parametrize(
    ("wire", "path"), [(openai_chat, "chat/completions"), (anthropic, "messages")]
)
def test_generated_conversations_stay_paired(
    serve: Callable[..., Any], wire: ModuleType, path: str
) -> None:
    """Request by request as it grows: valid, and what `bridges.dicts` makes of the same list."""
    served = serve(_WINDOW)
    with httpx.Client() as client:

        @given(conversations(damaged=False, max_rounds=10))
        @settings(max_examples=8, suppress_health_check=list(HealthCheck))
        def check(messages: list[Message]) -> None:
            encoded = {"model": "claude", "max_tokens": 9, **wire.encode_request(messages)}
            assume(not _rules(wire, encoded))
            conversation = Conversation(wire, _WINDOW)
            key = str(len(served.provider.sent))  # each example is somebody else's
            for end in range(1, len(encoded["messages"]) + 1):
                request = {**encoded, "messages": encoded["messages"][:end]}

                got = client.post(
                    f"{served.address}/v1/{path}", json=request, headers={"X-Api-Key": key}
                )

                sent = served.provider.sent[-1].body
                assert sent == conversation.fit_request(request)
                assert _rules(wire, sent) <= _rules(wire, request)
                conversation.report(got.json())

        check()
