"""A loop around a list of dicts, which `bridges.dicts` or the proxy keeps within the window.

Nothing is kept but what the provider replied, so that each change of what was sent is ours.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import attrs

from agentic.bridges.dicts import Conversation
from agentic.errors import ContextOverflow
from agentic.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from agentic.testing._model_server import ServerReply
from benchmarks.binding._case import Case, Entry, output_of, path_of, requests

__all__ = ["CLIENTS", "ENTRIES", "Client"]

_SYSTEM = "You read files, and say what they do. Be brief."
_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
_ABOUT = "Read a file."
_Request = dict[str, Any]
_Fit = Callable[[_Request, bool], Awaitable[_Request]]
"""Makes a request fit; the flag is whether the one before was refused as too large."""


@attrs.frozen(kw_only=True)
class Client:
    """How a loop speaks one wire."""

    module: Any
    path: str
    items: str
    """The field of the request with the list."""
    rest: Mapping[str, Any]
    """The other fields."""
    user: Callable[[str], dict[str, Any]]
    items_of: Callable[[Any], list[Any]]
    """Returns the items of a response, as they go back."""
    answers: Callable[[list[Any]], list[Any]]
    """Returns the items with the results of the calls in a reply."""


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _anthropic_results(items: list[Any]) -> list[Any]:
    calls = [block for block in items[-1]["content"] if block["type"] == "tool_use"]
    results = [
        {
            "type": "tool_result",
            "tool_use_id": call["id"],
            "content": output_of(path_of(call["input"])),
        }
        for call in calls
    ]
    return [{"role": "user", "content": results}] if results else []


_ANTHROPIC = Client(
    module=anthropic,
    path="/v1/messages",
    items="messages",
    rest={
        "model": "claude-fable-5-2",
        "max_tokens": 1_000,
        "system": _SYSTEM,
        "tools": [{"name": "read", "description": _ABOUT, "input_schema": _SCHEMA}],
        "cache_control": {"type": "ephemeral"},
    },
    user=_user,
    items_of=lambda body: [{"role": "assistant", "content": body["content"]}],
    answers=_anthropic_results,
)


def _responses_results(items: list[Any]) -> list[Any]:
    return [
        {
            "type": "function_call_output",
            "call_id": item["call_id"],
            "output": output_of(path_of(json.loads(item["arguments"]))),
        }
        for item in items
        if item["type"] == "function_call"
    ]


_RESPONSES = Client(
    module=openai_responses,
    path="/v1/responses",
    items="input",
    rest={
        "model": "gpt-6.2-sol",
        "store": False,
        "tools": [
            {"type": "function", "name": "read", "description": _ABOUT, "parameters": _SCHEMA}
        ],
    },
    user=_user,
    items_of=lambda body: body["output"],
    answers=_responses_results,
)


def _chat_results(items: list[Any]) -> list[Any]:
    return [
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": output_of(path_of(json.loads(call["function"]["arguments"]))),
        }
        for call in items[-1].get("tool_calls", ())
    ]


_FUNCTION = {"name": "read", "description": _ABOUT, "parameters": _SCHEMA}
_CHAT = Client(
    module=openai_chat,
    path="/v1/chat/completions",
    items="messages",
    rest={"model": "gpt-5", "tools": [{"type": "function", "function": _FUNCTION}]},
    user=_user,
    items_of=lambda body: [body["choices"][0]["message"]],
    answers=_chat_results,
)


def _bedrock_results(items: list[Any]) -> list[Any]:
    calls = [block["toolUse"] for block in items[-1]["content"] if "toolUse" in block]
    results = [
        {
            "toolResult": {
                "toolUseId": call["toolUseId"],
                "content": [{"text": output_of(path_of(call["input"]))}],
            }
        }
        for call in calls
    ]
    return [{"role": "user", "content": results}] if results else []


_SPEC = {"name": "read", "description": _ABOUT, "inputSchema": {"json": _SCHEMA}}
_BEDROCK = Client(
    module=bedrock,
    path="/model/us.anthropic.claude-fable-5-2-v1:0/converse",
    items="messages",
    rest={"system": [{"text": _SYSTEM}], "toolConfig": {"tools": [{"toolSpec": _SPEC}]}},
    user=lambda text: {"role": "user", "content": [{"text": text}]},
    items_of=lambda body: [body["output"]["message"]],
    answers=_bedrock_results,
)


def _gemini_results(items: list[Any]) -> list[Any]:
    calls = [part["functionCall"] for part in items[-1]["parts"] if "functionCall" in part]
    parts = [
        {
            "functionResponse": {
                "id": call["id"],
                "name": call["name"],
                "response": {"result": output_of(path_of(call["args"]))},
            }
        }
        for call in calls
    ]
    return [{"role": "user", "parts": parts}] if parts else []


_DECLARED = {"name": "read", "description": _ABOUT, "parametersJsonSchema": _SCHEMA}
_GEMINI = Client(
    module=gemini,
    path="/v1beta/models/gemini-3-pro:generateContent",
    items="contents",
    rest={
        "systemInstruction": {"parts": [{"text": _SYSTEM}]},
        "tools": [{"functionDeclarations": [_DECLARED]}],
    },
    user=lambda text: {"role": "user", "parts": [{"text": text}]},
    items_of=lambda body: [body["candidates"][0]["content"]],
    answers=_gemini_results,
)


CLIENTS = {
    each.module.ADAPTER.name: each for each in (_ANTHROPIC, _RESPONSES, _CHAT, _BEDROCK, _GEMINI)
}
"""By the name of the adapter."""


async def _fit_list(client: Client, case: Case, *, in_place: bool = False) -> None:
    """Fit the list alone; `in_place`: the owner keeps what was sent, as with Strands."""
    conversation = _conversation(client, case)

    async def fit(request: _Request, refused: bool) -> _Request:
        fitting = await conversation.fit_async(request[client.items], refused=refused)
        if in_place:
            request[client.items][:] = fitting
        return {**request, client.items: fitting}

    await _talk(client, case, fit, conversation)


async def _fit_request(client: Client, case: Case) -> None:
    conversation = _conversation(client, case)

    async def fit(request: _Request, refused: bool) -> _Request:
        return await conversation.fit_request_async(request, refused=refused)

    await _talk(client, case, fit, conversation)


async def _through_proxy(client: Client, case: Case) -> None:
    """Send everything through the proxy, which is an ASGI application in this process."""
    import httpx  # noqa: PLC0415  an extra

    from agentic.app.proxy import Proxy  # noqa: PLC0415

    with case.server.serve() as url:
        proxy = Proxy(url, case.policy, compactor=case.compactor(), strategies=case.strategies())
        transport = httpx.ASGITransport(app=proxy)

        async with httpx.AsyncClient(transport=transport, base_url="http://proxy") as http:

            async def post(request: _Request) -> ServerReply:
                response = await http.post(client.path, json=request, timeout=60)
                return ServerReply(response.status_code, response.json())

            async def fit(request: _Request, _: bool) -> _Request:
                return request

            await _talk(client, case, fit, None, post)
        await proxy.close()


def _conversation(client: Client, case: Case) -> Conversation:
    async def ask(request: Any) -> Any:
        whole = request if isinstance(request, dict) else {**client.rest, client.items: request}
        return case.server.post(client.path, json.loads(json.dumps(whole))).body

    return Conversation(
        client.module,
        case.policy,
        compactor=case.compactor(),
        strategies=case.strategies(),
        ask=ask,
    )


async def _talk(
    client: Client,
    case: Case,
    fit: _Fit,
    conversation: Conversation | None,
    post: Callable[[_Request], Awaitable[ServerReply]] | None = None,
) -> None:
    """Run the loop that somebody wrote: ask, run the tools, ask again."""

    async def post_here(request: _Request) -> ServerReply:
        # As bytes, so that nobody changes what the server remembers.
        return case.server.post(client.path, json.loads(json.dumps(request)))

    items: list[Any] = []
    for text in requests(case):
        items.append(client.user(text))
        while True:
            reply = await _ask({**client.rest, client.items: items}, fit, post or post_here)
            if reply is None:
                break
            if conversation is not None:
                conversation.report(reply)
            said = client.items_of(reply)
            items += said
            results = client.answers(said)
            items += results
            if not results:
                break


async def _ask(
    request: _Request, fit: _Fit, post: Callable[[_Request], Awaitable[ServerReply]]
) -> Any:
    """Return a response; None for a refusal, after one smaller request."""
    for refused in (False, True):
        try:
            reply = await post(await fit(request, refused))
        except ContextOverflow:
            return None
        if reply.status == 200:
            return reply.body
    return None


ENTRIES: dict[str, Entry] = {
    "dicts, fit (Anthropic)": partial(_fit_list, _ANTHROPIC),
    "dicts, fit_request (Anthropic)": partial(_fit_request, _ANTHROPIC),
    "dicts, fit in place (Anthropic)": partial(_fit_list, _ANTHROPIC, in_place=True),
    "dicts, fit (Responses)": partial(_fit_list, _RESPONSES),
    "dicts, fit_request (Responses)": partial(_fit_request, _RESPONSES),
    "dicts, fit_request (Chat Completions)": partial(_fit_request, _CHAT),
    "dicts, fit_request (Bedrock)": partial(_fit_request, _BEDROCK),
    "Strands' page (Bedrock, in place)": partial(_fit_list, _BEDROCK, in_place=True),
    "Google ADK's page (Gemini)": partial(_fit_request, _GEMINI),
    "mini-swe-agent's page (Chat Completions)": partial(_fit_list, _CHAT),
    "mini-swe-agent's page (Responses)": partial(_fit_list, _RESPONSES),
    "proxy (Anthropic)": partial(_through_proxy, _ANTHROPIC),
    "proxy (Chat Completions)": partial(_through_proxy, _CHAT),
}
