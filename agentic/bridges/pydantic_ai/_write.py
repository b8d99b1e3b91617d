"""From our messages to the framework's: made from nothing, or from the parts of an edited one.

Of an edited message, every part that still says the same stays the framework's own object, with its
ids, signatures and metadata.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import messages as theirs
from pydantic_ai.usage import RequestUsage

from agentic.bridges.pydantic_ai._read import (
    INPUTS_MEASURED,
    INTERNAL,
    METADATA_KEY,
    SUMMED,
    UPLOADED,
    ReadMessage,
    role_of,
)
from agentic.bridges.pydantic_ai._usage import request_usage
from agentic.messages import Media, Message, ToolResult
from agentic.providers.kit import results_with_content
from agentic.providers.kit._messages import encodable

_OUTCOMES = {
    "not_allowed": "denied",
    "interrupted": "interrupted",
    "bad_arguments": "retried",
}
_URLS: dict[str, type[theirs.ImageUrl | theirs.AudioUrl | theirs.VideoUrl]] = {
    "image": theirs.ImageUrl,
    "audio": theirs.AudioUrl,
    "video": theirs.VideoUrl,
}


def to_model_messages(messages: Sequence[Message]) -> list[theirs.ModelMessage]:
    """Return messages as the framework's, one for each, for `message_history`.

    A summary becomes the framework's own compaction part, and its state is in the metadata. What a
    result says of itself (its notice) becomes part of its content. A lone surrogate becomes U+FFFD.

    >>> [request] = to_model_messages([Message("user", "Why?")])
    >>> request.parts[0].content
    'Why?'
    """
    return [write(message) for message in messages]


def write(message: Message) -> theirs.ModelMessage:
    """Return one message as the framework's."""
    message = encodable(message)  # the framework's serializer raises for a lone surrogate
    if message.role == "assistant":
        return theirs.ModelResponse(
            [
                *([theirs.ThinkingPart(message.reasoning)] if message.reasoning else []),
                *([theirs.TextPart(message.content)] if message.content else []),
                *_files(message.media),
                *(
                    theirs.ToolCallPart(call.name, call.arguments, call.id)
                    for call in message.tool_calls
                ),
            ],
            usage=RequestUsage() if message.usage is None else request_usage(message.usage),
            metadata=_sizes(message),
        )
    return theirs.ModelRequest(list(_request_parts(message)))


def _sizes(message: Message) -> dict[str, Any] | None:
    """Return the metadata that says how large the last of several requests was, as far as known."""
    if message.last_request is not None:
        return {INTERNAL: {INPUTS_MEASURED[0]: message.last_request.input}}
    is_sum = message.usage is not None and message.usage.summed
    return {METADATA_KEY: {SUMMED: True}} if is_sum else None


def edit_parts(message: Message, was: ReadMessage, parts: Sequence[Any]) -> list[Any]:
    """Return the parts of a message that was edited; `parts` are those of the original."""
    own = [parts[at] for at in was.parts]
    if message.role == "assistant":
        return list(_edited_reply(message, was.message, own))
    if message.role == "tool":
        return list(_edited_results(message, was.message, own))
    beside = [part for part in own if role_of(part) is None]
    if message.role == "user" and message.media == was.message.media:
        return [_edited_words(message, own), *beside]
    return [*_request_parts(message), *beside]


def _request_parts(message: Message) -> Iterator[Any]:
    if message.summary is not None:
        state = {METADATA_KEY: message.summary.to_dict()}
        yield theirs.CompactionPart(message.content, metadata=state)
    elif message.role == "system":
        yield theirs.SystemPromptPart(message.content)
    elif message.role == "user":
        yield theirs.UserPromptPart(_with_media(message.content, message.media))
    else:
        last = len(message.tool_results) - 1
        for n, result in enumerate(results_with_content(message)):
            media = (*result.media, *(message.media if n == last else ()))
            yield _new_result(result, _with_media(_text_of(result), media))


def _edited_reply(message: Message, original: Message, parts: list[Any]) -> Iterator[Any]:
    """Yield the parts of an edited reply: what its provider signed only holds as it was."""
    # A signature of thinking covers its text: edited thinking is left out, not sent with it.
    remaining = [*message.tool_calls]
    says_same = message.content == original.content
    is_stale = message.origin is not None and message.origin.without_reasoning
    keeps = {
        theirs.ThinkingPart: message.reasoning == original.reasoning and not is_stale,
        theirs.FilePart: message.media == original.media,
    }
    if message.content and not says_same:
        yield theirs.TextPart(message.content)
    calls = iter(original.tool_calls)
    for part in parts:
        if not isinstance(part, theirs.ToolCallPart):
            # Any other part, such as a provider's own call, is in the text of the reply.
            if keeps.get(type(part), says_same):
                yield part
            continue
        call = next(calls)
        if call in remaining:
            remaining.remove(call)
            yield part
    yield from (theirs.ToolCallPart(call.name, call.arguments, call.id) for call in remaining)


def _edited_results(message: Message, original: Message, parts: list[Any]) -> Iterator[Any]:
    """Yield the results that are left; one that says the same is the framework's own part."""
    rest = list(message.tool_results)
    results = iter(original.tool_results)
    for part in parts:
        if role_of(part) != "tool":
            yield part
            continue
        before = next(results)
        after = next((each for each in rest if each.call_id == before.call_id), None)
        if after is None:
            continue
        rest.remove(after)
        if after == before:
            yield part
            continue
        # The files as they are: an uploaded one has more than a Media can say.
        keeps_files = after.media and after.media == before.media
        content = _with_media(_text_of(after), () if keeps_files else after.media)
        new_part = _new_result(after, [content, *part.files] if keeps_files else content)
        yield replace(new_part, metadata=getattr(part, "metadata", None), timestamp=part.timestamp)
    yield from _request_parts(message.replace(tool_results=rest, media=()))


def _edited_words(message: Message, parts: list[Any]) -> theirs.UserPromptPart:
    """Return the user's words in one part, with the files and cache points as they are."""
    contents = [part.content for part in parts if isinstance(part, theirs.UserPromptPart)]
    items = [item for content in contents if not isinstance(content, str) for item in content]
    rest = [item for item in items if not isinstance(item, str | theirs.TextContent)]
    return theirs.UserPromptPart([message.content, *rest] if rest else message.content)


def _new_result(result: ToolResult, content: Any) -> theirs.ToolReturnPart:
    kind = None if result.error is None else result.error.kind
    outcome: Any = "success" if kind is None else _OUTCOMES.get(kind, "failed")
    return theirs.ToolReturnPart(result.name, content, result.call_id, outcome=outcome)


def _text_of(result: ToolResult) -> str:
    failure = result.error.message if result.error else ""
    return "\n".join(filter(None, (result.output, failure, result.notice)))


def _with_media(text: str, media: Sequence[Media]) -> Any:
    if not media:
        return text
    return [*([text] if text else []), *map(_content_of, media)]


def _content_of(media: Media) -> theirs.MultiModalContent:
    upload = media.extra.get(UPLOADED)
    if upload:
        return theirs.UploadedFile(**upload, media_type=media.media_type)
    if media.url:
        kind = _URLS.get(media.media_type.partition("/")[0], theirs.DocumentUrl)
        return kind(media.url, media_type=media.media_type)
    return theirs.BinaryContent(media.data, media_type=media.media_type)


def _files(media: Sequence[Media]) -> Iterator[theirs.FilePart | theirs.TextPart]:
    """Yield the files of a reply, where only bytes have a place; a location becomes text."""
    for each in media:
        yield (
            theirs.TextPart(each.url)
            if each.url
            else theirs.FilePart(theirs.BinaryContent(each.data, media_type=each.media_type))
        )
