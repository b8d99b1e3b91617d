"""The framework's own adapters, against a server that refuses what is too large or wrong."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

pytest.importorskip("openai", reason="the SDK of OpenAI is not installed")
pytest.importorskip("anthropic", reason="the SDK of Anthropic is not installed")

import anthropic as anthropic_sdk
import openai as openai_sdk
from pydantic_ai import Agent
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from agentic.bridges.pydantic_ai import ContextBudget
from agentic.context.budget import Policy
from agentic.providers import anthropic, openai_chat

pytestmark = pytest.mark.slow

_WINDOW = 3_000
_WORDS = "as you said before, it is all green; " * 4


class _Handler(BaseHTTPRequestHandler):
    """Both APIs: two calls of a tool, then a reply; a token is four bytes."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    sizes: ClassVar[list[int]] = []
    refused: ClassVar[list[Any]] = []

    def do_POST(self) -> None:
        """Answer, or refuse a request as the provider does."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_openai = self.path.endswith("/chat/completions")
        size = len(json.dumps(request["messages"])) // 4
        self.sizes.append(size)
        wire = openai_chat if is_openai else anthropic
        wrong = [found.rule for found in wire.validate(request)]
        if size > _WINDOW or wrong:
            self.refused.append((size, wrong))
            self.answer(400, _refusal(is_openai=is_openai, size=size, wrong=wrong))
        else:
            ids = [] if _has_results(request["messages"][-1]) else _new_ids(len(self.sizes))
            self.answer(200, (_completion if is_openai else _message)(ids, size))

    def answer(self, status: int, body: dict[str, Any]) -> None:
        """Send JSON data."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Be quiet."""


def _has_results(message: dict[str, Any]) -> bool:
    blocks = message["content"] if isinstance(message["content"], list) else []
    return message["role"] == "tool" or any(each["type"] == "tool_result" for each in blocks)


def _new_ids(number: int) -> list[str]:
    return [f"call_{number}_{n}" for n in range(2)]


def _refusal(*, is_openai: bool, size: int, wrong: list[str]) -> dict[str, Any]:
    if is_openai:
        text = f"{size} tokens, {wrong}"
        return {"error": {"code": "context_length_exceeded", "message": text}}
    text = f"prompt is too long: {size} tokens > {_WINDOW} maximum {wrong}"
    return {"type": "error", "error": {"type": "invalid_request_error", "message": text}}


def _completion(ids: list[str], size: int) -> dict[str, Any]:
    function = {"name": "read", "arguments": '{"path": "a.py"}'}
    calls = [{"id": each, "type": "function", "function": function} for each in ids]
    message = {"role": "assistant", "content": None if ids else _WORDS, "tool_calls": calls or None}
    reason = "tool_calls" if ids else "stop"
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 0,
        "model": "gpt-4.1",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": size, "completion_tokens": 45, "total_tokens": size + 45},
    }


def _message(ids: list[str], size: int) -> dict[str, Any]:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    calls = [
        {"type": "tool_use", "id": each, "name": "read", "input": {"path": "a.py"}} for each in ids
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [thinking, *(calls or [{"type": "text", "text": _WORDS}])],
        "stop_reason": "tool_use" if ids else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": size, "output_tokens": 45},
    }


@pytest.fixture
def url() -> Iterator[str]:
    """Serve on a free port."""
    _Handler.sizes.clear()
    _Handler.refused.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def _model(name: str, url: str) -> tuple[Model, Any]:
    if name == "openai":
        client = openai_sdk.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        return OpenAIChatModel("gpt-4.1", provider=OpenAIProvider(openai_client=client)), client
    other = anthropic_sdk.AsyncAnthropic(base_url=url, api_key="none", max_retries=0)
    provider = AnthropicProvider(anthropic_client=other)
    return AnthropicModel("claude-test", provider=provider), other


async def _talk(name: str, url: str, budget: ContextBudget[None]) -> int:
    model, client = _model(name, url)
    agent = Agent(model, system_prompt="You are a reviewer.", capabilities=[budget])

    @agent.tool_plain
    def read(path: str) -> str:
        return f"{path}: " + "line " * 60

    history: list[Any] = []
    async with client:
        for n in range(15):
            result = await agent.run(f"Remark {n}: " + "please " * 12, message_history=history)
            history = result.all_messages()
    return len(history)


@pytest.mark.parametrize("name", ["openai", "anthropic"])
@pytest.mark.parametrize("rewrite", [False, True])
def test_provider_accepts_each_request(url: str, name: str, rewrite: bool) -> None:
    """None is too large, and none breaks a rule of the wire."""
    length = asyncio.run(_talk(name, url, ContextBudget(_WINDOW, rewrite=rewrite)))
    assert not _Handler.refused
    assert len(_Handler.sizes) == 30
    assert max(_Handler.sizes) > _WINDOW // 2
    assert (length == 60) is not rewrite


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_refused_request_is_made_smaller(url: str, name: str) -> None:
    """If the window is smaller than was said, the provider's refusal makes the request smaller."""
    budget: ContextBudget[None] = ContextBudget(Policy(2 * _WINDOW))
    assert asyncio.run(_talk(name, url, budget)) == 60
    assert _Handler.refused
    assert all(size > _WINDOW and not wrong for size, wrong in _Handler.refused)
