"""A streamed reply, put together from its events.

Texts, calls, chunks of content and details come in pieces, which are joined when the reply ends.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

import attrs

from agentic.errors import IncompleteReply
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.openai_chat._replies import NO_WORD, failure_in, find_usage

__all__ = ["StreamedResponse"]

_THINKING = "thinking_blocks"
_OWN = {"index", "id", "function", "custom"}
_TEXTS = ("content", "refusal", "reasoning", "reasoning_content")
_PADDING = {"obfuscation", "p"}
"""What OpenAI and Mistral add to hide the length of an event."""
_TAKEN = {"content", "tool_calls", "audio", "function_call", "reasoning_details"}


@attrs.define(eq=False)
class _Texts:
    """A text that comes in pieces; joined once, at the end. No piece of it is empty."""

    pieces: list[str] = attrs.field(factory=list)

    def __bool__(self) -> bool:
        return bool(self.pieces)

    def add(self, piece: str) -> None:
        """Append a piece."""
        if piece:
            self.pieces.append(piece)


def _whole(value: Any) -> Any:
    """Return plain data: every text that came in pieces joined.

    >>> _whole({"content": _Texts(["a", "b"])})
    {'content': 'ab'}
    """
    if isinstance(value, _Texts):
        return "".join(value.pieces)
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value


def _merge(fields: dict[str, Any], given: Mapping[str, Any], texts: Collection[str]) -> None:
    """Take in fields: the named texts grow, lists too, of anything else the latest counts.

    >>> fields = {"role": "assistant"}
    >>> _merge(fields, {"content": "a"}, {"content"}), _merge(fields, {"content": "b"}, {"content"})
    (None, None)
    >>> _whole(fields)
    {'role': 'assistant', 'content': 'ab'}
    """
    for key, value in given.items():
        present = fields.get(key)
        if value is None:
            fields.setdefault(key, None)
        elif key in texts and isinstance(value, str):
            if not isinstance(present, _Texts):
                fields[key] = present = _Texts()
            present.add(value)
        elif key == _THINKING and isinstance(value, list):
            fields[key] = present = present if isinstance(present, list) else []
            for block in value:
                _add_thinking(present, block)
        elif isinstance(value, list):
            fields[key] = present = present if isinstance(present, list) else []
            present.extend(value)
        elif isinstance(value, dict):
            fields[key] = present = present if isinstance(present, dict) else {}
            _merge(present, value, ())
        else:
            fields[key] = value


def _add_thinking(blocks: list[Any], block: Any) -> None:
    """Take a fragment of LiteLLM's `thinking_blocks`, which are Claude's blocks of thinking.

    It sends one for each event of the stream, all without an index: texts, then a signature, which
    ends the block. Some versions repeat the whole text beside the signature, others send finished
    blocks only:
    https://github.com/BerriAI/litellm/issues/29428, https://github.com/BerriAI/litellm/pull/31022,
    https://github.com/open-webui/open-webui/pull/29860 (2026-11). A block in pieces is refused by
    Anthropic when it goes back.

    >>> blocks = []
    >>> for text, signature in [("Look ", ""), ("first.", None), ("", "EqQB")]:
    ...     _add_thinking(blocks, {"type": "thinking", "thinking": text, "signature": signature})
    >>> _whole(blocks)
    [{'type': 'thinking', 'thinking': 'Look first.', 'signature': 'EqQB'}]
    """
    if text_at(block, "type") != "thinking" or not isinstance(at(block, "thinking"), str | None):
        blocks.append(block)
        return
    last: Any = blocks[-1] if blocks else None
    if not isinstance(at(last, "thinking"), _Texts) or text_at(last, "signature"):
        blocks.append(last := {"type": "thinking", "thinking": _Texts()})
    rest = {key: value for key, value in block.items() if key != "thinking"}
    text = text_at(block, "thinking")
    if not (text_at(block, "signature") and text == _whole(last["thinking"])):
        last["thinking"].add(text)
    last.update({key: value for key, value in rest.items() if value or key not in last})


class _Chunks(list[dict[str, Any]]):
    """Mistral's content: thoughts and texts, of which neighbours of one kind are one chunk.

    https://docs.mistral.ai/capabilities/reasoning/ (2026-11)
    """

    def add(self, chunk: Any) -> str:
        """Take a chunk, or a bare text; give the text that the reader sees."""
        if isinstance(chunk, str):
            chunk = {"type": "text", "text": chunk}
        if not isinstance(chunk, dict):
            return ""
        last: dict[str, Any] = (
            self[-1] if self and self[-1].get("type") == chunk.get("type") else {}
        )
        thought, text = chunk.get("thinking"), text_at(chunk, "text")
        if isinstance(thought, list):
            inner = last.get("thinking")
            if not isinstance(inner, _Chunks):
                inner = _Chunks()
                self.append({**chunk, "thinking": inner})
            for each in thought:
                inner.add(each)
            return ""
        if chunk.get("type") != "text":
            self.append(dict(chunk))
            return ""
        if not isinstance(last.get("text"), _Texts):
            self.append({**chunk, "text": _Texts()})
        self[-1]["text"].add(text)
        return text


def _add_detail(details: list[Any], detail: Any) -> None:
    """Take a piece of OpenRouter's `reasoning_details`: the texts of one index and type are one.

    https://openrouter.ai/docs/use-cases/reasoning-tokens (2026-11)
    """
    if not isinstance(detail, dict):
        details.append(detail)
        return
    last = details[-1] if details else None
    kind = (detail.get("type"), detail.get("index"))
    if not isinstance(last, dict) or (last.get("type"), last.get("index")) != kind:
        details.append(last := {})
    _merge(last, detail, ("text", "summary"))


@attrs.define
class _Calls:
    """The calls of a streamed message.

    OpenAI sends id and name once and an `index` in every piece. llama-cpp-python repeats both in
    every piece, others leave the index out, or give all calls the index 0 and ids of their own.
    """

    _calls: list[dict[str, Any]] = attrs.field(factory=list)
    _by_index: dict[int | str, dict[str, Any]] = attrs.field(factory=dict)
    _by_id: dict[str, dict[str, Any]] = attrs.field(factory=dict)
    """The latest call of each index, and of each id."""

    def add(self, piece: Any) -> None:
        """Take a piece of a call."""
        if not isinstance(piece, dict):
            return
        call = self._continued(piece)
        if call is None:
            call = {}
            self._calls.append(call)
            if piece.get("index") is not None:
                self._by_index[_key(piece["index"])] = call
        rest = {key: value for key, value in piece.items() if key not in _OWN}
        _merge(call, rest, ())
        if not call.get("id"):
            call["id"] = piece.get("id")
            self._by_id[text_at(call, "id")] = call
        for key in ("function", "custom"):
            if isinstance(piece.get(key), dict):
                _add_function(call.setdefault(key, {}), piece[key])

    def whole(self) -> list[dict[str, Any]]:
        """Return the calls as a reply that is not streamed has them."""
        return [_whole({"id": None, **call}) for call in self._calls]

    def _continued(self, piece: Mapping[str, Any]) -> dict[str, Any] | None:
        """Find the call that a piece belongs to; None if it begins another."""
        index, call_id = piece.get("index"), text_at(piece, "id")
        name = text_at(piece, "function", "name") or text_at(piece, "custom", "name")
        if index is not None:
            found = self._by_index.get(_key(index))
        elif call_id:
            found = self._by_id.get(call_id)
        else:
            found = self._calls[-1] if self._calls and not name else None
        return None if found is None or _another(found, call_id, name, piece) else found


def _key(index: Any) -> int | str:
    return index if isinstance(index, int | str) else repr(index)


def _another(call: dict[str, Any], call_id: str, name: str, piece: Mapping[str, Any]) -> bool:
    """Return whether a piece under a known index begins a call of its own."""
    if not name:
        return False
    if call_id:
        return bool(call.get("id")) and call["id"] != call_id
    begun = at(call, "function", "arguments")
    known = text_at(call, "function", "name") or text_at(call, "custom", "name")
    if known and name != known:
        # Under an id, a name that has no arguments yet may still grow.
        return bool(begun) or not call.get("id")
    arguments = text_at(piece, "function", "arguments")
    return bool(arguments.strip()) and _is_json(begun)


def _is_json(begun: Any) -> bool:
    """Return whether the arguments so far are whole; most pieces do not even look like an end."""
    if not (isinstance(begun, _Texts) and begun and begun.pieces[-1].rstrip().endswith("}")):
        return False
    try:
        json.loads(_whole(begun))
    except (ValueError, RecursionError):
        return False
    return True


def _add_function(function: dict[str, Any], piece: Mapping[str, Any]) -> None:
    name = text_at(piece, "name")
    rest = {key: value for key, value in piece.items() if key != "name"}
    function.setdefault("name", "")
    if name != function["name"]:
        function["name"] += name
    _merge(function, rest, ("arguments", "input"))


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
        """Take the next event; return the text that it adds to the reply, empty for most kinds.

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
        """Return the response in the shape of one that was not streamed.

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
    calls: _Calls = attrs.field(factory=_Calls)

    def take(self, choice: dict[str, Any]) -> str:
        # Writer and Perplexity send the message so far beside the delta.
        delta = choice["delta"] if "delta" in choice else choice.get("message")
        said = self._take_delta(delta) if isinstance(delta, dict) else ""
        rest = {key: value for key, value in choice.items() if key not in {"delta", "message"}}
        word = self.fields.get("finish_reason")
        if text_at(rest, "finish_reason").lower() in NO_WORD:
            rest["finish_reason"] = None
        _merge(self.fields, rest, ("text",))
        self.fields["finish_reason"] = self.fields.get("finish_reason") or word
        return said

    def whole(self, index: int) -> dict[str, Any]:
        message = {"role": "assistant", "content": None, **_whole(self.message)}
        calls = self.calls.whole()
        if calls:
            message["tool_calls"] = calls
        return {**_whole(self.fields), "index": index, "message": message}

    def _take_delta(self, delta: dict[str, Any]) -> str:
        said = self._take_content(delta.get("content"))
        for call in items_at(delta, "tool_calls"):
            self.calls.add(call)
        for key in ("audio", "function_call"):
            if isinstance(delta.get(key), dict):
                self._take_part(key, delta[key])
        for detail in items_at(delta, "reasoning_details"):
            _add_detail(self.message.setdefault("reasoning_details", []), detail)
        rest = {key: value for key, value in delta.items() if key not in _TAKEN}
        _merge(self.message, {**rest, "role": "assistant"}, _TEXTS)
        return said or self._beside(delta)

    def _beside(self, delta: dict[str, Any]) -> str:
        """Return what is the reply's text where there is no content: a refusal, or a transcript."""
        if self.message.get("content"):
            return ""
        refusal, spoken = text_at(delta, "refusal"), text_at(delta, "audio", "transcript")
        return refusal or ("" if self.message.get("refusal") else spoken)

    def _take_content(self, content: Any) -> str:
        present = self.message.get("content")
        if isinstance(content, str) and not isinstance(present, _Chunks):
            _merge(self.message, {"content": content}, _TEXTS)
            return content
        if content is None:
            return ""
        if not isinstance(present, _Chunks):
            before, present = _whole(present), _Chunks()
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
        _merge(part, given, ("data", "transcript", "arguments"))
