"""Assemble a streamed reply from its events.

Texts, calls, content chunks and reasoning details arrive in pieces, which are joined at the end.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

import attrs

from agentic.providers._model import ModelStream
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.kit._json import GrowingText, join_pieces
from agentic.providers.openai_chat._replies import NO_WORD, failure_in, find_usage

_THINKING = "thinking_blocks"
_OWN = {"index", "id", "function", "custom"}
_TEXTS = ("content", "refusal", "reasoning", "reasoning_content")
_PADDING = {"obfuscation", "p"}
"""Fields that OpenAI and Mistral add to hide the length of an event."""
_TAKEN = {"content", "tool_calls", "audio", "function_call", "reasoning_details"}


def _merge(fields: dict[str, Any], given: Mapping[str, Any], texts: Collection[str]) -> None:
    """Update fields: append to lists and to the fields named in `texts`; replace other values.

    >>> fields = {"role": "assistant"}
    >>> _merge(fields, {"content": "a"}, {"content"}), _merge(fields, {"content": "b"}, {"content"})
    (None, None)
    >>> join_pieces(fields)
    {'role': 'assistant', 'content': 'ab'}
    """
    for key, value in given.items():
        present = fields.get(key)
        # A null means that this piece adds nothing to what has arrived.
        if value is None:
            fields.setdefault(key, None)
        elif key in texts and isinstance(value, str):
            if not isinstance(present, GrowingText):
                fields[key] = present = GrowingText()
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
        if not isinstance(last.get("text"), GrowingText):
            self.append({**chunk, "text": GrowingText()})
        self[-1]["text"].add(text)
        return text


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
    _merge(last, detail, ("text", "summary"))


@attrs.define
class _Calls:
    """The calls of a streamed message.

    OpenAI sends id and name once and an `index` in every piece. llama-cpp-python repeats id and
    name in every piece. Other servers omit the index, or send index 0 for all calls, with different
    ids.
    """

    _calls: list[dict[str, Any]] = attrs.field(factory=list)
    _by_index: dict[int | str, dict[str, Any]] = attrs.field(factory=dict)
    _by_id: dict[str, dict[str, Any]] = attrs.field(factory=dict)
    """`_by_index` and `_by_id` hold the latest call with each index and with each id."""

    def add(self, piece: Any) -> None:
        """Add a piece of a call."""
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
        """Return the calls as in a non-streamed reply."""
        return [join_pieces({"id": None, **call}) for call in self._calls]

    def _continued(self, piece: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the call that a piece continues; None if it begins a new one."""
        index, call_id = piece.get("index"), text_at(piece, "id")
        name = text_at(piece, "function", "name") or text_at(piece, "custom", "name")
        if index is not None:
            found = self._by_index.get(_key(index))
        elif call_id:
            found = self._by_id.get(call_id)
        else:
            # Neither an index nor an id: a piece without a name can only continue the latest call.
            found = self._calls[-1] if self._calls and not name else None
        return None if found is None or _another(found, call_id, name, piece) else found


def _key(index: Any) -> int | str:
    # Whatever a server sends as the index has to be hashable.
    return index if isinstance(index, int | str) else repr(index)


def _another(call: dict[str, Any], call_id: str, name: str, piece: Mapping[str, Any]) -> bool:
    """Return whether a piece with a known index or id begins a new call."""
    if not name:
        return False
    if call_id:
        return bool(call.get("id")) and call["id"] != call_id
    begun = at(call, "function", "arguments")
    known = text_at(call, "function", "name") or text_at(call, "custom", "name")
    if known and name != known:
        # If the call has an id but no arguments yet, its name may still be incomplete.
        return bool(begun) or not call.get("id")
    # The same name without an id is a new call once the arguments so far are complete.
    arguments = text_at(piece, "function", "arguments")
    return bool(arguments.strip()) and _is_json(begun)


def _is_json(begun: Any) -> bool:
    """Return whether the arguments so far are complete; parse them only if they end with `}`."""
    if not (isinstance(begun, GrowingText) and begun and begun.pieces[-1].rstrip().endswith("}")):
        return False
    try:
        json.loads(join_pieces(begun))
    except (ValueError, RecursionError):
        return False
    return True


def _add_function(function: dict[str, Any], piece: Mapping[str, Any]) -> None:
    name = text_at(piece, "name")
    rest = {key: value for key, value in piece.items() if key != "name"}
    function.setdefault("name", "")
    # llama-cpp-python repeats the whole name in every piece; others send it in parts.
    if name != function["name"]:
        function["name"] += name
    _merge(function, rest, ("arguments", "input"))


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
    """One choice, with the part of its message received so far."""

    fields: dict[str, Any] = attrs.field(factory=dict)
    message: dict[str, Any] = attrs.field(factory=dict)
    calls: _Calls = attrs.field(factory=_Calls)

    def take(self, choice: dict[str, Any]) -> str:
        # Writer and Perplexity send the message so far along with the delta.
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
        message = {"role": "assistant", "content": None, **join_pieces(self.message)}
        calls = self.calls.whole()
        if calls:
            message["tool_calls"] = calls
        return {**join_pieces(self.fields), "index": index, "message": message}

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
        """Return the reply's text if there is no content: a refusal or a transcript."""
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
            # A text that came before the first chunk becomes a chunk, too.
            before, present = join_pieces(present), _Chunks()
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
