"""How the framework keeps its messages, for a mirror of its list."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from agentic.bridges.pydantic_ai._read import METADATA_KEY, ReadMessage, read, role_of
from agentic.bridges.pydantic_ai._write import edit_parts, write
from agentic.messages import Message
from agentic.providers.kit._messages import Decoded


class PydanticForm:
    """One request may hold several messages: prompts, results, the user's words, a summary.

    Requests that answer the calls of one reply, such as those before and after an approval, are
    read together: the framework merges them when the next run begins.
    """

    def check(self, _: int, item: ModelMessage, /) -> None:
        """Raise for what is no message of the framework."""
        if not isinstance(item, ModelRequest | ModelResponse):
            read(item)

    def read_group(self, items: Sequence[ModelMessage], start: int, /) -> Iterable[Decoded]:
        """Return the messages that the items from a position on hold."""
        while start < len(items):
            end = start + 1
            is_answer = _is_answer(items[start])
            while is_answer and end < len(items) and _is_answer(items[end]):
                end += 1
            readings = read(_merged(items[start:end]), of_view=True)
            messages = tuple(reading.message for reading in readings)
            yield Decoded(end - start, messages, is_open=is_answer and end == len(items))
            start = end

    def write(self, message: Message, /) -> Sequence[ModelMessage]:
        """Return a new request or response."""
        return [write(message)]

    def edit(
        self,
        items: Sequence[ModelMessage],
        before: Sequence[Message],
        after: Sequence[Message | None],
        /,
    ) -> Sequence[ModelMessage]:
        """Return a copy in which every part that says what it said is the framework's own."""
        item, parts = _merged(items), list[Any]()
        for reading, was, now in zip(read(item), before, after, strict=True):
            if now is was:
                parts += [item.parts[at] for at in reading.parts]
            elif now is not None:
                parts += edit_parts(now, ReadMessage(was, reading.parts), item.parts)
        return [replace(item, parts=parts)]  # type: ignore[arg-type]  # of the same kind

    def facts(self, item: ModelMessage, /) -> Any:
        """Return what is in each part, and what says how large a reply was."""
        if not hasattr(item, "parts"):
            return (item,)  # refused when it is read
        # Our own metadata is noted in a request after it was read.
        metadata = item.metadata
        if metadata and METADATA_KEY in metadata:
            metadata = {key: each for key, each in metadata.items() if key != METADATA_KEY}
        fields = [(type(part), vars(part)) for part in item.parts]
        # The fields: a usage compares itself in Python, ten times as slowly.
        usage = vars(item.usage) if isinstance(item, ModelResponse) else None
        return type(item), fields, usage, metadata or None


def _is_answer(item: ModelMessage) -> bool:
    """Return whether an item is a request with results of calls."""
    return isinstance(item, ModelRequest) and any(role_of(part) == "tool" for part in item.parts)


def _merged(items: Sequence[ModelMessage]) -> ModelMessage:
    """Return one item with the parts of several."""
    *earlier, last = items
    if not earlier:
        return last
    parts = [part for item in items for part in item.parts]
    return replace(last, parts=parts)  # type: ignore[arg-type]  # all are requests
