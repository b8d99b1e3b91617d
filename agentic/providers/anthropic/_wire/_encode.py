"""From our messages and tools to the wire's.

`encode` keeps what came from the wire as it was. `encode_request` also makes the conversation one
that the API accepts, whatever was cut or edited.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agentic.messages import Message, close_open_rounds, leading_system_count
from agentic.providers._as_text import text_with_media
from agentic.providers._native import native_payload, payload_facts
from agentic.providers._plain import at
from agentic.providers._sendable import sendable
from agentic.providers.anthropic._wire._blocks import text_block
from agentic.providers.anthropic._wire._calls import TOOL_NAMES
from agentic.providers.anthropic._wire._decode import read_payload, system_part, wire_message
from agentic.providers.anthropic._wire._name import NAME
from agentic.providers.anthropic._wire._place import settle
from agentic.providers.anthropic._wire._rebuild import rebuild
from agentic.providers.anthropic._wire._turns import Turn, join, name_calls
from agentic.tools import ToolDefinition

__all__ = ["encode", "encode_request", "encode_tools"]

_CALLERS = ("direct", "code_execution_")
"""Who may call a tool, to the API; any other word is the host's own affair.
https://platform.claude.com/docs/en/agents-and-tools/tool-use/programmatic-tool-calling (2026-11)"""


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    r"""Write a request's `messages`; a history that was cut is not repaired, see `encode_request`.

    System messages are the user's words here, in tags: only a whole request has a field for them.

    >>> encode([Message("system", "Be brief.")])
    [{'role': 'user', 'content': '<system>\nBe brief.\n</system>'}]
    """
    turns = join(_turns(messages))
    if not all(turn.native for turn in turns):
        turns = name_calls(turns)  # which leaves alone what came from the wire
    return [_wire(turn) for turn in turns]


def encode_tools(tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
    """Write the tools that the model may call.

    >>> encode_tools([ToolDefinition("now", "Tell the time.")])[0]["name"]
    'now'
    """
    return [_tool(tool) for tool in tools]


def encode_request(
    messages: Sequence[Message], *, system_prompt: str = "", tools: Sequence[ToolDefinition] = ()
) -> dict[str, Any]:
    """Write all that a request holds of a conversation, so that the provider accepts it.

    Open rounds are closed, orphaned results left out. A conversation that begins or ends with a
    reply that was written anew gets a word of the user's there.

    >>> encode_request([Message("user", "Why?")], system_prompt="Be brief.")
    {'system': 'Be brief.', 'messages': [{'role': 'user', 'content': 'Why?'}]}
    """
    closed = close_open_rounds(list(messages))
    leading = leading_system_count(closed)
    request: dict[str, Any] = {}
    system = _system(system_prompt, closed[:leading])
    if system is not None:
        request["system"] = sendable(system)
    turns = name_calls(join(settle(_turns(closed, leading))), rename_reused=True)
    request["messages"] = sendable([_wire(turn) for turn in turns])
    if tools:
        request["tools"] = encode_tools(tools)
    return request


def _turns(messages: Sequence[Message], leading: int = 0) -> Iterator[Turn]:
    """Write messages; of those that lead, only what came from the wire's `messages`."""
    for position, message in enumerate(messages):
        turn = payload_facts(message, NAME, _turn)
        if turn is None:
            turn = _turn(native_payload(message, NAME, read_payload, TOOL_NAMES.wire))
        if turn is not None:
            yield turn
        elif position >= leading:
            yield from _written_anew(message)


def _turn(payload: Any) -> Turn | None:
    """Read the message of the wire in a payload; None if it has none."""
    wire = wire_message(payload)
    if wire is None:
        return None
    between = at(payload, "between")
    return Turn(
        wire,
        native=True,
        places=tuple(at(payload, "at") or ()),
        between=(at(between, 0), at(between, 1)) if between else None,
    )


def _written_anew(message: Message) -> Iterator[Turn]:
    blocks = rebuild(message)
    if blocks:
        role = "assistant" if message.role == "assistant" else "user"
        yield Turn({"role": role, "content": blocks})


def _wire(turn: Turn) -> Any:
    """Give the wire's message; one text that was written anew needs no list."""
    if not turn.native and len(turn.blocks) == 1 and list(turn.blocks[0]) == ["type", "text"]:
        return {**turn.message, "content": turn.blocks[0]["text"]}
    return turn.message


def _system(system_prompt: str, leading: Iterable[Message]) -> Any:
    """Write the request's `system`: a text, or blocks if there are several; None if nothing."""
    parts: list[Any] = [system_prompt] if system_prompt.strip() else []
    for message in leading:
        payload = native_payload(message, NAME, read_payload, TOOL_NAMES.wire)
        part = system_part(payload)
        if part is not None:
            parts.append(part)
        elif wire_message(payload) is None and (text := text_with_media(message)).strip():
            parts.append(text)
    if len(parts) < 2:  # noqa: PLR2004  one part stays what it is
        return parts[0] if parts else None
    return [block for part in parts for block in _system_blocks(part)]


def _system_blocks(part: str | list[Any]) -> list[Any]:
    if isinstance(part, list):
        return part
    return [text_block(part)] if part.strip() else []


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    written = {
        "name": TOOL_NAMES.wire(tool.name),
        **described,
        "input_schema": dict(tool.parameters),
    }
    callers = [caller for caller in tool.allowed_callers if caller.startswith(_CALLERS)]
    if any(caller.startswith("code_execution_") for caller in callers):
        written["allowed_callers"] = callers
    wire: dict[str, Any] = sendable(written)
    return wire
