"""Agents on each wire, behind the real proxy and in front of the strict fake server."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import attrs
import httpx
import pytest

from agentic.app.proxy import Proxy
from agentic.testing import AgentScript, ModelServer

pytestmark = pytest.mark.slow
_GEMINI = "/v1beta/models/gemini-2.5-pro"
_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
_FILE = "def step(): ...\n" * 40
Item = dict[str, Any]


@attrs.frozen
class Wire:
    """How a client of an API writes its requests, and reads the replies."""

    path: Callable[[bool], str]
    """Where it posts to, with a stream or without."""
    body: Callable[[list[Item], bool], dict[str, Any]]
    user: Callable[[str], Item]
    items: Callable[[dict[str, Any]], list[Item]]
    """The items of a reply, as a client sends them again."""
    results: Callable[[list[Item]], list[Item]]
    """The results of the calls in them."""
    join: Callable[[list[Any]], dict[str, Any]]
    """The reply of a stream."""


def _results_of_responses(items: list[Item]) -> list[Item]:
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    return [{"type": "function_call_output", "call_id": each, "output": _FILE} for each in calls]


def _results_of_gemini(items: list[Item]) -> list[Item]:
    calls = [part["functionCall"] for part in items[0]["parts"] if "functionCall" in part]
    answers = [{"name": each["name"], "response": {"output": _FILE}} for each in calls]
    parts = [{"functionResponse": each} for each in answers]
    return [{"role": "user", "parts": parts}] if parts else []


def _joined_gemini(events: list[Any]) -> dict[str, Any]:
    parts = [
        part
        for event in events
        for each in event.get("candidates", [])
        for part in each.get("content", {}).get("parts", [])
    ]
    return {"candidates": [{"content": {"role": "model", "parts": parts}}]}


def _contents(body: dict[str, Any]) -> list[Item]:
    contents: list[Item] = body.get("contents") or body["input"]
    return contents


_RESPONSES = Wire(
    path=lambda _: "/v1/responses",
    body=lambda items, stream: {
        "model": "gpt-5.6",
        "instructions": "Be brief.",
        "store": False,
        "stream": stream,
        "include": ["reasoning.encrypted_content"],
        "tools": [{"type": "function", "name": "read", "parameters": _SCHEMA}],
        "input": items,
    },
    user=lambda text: {"type": "message", "role": "user", "content": text},
    items=lambda response: response["output"],
    results=_results_of_responses,
    join=lambda events: next(
        event["response"] for event in events if event["type"] == "response.completed"
    ),
)
_GENERATE = Wire(
    path=lambda stream: (
        f"{_GEMINI}:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}"
    ),
    body=lambda items, _: {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [{"name": "read", "parameters": _SCHEMA}]}],
        "contents": items,
    },
    user=lambda text: {"role": "user", "parts": [{"text": text}]},
    items=lambda response: [response["candidates"][0]["content"]],
    results=_results_of_gemini,
    join=_joined_gemini,
)


def _events(text: str) -> list[Any]:
    lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


async def _work(client: httpx.AsyncClient, wire: Wire, turns: int, *, stream: bool) -> list[Item]:
    """Talk for some turns, with tools; return the whole list of the client."""
    items: list[Item] = []
    for turn in range(turns):
        items.append(wire.user(f"Look at part {turn}. " + "Take your time. " * 10))
        results = None
        while results is None or results:
            answer = await client.post(wire.path(stream), json=wire.body(items, stream))
            assert answer.status_code == 200, answer.text
            response = wire.join(_events(answer.text)) if stream else answer.json()
            reply = wire.items(response)
            results = wire.results(reply)
            items += [*reply, *results]
    return items


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", [_RESPONSES, _GENERATE], ids=["responses", "gemini"])
def test_an_agent_stays_within_the_window(wire: Wire, stream: bool) -> None:
    """Twelve turns with tools: nothing is refused, and the newest request is never missing."""
    server = ModelServer(script=AgentScript(turns=12, rounds=2), window=4_000, strict=True)

    async def run(url: str) -> tuple[list[Item], int]:
        proxy = Proxy(url, 4_000)
        transport = httpx.ASGITransport(app=proxy)
        async with httpx.AsyncClient(transport=transport, base_url="http://proxy") as client:
            items = await _work(client, wire, 12, stream=stream)
        await proxy.close()
        return items, len(proxy._pool)

    with server.serve() as url:
        items, conversations = asyncio.run(run(url))

    assert server.report.refused == {}
    assert server.report.requests == 36
    assert conversations == 1
    assert len(_contents(dict(server.served[-1].body))) < len(items) / 2
    for number, served in enumerate(server.served):
        assert f"Look at part {number // 3}. " in json.dumps(served.body)
