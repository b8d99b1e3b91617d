"""A streamed reply, put together from its events."""

from typing import Any

import attrs

from agentic.errors import IncompleteReply
from agentic.providers._plain import at, items_at, plain, text_at
from agentic.providers.openai_chat._wire._failure import failure_in
from agentic.providers.openai_chat._wire._fragments import Calls, Chunks, add_detail, merge, whole
from agentic.providers.openai_chat._wire._usage import find_usage
from agentic.providers.openai_chat._wire._words import NO_WORD

__all__ = ["StreamedResponse"]

_TEXTS = ("content", "refusal", "reasoning", "reasoning_content")
_PADDING = {"obfuscation", "p"}
"""What OpenAI and Mistral add to hide the length of an event."""


@attrs.define(eq=False)
class StreamedResponse:
    """Puts the events of one streamed reply together.

    >>> reply = StreamedResponse()
    >>> reply.feed({"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]})
    'Hi.'
    >>> reply.response()["choices"][0]["message"]
    {'role': 'assistant', 'content': 'Hi.'}
    """

    _body: dict[str, Any] = attrs.field(init=False, factory=dict)
    _choices: "dict[int, _Choice]" = attrs.field(init=False, factory=dict)
    _said: list[str] = attrs.field(init=False, factory=list)
    _ended: bool = attrs.field(init=False, default=False)

    @property
    def text(self) -> str:
        """The reply's text so far."""
        return "".join(self._said)

    def feed(self, event: Any) -> str:
        """Take the next event; give the text that it adds to the reply, empty for most kinds.

        Raises:
            ContextOverflow: the event says that the request does not fit the model's window.
            RequestFailed: the event is any other error.
        """
        chunk = plain(event)
        failure = failure_in(chunk, text_at(chunk, "model") or text_at(self._body, "model"))
        if failure is not None:
            raise failure
        self._ended |= self._ends(chunk)
        if not isinstance(chunk, dict):
            return ""
        self._keep(chunk)
        said = "".join(self._take(choice) for choice in items_at(chunk, "choices"))
        self._said.append(said)
        return said

    def response(self) -> dict[str, Any]:
        """Give the response in the shape of one that was not streamed.

        Raises:
            IncompleteReply: the stream broke off.
        """
        finished = [choice.fields.get("finish_reason") for choice in self._choices.values()]
        if not self._ended and not (finished and all(finished)):
            raise IncompleteReply(self.text)
        choices = [self._choices[index].whole(index) for index in sorted(self._choices)]
        body = {**self._body, "choices": choices}
        if text_at(body, "object") == "chat.completion.chunk":
            body["object"] = "chat.completion"
        used = find_usage(body)
        return {**body, "usage": used} if used else body

    def _ends(self, chunk: Any) -> bool:
        """Find the marks that end a stream without a finish_reason, as Snowflake's have none.

        `[DONE]` is never shown by the SDK; the event with the usage and no choice comes last:
        https://platform.openai.com/docs/api-reference/chat-streaming (2026-11).
        """
        if isinstance(chunk, str):
            return chunk.strip().removeprefix("data:").strip() == "[DONE]"
        counted = isinstance(at(chunk, "usage"), dict) and at(chunk, "choices") == []
        return counted and bool(self._choices)

    def _keep(self, chunk: dict[str, Any]) -> None:
        """Keep what stands beside the choices; Azure's first event has empty ids."""
        for key, value in chunk.items():
            if key in _PADDING or key == "choices":
                continue
            if isinstance(value, dict) and isinstance(self._body.get(key), dict):
                self._body[key] = {**self._body[key], **value}
            elif value or key not in self._body:
                self._body[key] = value

    def _take(self, choice: Any) -> str:
        if not isinstance(choice, dict):
            return ""
        index = choice.get("index")
        index = index if isinstance(index, int) else 0
        said = self._choices.setdefault(index, _Choice()).take(choice)
        return "" if index else said


@attrs.define
class _Choice:
    """One choice, and its message as far as it has come."""

    fields: dict[str, Any] = attrs.field(factory=dict)
    message: dict[str, Any] = attrs.field(factory=dict)
    calls: Calls = attrs.field(factory=Calls)

    def take(self, choice: dict[str, Any]) -> str:
        # Writer and Perplexity send the message so far beside the delta.
        delta = choice["delta"] if "delta" in choice else choice.get("message")
        said = self._take_delta(delta) if isinstance(delta, dict) else ""
        rest = {key: value for key, value in choice.items() if key not in {"delta", "message"}}
        word = self.fields.get("finish_reason")
        if text_at(rest, "finish_reason").lower() in NO_WORD:
            rest["finish_reason"] = None
        merge(self.fields, rest, ("text",))
        self.fields["finish_reason"] = self.fields.get("finish_reason") or word
        return said

    def whole(self, index: int) -> dict[str, Any]:
        message = {"role": "assistant", "content": None, **whole(self.message)}
        calls = self.calls.whole()
        if calls:
            message["tool_calls"] = calls
        return {**whole(self.fields), "index": index, "message": message}

    def _take_delta(self, delta: dict[str, Any]) -> str:
        said = self._take_content(delta.get("content"))
        for call in items_at(delta, "tool_calls"):
            self.calls.add(call)
        for key in ("audio", "function_call"):
            if isinstance(delta.get(key), dict):
                self._take_part(key, delta[key])
        for detail in items_at(delta, "reasoning_details"):
            add_detail(self.message.setdefault("reasoning_details", []), detail)
        rest = {key: value for key, value in delta.items() if key not in _TAKEN}
        merge(self.message, {**rest, "role": "assistant"}, _TEXTS)
        return said or self._beside(delta)

    def _beside(self, delta: dict[str, Any]) -> str:
        """Give what is the reply's text where there is no content: a refusal, or a transcript."""
        if self.message.get("content"):
            return ""
        refusal, spoken = text_at(delta, "refusal"), text_at(delta, "audio", "transcript")
        return refusal or ("" if self.message.get("refusal") else spoken)

    def _take_content(self, content: Any) -> str:
        present = self.message.get("content")
        if isinstance(content, str) and not isinstance(present, Chunks):
            merge(self.message, {"content": content}, _TEXTS)
            return content
        if content is None:
            return ""
        if not isinstance(present, Chunks):
            before, present = whole(present), Chunks()
            self.message["content"] = present
            if before:
                present.add(before)
        return "".join(map(present.add, content if isinstance(content, list) else [content]))

    def _take_part(self, key: str, given: dict[str, Any]) -> None:
        part = self.message.get(key)
        if not isinstance(part, dict):
            part = self.message[key] = {}
        if part.get("name") == given.get("name"):
            given = {name: value for name, value in given.items() if name != "name"}
        merge(part, given, ("data", "transcript", "arguments"))


_TAKEN = {"content", "tool_calls", "audio", "function_call", "reasoning_details"}
