"""Whatever conversation a client holds, the provider gets one that it accepts."""

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from agentic.bridges.dicts import Conversation
from agentic.messages import Message
from agentic.providers import anthropic, openai_chat
from agentic.providers.kit import replace_surrogates
from agentic.testing import conversations

pytestmark = pytest.mark.slow
_WINDOW = 600
_LAST = {"role": "user", "content": "the last request"}


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


@pytest.mark.parametrize(
    ("wire", "path"), [(openai_chat, "chat/completions"), (anthropic, "messages")]
)
def test_damaged_conversations_pass_or_are_fitted(
    serve: Callable[..., Any], wire: ModuleType, path: str
) -> None:
    """Refusals and repeated ids included: nothing that a client wrote is sent twice."""
    served = serve(_WINDOW)
    refused = {
        openai_chat: {"role": "assistant", "content": None, "refusal": "I cannot."},
        anthropic: {"role": "assistant", "content": [{"type": "text", "text": "I cannot."}]},
    }[wire]
    with httpx.Client() as client:

        @given(conversations(max_rounds=8), st.integers(0, 20))
        @settings(max_examples=15, suppress_health_check=list(HealthCheck))
        def check(messages: list[Message], at: int) -> None:
            items = replace_surrogates(wire.encode(messages))
            items.insert(at, refused)
            request = {"model": "m", "max_tokens": 9, "messages": [*items, _LAST]}
            key = str(len(served.provider.sent))  # each example is somebody else's

            got = client.post(
                f"{served.address}/v1/{path}", json=request, headers={"X-Api-Key": key}
            )

            sent = served.provider.sent[-1].body
            assert got.status_code == 200
            assert sent == Conversation(wire, _WINDOW).fit_request(request)
            assert sent["messages"][-1] == _LAST
            given = list(map(json.dumps, request["messages"]))
            own = [item for item in map(json.dumps, sent["messages"]) if item in given]
            assert all(own.count(item) <= given.count(item) for item in own)

        check()
