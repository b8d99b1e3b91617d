"""The contract of an adapter: silent on one that keeps it, and clear on each that does not."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentic import loop, testing, usage
from agentic.errors import IncompleteReply
from agentic.messages import Message, ProviderPayload, leading_system_count
from agentic.providers import kit
from agentic.providers.kit import items_at, text_at
from agentic.providers.kit._messages import Decoded
from agentic.usage import StopReason, Usage

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "acme-adapter"))

import acme
import test_acme as wire

pytestmark = pytest.mark.slow


def check(adapter: Any, **other: Any) -> None:
    """Run the contract on the wire examples of Acme."""
    examples: dict[str, Any] = {
        "requests": [wire.REQUEST],
        "responses": [wire.CALLING, wire.SPEAKING, wire.CUT_OFF, wire.WITHHELD],
        "streams": [(wire.STREAM, wire.CALLING)],
        "overflows": [wire.TOO_LONG],
        "other_errors": [wire.SLOW_DOWN],
    }
    testing.check_adapter(adapter, **{**examples, **other})


class _Acme:
    """The example, as an object whose parts can be broken one by one."""

    def __getattr__(self, name: str) -> Any:
        return getattr(acme.ADAPTER, name)

    def encode_request(self, messages: Sequence[Message], /, **named: Any) -> dict[str, Any]:
        return acme.encode_request([self.seen(message) for message in messages], **named)

    def seen(self, message: Message) -> Message:
        """Return the message that goes out in place of another."""
        return message


def test_a_good_adapter_passes() -> None:
    """The suite is silent on an adapter that keeps its promises, a module or an object."""
    check(acme)
    check(_Acme())


def test_an_adapter_passes_without_examples() -> None:
    """What the suite makes up itself needs none."""
    testing.check_adapter(acme)


def test_exceptions_are_read_like_bodies() -> None:
    """An SDK raises its errors; they need not be comparable."""
    check(acme, other_errors=[TimeoutError("slow"), wire.SLOW_DOWN])


def test_repeated_ids_are_made_to_differ() -> None:
    """A reply whose ids repeat is written anew, as after a Runner, and is still a good one."""
    parts = [{"use": "read_file", "ref": "0", "with": {}}, {"use": "read_file", "ref": "0"}]

    check(acme, responses=[{"parts": parts, "ended": "needs_tools", "spent": {}}])


def test_a_stop_word_may_be_repeated() -> None:
    """OpenRouter adds that of the server behind it, as `native_finish_reason`."""
    calling = {**wire.CALLING, "native": wire.CALLING["ended"]}
    cut_off = {**wire.CUT_OFF, "native": wire.CUT_OFF["ended"]}

    check(acme, responses=[calling, cut_off], streams=[])


def test_a_continued_request_is_not_cut() -> None:
    """It goes on from a state elsewhere, so that by itself it is no whole conversation."""
    call = {"use": "read_file", "ref": "use_1", "with": {}}
    request = {"talk": [{"by": "acme", "parts": [call]}], "state": "r1"}

    check(_Stateful(), requests=[request])


class _Stateful(_Acme):
    """Knows a field by which a request goes on from an earlier one."""

    def encode_request(self, messages: Sequence[Message], /, **named: Any) -> dict[str, Any]:
        request = acme.encode_request(messages, **named)
        if len(messages) == 1 and messages[0].tool_calls and messages[0].native:
            own = messages[0].native.provider == "acme"
            return {**request, "talk": acme.encode(messages)} if own else request
        return request

    def validate(self, request: Mapping[str, Any], /) -> list[object]:
        return [] if "state" in request else list(acme.validate(request))


# Messages and requests


class _Stale(_Acme):
    """Sends its own items whatever the message says by now."""

    def seen(self, message: Message) -> Message:
        if message.native and message.native.provider == "acme":
            came = acme.decode([message.native.payload])
            return came[0] if len(came) == 1 and message.content != "" else message
        return message


class _StaleResults(_Acme):
    """Does so for results alone."""

    def seen(self, message: Message) -> Message:
        if message.role == "tool" and message.native and message.native.provider == "acme":
            return (acme.decode([message.native.payload]) or [message])[0]
        return message


class _Stuck(_Acme):
    """Lets no edit of a call out."""

    def seen(self, message: Message) -> Message:
        edited = [call for call in message.tool_calls if "edited" in call.arguments]
        if edited:
            return message.replace(tool_calls=[attrs.evolve(c, arguments="{}") for c in edited])
        return message


class _Reviving(_Acme):
    """Brings back a call that was dropped."""

    def seen(self, message: Message) -> Message:
        if not message.native or message.role != "assistant":
            return message
        came = acme.decode([message.native.payload])
        calls = came[0].tool_calls if came and message.native.provider == "acme" else ()
        return came[0] if len(calls) > len(message.tool_calls) else message


class _Lossy(_Acme):
    """Knows its fields, and drops the rest."""

    def decode(self, talk: Iterable[Any], /) -> list[Message]:
        items = [item for item in talk if isinstance(item, dict)]
        return acme.decode([{k: v for k, v in i.items() if k in {"by", "parts"}} for i in items])

    def decode_request(self, request: Mapping[str, Any], /) -> list[Message]:
        return acme.decode_request({**request, "talk": acme.encode(self.decode(request["talk"]))})


class _LossyWithin(_Acme):
    """Keeps the items, and drops the parts that it does not know."""

    def decode(self, talk: Iterable[Any], /) -> list[Message]:
        return acme.decode([self._known(item) for item in talk if isinstance(item, dict)])

    def _known(self, item: dict[str, Any]) -> dict[str, Any]:
        parts = item.get("parts")
        if not isinstance(parts, list):
            return item
        return {**item, "parts": [part for part in parts if "type" not in (part or {})]}


class _Reordering(_Acme):
    """Sends the same fields in another order."""

    def encode_request(self, messages: Sequence[Message], /, **named: Any) -> dict[str, Any]:
        request = acme.encode_request(messages, **named)
        return {**request, "talk": list(map(_backwards, request["talk"]))}

    def encode(self, messages: Sequence[Message], /) -> list[dict[str, Any]]:
        return list(map(_backwards, acme.encode(messages)))


def _backwards(item: dict[str, Any]) -> dict[str, Any]:
    return dict(reversed(item.items()))


class _Nameless(_Acme):
    """Marks its items with another name."""

    def decode_request(self, request: Mapping[str, Any], /) -> list[Message]:
        return [_marked(message, "") for message in acme.decode_request(request)]

    def seen(self, message: Message) -> Message:
        return _marked(message, "acme")


def _marked(message: Message, name: str) -> Message:
    return attrs.evolve(
        message, native=message.native and ProviderPayload(name, message.native.payload)
    )


class _Credulous(_Acme):
    """Takes everybody's items for its own."""

    def seen(self, message: Message) -> Message:
        return _marked(message, "acme")


class _Indiscreet(_Acme):
    """Says aloud what was thought elsewhere."""

    def seen(self, message: Message) -> Message:
        if not message.reasoning or (message.native and message.native.provider == "acme"):
            return message
        return message.replace(content=f"{message.reasoning}\n{message.content}")


class _Trusting(_Acme):
    """Sends the history as it is, damaged or not."""

    def encode_request(self, messages: Sequence[Message], /, **named: Any) -> dict[str, Any]:
        said = messages[leading_system_count(messages) :]
        return {**acme.encode_request(messages, **named), "talk": acme.encode(said)}


class _Lax(_Acme):
    """Takes every request for a good one."""

    def validate(self, request: Mapping[str, Any], /) -> list[object]:
        return []


class _Negligent(_Trusting):
    """Leaves orphans in, and misses them where nothing else is wrong."""

    def validate(self, request: Mapping[str, Any], /) -> list[object]:
        found = acme.validate(request)
        return (
            [] if {violation.rule for violation in found} <= {"orphaned_result", "order"} else found
        )


class _Strict(_Acme):
    """Refuses what the provider took."""

    def validate(self, request: Mapping[str, Any], /) -> list[object]:
        hurried = [item for item in request.get("talk") or [] if "mood" in (item or {})]
        return [*acme.validate(request), *hurried]


class _Silent(_Acme):
    """Forgets the system prompt."""

    def encode_request(self, messages: Sequence[Message], /, **named: Any) -> dict[str, Any]:
        return acme.encode_request(messages, tools=named.get("tools", ()))


class _Toolless(_Acme):
    """Names its tools, and does not say what they take."""

    def encode_request(self, messages: Sequence[Message], /, **named: Any) -> dict[str, Any]:
        request = acme.encode_request(messages, **named)
        for tool in request.get("tools", []):
            del tool["takes"]
        return request


class _Unsendable(_Acme):
    """Lets half an emoji through."""

    def encode_request(self, messages: Sequence[Message], /, **named: Any) -> dict[str, Any]:
        request = acme.encode_request(messages, **named)
        said = "".join(message.content for message in messages)
        return request if said.isascii() else {**request, "note": said}


class _Restless(_Acme):
    """Makes a new id at every call, so that no cache ever hits."""

    made = 0

    def encode_request(self, messages: Sequence[Message], /, **named: Any) -> dict[str, Any]:
        self.made += 1
        return {**acme.encode_request(messages, **named), "request_id": self.made}


class _Marking(_Acme):
    """Leaves its mark in the history."""

    def seen(self, message: Message) -> Message:
        if message.native and isinstance(message.native.payload, dict):
            message.native.payload["seen"] = True
        return message


class _Hidden(_Acme):
    """Sends something else than encode() gives."""

    def encode_request(self, messages: Sequence[Message], /, **named: Any) -> dict[str, Any]:
        return {"body": acme.encode_request(messages, **named)}


class _Afraid(_Acme):
    """Takes every item for one that it knows."""

    def decode(self, talk: Iterable[Any], /) -> list[Message]:
        return acme.decode([item for item in talk if item["by"]])


# Replies


class _Consistent(_Acme):
    """Decodes a reply with whatever its other functions say of it."""

    def decode_response(self, response: Any, /) -> loop.Decision:
        decision = acme.decode_response(response)
        return attrs.evolve(
            decision, usage=self.usage(response), stop_reason=self.stop_reason(response)
        )


class _Uncached(_Consistent):
    """Counts Acme's fresh tokens as all that was sent."""

    def usage(self, response: Any, /) -> Usage:
        counted = acme.usage(response)
        return attrs.evolve(counted, input=counted.input - counted.cache_read)


class _Thoughtless(_Consistent):
    """Counts what was said as all that was generated."""

    def usage(self, response: Any, /) -> Usage:
        counted = acme.usage(response)
        return attrs.evolve(counted, output=counted.output - 7 * counted.reasoning)


class _Exact(_Acme):
    """Adds up what the provider left null."""

    def usage(self, response: Any, /) -> Usage:
        if isinstance(response, dict) and isinstance(response.get("spent"), dict):
            sum(response["spent"].values())
        return acme.usage(response)


class _Disagreeing(_Acme):
    """Has two opinions about one reply."""

    def usage(self, response: Any, /) -> Usage:
        return Usage()


class _TwoReasons(_Acme):
    """Has two opinions about why it ended."""

    def stop_reason(self, response: Any, /) -> StopReason:
        return StopReason.OTHER


class _Eager(_Consistent):
    """Takes every reply with calls for one that waits for tools."""

    def stop_reason(self, response: Any, /) -> StopReason:
        if any("use" in part for part in items_at(response, "parts") if isinstance(part, dict)):
            return StopReason.TOOL
        return acme.stop_reason(response)


class _Unaware(_Consistent):
    """Believes the word, whatever was called."""

    def stop_reason(self, response: Any, /) -> StopReason:
        reason = acme.stop_reason(response)
        return StopReason.STOP if reason is StopReason.TOOL else reason


class _Illiterate(_Acme):
    """Has a table that lacks a word."""

    words = usage.StopWords("acme", {"needs_tools": StopReason.TOOL})

    def stop_reason(self, response: Any, /) -> StopReason:
        self.words.reason(text_at(response, "ended") or None)
        return acme.stop_reason(response)


class _Brittle(_Acme):
    """Looks its words up, and has no word for what it does not find."""

    def stop_reason(self, response: Any, /) -> StopReason:
        if (word := text_at(response, "ended")) not in {"junk", ""}:
            acme.STOP_WORDS.reasons[word]
        return acme.stop_reason(response)


class _Forgetful(_Acme):
    """Keeps nothing of a reply as it came."""

    def decode_response(self, response: Any, /) -> loop.Decision:
        return attrs.evolve(acme.decode_response(response), native=None)


class _Misnamed(_Acme):
    """Marks a reply with another name than its messages."""

    def decode_response(self, response: Any, /) -> loop.Decision:
        decision = acme.decode_response(response)
        native = decision.native and ProviderPayload("acme-2", decision.native.payload)
        return attrs.evolve(decision, native=native)


class _Optimist(_Consistent):
    """Takes a reply that was cut off for a whole one."""

    def stop_reason(self, response: Any, /) -> StopReason:
        reason = acme.stop_reason(response)
        return StopReason.STOP if reason is StopReason.MAX_TOKENS else reason


class _Unsealed(_Acme):
    """Sends thoughts back without their seals."""

    def encode(self, messages: Sequence[Message], /) -> list[dict[str, Any]]:
        talk = deepcopy(acme.encode(messages))
        for part in (part for item in talk for part in item.get("parts") or ()):
            if isinstance(part, dict):
                part.pop("seal", None)
        return talk


class _Mute(_Acme):
    """Drops a call on the way back."""

    def encode(self, messages: Sequence[Message], /) -> list[dict[str, Any]]:
        return acme.encode([message.replace(tool_calls=()) for message in messages])


class _WordOfOurs(_Acme):
    """Gives a text where a StopReason is due."""

    def usage(self, response: Any, /) -> Usage:
        return acme.usage(response) if response else None  # type: ignore[return-value]


# Streams and errors


class _Streaming(_Acme):
    """Puts streams together in a way of its own."""

    def __init__(self, way: type[acme.StreamedResponse]) -> None:
        self.streamed_response = way


class _LosesText(acme.StreamedResponse):
    def feed(self, event: Any, /) -> str:
        return super().feed(event).rstrip()


class _Raw(acme.StreamedResponse):
    def response(self) -> dict[str, Any]:
        response = super().response()
        return {**response, "parts": [{**part, "with": None} for part in response["parts"]]}


class _LosesFragments(acme.StreamedResponse):
    def feed(self, event: Any, /) -> str:
        return "" if "with" in event and "ld.log" in event["with"] else super().feed(event)


class _LosesSeals(acme.StreamedResponse):
    def feed(self, event: Any, /) -> str:
        return "" if "/0==" in str(event) else super().feed(event)


class _LosesThoughts(acme.StreamedResponse):
    def feed(self, event: Any, /) -> str:
        return "" if " first." in str(event) else super().feed(event)


class _Hopeful(acme.StreamedResponse):
    def response(self) -> dict[str, Any]:
        try:
            return super().response()
        except IncompleteReply:
            return {"parts": [{"text": self.text}], "ended": "finished", "spent": {}}


class _Tightlipped(acme.StreamedResponse):
    def response(self) -> dict[str, Any]:
        try:
            return super().response()
        except IncompleteReply as cut:
            raise IncompleteReply("") from cut


class _Crashing(acme.StreamedResponse):
    def response(self) -> dict[str, Any]:
        return {**super().response(), "last": self._parts[3]} if self._last else {}["last"]


class _Startled(acme.StreamedResponse):
    def feed(self, event: Any, /) -> str:
        assert event.keys() & {"open", "add", "tick", "end"}
        return super().feed(event)


class _Confused(acme.StreamedResponse):
    def feed(self, event: Any, /) -> str:
        known = {**event, "open": 9, "part": {"text": "?"}} if "type" in event else event
        return super().feed(known)


class _Blind(_Acme):
    """Knows no overflow."""

    def is_context_overflow(self, error: Any, /) -> bool:
        return False


class _Alarmed(_Acme):
    """Takes every word of too much for an overflow."""

    def is_context_overflow(self, error: Any, /) -> bool:
        return acme.is_context_overflow(error) or "Too many" in str(error)


class _Counting(_Acme):
    """Takes whatever counts tokens for one."""

    def is_context_overflow(self, error: Any, /) -> bool:
        return acme.is_context_overflow(error) or "tokens" in str(error)


class _Picky(_Acme):
    """Reads bodies alone."""

    def is_context_overflow(self, error: Any, /) -> bool:
        return bool(error["error"]["code"] == "talk_too_long")


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (_Stale(), "message 2: an edited message goes out edited, though native still holds"),
        (_StaleResults(), "goes out edited, though native .*, but the output of a tool did not"),
        (_Stuck(), "goes out edited, but the arguments of a call did not change"),
        (_Reviving(), "a call that was dropped stays dropped, .* but 'use_2' went out"),
        (_Lossy(), r"written again is what it was, but talk\[0\].mood was 'hurried', and is miss"),
        (_LossyWithin(), r"what is unknown is kept, but .* in 0.parts, talk\[0\].parts had 1|2"),
        (_Reordering(), r"the keys of talk\[0\] changed their order"),
        (_Nameless(), "native items are marked with the adapter's NAME, but say ''"),
        (_Credulous(), "items of another provider are never sent"),
        (_Indiscreet(), "reasoning of another provider is never sent, but it was"),
        (_Trusting(), "what encode_request.. gives is accepted by validate.., which says"),
        (_Lax(), "a request whose result was taken out: validate.. refuses it, but accepts it"),
        (_Strict(), "request 1: validate.. accepts what the provider accepted"),
        (_Silent(), "all of it goes out, but 'put in by check_adapter' does not"),
        (_Toolless(), "all of it goes out, but 'path' does not|'Where the file is.' does not"),
        (_Unsendable(), "what goes out can be sent as UTF-8"),
        (_Restless(), "gives the same for the same, but gave two requests"),
        (_Marking(), "encode_request.. leaves what it is given as it was, but changed it"),
        (_Hidden(), "a field of what encode_request.. gives is what encode.. gives"),
        (_Afraid(), "decode.. never raises, but raised KeyError"),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, _Acme) else "",
)
def test_mishandled_messages_name_the_promise(broken: _Acme, promise: str) -> None:
    """The suite fails on every way of being broken, in words that name the promise."""
    with pytest.raises(AssertionError, match=f"A promise of Adapter is broken on .*{promise}"):
        check(broken)


def test_an_orphan_is_found_without_validator() -> None:
    """The suite looks into the request, too: a validator may err as its adapter does."""
    with pytest.raises(AssertionError, match="a result that answers no call is left out, but"):
        testing.check_adapter(_Negligent())


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (_Uncached(), "response 1: input includes what the cache read and wrote"),
        (_Thoughtless(), "response 1: output includes reasoning"),
        (_Exact(), "usage.. never raises, but raised TypeError"),
        (_Disagreeing(), "decode_response.. and usage.. agree"),
        (_TwoReasons(), "decode_response.. and stop_reason.. agree, but say tool and other"),
        (_Eager(), "stopped with 'out_of_room' was cut off: MAX_TOKENS, not TOOL"),
        (_Unaware(), "a reply with calls is TOOL even where it says 'needs_tools', but is STOP"),
        (_Illiterate(), "response 2: stop_reason.. never raises, but raised UnknownStopWord"),
        (_Brittle(), "a stop word that nobody knows: stop_reason.. never raises"),
        (_Forgetful(), "a reply is kept as it came in Decision.native, which is None"),
        (_Misnamed(), "native is marked 'acme', not 'acme-2'"),
        (_Optimist(), "stopped with 'out_of_room' was cut off: MAX_TOKENS, but is STOP"),
        (_Unsealed(), "a reply goes back as it came, but lost .'kPq7/0=='"),
        (_Mute(), "a reply goes back as it came|reads as it did"),
        (_WordOfOurs(), "it gives a Usage, but gave None"),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, _Acme) else "",
)
def test_misread_replies_name_the_promise(broken: _Acme, promise: str) -> None:
    """Numbers, words and items: each has its own promise."""
    with pytest.raises(AssertionError, match=f"A promise of Adapter is broken on .*{promise}"):
        check(broken, requests=[])


@pytest.mark.parametrize(
    ("way", "promise"),
    [
        (_LosesText, "the pieces make up the reply, but are 'Let melook.'"),
        (_LosesFragments, "feed.. never raises|response.. never raises, but raised IncompleteRep"),
        (_Raw, "a stream decides what the response without streaming does: tool_calls is"),
        (_LosesSeals, "keeps what the response without streaming does, but lost .'kPq7/0=='"),
        (_LosesThoughts, "reasoning is 'The log first.', but 'The log'"),
        (_Hopeful, r"broken off after 0 events: response\(\) raises IncompleteReply, but gave ''"),
        (_Tightlipped, "IncompleteReply holds what had come, but ''"),
        (_Crashing, "it raises IncompleteReply, but raised KeyError"),
        (_Startled, "feed.. never raises, but raised AssertionError"),
        (_Confused, "events that nobody knows change nothing, but they did"),
    ],
)
def test_lost_pieces_of_a_stream_are_named(way: type[acme.StreamedResponse], promise: str) -> None:
    """A reply in pieces is the whole reply, or is told to be cut."""
    with pytest.raises(AssertionError, match=f"broken on stream 1.*{promise}"):
        check(_Streaming(way))


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (_Blind(), "talk_too_long.*is_context_overflow.. recognizes it, but did not"),
        (_Alarmed(), "slow_down.* takes no other error for an overflow, but took this"),
        (_Counting(), "Rate limit reached.* takes no other error for an overflow"),
        (_Picky(), "is_context_overflow.. never raises, but raised TypeError"),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, _Acme) else "",
)
def test_misread_errors_name_the_promise(broken: _Acme, promise: str) -> None:
    """An overflow that is missed ends the run; one that is imagined costs the history."""
    with pytest.raises(AssertionError, match=promise):
        check(broken)


class _Rereading:
    """Reads the whole list whenever it has grown."""

    def decode(self, items: Sequence[Any], _: int = 0, /) -> list[Decoded]:
        return [Decoded(1, (message,)) for message in acme.decode(items)]


class _Together:
    """Takes all that is new for one item."""

    def decode(self, items: Sequence[Any], start: int = 0, /) -> list[Decoded]:
        return [Decoded(1, tuple(acme.decode(items[start:])))]


@pytest.mark.parametrize(
    ("changes", "promise"),
    [
        ({"form": kit.RequestForm("items", "rules")}, "items_key is 'talk', but is 'items'"),
        ({"form": kit.RequestForm("talk")}, "form.open.. gives the system prompt, but does not"),
        (
            {"form": kit.RequestForm("talk", "rules", lambda _: None)},
            "form.open.. gives the tools, but does not",
        ),
        ({"list_decoder": _Rereading}, "reads . items as decode.. does, but reads something else"),
        ({"list_decoder": _Together}, "reads . items as decode.. does, but reads something else"),
    ],
)
def test_wrong_record_is_named(changes: dict[str, Any], promise: str) -> None:
    """What it says about requests and lists is what its functions do."""
    with pytest.raises(AssertionError, match=f"A promise of Adapter is broken on .*{promise}"):
        testing.check_adapter(attrs.evolve(acme.ADAPTER, **changes))
