"""Assistant messages whose calls are answered together, for wires that want one message a round."""

from collections.abc import Callable, Sequence

from agentic.messages import Message, split_rounds

__all__ = ["join_runs", "written_as_one"]


def join_runs(
    messages: list[Message], join: Callable[[list[Message]], Sequence[Message]]
) -> list[Message]:
    """Return a closed conversation in which `join` took the assistant messages of each round.

    It is asked only about rounds with several. Without any, the same list comes back.
    """
    if not any(map(_follows_a_caller, messages, messages[1:])):
        return messages
    joined: list[Message] = []
    for found in split_rounds(messages):
        replies = [message for message in found.messages if message.role == "assistant"]
        joined += join(replies) if len(replies) > 1 else replies
        joined += found.messages[len(replies) :]
    return joined


def _follows_a_caller(caller: Message, message: Message) -> bool:
    return bool(caller.tool_calls) and message.role == "assistant"


def written_as_one(replies: Sequence[Message]) -> Message:
    r"""Return one message that says and calls what several do. Thinking is left out.

    >>> written_as_one([Message("assistant", "I look."), Message("assistant", "Here.")]).content
    'I look.\n\nHere.'
    """
    return Message(
        "assistant",
        "\n\n".join(reply.content for reply in replies if reply.content),
        tool_calls=[call for reply in replies for call in reply.tool_calls],
        media=[part for reply in replies for part in reply.media],
    )
