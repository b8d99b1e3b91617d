"""The promises of every adapter, as one check that any test runner can call.

Here are the order of the parts, and the promises about errors and about any view: the provider
accepts it, and nothing in it is lost. The adapter's validator, which has promises of its own,
decides whether it would be accepted.
"""

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import ModuleType
from typing import Any, cast

import attrs

from agentic.context.strategies import FitContextWindow
from agentic.errors import ConfigError
from agentic.messages import Message, ProviderPayload, leading_system_count
from agentic.testing._adapter_examples import ANSWER, CALL, CONVERSATIONS, MARKED, RESULT, find_talk
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
from agentic.testing._adapter_wire import (
    check_edits,
    check_foreign,
    check_reply,
    check_request,
    check_stop_words,
    check_stream,
    history_of,
    read_example,
)
from agentic.testing._promises import ASK, READ

# Not an overflow at any provider: a rate limit mentions tokens too, but only requires waiting.
_NEVER: tuple[Any, ...] = (
    None,
    {},
    "",
    ValueError("boom"),
    ConnectionError("the connection was reset"),
    {"error": {"message": "Rate limit reached: 40000 tokens per minute. Try again in 20 s."}},
    {"error": {"message": "You exceeded your current quota, please check your plan."}},
)
_MARK = re.compile(r"mark-[a-z0-9-]+")
_SOUND = [ASK, CALL, RESULT, ANSWER]
_TEXTS = [
    ASK.content,
    CALL.content,
    "a.py",
    RESULT.tool_results[0].output,
    ANSWER.content,
    READ.name,
    READ.description,
    "path",
    "Where the file is.",
    MARK,
]
# What a gateway, an SDK of tomorrow or a damaged file may put in a message's place.
_JUNK: list[Any] = [
    None,
    3,
    "text",
    [],
    {},
    {"role": 3, "content": 3},
    {"role": "x", "content": [None]},
]
_DAMAGE = {
    "whose result was taken out": RESULT.tool_results[0].output,
    "whose call was taken out": "a.py",
}


def check_adapter(
    adapter: Wire | ModuleType,
    *,
    requests: Iterable[Mapping[str, Any]] = (),
    responses: Iterable[Any] = (),
    streams: Iterable[tuple[Sequence[Any], Any]] = (),
    overflows: Iterable[Any] = (),
    other_errors: Iterable[Any] = (),
) -> None:
    """Check an adapter's promises, with examples of its wire and with the suite's conversations.

    - Requests, replies and streams are unchanged after being read and written, including unknown
      fields, the order of keys, and signatures. A reply is sent back as it was received.
    - An edited message is sent as edited, although its native items still have the old content.
    - Another provider's items and reasoning are never sent.
    - Whatever the history, `validate` accepts what is sent, and `validate` does detect errors.
    - All of a history is sent, in order: system messages, a summary, and everything tools returned.
    - `input` includes the cache, `output` includes reasoning. Every stop word is known and kept. A
      reply that was cut off is never `TOOL`. Missing, null or unknown values never raise.
    - A reply given with its usage and stop reason is read with exactly these.
    - A stream results in a reply or an IncompleteReply. An overflow is recognized as such, and a
      rate limit is not.
    - The record's `form` finds the items, the system prompt and the tools of a request, and its
      `list_decoder` reads a list that grows as `decode` reads the whole of it.
    - Arguments are not changed.

    The more the examples contain (parallel calls, thinking, images, a reply for each stop word),
    the more is proven. With `agentic-weave[testing]`, Hypothesis generates further conversations.

    Args:
        adapter: a `providers.kit.Adapter`, or the module that has it as `ADAPTER`.
        requests: bodies that the provider accepted.
        responses: the provider's replies, not streamed: `(response, usage, stop reason)`, with the
            `Usage` and the `StopReason` that you determined by hand. A bare response is accepted
            too, but proves less, because nothing else says what its numbers mean.
        streams: the events of a complete stream, each with the response that would have come
            without streaming (bare, or with its usage and stop reason), or None if it is unknown.
        overflows: errors, as bodies or exceptions, that say that the request exceeds the window.
        other_errors: errors that do not, including a rate limit and a quota.

    Raises:
        AssertionError: a promise is broken; the text says which one, and for what input.
    """
    wire = cast("Wire", getattr(adapter, "ADAPTER", adapter))
    # First, because all that follows relies on the validator.
    _check_validator(wire)
    # What examples show is edited below, with the native items that they bring.
    histories = _check_examples(wire, requests, responses, streams)
    for where, history in histories.items():
        check_edits(wire, where, history)
        check_foreign(wire, where, history)
    _check_errors(wire, list(overflows), list(other_errors))
    _check_views(wire)
    # Last, because it relies on all of it.
    _check_record(wire)


def _check_examples(
    adapter: Wire,
    requests: Iterable[Mapping[str, Any]],
    responses: Iterable[Any],
    streams: Iterable[tuple[Sequence[Any], Any]],
) -> dict[str, list[Message]]:
    """Check an adapter against the examples of its wire, and return the histories in them."""
    histories: dict[str, list[Message]] = {}
    for where, request in _named("request", requests):
        histories[where] = check_request(adapter, where, request)
    replies = [(where, read_example(given)) for where, given in _named("response", responses)]
    for where, example in replies:
        histories[where] = history_of(check_reply(adapter, where, example))
    # Across replies: the word of one that was cut off is put into one with calls.
    check_stop_words(adapter, [(where, example.response) for where, example in replies])
    for where, (events, plain) in _named("stream", streams):
        whole = None if plain is None else read_example(plain)
        decision = check_stream(adapter, where, events, whole)
        histories[where] = history_of(decision)
    return histories


def _named(kind: str, examples: Iterable[Any]) -> list[tuple[str, Any]]:
    return [(f"{kind} {number}", example) for number, example in enumerate(examples, 1)]


def _check_errors(adapter: Wire, overflows: Sequence[Any], others: Sequence[Any]) -> None:
    """Check the errors one by one."""
    for error in overflows:
        if not call(_name(error), adapter.is_context_overflow, error):
            raise broken(_name(error), "is_context_overflow() recognizes it, but did not")
    for error in (*_NEVER, *others):
        if call(_name(error), adapter.is_context_overflow, error):
            # A wrong yes is worse than a wrong no: the history is cut, and the request fails again.
            promise = "is_context_overflow() takes no other error for an overflow, but took this"
            raise broken(_name(error), f"{promise}: a user would lose history for nothing")


def _name(error: Any) -> str:
    return f"the error {error!r:.200}"


def _check_views(adapter: Wire) -> None:
    """Check the suite's conversations, and data that nobody should send."""
    # The plain cases first, so that a defect is told by the smallest conversation.
    _shows_all(adapter)
    for name, messages in MARKED.items():
        _sends_all_in_order(adapter, name, messages)
    _leaves_orphans_out(adapter)
    for name, messages in CONVERSATIONS.items():
        _accepts(adapter, name, messages)
    _reads_junk(adapter)
    _accepts_generated(adapter)


def _shows_all(adapter: Wire) -> None:
    where = "a tool round with a system prompt and a tool"
    text = is_accepted(adapter, where, _SOUND, system_prompt=MARK, tools=[READ])
    for part in _TEXTS:
        if not shows(text, part):
            raise broken(where, f"all of it goes out, but {part!r} does not")


def _sends_all_in_order(adapter: Wire, where: str, messages: Sequence[Message]) -> None:
    """Check that every marked text is in the request, in the order of the messages."""
    text = is_accepted(adapter, where, messages, tools=[READ])
    talk = as_text(adapter.encode_request(list(messages), tools=[READ])[find_talk(adapter)])
    # Leading system messages may have a field of their own, outside the conversation.
    leading = leading_system_count(messages)
    for content, part in ((text, messages[:leading]), (talk, messages[leading:])):
        end = -1
        for step in _steps(part):
            places = [_find(where, content, m) for message in step for m in _marks(message)]
            if places and min(places) < end:
                promise = f"a history goes out in its order, but {step[0].role} message does not"
                raise broken(where, f"{promise}: {step[0].content!r}")
            end = max([end, *places])
    try:
        bare = as_text(adapter.encode(list(messages)))
    # It declares that it cannot write these.
    except ConfigError:
        return
    for message in messages:
        for marks in _marks(message):
            _find(f"{where}, by encode()", bare, marks)


def _steps(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Yield groups to be sent in order: a run of assistant messages may be sent as one."""
    for role, group in groupby(messages, lambda message: message.role):
        together = list(group)
        # A wire with one reply a turn joins them, its texts before its calls.
        yield from [together] if role == "assistant" else [[each] for each in together]


def _find(where: str, text: str, marks: Sequence[str]) -> int:
    """Return the position of a text that may be sent in one of several forms."""
    places = [text.find(mark) for mark in marks if mark in text]
    if not places:
        raise broken(where, f"nothing leaves a request silently, but {marks[0]!r} does")
    return min(places)


def _marks(message: Message) -> Iterator[tuple[str, ...]]:
    """Yield the texts of a message that must be found, each with its possible forms."""
    if message.content:
        yield (message.summary.content if message.summary else message.content,)
    for each in message.tool_calls:
        # Not the whole text: the wire may have arguments as an object.
        yield (_MARK.findall(each.arguments)[0],)
    for result in message.tool_results:
        error = result.error.message if result.error else ""
        yield from ((text,) for text in (result.output, error, result.notice) if text)
    for media in message.all_media:
        # By its type at least: a wire without a place for media names them.
        yield base64.b64encode(media.data).decode(), media.media_type


def _accepts(adapter: Wire, name: str, messages: Sequence[Message]) -> None:
    is_accepted(adapter, name, messages)
    is_accepted(adapter, f"{name}, with a tool", messages, system_prompt=MARK, tools=[READ])
    # As an older version, or another program, may have stored them.
    own = [_with_junk(message, adapter.name) for message in messages]
    is_accepted(adapter, f"{name}, with native items that nobody can read", own)


def _with_junk(message: Message, provider: str) -> Message:
    """Attach junk as the adapter's own items; not to a message as empty as the junk."""
    if not (message.content or message.tool_calls or message.tool_results):
        return message
    return attrs.evolve(message, native=ProviderPayload(provider, {"junk": [None]}))


def _leaves_orphans_out(adapter: Wire) -> None:
    """Check the request itself for an orphan's output, in case the validator does not."""
    where = "a result without a call"
    text = is_accepted(adapter, where, CONVERSATIONS[where])
    if shows(text, "of nobody's call"):
        raise broken(where, "a result that answers no call is left out, but it goes out")


def _reads_junk(adapter: Wire) -> None:
    ask("items that are junk", adapter.decode, _JUNK)
    for junk in _JUNK:
        ask("an item that is junk", adapter.decode, [junk])
        ask("a request that is junk", adapter.decode_request, {"": junk})
        ask("a request that is junk", adapter.validate, {"": junk})


def _accepts_generated(adapter: Wire) -> None:
    """Check generated conversations if Hypothesis is installed."""
    try:
        from hypothesis import HealthCheck, given, settings  # noqa: PLC0415  an optional extra

        from agentic.testing._conversations import conversations  # noqa: PLC0415  needs Hypothesis
    except ImportError:
        return
    # So small that most of these conversations are cut.
    cut = FitContextWindow(200)

    # The same conversations each time, so that nothing fails by chance, and no folder is left.
    @settings(
        max_examples=100,
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(conversations())
    def accepts(messages: list[Message]) -> None:
        is_accepted(adapter, "a generated conversation", messages)
        # Cuts leave what a whole history never has, such as a beginning in the middle.
        view = cut.compact(messages)
        is_accepted(adapter, "a generated conversation, cut", view, tools=[READ])

    accepts()


def _check_validator(adapter: Wire) -> None:
    """Damage a valid request: a validator that accepts everything proves nothing."""
    key = find_talk(adapter)
    # In the wire's form, since encode_request() would repair a damaged history.
    for damage, text in _DAMAGE.items():
        where = f"a request {damage}"
        request = ask(where, adapter.encode_request, [*_SOUND, ASK])
        items = [item for item in request[key] if not shows(as_text(item), text)]
        if not ask(where, adapter.validate, {**request, key: items}):
            raise broken(where, "validate() refuses it, but accepts it")


def _check_record(adapter: Wire) -> None:
    """Check what the record says about requests and lists, against what its functions do."""
    where = "a request of a system prompt, a tool round and a tool"
    request = ask(where, adapter.encode_request, [*_SOUND, ASK], system_prompt=MARK, tools=[READ])
    key = find_talk(adapter)
    if adapter.form.items_key != key:
        raise broken(where, f"form.items_key is {key!r}, but is {adapter.form.items_key!r}")
    parts = ask(where, adapter.form.open, request)
    if problem := difference(request[key], list(parts.items), key):
        raise broken(where, f"form.open() gives the items of a request, but {problem}")
    # A wire may have its system prompt among the items, or in a field of its own.
    if not shows(as_text([*parts.items, parts.system_text]), MARK):
        raise broken(where, "form.open() gives the system prompt, but does not")
    if not shows(as_text(parts.tools), READ.name):
        raise broken(where, "form.open() gives the tools, but does not")
    for name, messages in CONVERSATIONS.items():
        items = ask(name, adapter.encode_request, list(messages), tools=[READ])[key]
        _reads_a_growing_list(adapter, name, items)


def _reads_a_growing_list(adapter: Wire, where: str, items: Sequence[Any]) -> None:
    """Check a list that is read item by item, and one that is read at once."""
    decoder, units = adapter.list_decoder(), list[Any]()
    for length in range(1, len(items) + 1):
        # What a later item may change is read once more.
        if units and units[-1].is_open:
            units.pop()
        start = sum(unit.items for unit in units)
        units += ask(where, decoder.decode, list(items[:length]), start)
        _are_all_read(adapter, where, items[:length], units)
    _are_all_read(adapter, where, items, ask(where, adapter.list_decoder().decode, list(items)))


def _are_all_read(adapter: Wire, where: str, items: Sequence[Any], units: Sequence[Any]) -> None:
    messages = [message for unit in units for message in unit.messages]
    is_whole = sum(unit.items for unit in units) == len(items)
    if not is_whole or messages != ask(where, adapter.decode, list(items)):
        promise = f"list_decoder() reads {len(items)} items as decode() does"
        raise broken(where, f"{promise}, but reads something else")
