"""The promises about an adapter's requests and replies, by examples of its wire.

What a provider accepted is written as it was read, and what was edited is sent as edited. A reply,
whole or streamed, is read completely, counted correctly, and sent back as it came.
"""

import json
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentic.errors import IncompleteReply
from agentic.loop import Decision
from agentic.messages import Message, ProviderPayload, ToolResult, split_rounds
from agentic.testing._adapter_examples import (
    find_talk,
    replaced,
    strings,
    with_one_thing_unknown,
    with_one_thing_wrong,
)
from agentic.testing._adapter_protocol import (
    MARK,
    Wire,
    as_text,
    ask,
    broken,
    call,
    difference,
    is_accepted,
    shows,
)
from agentic.testing._promises import ASK, READ
from agentic.usage import StopReason, Usage, normalize, unknown_words_raise

# Characters that distinguish a text from the words of the wire around it.
_TELLING = 4
_JUNK: tuple[Any, ...] = ({}, None, [], "junk", 3)
_UNHEARD_OF = "x_unheard_of"
_UNKNOWN = {"type": "x_unheard_of", "note": "kept alive"}
# The number of prefixes of a stream that are tried: a stream may have thousands of events.
_MOST = 100


def check_request(adapter: Wire, where: str, request: Mapping[str, Any]) -> list[Message]:
    """Check one request, and return its conversation if it is complete."""
    if violations := ask(where, adapter.validate, request):
        raise broken(
            where, f"validate() accepts what the provider accepted, but says {violations[0]}"
        )
    history = ask(where, adapter.decode_request, request)
    again = ask(where, adapter.encode_request, history)
    for key in _keys_of_a_conversation(adapter):
        # An empty list says what a missing one says.
        if problem := difference(request.get(key) or None, again.get(key) or None, key):
            raise broken(where, f"a request read and written again is what it was, but {problem}")
    _is_named(adapter, where, history)
    _keeps_the_unknown(adapter, where, request)
    # Not ask(), which would copy each of these copies again: there are up to 600.
    for place, wrong in with_one_thing_wrong(request):
        call(f"{where}, {place} wrong", adapter.decode_request, wrong)
        call(f"{where}, {place} wrong", adapter.validate, wrong)
    # Then it continues a state that is kept on the server.
    if ask(where, adapter.validate, again):
        return []
    _survives_drops(adapter, where, history)
    return history


def _keys_of_a_conversation(adapter: Wire) -> list[str]:
    """Return the fields of a request that are the conversation, not the tools or the options."""
    # By trying it: what does not change with the tools is the conversation.
    plain = adapter.encode_request([ASK], system_prompt=MARK)
    with_tools = adapter.encode_request([ASK], system_prompt=MARK, tools=[READ])
    return [key for key in plain if plain[key] == with_tools.get(key)]


def _is_named(adapter: Wire, where: str, history: list[Message]) -> None:
    for message in history:
        if message.native and message.native.provider != adapter.name:
            name = f"{message.native.provider!r}, not {adapter.name!r}"
            raise broken(where, f"native items are marked with the adapter's NAME, but say {name}")


def _keeps_the_unknown(adapter: Wire, where: str, request: Mapping[str, Any]) -> None:
    # A provider adds fields and kinds of items at any time, and may want them back.
    key = find_talk(adapter)
    for place, talk in with_one_thing_unknown(request.get(key, [])):
        messages = ask(where, adapter.decode, talk)
        again = ask(where, adapter.encode, messages)
        if problem := difference(talk, again, key):
            promise = f"what is unknown is kept, but with something unknown in {place}, {problem}"
            raise broken(where, promise)


def _survives_drops(adapter: Wire, where: str, history: list[Message]) -> None:
    """Check the history without each round, and without all before it, as after a strategy."""
    rounds = split_rounds(history)
    for index in range(len(rounds)):
        for what, rest in (
            ("without", rounds[:index] + rounds[index + 1 :]),
            ("from", rounds[index:]),
        ):
            positions = sorted(place for group in rest for place in group.positions)
            view = [history[place] for place in positions]
            # With a tool, since some providers refuse calls in a request that declares none.
            is_accepted(adapter, f"{where}, {what} round {index + 1}", view, tools=[READ])


def check_edits(adapter: Wire, where: str, history: Sequence[Message]) -> None:
    """Edit every part of every message: replace() it, edit() it, and leave its native items as is.

    A stale payload would undo an edit: what was cut, masked or corrected would be sent after all.
    """
    before = is_accepted(adapter, where, history)
    for position, message in enumerate(history):
        for what, changes, old in _edits(message):
            # replace() drops the native items, edit() keeps them apart, and evolve() stale.
            for copy in (
                message.replace(**changes),
                message.edit(**changes),
                attrs.evolve(message, **changes),
            ):
                view = [*history[:position], copy, *history[position + 1 :]]
                after = is_accepted(adapter, f"{where}, with {what} edited", view)
                # The old text may also occur elsewhere, so it must occur less often, not never.
                stale = len(old) >= _TELLING and 0 < shows(before, old) <= shows(after, old)
                if not shows(after, MARK) or stale:
                    remark = ", though native still holds the old one" * (copy.origin is not None)
                    promise = (
                        f"an edited message goes out edited{remark}, but {what} did not change"
                    )
                    raise broken(f"{where}, message {position + 1}", promise)
        _drop_a_call(adapter, where, history, position)


def _edits(message: Message) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield what can be edited, the changes, and the text that must disappear."""
    if message.content:
        yield "the content", {"content": MARK}, message.content
    for index, each in enumerate(message.tool_calls):
        copy = attrs.evolve(each, arguments=json.dumps({"edited": MARK}))
        calls = [*message.tool_calls[:index], copy, *message.tool_calls[index + 1 :]]
        yield "the arguments of a call", {"tool_calls": calls}, each.arguments
    for index, result in enumerate(message.tool_results):
        shorter = attrs.evolve(result, output=MARK)
        results = [*message.tool_results[:index], shorter, *message.tool_results[index + 1 :]]
        yield "the output of a tool", {"tool_results": results}, result.output


def _drop_a_call(adapter: Wire, where: str, history: Sequence[Message], position: int) -> None:
    """Remove the last call of a message and its result, as a strategy may."""
    message = history[position]
    if not message.tool_calls:
        return
    call_id = message.tool_calls[-1].id
    view = [
        attrs.evolve(each, tool_results=[r for r in each.tool_results if r.call_id != call_id])
        for each in history
    ]
    view[position] = attrs.evolve(message, tool_calls=message.tool_calls[:-1])
    text = is_accepted(adapter, f"{where}, with a call dropped", view)
    if len(call_id) >= _TELLING and shows(text, call_id):
        promise = "a call that was dropped stays dropped, though native still holds it"
        raise broken(f"{where}, message {position + 1}", f"{promise}, but {call_id!r} went out")


def check_foreign(adapter: Wire, where: str, history: Sequence[Message]) -> None:
    """Encode a history as if another provider had written it: items and thinking are not sent."""
    elsewhere = f"not {adapter.name}"
    bare = [message.replace(reasoning="") for message in history]
    poison = [attrs.evolve(m, native=ProviderPayload(elsewhere, {"content": MARK})) for m in bare]
    thinking = [
        attrs.evolve(message, reasoning=MARK) if message.role == "assistant" else message
        for message in poison
    ]
    if shows(is_accepted(adapter, f"{where}, with reasoning from elsewhere", thinking), MARK):
        raise broken(where, "reasoning of another provider is never sent, but it was")
    is_valid = is_accepted(adapter, f"{where}, without native items", bare)
    own = [_with_provider(message, elsewhere) for message in history]
    for view in (own, poison):
        if is_accepted(adapter, f"{where}, from elsewhere", view) != is_valid:
            raise broken(where, "items of another provider are never sent, but they changed it")


def _with_provider(message: Message, provider: str) -> Message:
    # A reply that was edited, such as one whose calls came without ids, keeps its items apart.
    native = message.native and attrs.evolve(message.native, provider=provider)
    payload = message.edited_native and attrs.evolve(message.edited_native, provider=provider)
    return attrs.evolve(message, native=native, edited_native=payload)


@attrs.frozen
class Example:
    """A reply of the provider, and what is known about it."""

    response: Any
    usage: Usage | None = None
    stop_reason: StopReason | None = None


def read_example(example: Any) -> Example:
    """Return an example, given a response, or one with its usage and stop reason.

    >>> read_example(({"parts": []}, Usage(3, 1), StopReason.STOP)).usage.input
    3
    """
    return Example(*example) if isinstance(example, tuple) else Example(example)


def check_reply(adapter: Wire, where: str, example: Example) -> Decision:
    """Check one reply, and return its decision."""
    response = example.response
    # The examples are the provider's own: what is unknown is missing in the adapter's table.
    with unknown_words_raise():
        decision = ask(where, adapter.decode_response, response)
        reason = ask(where, adapter.stop_reason, response)
        usage = ask(where, adapter.usage, response)
    if decision.stop_reason is not reason:
        text = f"decode_response() and stop_reason() agree, but say {decision.stop_reason}"
        raise broken(where, f"{text} and {reason}")
    _is_stopped_right(adapter, where, decision, example)
    # Where nobody said how it ended, such a word may be the status of an item.
    if example.stop_reason is not None:
        _keeps_its_word(adapter, where, decision, response)
    _is_counted_right(where, decision, usage, example)
    _goes_back(adapter, where, response, decision)
    for place, wrong in with_one_thing_wrong(response):
        _never_raises(adapter, f"{where}, {place} wrong", wrong)
    for junk in _JUNK:
        _never_raises(adapter, f"a response that is {junk!r}", junk)
    return decision


def history_of(decision: Decision) -> list[Message]:
    """Return the history that a Runner would make of a reply, with unique call ids."""
    calls = decision.tool_calls
    reply = Message(
        "assistant",
        decision.reply,
        reasoning=decision.reasoning,
        tool_calls=calls,
        media=decision.media,
        native=decision.native,
    )
    # Some wires have no ids for calls, such as that of Ollama before 0.12.10.
    if len({call.id for call in calls if call.id}) < len(calls):
        calls = tuple(attrs.evolve(call, id=f"call_{n}") for n, call in enumerate(calls))
        reply = reply.edit(tool_calls=calls)
    results = [ToolResult(call.id, call.name, f"result of {call.id}") for call in calls]
    return [ASK, reply, *([Message("tool", tool_results=results)] if results else [])]


def check_stop_words(adapter: Wire, replies: Sequence[tuple[str, Any]]) -> None:
    """Check replies with other stop words: one that means cut off, and an unknown one."""
    decisions = [(where, data, adapter.decode_response(data)) for where, data in replies]
    if not any(decision.stop_word for _, _, decision in decisions):
        for where, data, decision in decisions:
            _keeps_its_word(adapter, where, decision, data)
    cut_off = [
        (_places(data, decision.stop_word), decision.stop_word)
        for _, data, decision in decisions
        if decision.stop_reason is StopReason.MAX_TOKENS
    ]
    for where, data, decision in decisions:
        places = _places(data, decision.stop_word)
        for elsewhere, word in cut_off:
            # What was cut off may still be JSON: it would do half of what was meant.
            if decision.tool_calls and places and places[-1] in elsewhere:
                cut = data
                # A gateway may repeat the word of the server behind it.
                for place in set(places) & set(elsewhere):
                    cut = replaced(cut, place, word)
                if ask(where, adapter.stop_reason, cut) is not StopReason.MAX_TOKENS:
                    promise = f"a reply with calls that stopped with {word!r} was cut off"
                    raise broken(where, f"{promise}: MAX_TOKENS, not TOOL")
        if places:
            unknown = replaced(data, places[-1], _UNHEARD_OF)
            _never_raises(adapter, f"{where}, with a stop word that nobody knows", unknown)


def _is_stopped_right(adapter: Wire, where: str, decision: Decision, example: Example) -> None:
    reason, word = decision.stop_reason, decision.stop_word
    expected = example.stop_reason
    if expected is not None and reason is not expected:
        raise broken(where, f"the reply stopped for {expected.name}, but is {reason.name}")
    if decision.tool_calls and reason is StopReason.STOP:
        raise broken(where, f"a reply with calls is TOOL even where it says {word!r}, but is STOP")
    table = adapter.stop_words.reasons
    if table.get(word) is StopReason.MAX_TOKENS and reason is not StopReason.MAX_TOKENS:
        promise = f"a reply that stopped with {word!r} was cut off: MAX_TOKENS"
        raise broken(where, f"{promise}, but is {reason.name}")


def _keeps_its_word(adapter: Wire, where: str, decision: Decision, response: Any) -> None:
    """Check that the stop word is kept, if the response contains one of the vocabulary."""
    texts = strings(response).values()
    words = adapter.stop_words.reasons.keys() & set(texts)
    if words and decision.stop_word not in texts:
        text = f"{decision.stop_word!r} where it says {sorted(words)}"
        raise broken(where, f"Decision.stop_word is the provider's own word, but is {text}")


def _is_counted_right(where: str, decision: Decision, usage: Usage, example: Example) -> None:
    if example.usage is not None and normalize(usage) != normalize(example.usage):
        raise broken(where, f"the reply used {normalize(example.usage)}, but usage() says {usage}")
    if normalize(decision.usage) != normalize(usage):
        raise broken(
            where, f"decode_response() and usage() agree, but say {decision.usage}, {usage}"
        )
    # Anthropic counts these beside the input: an adapter that forgets it has too little input.
    if usage.input < usage.cache_read + usage.cache_write:
        raise broken(where, f"input includes what the cache read and wrote, but it is {usage}")
    if usage.output < usage.reasoning:
        raise broken(where, f"output includes reasoning, but it is {usage}")


def _goes_back(adapter: Wire, where: str, response: Any, decision: Decision) -> None:
    """Send the reply back: every text that was kept is in it, and it can be read again."""
    history = history_of(decision)
    is_accepted(adapter, where, history)
    if decision.native is None:
        if decision.reply or decision.tool_calls:
            raise broken(where, "a reply is kept as it came in Decision.native, which is None")
        return
    if decision.native.provider != adapter.name:
        raise broken(where, f"native is marked {adapter.name!r}, not {decision.native.provider!r}")
    # Its ids were made unique, so it is not sent as it was received.
    if history[1].native is None:
        return
    request = ask(where, adapter.encode, history)
    texts = _texts(response) & _texts(decision.native)
    if missing := texts - set(strings(request).values()):
        raise broken(
            where, f"a reply goes back as it came, but lost {reprlib.repr(sorted(missing))}"
        )
    again = [
        message for message in ask(where, adapter.decode, request) if message.role == "assistant"
    ]
    # As one text, since the encoder may split a reply that it cannot write as one item.
    if _said(again) != _said(history[1:2]):
        raise broken(where, "a reply that was sent back reads as it did, but reads otherwise")


def _said(messages: Sequence[Message]) -> tuple[str, str, list[str]]:
    calls = [as_text([call.name, call.arguments]) for m in messages for call in m.tool_calls]
    content = "".join(message.content for message in messages)
    return content, "".join(message.reasoning for message in messages), calls


def _never_raises(adapter: Wire, where: str, response: Any) -> None:
    kinds = {
        Decision: adapter.decode_response,
        Usage: adapter.usage,
        StopReason: adapter.stop_reason,
    }
    for kind, function in kinds.items():
        answer: object = call(where, function, response)
        if not isinstance(answer, kind):
            raise broken(where, f"it gives a {kind.__name__}, but gave {reprlib.repr(answer)}")


def _texts(data: Any) -> set[str]:
    return set(strings(data.payload if isinstance(data, ProviderPayload) else data).values())


def _places(data: Any, word: str) -> list[Any]:
    """Return where the stop word is. Its last occurrence counts: the reply's text comes first."""
    return [path for path, text in strings(data).items() if word and text == word]


def check_stream(
    adapter: Wire, where: str, events: Sequence[Any], plain: Example | None
) -> Decision:
    """Check one stream, complete and cut off, and return its decision."""
    response, text = _assembled(adapter, where, events)
    example = plain or Example(None)
    decision = check_reply(adapter, where, Example(response, example.usage, example.stop_reason))
    if text != decision.reply:
        raise broken(where, f"the pieces make up the reply, but are {text!r:.60}")
    if plain is not None:
        _is_the_same(where, decision, check_reply(adapter, where, plain))
    elif decision.stop_reason is StopReason.TOOL:
        for call in decision.tool_calls:
            _is_whole(where, call.arguments)
    # Providers add kinds of events without a new version of their API.
    noisy = [each for event in events for each in (_UNKNOWN, event)]
    if adapter.decode_response(_assembled(adapter, where, noisy)[0]) != decision:
        raise broken(where, "events that nobody knows change nothing, but they did")
    # From no event on: a connection may close before the first.
    for length in range(0, len(events), max(1, len(events) // _MOST)):
        _is_told_to_be_cut(adapter, where, events[:length], decision)
    return decision


def _assembled(adapter: Wire, where: str, events: Sequence[Any]) -> tuple[Any, str]:
    response = ask(where, adapter.streamed_response)
    text = "".join([ask(where, response.feed, event) for event in events])
    return ask(where, response.response), text


def _is_whole(where: str, arguments: str) -> None:
    try:
        # A call without arguments need not stream any.
        json.loads(arguments or "{}")
    except ValueError as problem:
        promise = f"fragments of a call are put together, but {arguments!r:.60} is not JSON"
        raise broken(where, promise) from problem


def _is_the_same(where: str, decision: Decision, whole: Decision) -> None:
    # Not the native items, which may differ in empty fields; their texts are compared below.
    for name in ("reply", "reasoning", "tool_calls", "stop_reason", "stop_word", "usage"):
        got, want = getattr(decision, name), getattr(whole, name)
        if got != want:
            promise = f"a stream decides what the response without streaming does: {name} is"
            raise broken(where, f"{promise} {want!r:.200}, but {got!r:.200}")
    if missing := _texts(whole.native) - _texts(decision.native):
        promise = "a stream keeps what the response without streaming does"
        raise broken(where, f"{promise}, but lost {sorted(missing)!r:.200}")


def _is_told_to_be_cut(adapter: Wire, where: str, events: Sequence[Any], whole: Decision) -> None:
    """Cut the stream off: it raises IncompleteReply, unless all that matters had arrived."""
    streamed = adapter.streamed_response()
    text = "".join([streamed.feed(event) for event in events])
    name = f"{where}, broken off after {len(events)} events"
    try:
        response = streamed.response()
    except IncompleteReply as cut:
        # It is what a caller shows, or keeps, of a reply that broke off.
        if cut.received != text:
            raise broken(
                name, f"IncompleteReply holds what had come, but {cut.received!r:.60}"
            ) from cut
        return
    except Exception as problem:
        raise broken(name, f"it raises IncompleteReply, but raised {problem!r:.200}") from problem
    decision = ask(name, adapter.decode_response, response)
    # The usage may come in an event of its own, after the reply.
    if _without_usage(decision) != _without_usage(whole):
        raise broken(name, f"response() raises IncompleteReply, but gave {decision.reply!r:.60}")


def _without_usage(decision: Decision) -> Decision:
    return attrs.evolve(decision, usage=None, native=None)
