"""What a model said when a bridge asked it for a summary, as a decision of a loop."""

from agentic.loop import Decision
from agentic.messages import Message
from agentic.usage import StopReason

_CUT_OFF = {"length", "max_tokens", "max_output_tokens", "MAX_TOKENS", "model_length"}
_WITHHELD = {"content_filter", "refusal", "SAFETY", "safety"}


def decision_of(reply: Message, stop_word: object) -> Decision:
    """Return a reply as a decision; `stop_word` is why it ended, in anybody's words.

    >>> decision_of(Message("assistant", "The par"), "length").stop_reason
    <StopReason.MAX_TOKENS: 'max_tokens'>
    """
    stop = StopReason.TOOL if reply.tool_calls else StopReason.STOP
    if stop_word in _CUT_OFF:
        stop = StopReason.MAX_TOKENS
    elif stop_word in _WITHHELD:
        stop = StopReason.CONTENT_FILTER
    return Decision(
        reply.content,
        reply.tool_calls,
        reply.usage,
        stop,
        reasoning=reply.reasoning,
        stop_word=stop_word if isinstance(stop_word, str) else "",
    )
