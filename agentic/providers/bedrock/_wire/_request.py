"""A whole request: the conversation, what is said before it, and the tools."""

from collections.abc import Mapping, Sequence
from typing import Any

from agentic.messages import Message, close_open_rounds
from agentic.providers._plain import at, items_at, plain, text_at
from agentic.providers._sendable import sendable
from agentic.providers.bedrock._wire._calls import TOOL_NAMES
from agentic.providers.bedrock._wire._encode import encode, split_system, system_blocks
from agentic.providers.bedrock._wire._families import fit_family
from agentic.tools import ToolDefinition

__all__ = ["encode_request", "encode_tools", "with_options"]

_OPENING = "(The conversation goes on.)"
_GONE = "No longer available. Do not call it."


def encode_request(
    messages: Sequence[Message],
    *,
    system_prompt: str = "",
    tools: Sequence[ToolDefinition] = (),
    model: str = "",
) -> dict[str, Any]:
    """Write all that a request holds of a conversation, so that the provider accepts it.

    Open rounds are closed, orphaned results left out. Without a user's message at its start the
    conversation gets one. With the `modelId` as `model`, turns are written as its family takes
    them. For boto3, pass the result through `for_boto3`.

    >>> encode_request([Message("user", "Hi")], system_prompt="Be brief.")
    {'system': [{'text': 'Be brief.'}], 'messages': [{'role': 'user', 'content': [{'text': 'Hi'}]}]}
    """
    closed = close_open_rounds(list(messages))
    leading, rest = split_system(closed)
    system = [{"text": system_prompt}] if system_prompt.strip() else []
    for message in leading:
        system += system_blocks(message)
    sent = encode(rest)
    # https://github.com/pydantic/pydantic-ai/issues/4495
    if not sent or at(sent[0], "role") == "assistant":
        sent.insert(0, {"role": "user", "content": [{"text": _OPENING}]})
    sent = fit_family(sent, model)
    config = _tool_config(sent, tools)
    return {
        **({"system": sendable(system)} if system else {}),
        "messages": sendable(sent),
        **({"toolConfig": config} if config else {}),
    }


def encode_tools(tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
    """Write the tools that the model may call, as entries of `toolConfig.tools`.

    >>> encode_tools([ToolDefinition("now", "Tell the time.")])[0]["toolSpec"]["description"]
    'Tell the time.'
    """
    return [_spec(tool.name, tool.description, plain(tool.parameters)) for tool in tools]


def _spec(name: str, description: str, parameters: Any) -> dict[str, Any]:
    told = {"description": sendable(description)} if description.strip() else {}
    return {
        "toolSpec": {
            "name": TOOL_NAMES.wire(name),
            **told,
            "inputSchema": {"json": sendable(parameters)},
        }
    }


def _tool_config(messages: list[Any], tools: Sequence[ToolDefinition]) -> dict[str, Any]:
    """Give the tools; where none is offered, stand-ins for those that the messages speak of.

    Calls and results are refused without them, even if no tool is offered any more:
    https://github.com/strands-agents/harness-sdk/issues/998
    """
    if tools:
        return {"tools": encode_tools(tools)}
    nothing = {"type": "object", "properties": {}}
    names = _tool_names(messages)
    return {"tools": [_spec(name, _GONE, nothing) for name in names]} if names else {}


def _tool_names(messages: list[Any]) -> list[str]:
    """Name the tools that are called; any name will do where there are results alone."""
    blocks = [block for message in messages for block in items_at(message, "content")]
    calls = [block for block in blocks if isinstance(at(block, "toolUse"), dict)]
    answered = any(isinstance(at(block, "toolResult"), dict) for block in blocks)
    names = dict.fromkeys(text_at(block, "toolUse", "name") or "tool" for block in calls)
    return list(names) or ["tool"] * answered


def with_options(
    request: Mapping[str, Any], options: Mapping[str, Any], *, offered: bool = True
) -> dict[str, Any]:
    """Add what the caller says in the provider's words.

    Blocks of `system` and entries of `toolConfig.tools`, such as a mark for the cache, are put
    after ours. A `toolChoice` counts where tools are offered: stand-ins are not to be chosen.

    >>> cached = {"system": [{"cachePoint": {"type": "default"}}]}
    >>> with_options({"system": [{"text": "Be brief."}]}, cached)["system"]
    [{'text': 'Be brief.'}, {'cachePoint': {'type': 'default'}}]
    """
    merged = {**request, **options}
    if isinstance(options.get("system"), list):
        merged["system"] = [*items_at(request, "system"), *options["system"]]
    given = options.get("toolConfig")
    if isinstance(given, Mapping):
        own, theirs = items_at(request, "toolConfig", "tools"), items_at(given, "tools")
        config = {**given, "tools": [*own, *theirs]}
        if not (offered or theirs):
            config.pop("toolChoice", None)
        merged["toolConfig"] = config
        if not config["tools"]:
            del merged["toolConfig"]
    return merged
