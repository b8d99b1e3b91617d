"""From the framework's messages to ours: which message each part of a request or response becomes.

A request may hold several messages: system prompts, the results of calls, the user's words, our
summary. A response is one message. Parts that the framework keeps for itself and never sends as
they are (what instructions and tools a request had) go with a message beside them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
from pydantic_ai import messages as theirs

from agentic.bridges.pydantic_ai._usage import usage
from agentic.errors import ConfigError
from agentic.messages import ContextSummary, Media, Message, ToolCall, ToolError, ToolResult
from agentic.messages._landmarks import read_summary
from agentic.messages._message import Role
from agentic.providers.kit._messages import decoded_native
from agentic.usage import Usage

_NAME = "pydantic_ai"
METADATA_KEY = "agentic"
"""Where our data is in the metadata of a part or a message. The framework never sends metadata."""
UPLOADED = "uploaded_file"
"""In `Media.extra`: the file's id and its provider."""

_KINDS = {"denied": "not_allowed", "interrupted": "interrupted", "retried": "bad_arguments"}
"""The kind of a `ToolError`, by the outcome of a result. Any other outcome but success is a tool
that raised."""
# With the last trace of its loading, a capability's instructions and tools would be gone. The first
# of these parts came with 2.63.
_LOADS = tuple(
    getattr(theirs, name)
    for name in ("CapabilityLoadDeltaPart", "LoadCapabilityReturnPart")
    if hasattr(theirs, name)
)
_URL_TYPES = {"image": "image/*", "audio": "audio/*", "video": "video/*"}
SUMMED = "summed"
"""In the metadata of a message: whether its usage adds up several requests."""
INTERNAL = "__pydantic_ai__"
"""Where the framework's own data is in the metadata of a message."""
INPUTS_MEASURED = ("context_input_tokens", "initial_input_tokens")
"""Its keys of the size of a request; the second one was written by 2.56 alone."""


@attrs.frozen(eq=False)
class ReadMessage:
    """A message, and the positions of its parts in the framework's message."""

    message: Message
    parts: tuple[int, ...]


def to_messages(history: Sequence[theirs.ModelMessage]) -> list[Message]:
    """Return what the framework's messages say, as messages of this package.

    >>> from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart
    >>> history = [ModelRequest([SystemPromptPart("Be brief."), UserPromptPart("Why?")])]
    >>> [(message.role, message.content) for message in to_messages(history)]
    [('system', 'Be brief.'), ('user', 'Why?')]

    Raises:
        ConfigError: an item is no message of the framework.
    """
    return [reading.message for message in history for reading in read(message)]


def read(message: theirs.ModelMessage, *, of_view: bool = False) -> list[ReadMessage]:
    """Return the messages that a request or a response holds.

    For a View, a reply says whether it has reasoning, which may be nothing but a signature.
    """
    if isinstance(message, theirs.ModelResponse):
        reply = _read_response(message, of_view=of_view)
        return [ReadMessage(reply, tuple(range(len(message.parts))))]
    if not isinstance(message, theirs.ModelRequest):
        remedy = "pass result.all_messages(), or read JSON by ModelMessagesTypeAdapter"
        raise ConfigError("messages", message, "ModelRequest and ModelResponse objects", remedy)
    return [
        ReadMessage(_read_group(role, [message.parts[at] for at in places]), places)
        for role, places in _groups(message.parts)
    ]


def ours(metadata: Any) -> Any:
    """Return our data in the metadata of a part or a message; None if there is none."""
    return metadata.get(METADATA_KEY) if isinstance(metadata, Mapping) else None


def _groups(parts: Sequence[Any]) -> list[tuple[Role, tuple[int, ...]]]:
    """Return the role of each message in a request, and the positions of its parts.

    The results come first, as providers expect them.
    """
    results: list[int] = []
    beside: list[int] = []
    others: list[tuple[Role, list[int]]] = []
    for at, part in enumerate(parts):
        role = role_of(part)
        if role == "tool":
            results.append(at)
        elif role is None:
            beside.append(at)
        elif role == "user" and others and others[-1][0] == "user":
            others[-1][1].append(at)
        else:
            others.append((role, [at]))
    groups: list[tuple[Role, list[int]]] = [("tool", results)] if results else []
    # An agent with nothing but instructions sends a request without parts.
    groups = groups + others or [("system", [])]
    groups[0][1].extend(beside)
    return [(role, tuple(sorted(places))) for role, places in groups]


def role_of(part: Any) -> Role | None:
    """Return the role of the message that a part of a request becomes; None if it becomes none."""
    if isinstance(part, theirs.ToolReturnPart):
        return "tool"
    if isinstance(part, theirs.UserPromptPart | theirs.SpeechPart):
        return "user"
    if isinstance(part, theirs.SystemPromptPart):
        # One for a single request is only sent with that request.
        return "system" if part.scope == "conversation" else None
    # The framework's feedback on a reply is not a request of the user's: as the latest request it
    # would take the place of the task.
    if isinstance(part, theirs.CompactionPart | theirs.RetryFeedbackPart):
        return "system"
    if part.part_kind == "retry-prompt":  # deprecated, and still in memory in old programs
        return "tool" if part.tool_name else "system"
    return None


def _read_group(role: Role, parts: list[Any]) -> Message:
    is_pinned = any(isinstance(part, _LOADS) for part in parts)
    if role == "tool":
        results = [_read_result(part) for part in parts if role_of(part) == "tool"]
        return Message("tool", tool_results=results, pinned=is_pinned)
    if role == "user":
        items = [item for part in parts for item in _items_of(part)]
        media = [_read_media(item) for item in items if not isinstance(item, _TEXTS)]
        return Message("user", _join(map(_text_of, items)), media=media, pinned=is_pinned)
    first = next((part for part in parts if role_of(part)), None)
    if isinstance(first, theirs.CompactionPart):
        return Message("system", first.content or "", summary=_read_summary(first))
    text = "" if first is None else _system_text(first)
    return Message("system", text, pinned=is_pinned)


_TEXTS = (str, theirs.TextContent, theirs.CachePoint)


def _items_of(part: Any) -> Sequence[theirs.UserContent]:
    if isinstance(part, theirs.SpeechPart):
        return [each for each in (part.transcript, part.audio) if each]
    if not isinstance(part, theirs.UserPromptPart):
        return ()
    return [part.content] if isinstance(part.content, str) else part.content


def _text_of(item: theirs.UserContent) -> str:
    if isinstance(item, str):
        return item
    return item.content if isinstance(item, theirs.TextContent) else ""


def _system_text(part: Any) -> str:
    text: str = part.content if isinstance(part, theirs.SystemPromptPart) else part.model_response()
    return text


def _read_summary(part: theirs.CompactionPart) -> ContextSummary:
    """Return the state of a summary; what another capability wrote is a summary without counts."""
    data, text = ours(part.metadata), part.content or ""
    if isinstance(data, dict):
        try:
            return ContextSummary.from_dict(data)
        except ConfigError:
            pass  # of a newer version, or damaged: the text is still a summary
    return read_summary(text) or ContextSummary(text, 0)


def _read_result(part: Any) -> ToolResult:
    if not isinstance(part, theirs.ToolReturnPart):
        error = ToolError(part.model_response(), "bad_arguments")
        return ToolResult(part.tool_call_id, part.tool_name or "", error=error)
    # The outcome says that it is an error, so the text need not.
    text = part.model_response_str(wrap_if_error=False)
    media = [_read_media(each) for each in part.files]
    if part.outcome == "success":
        return ToolResult(part.tool_call_id, part.tool_name, text, media=media)
    error = ToolError(text, _KINDS.get(part.outcome, "raised"))
    return ToolResult(part.tool_call_id, part.tool_name, error=error, media=media)


def _read_response(response: theirs.ModelResponse, *, of_view: bool) -> Message:
    thoughts = [part.content for part in response.parts if isinstance(part, theirs.ThinkingPart)]
    usage, last_request = _read_usage(response)
    return Message(
        "assistant",
        _join(_reply_texts(response.parts)),
        reasoning=_join(iter(thoughts)),
        tool_calls=[
            ToolCall(part.tool_call_id, part.tool_name, _arguments(part))
            for part in response.parts
            if isinstance(part, theirs.ToolCallPart)
        ],
        media=list(_reply_media(response.parts)),
        # The provider's own summary may be encrypted, and stands for all before it.
        pinned=any(isinstance(part, theirs.CompactionPart) for part in response.parts),
        usage=usage,
        last_request=last_request,
        native=decoded_native(_NAME, None, holds_reasoning=True) if of_view and thoughts else None,
    )


def _reply_texts(parts: Sequence[Any]) -> Iterator[str]:
    """Yield what a response says, with the calls that its provider ran itself."""
    for part in parts:
        if isinstance(part, theirs.TextPart | theirs.CompactionPart | theirs.SpeechPart):
            yield part.content or ""
        elif isinstance(part, theirs.NativeToolCallPart):
            yield f"[{part.tool_name}: {_arguments(part)}]"
        elif isinstance(part, theirs.NativeToolReturnPart):
            yield f"[{part.tool_name}] {part.model_response_str(wrap_if_error=False)}"


def _reply_media(parts: Sequence[Any]) -> Iterator[Media]:
    for part in parts:
        if isinstance(part, theirs.FilePart):
            yield _read_media(part.content)
        elif isinstance(part, theirs.SpeechPart) and part.audio is not None:
            yield _read_media(part.audio)
        elif isinstance(part, theirs.NativeToolReturnPart):
            yield from map(_read_media, part.files)


def _arguments(part: theirs.ToolCallPart | theirs.NativeToolCallPart) -> str:
    if isinstance(part.args, str):
        return part.args
    return part.args_as_json_str() if part.args else ""


def _read_usage(response: theirs.ModelResponse) -> tuple[Usage | None, Usage | None]:
    """Return what a response used, and the part of its last request if it took several."""
    if not response.usage.has_values():
        return None, None
    counts = usage(response.usage)
    # Where the usage is the sum of several requests, the framework notes how large the context was,
    # as far as it knows (pydantic_ai/_context_size.py, 2.68.0). Zero is that of a compaction.
    internal = (response.metadata or {}).get(INTERNAL)
    notes = internal if isinstance(internal, Mapping) else {}
    input_tokens = next(
        (notes[key] for key in INPUTS_MEASURED if type(notes.get(key)) is int), None
    )
    if input_tokens == counts.input:
        return counts, None
    if input_tokens is not None:
        last = (
            Usage(input_tokens, counts.output, reasoning=counts.reasoning) if input_tokens else None
        )
        return attrs.evolve(counts, summed=True), last
    ours = (response.metadata or {}).get(METADATA_KEY)
    is_sum = isinstance(ours, Mapping) and ours.get(SUMMED) is True
    is_hosted = any(isinstance(part, theirs.NativeToolCallPart) for part in response.parts)
    return attrs.evolve(counts, summed=is_sum or is_hosted), None


def _read_media(content: theirs.MultiModalContent) -> Media:
    if isinstance(content, theirs.BinaryContent):
        return Media(content.media_type, content.data)
    if isinstance(content, theirs.UploadedFile):
        data = {"file_id": content.file_id, "provider_name": content.provider_name}
        return Media(_media_type(content), extra={UPLOADED: data})
    return Media(_media_type(content), url=content.url)


def _media_type(
    content: theirs.ImageUrl
    | theirs.AudioUrl
    | theirs.DocumentUrl
    | theirs.VideoUrl
    | theirs.UploadedFile,
) -> str:
    """Return the media type; the framework raises if it can tell it from neither name nor type."""
    try:
        return content.media_type
    except ValueError:
        return _URL_TYPES.get(content.kind.partition("-")[0], "application/octet-stream")


def _join(texts: Iterator[str]) -> str:
    return "\n".join(filter(None, texts))
