"""One entry of a conversation, and the parts it is made of.

Everything here is frozen: an edit is `message.replace(...)`, which makes a new message. Collections
are tuples; lists are accepted and converted. `extra` holds the fields of the JSON form that this
version does not know, so that a store never loses what a newer version wrote.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import attrs

from agentic.errors import ConfigError
from agentic.usage import Usage

if TYPE_CHECKING:
    from agentic.messages._summary import ContextSummary

__all__ = ["Media", "Message", "Native", "Role", "ToolCall", "ToolFailure", "ToolResult"]

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
_ROLES: tuple[str, ...] = get_args(Role)


def _text(instance: object, attribute: "attrs.Attribute[str]", value: object) -> None:
    if not isinstance(value, str):
        owner = type(instance).__name__
        raise ConfigError(
            f"{owner}.{attribute.name}",
            value,
            "a str",
            "decode bytes, join text parts, and put images into media",
        )


def _extra() -> Any:
    return attrs.field(factory=dict, kw_only=True, repr=False, hash=False)


@attrs.frozen
class ToolCall:
    """A tool that the model asked for."""

    id: str
    """Names the call within the conversation; its result carries the same id."""
    name: str
    arguments: str = attrs.field(default="{}", validator=_text)
    """The JSON text exactly as the model wrote it, valid or not."""
    extra: Mapping[str, Any] = _extra()

    def parse(self) -> dict[str, Any]:
        """Read the arguments; no text at all means no arguments.

        >>> ToolCall("c1", "read", '{"path": "a.py"}').parse()
        {'path': 'a.py'}

        Raises:
            ValueError: the text is not JSON, or not an object.
        """
        if not self.arguments.strip():
            return {}
        value = json.loads(self.arguments)
        if not isinstance(value, dict):
            message = f"the arguments are a JSON {type(value).__name__}, not an object"
            raise ValueError(message)  # noqa: TRY004  one exception for every text that will not do
        return value


@attrs.frozen
class ToolFailure:
    """Why a call has no proper output, in words that the model can act on."""

    message: str = attrs.field(validator=_text)
    kind: str = "raised"
    """One word for programs: raised, timeout, not_found, not_allowed, bad_arguments, not_run."""


def _failure(value: ToolFailure | str | None) -> ToolFailure | None:
    return ToolFailure(value) if isinstance(value, str) else value


@attrs.frozen
class ToolResult:
    """The answer to one call."""

    call_id: str
    name: str = ""
    output: str = attrs.field(default="", validator=_text)
    """What the tool said, perhaps truncated."""
    error: ToolFailure | None = attrs.field(default=None, converter=_failure)
    notice: str = attrs.field(default="", validator=_text)
    """What is missing from `output`. Rendered after it, never truncated with it."""
    ref: str | None = None
    """Where the whole output can be read: a path, or a reference into the archive."""
    extra: Mapping[str, Any] = _extra()

    @property
    def text(self) -> str:
        r"""What the model reads: the output, the error, the notice.

        >>> ToolResult("c1", "run", "1 passed", notice="[Showing the last line.]").text
        '1 passed\n[Showing the last line.]'
        """
        failure = f"Error: {self.error.message}" if self.error else ""
        return "\n".join(part for part in (self.output, failure, self.notice) if part)


@attrs.frozen
class Media:
    """An image, a sound or a document: its bytes, or where they are."""

    media_type: str
    """As in a Content-Type header: image/png, audio/wav, application/pdf."""
    data: bytes = attrs.field(default=b"", repr=False)
    url: str = ""
    extra: Mapping[str, Any] = _extra()


@attrs.frozen
class Native:
    """The ordered items of the provider that a message was decoded from.

    An encoder sends them back byte for byte while the message's typed fields still say the same.
    """

    provider: str
    payload: Any = attrs.field(hash=False)
    """JSON data, in the provider's own shape. Treat it as read-only."""


def _calls(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    return tuple(calls)


def _results(results: Iterable[ToolResult]) -> tuple[ToolResult, ...]:
    return tuple(results)


def _media(media: Iterable[Media]) -> tuple[Media, ...]:
    return tuple(media)


@attrs.frozen
class Message:
    """One entry of a conversation: system, user, assistant or tool.

    >>> Message("user", "Why is the build red?").role
    'user'

    Raises:
        ConfigError: an unknown role, a content that is no text, tool results outside a tool
            message, tool calls outside an assistant message.
    """

    role: Role = attrs.field()
    content: str = attrs.field(default="", validator=_text)
    reasoning: str = attrs.field(default="", kw_only=True, validator=_text)
    """Visible thinking: counted, never sent to another provider."""
    tool_calls: tuple[ToolCall, ...] = attrs.field(default=(), kw_only=True, converter=_calls)
    tool_results: tuple[ToolResult, ...] = attrs.field(default=(), kw_only=True, converter=_results)
    media: tuple[Media, ...] = attrs.field(default=(), kw_only=True, converter=_media)
    pinned: bool = attrs.field(default=False, kw_only=True)
    """Never dropped, never summarized."""
    summary: "ContextSummary | None" = attrs.field(default=None, kw_only=True)
    """The state of the compaction that this message is the summary of."""
    usage: Usage | None = attrs.field(default=None, kw_only=True)
    """What the call that produced this message used."""
    timestamp: datetime | None = attrs.field(default=None, kw_only=True)
    id: str | None = attrs.field(default=None, kw_only=True)
    native: Native | None = attrs.field(default=None, kw_only=True, repr=False)
    extra: Mapping[str, Any] = _extra()

    @role.validator
    def _check_role(self, _: object, value: object) -> None:
        if value not in _ROLES:
            raise ConfigError(
                "Message.role",
                value,
                f"one of {', '.join(_ROLES)}",
                "map the provider's role to one of these (developer is system, function is tool)",
            )

    def __attrs_post_init__(self) -> None:
        if self.tool_results and self.role != "tool":
            raise ConfigError(
                "Message.tool_results",
                self.tool_results,
                "none, unless the role is tool",
                f"move the results of this {self.role} message into a tool message after it",
            )
        if self.tool_calls and self.role != "assistant":
            raise ConfigError(
                "Message.tool_calls",
                self.tool_calls,
                "none, unless the role is assistant",
                f"move the calls of this {self.role} message into an assistant message",
            )

    def replace(self, **changes: Any) -> "Message":
        """Give an edited copy. The native payload is dropped, since it says something else now."""
        return attrs.evolve(self, **{"native": None, **changes})
