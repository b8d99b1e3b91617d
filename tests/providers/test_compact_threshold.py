"""The setting by which a server compacts a conversation by itself before it replies."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.view import View
from agentic.errors import ConfigError
from agentic.loop import Input
from agentic.messages import Message
from agentic.messages._provider_compaction import compaction_text
from agentic.providers import anthropic, openai_responses
from agentic.tokens import CharCounter

_BLOCK = {"type": "compaction", "content": "The parser was mended.", "encrypted_content": "EqQB"}
_ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"}
_TEXT = {"type": "output_text", "text": "So it is.", "annotations": []}
_SAID = {"type": "message", "role": "assistant", "status": "completed", "content": [_TEXT]}
_EDIT = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 60_000}}


class _Api:
    """Keeps what an SDK's client is called with, and replies with one compaction and a text."""

    def __init__(self, base_url: str = "https://api.openai.com/v1/", **headers: str) -> None:
        self.sent: list[dict[str, Any]] = []
        self.base_url, self.default_headers = base_url, headers
        self.messages = self.responses = SimpleNamespace(create=self._create, compact=self._create)

    async def _create(self, **body: Any) -> dict[str, Any]:
        self.sent.append(body)
        if "input" in body:
            return {"status": "completed", "output": [_ITEM, _SAID]}
        content = [_BLOCK, {"type": "text", "text": "So it is."}]
        usage = {"input_tokens": 900, "output_tokens": 4}
        return {"content": content, "stop_reason": "end_turn", "usage": usage}


def _request(*messages: Message) -> Input:
    history = messages or (Message("user", "Is it green?"),)
    return Input(user_message="Is it green?", history=history, system_prompt="Be brief.")


def _decide(decider: Any, *messages: Message) -> Message:
    decision = asyncio.run(decider.decide(_request(*messages)))
    return Message("assistant", decision.reply, native=decision.native, usage=decision.usage)


def _anthropic(api: Any, **options: Any) -> anthropic.Decider:
    extra = {"max_tokens": 1_000, **options}
    return anthropic.Decider(api, "claude-opus-4-8", compact_threshold=60_000, options=extra)


def test_anthropic_is_asked_with_its_edit_and_beta() -> None:
    """Beside the betas that the client sends anyway."""
    api = _Api(**{"anthropic-beta": "files-1"})

    _decide(_anthropic(api))

    assert api.sent[0]["extra_body"] == {"context_management": {"edits": [_EDIT]}}
    assert api.sent[0]["extra_headers"] == {"anthropic-beta": "files-1,compact-2026-01-12"}


def test_anthropic_keeps_edits_of_the_caller() -> None:
    """The setting comes behind them."""
    api, clear = _Api(), {"type": "clear_tool_uses_20250919"}
    own = {"edits": [clear], "x": 1}

    _decide(_anthropic(api, extra_body={"context_management": own, "y": 2}))

    expected = {"context_management": {"edits": [clear, _EDIT], "x": 1}, "y": 2}
    assert api.sent[0]["extra_body"] == expected


def test_anthropic_on_demand_has_no_threshold() -> None:
    """The two mechanisms exclude each other."""
    api = _Api()

    asyncio.run(_anthropic(api).compact_natively(_request()))

    assert api.sent[0]["extra_body"] == {"compaction": {"type": "summarize"}}
    assert api.sent[0]["extra_headers"] == {"anthropic-beta": "compact-2026-09-04"}


def test_openai_is_asked_by_context_management() -> None:
    """At the top of the request."""
    api = _Api()

    _decide(openai_responses.Decider(api, "gpt-6.2-sol", compact_threshold=9_000))  # type: ignore[arg-type]

    managed = [{"type": "compaction", "compact_threshold": 9_000}]
    assert api.sent[0]["context_management"] == managed
    assert "extra_body" not in api.sent[0]


def test_callers_own_threshold_wins() -> None:
    """What is written in the options is sent as it is."""
    api, own = _Api(), [{"type": "compaction", "compact_threshold": 7_000}]
    options = {"context_management": own}

    _decide(
        openai_responses.Decider(api, "gpt-6.2-sol", compact_threshold=9_000, options=options)  # type: ignore[arg-type]
    )

    assert api.sent[0]["context_management"] == own


@pytest.mark.parametrize(
    ("options", "provider"),
    [
        ({}, {"only": ["openai"]}),
        ({"extra_body": {"provider": {"order": ["azure"]}}}, {"order": ["azure"]}),
    ],
)
def test_openrouter_stays_with_the_provider_that_reads_it(
    options: dict[str, Any], provider: dict[str, Any]
) -> None:
    """OpenRouter would choose another one, unless the caller chose."""
    api = _Api("https://openrouter.ai/api/v1/")

    _decide(
        openai_responses.Decider(api, "openai/gpt-5", compact_threshold=9_000, options=options)  # type: ignore[arg-type]
    )

    assert api.sent[0]["extra_body"] == {"provider": provider}


@pytest.mark.parametrize("threshold", [0, -1, 49_999, 60_000.0, "60000"])
def test_threshold_below_the_servers_least_is_refused(threshold: Any) -> None:
    """When the decider is made, not when it is asked."""
    with pytest.raises(ConfigError, match="compact_threshold"):
        anthropic.Decider(_Api(), "claude-opus-4-8", compact_threshold=threshold)  # type: ignore[arg-type]


@pytest.mark.parametrize("wire", [anthropic, openai_responses])
def test_conversation_goes_on_after_it_with_any_provider(wire: Any) -> None:
    """The server's compaction goes back to who made it; everybody else gets what it stands for."""
    api = _Api()
    asked = Message("user", "Is it green?")
    deciders = {
        anthropic: _anthropic(api),
        openai_responses: openai_responses.Decider(api, "gpt-6.2-sol", compact_threshold=9_000),  # type: ignore[arg-type]
    }
    reply = _decide(deciders[wire], asked)
    view = View(Policy(200_000), counter=CharCounter(), compactor=Digest())

    sent = view.prepare_sync([asked, reply, Message("user", "And now?")]).messages

    assert compaction_text(reply) is not None
    assert '"compaction"' in str(wire.encode(sent)).replace("'", '"')
    for other in {anthropic, openai_responses} - {wire}:
        texts = str(other.encode(sent))
        assert "compaction" not in texts
        assert "Is it green?" in texts
