"""What an adapter is: the names that a module about one provider's wire has."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from agentic.loop import Decision
from agentic.messages import Message
from agentic.tools import ToolDefinition
from agentic.usage import StopReason, StopWords, Usage

__all__ = ["Adapter", "Streamed"]


class Streamed(Protocol):
    """Puts the events of one streamed reply together."""

    def feed(self, event: Any, /) -> str:
        """Take the next event; give the piece of text in it, empty for any other event."""
        ...

    def response(self) -> Any:
        """Return the response in the shape of one that was not streamed.

        Raises:
            IncompleteReply: the stream broke off.
        """
        ...


class Adapter(Protocol):
    """All that is known of one provider's wire. A module with these names is one.

    Data comes as JSON or as the objects of an SDK, and is never a reason to raise.
    """

    @property
    def NAME(self) -> str:  # noqa: N802  a constant of the module
        """The provider: `ProviderPayload.provider` of the messages that come from it."""
        ...

    @property
    def STOP_WORDS(self) -> StopWords:  # noqa: N802  a constant of the module
        """The provider's whole vocabulary."""
        ...

    @property
    def StreamedResponse(self) -> Callable[[], Streamed]:  # noqa: N802  a class of the module
        """Makes an empty one."""
        ...

    def decode(self, messages: Iterable[Any], /) -> list[Message]:
        """Read the wire's list of messages."""
        ...

    def encode(self, messages: Sequence[Message], /) -> list[dict[str, Any]]:
        """Write the wire's list of messages."""
        ...

    def encode_tools(self, tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
        """Write what goes into a request's list of tools."""
        ...

    def encode_request(
        self,
        messages: Sequence[Message],
        /,
        *,
        system_prompt: str = "",
        tools: Sequence[ToolDefinition] = (),
    ) -> dict[str, Any]:
        """Write all that a request holds of a conversation, damaged ones included."""
        ...

    def decode_request(self, request: Mapping[str, Any], /) -> list[Message]:
        """Read the conversation of a whole request, its system prompt included."""
        ...

    def decode_response(self, response: Any, /) -> Decision:
        """Read a reply."""
        ...

    def usage(self, response: Any, /) -> Usage:
        """Count what a reply used."""
        ...

    def stop_reason(self, response: Any, /) -> StopReason:
        """Return why a reply ended."""
        ...

    def is_context_overflow(self, error: Any, /) -> bool:
        """Return whether an error says that the request does not fit the window."""
        ...

    def validate(self, request: Mapping[str, Any], /) -> Sequence[object]:
        """Return why the provider would refuse a request for its shape; nothing if it would not."""
        ...
