"""Assemble a streamed reply from its events.

Texts, calls, content chunks and reasoning details arrive in pieces, which are joined at the end.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from agentic.providers._model import ModelStream
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.kit._streamed_calls import StreamedCalls
from agentic.providers.kit._streamed_texts import GrowingText, add_fields, index_in, join_pieces
from agentic.providers.openai_chat._decoding import MESSAGES
from agentic.providers.openai_chat._replies import NO_WORD, failure_in, find_usage

_THINKING = "thinking_blocks"
_PADDING = {"obfuscation", "p"}
"""Fields that OpenAI and Mistral add to hide the length of an event."""
_TAKEN = {"content", "tool_calls", "audio", "function_call", "reasoning_details", "index"}


def _add_delta(fields: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add the fields of a delta, with Claude's thinking blocks wherever LiteLLM has them."""
    for key, value in delta.items():
        present = fields.get(key)
        if key == _THINKING and isinstance(value, list):
            fields[key] = present = present if isinstance(present, list) else []
            for block in value:
                _add_thinking(present, block)
        elif key == "provider_specific_fields" and isinstance(value, dict):
            fields[key] = present = present if isinstance(present, dict) else {}
            _add_delta(present, value)
        else:
            add_fields(fields, {key: value})


def _add_thinking(blocks: list[Any], block: Any) -> None:
    """Add a fragment of LiteLLM's `thinking_blocks`, which are Claude's thinking blocks.

    LiteLLM sends one for each event of the stream, all without an index: texts, then a signature,
    which ends the block. Some versions repeat the whole text with the signature, others send only
    complete blocks:
    https://github.com/BerriAI/litellm/issues/29428, https://github.com/BerriAI/litellm/pull/31022,
    https://github.com/open-webui/open-webui/pull/29860 (2026-11). Anthropic rejects a block that is
    sent back in pieces.

    >>> blocks = []
    >>> for text, signature in [("Look ", ""), ("first.", None), ("", "EqQB")]:
    ...     _add_thinking(blocks, {"type": "thinking", "thinking": text, "signature": signature})
    >>> join_pieces(blocks)
    [{'type': 'thinking', 'thinking': 'Look first.', 'signature': 'EqQB'}]
    """
    if text_at(block, "type") != "thinking" or not isinstance(at(block, "thinking"), str | None):
        blocks.append(block)
        return
    last: Any = blocks[-1] if blocks else None
    if not isinstance(at(last, "thinking"), GrowingText) or text_at(last, "signature"):
        blocks.append(last := {"type": "thinking", "thinking": GrowingText()})
    rest = {key: value for key, value in block.items() if key != "thinking"}
    text = text_at(block, "thinking")
    # Said again together with its signature: see above.
    if not (text_at(block, "signature") and text == join_pieces(last["thinking"])):
        last["thinking"].add(text)
    last.update({key: value for key, value in rest.items() if value or key not in last})


class _Chunks(list[dict[str, Any]]):
    """Mistral's content: thinking and text, with adjacent chunks of the same type joined.

    https://docs.mistral.ai/capabilities/reasoning/ (2026-11)
    """

    def add(self, chunk: Any) -> str:
        """Add a chunk or a plain string; return the text in it that the user sees."""
        if isinstance(chunk, str):
            chunk = {"type": "text", "text": chunk}
        if not isinstance(chunk, dict):
            return ""
        if isinstance(thought := chunk.get("thinking"), list):
            inner = self._joined(chunk, "thinking", _Chunks)
            for each in thought:
                inner.add(each)
            return ""
        if chunk.get("type") != "text":
            self.append(dict(chunk))
            return ""
        piece: str = self._joined(chunk, "text", GrowingText).add(text_at(chunk, "text"))
        return piece

    def _joined(self, chunk: dict[str, Any], field: str, kind: type[Any]) -> Any:
        """Return what the field of a chunk is added to; note the other fields, which may be late.

        A signature ends a chunk, as it ends a block of Anthropic's.
        """
        last = self[-1] if self and self[-1].get("type") == chunk.get("type") else {}
        if not isinstance(last.get(field), kind) or (chunk.get(field) and last.get("signature")):
            self.append(last := {**chunk, field: kind()})
        last.update({k: v for k, v in chunk.items() if k != field and v is not None})
        return last[field]


def _add_detail(details: list[Any], detail: Any) -> None:
    """Add a piece of OpenRouter's `reasoning_details`; join texts with the same index and type.

    https://openrouter.ai/docs/use-cases/reasoning-tokens (2026-11)
    """
    if not isinstance(detail, dict):
        details.append(detail)
        return
    last = details[-1] if details else None
    kind = (detail.get("type"), detail.get("index"))
    if not isinstance(last, dict) or (last.get("type"), last.get("index")) != kind:
        details.append(last := {})
    add_fields(last, detail)


@attrs.define(eq=False)
class StreamedResponse(ModelStream):
    """Assembles one streamed reply from its events.

    >>> reply = StreamedResponse()
    >>> reply.feed({"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]})
    'Hi.'
    >>> reply.response()["choices"][0]["message"]
    {'role': 'assistant', 'content': 'Hi.'}
    """

    _body: dict[str, Any] = attrs.field(init=False, factory=dict)
    _choices: "dict[int, _Choice]" = attrs.field(init=False, factory=dict)
    _ended: bool = attrs.field(init=False, default=False)

    def _process(self, event: Any) -> str:
        chunk = plain(event)
        failure = failure_in(chunk, self.model or text_at(self._body, "model"))
        if failure is not None:
            raise failure
        self._ended |= self._ends(chunk)
        if not isinstance(chunk, dict):
            return ""
        self._keep(chunk)
        return "".join(map(self._take, items_at(chunk, "choices")))

    def _built(self) -> dict[str, Any] | None:
        finished = [choice.fields.get("finish_reason") for choice in self._choices.values()]
        if not self._ended and not (finished and all(finished)):
            return None
        choices = [self._choices[index].whole(index) for index in sorted(self._choices)]
        body = {**self._body, "choices": choices}
        # So that `decode_response` and whoever logs it see one kind of response.
        if text_at(body, "object") == "chat.completion.chunk":
            body["object"] = "chat.completion"
        used = find_usage(body)
        return {**body, "usage": used} if used else body

    def _ends(self, chunk: Any) -> bool:
        """Return whether a chunk ends a stream that has no finish_reason, such as Snowflake's.

        The SDK never passes on `[DONE]`. The event with the usage and no choices comes last:
        https://platform.openai.com/docs/api-reference/chat-streaming (2026-11).
        """
        if isinstance(chunk, str):
            return chunk.strip().removeprefix("data:").strip() == "[DONE]"
        counted = isinstance(at(chunk, "usage"), dict) and at(chunk, "choices") == []
        return counted and bool(self._choices)

    def _keep(self, chunk: dict[str, Any]) -> None:
        """Keep the fields other than `choices`. Azure's first event has empty ids."""
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
    """One choice, with the part of its messages received so far."""

    fields: dict[str, Any] = attrs.field(factory=dict)
    messages: "dict[int, _Message]" = attrs.field(factory=dict)
    """One, but Mistral may send several, with what its own tools returned. The deltas say by their
    `index` which one they are for (`DeltaMessage` in mistralai 3.7; 2026-11)."""
    latest: int = 0

    def take(self, choice: dict[str, Any]) -> str:
        # Writer and Perplexity send the message so far along with the delta.
        delta = choice["delta"] if "delta" in choice else choice.get("message")
        piece = self._message_of(delta).take(delta) if isinstance(delta, dict) else ""
        rest = {key: value for key, value in choice.items() if key not in {"delta", "message"}}
        word = self.fields.get("finish_reason")
        if text_at(rest, "finish_reason").lower() in NO_WORD:
            rest["finish_reason"] = None
        # The other texts are states, such as the severity that Azure's filter reports.
        add_fields(self.fields, rest, "text".__eq__)
        self.fields["finish_reason"] = self.fields.get("finish_reason") or word
        return piece

    def _message_of(self, delta: dict[str, Any]) -> "_Message":
        index = index_in(delta.get("index"))
        # Only a role begins another message: an index alone may count events.
        if index in self.messages or not self.messages or text_at(delta, "role"):
            self.latest = self.latest if index is None else index
        return self.messages.setdefault(self.latest, _Message())

    def whole(self, index: int) -> dict[str, Any]:
        messages = [self.messages[each].whole() for each in sorted(self.messages)]
        if len(messages) > 1 or any(each["role"] == "tool" for each in messages):
            return {**join_pieces(self.fields), "index": index, MESSAGES: messages}
        message = messages[0] if messages else _Message().whole()
        return {**join_pieces(self.fields), "index": index, "message": message}


@attrs.define
class _Message:
    """A message, as received so far."""

    fields: dict[str, Any] = attrs.field(factory=dict)
    calls: StreamedCalls = attrs.field(factory=StreamedCalls)

    def whole(self) -> dict[str, Any]:
        message = {"role": "assistant", "content": None, **join_pieces(self.fields)}
        calls = self.calls.whole()
        if calls:
            message["tool_calls"] = calls
        return message

    def take(self, delta: dict[str, Any]) -> str:
        """Add a delta; return the text it adds to the reply."""
        is_result = "tool" in (text_at(delta, "role"), self.fields.get("role"))
        piece = self._take_content(delta.get("content"))
        for call in items_at(delta, "tool_calls"):
            self.calls.add(call)
        for key in ("audio", "function_call"):
            if isinstance(delta.get(key), dict):
                self._take_part(key, delta[key])
        for detail in items_at(delta, "reasoning_details"):
            _add_detail(self.fields.setdefault("reasoning_details", []), detail)
        rest = {key: value for key, value in delta.items() if key not in _TAKEN}
        _add_delta(self.fields, {**rest, "role": "tool" if is_result else "assistant"})
        return "" if is_result else piece or self._beside(delta)

    def _beside(self, delta: dict[str, Any]) -> str:
        """Return the reply's text if there is no content: a refusal or a transcript."""
        if self.fields.get("content"):
            return ""
        refusal, spoken = text_at(delta, "refusal"), text_at(delta, "audio", "transcript")
        return refusal or ("" if self.fields.get("refusal") else spoken)

    def _take_content(self, content: Any) -> str:
        present = self.fields.get("content")
        if isinstance(content, str) and not isinstance(present, _Chunks):
            add_fields(self.fields, {"content": content})
            return content
        if content is None:
            return ""
        if not isinstance(present, _Chunks):
            # A text that came before the first chunk becomes a chunk, too.
            before, present = join_pieces(present), _Chunks()
            self.fields["content"] = present
            if before:
                present.add(before)
        return "".join(map(present.add, content if isinstance(content, list) else [content]))

    def _take_part(self, key: str, piece: dict[str, Any]) -> None:
        part = self.fields.get(key)
        if not isinstance(part, dict):
            part = self.fields[key] = {}
        add_fields(part, piece)
