"""The protocol of an adapter, how its functions are called, and how failures are reported."""

import functools
import json
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Protocol, TypeVar

from agentic.loop import Decision
from agentic.messages import Message
from agentic.testing import _promises
from agentic.tools import ToolDefinition
from agentic.usage import StopReason, StopWords, Usage

_T = TypeVar("_T")
broken = functools.partial(_promises.broken, "Adapter")
# A text that does not occur in any example.
MARK = "put in by check_adapter"


class Streamed(Protocol):
    """Assembles the events of one streamed reply."""

    def feed(self, event: Any, /) -> str:
        """Process the next event; return the piece of text in it, or "" for any other event."""
        ...

    def response(self) -> Any:
        """Return the response in the form of one that was not streamed.

        Raises:
            IncompleteReply: the stream ended early.
        """
        ...


class RequestParts(Protocol):
    """A request in its parts."""

    @property
    def items(self) -> Sequence[Any]:
        """The wire's list of messages."""
        ...

    @property
    def system_text(self) -> str:
        """The text of the system prompt, if it is not one of the items."""
        ...

    @property
    def tools(self) -> Any:
        """The tools."""
        ...


class Form(Protocol):
    """Where a request has its parts."""

    @property
    def items_key(self) -> str:
        """The field with the wire's list of messages."""
        ...

    def open(self, request: Mapping[str, Any], /) -> RequestParts:
        """Return the parts of a request."""
        ...


class GrowingDecoder(Protocol):
    """Reads a growing list of items."""

    def decode(self, items: Sequence[Any], start: int = 0, /) -> Sequence[Any]:
        """Read the items from index `start` on, in units of `items`, `messages` and `is_open`."""
        ...


class Wire(Protocol):
    """What is checked of an adapter; a `providers.kit.Adapter` is one.

    Data may be JSON or an SDK's objects, and never causes an exception.
    """

    @property
    def name(self) -> str:
        """The provider: `ProviderPayload.provider` of its messages."""
        ...

    @property
    def stop_words(self) -> StopWords:
        """The provider's complete table of stop words."""
        ...

    @property
    def streamed_response(self) -> Callable[[], Streamed]:
        """Creates an empty stream."""
        ...

    @property
    def form(self) -> Form:
        """Where a request has its parts."""
        ...

    @property
    def list_decoder(self) -> Callable[[], GrowingDecoder]:
        """Creates what reads a growing list."""
        ...

    def decode(self, messages: Iterable[Any], /) -> list[Message]:
        """Read the wire's list of messages."""
        ...

    def encode(self, messages: Sequence[Message], /) -> list[dict[str, Any]]:
        """Write the wire's list of messages."""
        ...

    def encode_request(
        self,
        messages: Sequence[Message],
        /,
        *,
        system_prompt: str = "",
        tools: Sequence[ToolDefinition] = (),
    ) -> dict[str, Any]:
        """Write the part of a request that is the conversation, which may be damaged."""
        ...

    def decode_request(self, request: Mapping[str, Any], /) -> list[Message]:
        """Read the conversation of a complete request, including its system prompt."""
        ...

    def decode_response(self, response: Any, /) -> Decision:
        """Read a reply."""
        ...

    def usage(self, response: Any, /) -> Usage:
        """Return the usage of a reply."""
        ...

    def stop_reason(self, response: Any, /) -> StopReason:
        """Return why a reply ended."""
        ...

    def is_context_overflow(self, error: Any, /) -> bool:
        """Return whether an error says that the request exceeds the window."""
        ...

    def validate(self, request: Mapping[str, Any], /) -> Sequence[object]:
        """Return why the provider would refuse a request's structure; empty if it would not."""
        ...


def ask(where: str, function: Callable[..., _T], *arguments: Any, **options: Any) -> _T:
    """Call a function of an adapter that must neither raise nor change its arguments."""
    # Adapters keep what they are given in native payloads: a change would reach the history.
    before = deepcopy((arguments, options))
    answer = call(where, function, *arguments, **options)
    if (arguments, options) != before:
        promise = f"{_name(function)}() leaves what it is given as it was, but changed it"
        raise broken(where, promise)
    return answer


def call(where: str, function: Callable[..., _T], *arguments: Any, **options: Any) -> _T:
    """Call a function of an adapter that must not raise."""
    try:
        return function(*arguments, **options)
    except Exception as problem:
        promise = f"{_name(function)}() never raises, but raised {problem!r:.300}"
        raise broken(where, promise) from problem


def is_accepted(adapter: Wire, where: str, messages: Sequence[Message], **options: Any) -> str:
    """Encode a view, check that it is valid and can be sent, and return the request as text."""
    request = ask(where, adapter.encode_request, list(messages), **options)
    if violations := ask(where, adapter.validate, request):
        # A validator of one's own may give texts instead of violations.
        said = reprlib.repr(getattr(violations[0], "problem", violations[0]))
        raise broken(
            where, f"what encode_request() gives is accepted by validate(), which says {said}"
        )
    text = as_text(request)
    # A request that differs each time is never found in a provider's cache.
    if as_text(adapter.encode_request(list(messages), **options)) != text:
        raise broken(where, "encode_request() gives the same for the same, but gave two requests")
    try:
        # A client encodes the whole body at its end, and its error names no message.
        text.encode()
    except UnicodeEncodeError as problem:
        raise broken(where, f"what goes out can be sent as UTF-8, but {problem}") from problem
    return text


def as_text(data: Any) -> str:
    """Return data as JSON text, so that the order of keys matters and NaN equals NaN."""
    # Besides JSON, SDKs accept bytes, times and Decimal.
    return json.dumps(data, ensure_ascii=False, default=repr)


def shows(text: str, part: str) -> int:
    """Return how often a request, as text, contains a text, also in JSON within JSON."""
    # Arguments are JSON in a JSON text at most providers, so they are escaped twice.
    once = as_text(part)[1:-1]
    twice = as_text(once)[1:-1]
    return text.count(once) + (text.count(twice) if twice != once else 0)


def difference(want: Any, got: Any, at: str = "") -> str:
    """Return where two pieces of JSON data first differ; empty if they do not.

    >>> difference({"parts": [{"seal": "x"}]}, {"parts": [{}]}, "item")
    "item.parts[0].seal was 'x', and is missing"
    """
    # Not by ==, for which 1, 1.0 and True are equal.
    if as_text(want) == as_text(got):
        return ""
    if isinstance(want, Mapping) and isinstance(got, Mapping):
        return _of_keys(want, got, at)
    if isinstance(want, list) and isinstance(got, list):
        pairs = enumerate(zip(want, got, strict=False))
        inside = (difference(old, new, f"{at}[{index}]") for index, (old, new) in pairs)
        uneven = f"{at} had {len(want)} entries, and has {len(got)}"
        return next(filter(None, inside), uneven)
    return f"{at} was {reprlib.repr(want)}, and is {reprlib.repr(got)}"


def _of_keys(want: Mapping[str, Any], got: Mapping[str, Any], at: str) -> str:
    # In the order that was expected, so that the first difference is told, not any.
    for key in want:
        if key not in got:
            return f"{at}.{key} was {reprlib.repr(want[key])}, and is missing"
        if problem := difference(want[key], got[key], f"{at}.{key}"):
            return problem
    additions = [key for key in got if key not in want]
    return (
        f"{at}.{additions[0]} was not there"
        if additions
        else f"the keys of {at} changed their order"
    )


def _name(function: Callable[..., Any]) -> str:
    # A partial or a callable object has no name.
    return getattr(function, "__name__", repr(function))
