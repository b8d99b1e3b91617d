"""What a wire has no field for, written as text, so that nothing leaves a request silently."""

import attrs

from agentic.messages import Media, Message, ToolResult

__all__ = ["media_note", "results_with_content", "text_with_media"]


def media_note(media: Media) -> str:
    """Name media that cannot be sent.

    >>> media_note(Media("image/png", url="https://example.com/a.png"))
    '[image/png: https://example.com/a.png]'
    """
    return f"[{media.media_type}{': ' + media.url if media.url else ''}]"


def text_with_media(message: Message) -> str:
    """Return a message's text, followed by the names of its media.

    >>> text_with_media(Message("assistant", media=[Media("image/png")]))
    '[image/png]'
    """
    return "\n".join([message.content] * bool(message.content) + [*map(media_note, message.media)])


def results_with_content(message: Message) -> tuple[ToolResult, ...]:
    r"""Return the results of a tool message, the last with what the message says besides.

    >>> spoken = Message("tool", "Mind the gap.", tool_results=[ToolResult("c1", output="train")])
    >>> results_with_content(spoken)[0].text
    'train\nMind the gap.'
    """
    results = message.tool_results
    if not (results and message.content):
        return results
    notice = "\n".join(filter(None, (results[-1].notice, message.content)))
    return (*results[:-1], attrs.evolve(results[-1], notice=notice))
