"""A conversation as the text that a model reads: what is searched for what it needs."""

from collections.abc import Iterator, Sequence

from agentic.messages import Message, ToolCall

__all__ = ["argument_texts", "text_of"]


def text_of(messages: Sequence[Message]) -> str:
    r"""Write messages down: contents, calls by name and the texts in their arguments, outputs.

    >>> text_of([Message("user", "Look."), Message("assistant", "At what?")])
    'Look.\nAt what?'
    """
    return "\n".join(part for message in messages for part in _parts(message) if part)


def argument_texts(call: ToolCall) -> list[str]:
    """Give the texts in the arguments of a call, other values as JSON has them.

    >>> argument_texts(ToolCall("c1", "read", '{"path": "a.py", "lines": [1, 9]}'))
    ['a.py', '1', '9']
    """
    try:
        waiting: list[object] = list(call.parse().values())
    except (ValueError, RecursionError):
        return [call.arguments]
    texts: list[str] = []
    while waiting:
        match waiting.pop(0):
            case str(text):
                texts.append(text)
            case dict() as nested:
                waiting = [*nested.values(), *waiting]
            case list() as nested:
                waiting = [*nested, *waiting]
            case other:
                texts.append(str(other))
    return texts


def _parts(message: Message) -> Iterator[str]:
    yield message.content
    for call in message.tool_calls:
        yield call.name
        yield from argument_texts(call)
    for result in message.tool_results:
        yield result.text
