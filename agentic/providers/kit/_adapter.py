"""The record that an adapter fills in: everything that others need to know about its provider.

An adapter is one folder, whose `ADAPTER` is an `Adapter`. `connect`, `bridges.dicts`, agents from
YAML, replay, traces and the proxy know a provider by this record alone.
"""

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from agentic._base._validate import must_be
from agentic.errors import ConfigError
from agentic.messages import Message
from agentic.providers.kit._json import at
from agentic.providers.kit._messages import Decoded
from agentic.providers.kit._requests import RequestForm

if TYPE_CHECKING:
    from agentic.limits import ModelLimits
    from agentic.loop import Decision, StreamingDecider
    from agentic.providers.kit._violations import Violation
    from agentic.tools import ToolDefinition
    from agentic.usage import StopReason, StopWords, Usage

_Body = dict[str, Any]


class EncodeRequest(Protocol):
    """Writes the part of a request that is the conversation, which may be damaged."""

    def __call__(
        self,
        messages: Sequence[Message],
        /,
        *,
        system_prompt: str = "",
        tools: "Sequence[ToolDefinition]" = (),
    ) -> _Body:
        """Return fields of a request."""
        ...


class ListDecoder(Protocol):
    """Reads a growing list of items, with the same result as `decode` on the whole list."""

    def decode(self, items: Sequence[Any], start: int = 0, /) -> list[Decoded]:
        """Read the items from index `start` on; earlier calls have read the ones before it."""
        ...


class ReplyStream(Protocol):
    """Assembles the events of one streamed reply."""

    def feed(self, event: Any, /) -> str:
        """Process the next event; return the piece of text in it, empty for any other event."""
        ...

    def response(self) -> Any:
        """Return the response in the form of one that was not streamed.

        Raises:
            IncompleteReply: the stream ended early.
        """
        ...


class ItemDecoder:
    """Reads a list whose items do not depend on each other, one by one."""

    def __init__(self, decode_items: Callable[[Iterable[Any]], list[Message]]) -> None:
        self._decode_items = decode_items

    def decode(self, items: Sequence[Any], start: int = 0, /) -> list[Decoded]:
        """Read the items from index `start` on."""
        return [Decoded(1, tuple(self._decode_items([item]))) for item in items[start:]]


@attrs.frozen(kw_only=True, eq=False)
class Sdk:
    """Where a provider's client comes from, and when it can be had."""

    install: str
    """What pip installs, such as `agentic-weave[openai]`."""
    module: str
    """The module that is imported."""
    make: Callable[[Any], Any]
    """Return a client, given the imported module. Raise if it has no key or no region."""
    key_variables: tuple[str, ...] = ()
    """The environment variables of which one has the key, if a key is all that is needed."""
    address_variable: str = ""
    """The environment variable in which the SDK looks for the address of another server, if its
    client has an asynchronous `models.list()` that such servers answer."""


@attrs.frozen(kw_only=True, eq=False)
class ModelOffer:
    """What a chat offers of a provider, whose models the catalog of `limits` has."""

    model: str
    """The model that is offered if none is named."""
    starts: tuple[str, ...]
    """How the names of its models begin in the catalog."""
    without: tuple[str, ...] = ()
    """The beginnings of names that begin so and are not served by it."""


@attrs.frozen(kw_only=True, eq=False)
class HttpApi:
    """How requests of a wire are recognized and answered by a proxy, and sent after a refusal."""

    takes_path: Callable[[str], bool]
    """Whether a POST to a path of a URL is a request of this wire."""
    has_content: Callable[[Any], bool]
    """Whether an event of a stream has a part of the reply, or ends it."""
    is_last: Callable[[Any], bool] = lambda _: False
    """Whether an event ends the stream; by default only the end of the body does."""
    model_in: Callable[[str], str] = lambda _: ""
    """The model that a path names; empty if the body does."""
    leave_out_reasoning: Callable[[_Body, Callable[[Any], bool]], _Body] = lambda body, _: body
    """Return a request without the reasoning of whose signature a function is true; by default
    itself, because the API refuses none."""
    ask_to_drop: Callable[[_Body], _Body | None] = lambda _: None
    """Return a request that asks the server to drop stale reasoning; None if it cannot."""
    drop_header: tuple[str, str] | None = None
    """A header that such a request needs, and the word in it."""
    error_body: Callable[[int, str, str], _Body] = lambda _, kind, message: {
        "error": {"type": kind, "message": message}
    }
    """Return the body of an error, given its status, its type and a sentence."""


def validator_in(module: str) -> "Callable[..., Sequence[Violation]]":
    """Return `validate` of a module, which is imported with the first request that is checked.

    No decider needs the rules.
    """

    def validate(request: Mapping[str, Any], **options: Any) -> "Sequence[Violation]":
        violations: Sequence[Violation] = importlib.import_module(module).validate(
            request, **options
        )
        return violations

    return validate


_REPLY_LIMITS = (("max_tokens",), ("max_completion_tokens",), ("max_output_tokens",))


def longest_reply(
    options: Mapping[str, Any], places: Iterable[Sequence[str]] = _REPLY_LIMITS
) -> int:
    """Return the length of the reply that options of a request ask for; 0 if they do not.

    >>> longest_reply({"max_tokens": 9_000}), longest_reply({"temperature": 0})
    (9000, 0)
    """
    numbers = [at(options, *place) for place in places]
    # -1 is a reply without a limit, on servers that have one by default.
    return max((0, *(number for number in numbers if isinstance(number, int))))


@attrs.frozen(kw_only=True, eq=False)
class Adapter:
    """What is known about one provider.

    Data may be JSON or an SDK's objects. Nothing that reads it raises for what a provider sends,
    and nothing changes its arguments. `agentic.testing.check_adapter` checks these promises.

    Raises:
        ConfigError: the name is empty or holds a colon.
    """

    name: str = attrs.field(validator=must_be(str))
    """The provider, as in `connect("name:model")` and in `ProviderPayload.provider`."""

    # From the wire

    decode: Callable[[Iterable[Any]], list[Message]]
    """Read the wire's list of messages."""
    decode_request: Callable[[Mapping[str, Any]], list[Message]]
    """Read the conversation of a complete request, including its system prompt."""
    decode_response: "Callable[[Any], Decision]"
    """Read a reply."""
    usage: "Callable[[Any], Usage]"
    """Return the usage of a reply."""
    stop_reason: "Callable[[Any], StopReason]"
    """Return why a reply ended."""
    stop_words: "StopWords"
    """The provider's complete table of stop words."""
    streamed_response: Callable[[], ReplyStream]
    """Create what assembles one streamed reply."""
    list_decoder: Callable[[], ListDecoder] = attrs.field(
        default=attrs.Factory(lambda self: partial(ItemDecoder, self.decode), takes_self=True)
    )
    """Create what reads a growing list. By default each item is read by itself."""

    # To the wire

    encode: Callable[[Sequence[Message]], list[_Body]]
    """Write the wire's list of messages."""
    encode_request: EncodeRequest
    """Write the part of a request that is the conversation."""
    form: RequestForm
    """Where a request has its parts, and which order of messages the provider accepts."""

    # Refusals

    validate: "Callable[[Mapping[str, Any]], Sequence[Violation]]"
    """Return why the provider would refuse a request's structure; empty if it would not."""
    is_context_overflow: Callable[[Any], bool]
    """Return whether an error says that the request exceeds the model's window."""

    # Connecting

    decider: "Callable[..., StreamingDecider] | None" = None
    """Create what asks a model, given a client and the model's name; None if there is none."""
    sdk: Sdk | None = None
    """Where the client comes from; None if the caller has to bring it."""
    reply_tokens: "Callable[[Mapping[str, Any], ModelLimits], int]" = lambda options, _: (
        longest_reply(options)
    )
    """Return the length of the reply in tokens that a decider with these options asks for, given
    the model's limits; 0 if it may use the rest of the window."""
    http: HttpApi | None = None
    """How a proxy knows its requests; None if a proxy passes them on unread."""
    offer: ModelOffer | None = None
    """What a chat offers if a key is set; None to offer nothing."""
    trace_name: str = ""
    """The well-known value of `gen_ai.provider.name`, by default the name itself."""

    @name.validator
    def _check_name(self, _: object, name: str) -> None:
        if not name or ":" in name:
            raise ConfigError("Adapter.name", name, "a name without a colon", "such as 'acme'")
