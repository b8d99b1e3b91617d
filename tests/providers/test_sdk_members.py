"""Every word, block, event and count that the installed SDKs know has a decision of ours.

`sdk_members.json` lists them. `mapped`: a stop word, in the adapter's table. `read`: named in the
adapter's code. `opaque`: kept in the payload, and sent back as it came. `ignored`: says nothing
that a Decision has a place for. A release of an SDK that knows more fails here, with the names:
decide then, and add them. `python tests/providers/test_sdk_members.py` prints the undecided.
"""

import importlib
import inspect
import json
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic.alias_generators import to_camel

from agentic import providers

_FILE = Path(__file__).with_name("sdk_members.json")
_CODE = Path(providers.__file__).parent


def _names(kind: Any, field: str = "type") -> set[str]:
    """Return the words of a Literal, or those that tell the members of a union apart."""
    if isinstance(kind, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
        return _names(kind.__value__, field)
    if typing.get_origin(kind) is typing.Literal:
        return {each for each in typing.get_args(kind) if isinstance(each, str)}
    if args := typing.get_args(kind):
        return set().union(*(_names(each, field) for each in args))
    if not isinstance(kind, type):
        return set()
    if hasattr(kind, "model_fields"):
        known = kind.model_fields.get(field)
        return set() if known is None else _names(known.annotation, field)
    # Of a TypedDict; what is not one of these has no types.
    hint = inspect.get_annotations(kind).get(field)
    if isinstance(hint, typing.ForwardRef):
        hint = eval(hint.__forward_arg__, vars(importlib.import_module(kind.__module__)))  # noqa: S307
    return set() if hint is None else _names(hint, field)


def _fields(*kinds: Any) -> set[str]:
    return {name for kind in kinds for name in kind.model_fields}


def _anthropic() -> dict[str, set[str]]:
    types = importlib.import_module("anthropic.types")
    beta = importlib.import_module("anthropic.types.beta")
    deltas = _names(types.RawContentBlockDelta) | _names(beta.BetaRawContentBlockDelta)
    events = _names(types.RawMessageStreamEvent) | _names(beta.BetaRawMessageStreamEvent)
    return {
        "stop words": _names(types.StopReason) | _names(beta.BetaStopReason),
        "blocks": _names(types.ContentBlock)
        | _names(beta.BetaContentBlock)
        | _names(types.ContentBlockParam)
        | _names(beta.BetaContentBlockParam),
        "events": events | deltas,
        "usage": _fields(types.Usage, beta.BetaUsage, types.MessageDeltaUsage),
    }


def _openai_chat() -> dict[str, set[str]]:
    chat = importlib.import_module("openai.types.chat")
    completion = importlib.import_module("openai.types.chat.chat_completion")
    usage = importlib.import_module("openai.types.completion_usage")
    return {
        "stop words": _names(completion.Choice, "finish_reason"),
        "blocks": _names(chat.ChatCompletionContentPartParam)
        | _names(chat.ChatCompletionMessageToolCallUnion),
        "usage": _fields(
            usage.CompletionUsage, usage.CompletionTokensDetails, usage.PromptTokensDetails
        ),
    }


def _openai_responses() -> dict[str, set[str]]:
    types = importlib.import_module("openai.types.responses")
    response = importlib.import_module("openai.types.responses.response")
    usage = importlib.import_module("openai.types.responses.response_usage")
    return {
        "stop words": _names(types.ResponseStatus)
        | _names(response.IncompleteDetails, "reason")
        | _names(types.ResponseError, "code"),
        "blocks": _names(types.ResponseOutputItem) | _names(types.ResponseInputItemParam),
        "events": _names(types.ResponseStreamEvent),
        "usage": _fields(usage.ResponseUsage, usage.InputTokensDetails, usage.OutputTokensDetails),
    }


def _gemini() -> dict[str, set[str]]:
    types = importlib.import_module("google.genai.types")
    return {
        "stop words": {each.value for each in types.FinishReason},
        "blocks": set(map(to_camel, _fields(types.Part))),
        "usage": set(map(to_camel, _fields(types.GenerateContentResponseUsageMetadata))),
    }


def _bedrock() -> dict[str, set[str]]:
    loaders = importlib.import_module("botocore.loaders")
    shapes = loaders.Loader().load_service_model("bedrock-runtime", "service-2")["shapes"]

    def members(*names: str) -> set[str]:
        return {member for name in names for member in shapes[name]["members"]}

    return {
        "stop words": set(shapes["StopReason"]["enum"]),
        "blocks": members("ContentBlock"),
        "events": members("ConverseStreamOutput", "ContentBlockDelta", "ContentBlockStart"),
        "usage": members("TokenUsage"),
    }


def _cohere() -> dict[str, set[str]]:
    types = importlib.import_module("cohere.types")
    streams = importlib.import_module("cohere.v2.types")
    return {
        "stop words": _names(types.ChatFinishReason),
        "blocks": _names(types.AssistantMessageResponseContentItem),
        "events": _names(streams.V2ChatStreamResponse),
        "usage": _fields(types.Usage, types.UsageTokens),
    }


SDKS: dict[str, tuple[str, Callable[[], dict[str, set[str]]]]] = {
    "anthropic": ("anthropic", _anthropic),
    "bedrock": ("botocore", _bedrock),
    "cohere": ("cohere", _cohere),
    "gemini": ("google.genai", _gemini),
    "openai_chat": ("openai", _openai_chat),
    "openai_responses": ("openai", _openai_responses),
}


def members_of(adapter: str) -> dict[str, set[str]]:
    """Return what the SDK of an adapter knows, by kind."""
    module, collect = SDKS[adapter]
    pytest.importorskip(module)
    return collect()


def decisions() -> dict[str, dict[str, dict[str, str]]]:
    """Return our decisions, by adapter, kind and member."""
    table: dict[str, dict[str, dict[str, str]]] = json.loads(_FILE.read_text("utf-8"))
    return table


def undecided(members: dict[str, set[str]], table: dict[str, dict[str, str]]) -> list[str]:
    """Return the members without a decision, each with its kind."""
    return [
        f"{kind}: {member}"
        for kind, names in members.items()
        for member in sorted(names - table.get(kind, {}).keys())
    ]


@pytest.mark.parametrize("adapter", SDKS)
def test_every_member_of_an_sdk_has_a_decision(adapter: str) -> None:
    """The names of those without one are in the failure."""
    members = members_of(adapter)

    assert all(members.values())
    assert undecided(members, decisions()[adapter]) == []


def test_new_member_is_named() -> None:
    """With its kind, whatever else is decided."""
    members = {"stop words": {"end_turn", "tomorrow"}, "events": {"ping"}}

    assert undecided(members, {"stop words": {"end_turn": "mapped"}}) == [
        "stop words: tomorrow",
        "events: ping",
    ]


@pytest.mark.parametrize("adapter", SDKS)
def test_decisions_are_what_the_adapter_does(adapter: str) -> None:
    """What is mapped is in the table of stop words; what is read is named in the code."""
    table = decisions()[adapter]
    module = importlib.import_module(f"agentic.providers.{adapter}")
    words = module.ADAPTER.stop_words.reasons
    paths = [*(_CODE / adapter).glob("*.py"), *(_CODE / "kit").glob("*.py")]
    code = "\n".join(path.read_text("utf-8") for path in paths)
    made = [(m, d) for kind, each in table.items() for m, d in each.items() if kind != "stop words"]

    assert {word for word in table["stop words"] if word not in words} == set()
    assert {decision for _, decision in made} <= {"read", "opaque", "ignored"}
    assert [member for member, decision in made if decision == "read" and member not in code] == []


_KNOWN: dict[str, dict[str, Any]] = {
    "anthropic": {"name": "read", "input": {}},
    "bedrock": {"toolUseId": "x1", "name": "read", "input": {}},
    "openai_responses": {"call_id": "x1", "name": "read", "arguments": "{}", "input": ""},
}
"""What a call has, which is sent with an empty object where it has no arguments."""


def _conversation(adapter: str, block: str) -> list[dict[str, Any]]:
    """Return a conversation with a block of a kind, which has a field that nobody knows."""
    body = {"id": "x1", **_KNOWN.get(adapter, {}), "of_tomorrow": {"deep": [1, None]}}
    if adapter == "gemini":
        asked = {"role": "user", "parts": [{"text": "Hi."}]}
        return [asked, {"role": "model", "parts": [{block: body}]}]
    if adapter == "bedrock":
        asked = {"role": "user", "content": [{"text": "Hi."}]}
        reply = {"role": "assistant", "content": [{block: body}]}
        if block != "toolResult":
            return [asked, reply]
        reply = {"role": "assistant", "content": [{"toolUse": body}]}
        return [asked, reply, {"role": "user", "content": [{block: {**body, "content": []}}]}]
    asked = {"role": "user", "content": "Hi."}
    if adapter == "openai_responses":
        return [asked, {"type": block, **body}]
    return [asked, {"role": "assistant", "content": [{"type": block, **body}]}]


@pytest.mark.parametrize("adapter", SDKS)
def test_no_block_of_an_sdk_is_lost(adapter: str) -> None:
    """Whatever it is, and whatever fields it will have, it goes back as it came."""
    module = importlib.import_module(f"agentic.providers.{adapter}")
    wires = {block: _conversation(adapter, block) for block in members_of(adapter)["blocks"]}

    lost = {block for block, wire in wires.items() if module.encode(module.decode(wire)) != wire}
    assert lost == set()


if __name__ == "__main__":
    for name in SDKS:
        names = undecided(members_of(name), decisions()[name])
        sys.stdout.write("\n  ".join([name, *names]) + "\n")
