"""Putting a summary into a store that others may write to meanwhile."""

import inspect
from collections.abc import Sequence

from agentic._protocols import Rewriter
from agentic.errors import HistoryChanged, HistoryConflict
from agentic.messages import Message, close_open_rounds, reopen_rounds

__all__ = ["begins_with", "counts_replaced", "replace_known"]


async def replace_known(
    store: Rewriter, known: Sequence[Message], messages: Sequence[Message]
) -> list[Message]:
    """Put messages in the place of the history that somebody knows, and return all of it.

    Whatever was appended to the store since, by anybody, follows the messages. Where the history
    does not begin with `known` any more, another summary came first, and nothing is changed.

    A store with a plain `replace(messages)` is loaded, compared and replaced: a message that
    arrives between the last two of these leaves the history, though not the archive.

    >>> import asyncio
    >>> from agentic.history import MemoryStore
    >>> async def summarize() -> list[str]:
    ...     store = MemoryStore()
    ...     await store.append(Message("user", "Why is the build red?"))
    ...     known = await store.load()
    ...     await store.append(Message("user", "And who broke it?"))
    ...     history = await replace_known(store, known, [Message("system", "It is red.")])
    ...     return [message.content for message in history]
    >>> asyncio.run(summarize())
    ['It is red.', 'And who broke it?']

    Raises:
        HistoryChanged: the history does not begin with `known`.
        HistoryError: the store cannot be read or written.
    """
    late = await _load_after(store, known)
    try:
        if counts_replaced(store):
            await store.replace(messages, replaces=len(known))
        else:
            await store.replace(reopen_rounds([*messages, *late]))
    except HistoryConflict:
        await _load_after(store, known)
        raise
    # As load() would return it: without what was made up, calls may be in other rounds.
    return close_open_rounds(reopen_rounds([*messages, *late]))


def begins_with(history: Sequence[Message], known: Sequence[Message]) -> bool:
    """Return whether a history begins with messages that say the same to a model.

    Other fields are not compared: a store may lose some, and NaN equals nothing.

    >>> begins_with([Message("user", "Why?"), Message("user", "How?")], [Message("user", "Why?")])
    True
    """
    return len(history) >= len(known) and all(map(_say_the_same, known, history))


def counts_replaced(store: Rewriter) -> bool:
    """Return whether `store.replace` accepts `replaces`."""
    parameters = inspect.signature(store.replace).parameters.values()
    return any(each.name == "replaces" or each.kind is each.VAR_KEYWORD for each in parameters)


async def _load_after(store: Rewriter, known: Sequence[Message]) -> list[Message]:
    """Return what the history holds after the messages that it should begin with."""
    # The load comes last before a replace: by then another task may have loaded, and `replaces`
    # counts in what was loaded last.
    history = await store.load()
    if not begins_with(history, known):
        raise HistoryChanged
    return history[len(known) :]


def _say_the_same(one: Message, other: Message) -> bool:
    return one is other or _get_said(one) == _get_said(other)


def _get_said(message: Message) -> tuple[object, ...]:
    calls = [(each.id, each.name, each.arguments) for each in message.tool_calls]
    results = [(each.call_id, each.output, each.error) for each in message.tool_results]
    return message.role, message.content, calls, results
