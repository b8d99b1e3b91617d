"""A reply, whole or streamed line by line: its message, its token usage and why it ended.

`prompt_eval_count` includes the tokens read from the cache, which newer servers report beside it
(https://github.com/ollama/ollama/pull/16428, https://github.com/ollama/ollama/pull/17943), and
`eval_count` includes thinking. A server that cut the prompt counts what was left of it.
"""

import json
from typing import Any

import attrs

from agentic.errors import ProviderError
from agentic.loop import Decision
from agentic.providers._model import ModelStream, reported_error
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.kit._streamed_texts import add_fields, join_pieces
from agentic.providers.ollama._messages import NAME, decode_reply
from agentic.usage import StopReason, StopWords, Usage

STOP_WORDS = StopWords(
    NAME,
    {
        # https://github.com/ollama/ollama/blob/v0.33.2/llm/server.go, DoneReason (2026-11).
        "stop": StopReason.STOP,
        "length": StopReason.MAX_TOKENS,
        # A request without messages only loads or unloads the model:
        # https://github.com/ollama/ollama/blob/main/docs/api.md
        "load": StopReason.STOP,
        "unload": StopReason.STOP,
    },
)
"""A server that ends a reply because its own connection was lost sends no word at all."""

_COUNTS = ("prompt_eval_count", "prompt_eval_cached_count", "eval_count")


def decode_response(response: Any, /) -> Decision:
    """Read a reply. It has no id, and its message is the payload to send back.

    >>> decode_response({"message": {"content": "Hello."}, "done_reason": "stop"}).reply
    'Hello.'
    """
    data = plain(response)
    # The time tells two equal replies apart: calls with used ids would be renamed by the loop, and
    # their payload dropped.
    reply = decode_reply(at(data, "message"), text_at(data, "created_at"))
    says = reply.content or reply.reasoning or reply.tool_calls or reply.media
    return Decision(
        reply.content,
        reply.tool_calls,
        usage(data) if any(at(data, name) is not None for name in _COUNTS) else None,
        stop_reason(data),
        reply.native if says else None,
        stop_word=text_at(data, "done_reason"),
        reasoning=reply.reasoning,
        media=reply.media,
        provider=NAME,
        response_model=text_at(data, "model"),
    )


def stop_reason(response: Any, /) -> StopReason:
    """Return why a reply ended.

    >>> stop_reason({"message": {"content": "It is"}, "done_reason": "length"})
    <StopReason.MAX_TOKENS: 'max_tokens'>
    """
    data = plain(response)
    if at(data, "error"):
        return StopReason.ERROR
    calls = bool(items_at(data, "message", "tool_calls"))
    return STOP_WORDS.reason(text_at(data, "done_reason") or None, has_tool_calls=calls)


def usage(response: Any, /) -> Usage:
    """Return a reply's usage; counts that the server does not report are 0.

    >>> counts = {"prompt_eval_count": 21, "prompt_eval_cached_count": 16, "eval_count": 9}
    >>> usage(counts)
    Usage(input=21, output=9, total=0, cache_read=16, cache_write=0, reasoning=0)
    """
    data = plain(response)
    result = Usage(
        input=at(data, "prompt_eval_count"),
        output=at(data, "eval_count"),
        cache_read=at(data, "prompt_eval_cached_count"),
    )
    # Before 0.30.1, the count left out what was cached.
    return attrs.evolve(result, input=max(result.input, result.cache_read))


def failure_in(body: Any, status: int | None = None, model: str = "") -> ProviderError | None:
    """Return the error that a server reports, in a response or in a stream; None if there is none.

    >>> print(failure_in({"error": "model 'nope' not found"}, 404))
    ollama did not serve the request (HTTP 404): model 'nope' not found
    """
    error = at(body, "error")
    if not error:
        return None
    return reported_error(body, NAME, model, status, str(error))


@attrs.define
class StreamedResponse(ModelStream):
    """Assembles the lines of a stream.

    Each is a response with a piece of the message; the last one is `done`. Text and thinking come
    in pieces, a call comes whole (https://ollama.com/blog/streaming-tool, 2026-11).
    """

    _message: dict[str, Any] = attrs.field(factory=dict, init=False)
    _logprobs: list[Any] = attrs.field(factory=list, init=False)
    _last: dict[str, Any] | None = attrs.field(default=None, init=False)

    def _process(self, event: Any) -> str:
        """Process a line, as JSON data or as its text; return the text it adds."""
        data = plain(_parsed(event))
        failure = failure_in(data, model=self.model or text_at(data, "model"))
        if failure is not None:
            raise failure
        if not isinstance(data, dict):
            return ""
        message = data.get("message")
        if isinstance(message, dict):
            # An empty piece counts too: the field was there, and goes back with the message.
            add_fields(self._message, {k: v for k, v in message.items() if v is not None})
        self._logprobs += items_at(data, "logprobs")
        # The pieces before it say `false`, and only the last one has the counts and the word.
        if data.get("done") is True:
            self._last = data
        return text_at(message, "content")

    def _built(self) -> dict[str, Any] | None:
        if self._last is None:
            return None
        message = join_pieces(self._message)
        more = {"logprobs": self._logprobs} if self._logprobs else {}
        return {**self._last, "message": message, **more}


def _parsed(event: Any) -> Any:
    if not isinstance(event, str | bytes):
        return event
    try:
        return json.loads(event)
    except (ValueError, RecursionError):
        return None
