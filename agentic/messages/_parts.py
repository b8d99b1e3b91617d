"""The parts of a message besides its text: calls, results, media, the provider's own items.

`extra` holds the fields of the JSON form that this version does not know, so that a store never
loses what a newer version wrote.
"""

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from agentic._base._short_repr import short_repr
from agentic._base._validate import all_are, must_be
from agentic.errors import ConfigError

_check_arguments = must_be(str, remedy="pass the JSON text, such as json.dumps(arguments)")
check_text = must_be(str, remedy="decode bytes, join text parts, and put images into media")
"""The validator of a field that holds a text."""


def extra_fields() -> Any:
    """Return the attrs field that holds the fields unknown to this version."""
    # Not part of the hash, because a dict has none.
    return attrs.field(factory=dict, kw_only=True, repr=False, hash=False)


@short_repr
@attrs.frozen
class ToolCall:
    """A tool call that the model asked for."""

    id: str = attrs.field(validator=check_text)
    """Identifies the call within the conversation; its result has the same id."""
    name: str = attrs.field(validator=check_text)
    arguments: str = attrs.field(default="{}", validator=_check_arguments)
    """The JSON text exactly as the model wrote it, whether or not it is valid."""
    # Not compared: a message that an earlier version stored has the same call without it, and its
    # payload is still what it says.
    is_async: bool = attrs.field(
        default=False, kw_only=True, eq=False, repr=False, validator=must_be(bool)
    )
    """Whether the model goes on without the result, which may come in any later request."""
    extra: Mapping[str, Any] = extra_fields()

    def parse(self) -> dict[str, Any]:
        """Return the arguments as a dict; an empty text means no arguments.

        >>> ToolCall("c1", "read", '{"path": "a.py"}').parse()
        {'path': 'a.py'}

        Raises:
            ValueError: the text is not JSON, or the JSON is not an object.
        """
        # Providers send an empty text for a call without arguments.
        if not self.arguments.strip():
            return {}
        try:
            value = json.loads(self.arguments)
        except RecursionError as problem:
            message = "the arguments are nested too deeply to be read"
            raise ValueError(message) from problem
        if not isinstance(value, dict):
            message = f"the arguments are a JSON {type(value).__name__}, not an object"
            raise ValueError(message)  # noqa: TRY004  one exception type for every unusable text
        return value


@attrs.frozen
class ToolError:
    """Why a call has no proper output, worded for the model."""

    message: str = attrs.field(validator=check_text)
    kind: str = attrs.field(default="raised", validator=check_text)
    """One word for programs. `raised`: the tool ran and raised. `timeout`, `interrupted`: it is
    unknown how it ended. `not_found`, `not_allowed`, `bad_arguments`, `schema_changed`, `not_run`:
    it was not run."""


def _failure(value: ToolError | str | None) -> ToolError | None:
    return ToolError(value) if isinstance(value, str) else value


def _reference(value: Any) -> Any:
    return os.fsdecode(value) if isinstance(value, os.PathLike) else value


@attrs.frozen
class Media:
    """An image, a sound or a document, as bytes or as a location."""

    media_type: str = attrs.field(validator=check_text)
    """As in a Content-Type header: image/png, audio/wav, application/pdf."""
    data: bytes = attrs.field(default=b"", repr=False)
    url: str = attrs.field(default="", validator=check_text)
    extra: Mapping[str, Any] = extra_fields()

    @data.validator
    def _check_data(self, _: object, value: object) -> None:
        # A base64 text would come back from a store as the bytes that it encodes.
        if not isinstance(value, bytes):
            raise ConfigError("Media.data", value, "bytes", "decode base64 text, or pass a url")


def _media(media: Iterable[Media]) -> tuple[Media, ...]:
    return all_are(Media, media, "ToolResult.media")


@short_repr
@attrs.frozen
class ToolResult:
    """The answer to one call."""

    call_id: str = attrs.field(default="", validator=check_text)
    """The id of the call. A tool may leave this and `name` empty: the caller fills them in."""
    name: str = attrs.field(default="", validator=check_text)
    output: str = attrs.field(default="", validator=check_text)
    """What the tool returned, possibly truncated."""
    error: ToolError | None = attrs.field(
        default=None, converter=_failure, validator=must_be(ToolError, optional=True)
    )
    notice: str = attrs.field(default="", validator=check_text)
    """Says what is missing from `output`. It is rendered after the output and never truncated."""
    ref: str | None = attrs.field(
        default=None, converter=_reference, validator=must_be(str, optional=True)
    )
    """Where the whole output can be read: a path, or a reference into the archive."""
    media: tuple[Media, ...] = attrs.field(default=(), kw_only=True, converter=_media)
    """The images, sounds and documents that the tool returned; never truncated."""
    extra: Mapping[str, Any] = extra_fields()

    @property
    def text(self) -> str:
        r"""What the model reads: the output, the error and the notice.

        >>> ToolResult("c1", "run", "1 passed", notice="[Showing the last line.]").text
        '1 passed\n[Showing the last line.]'
        """
        failure = f"Error: {self.error.message}" if self.error else ""
        return "\n".join(part for part in (self.output, failure, self.notice) if part)


class Marked:
    """A place for marks that are not fields: never compared, copied, pickled or stored."""

    # In a base class, because attrs compares, copies and pickles only its own fields.
    __slots__ = ("_compaction", "_decoded_as", "_facts", "_holds_reasoning")


@attrs.frozen
class ProviderPayload(Marked):
    """The ordered provider items that a message was decoded from.

    An encoder sends them back byte for byte as long as the message's typed fields are unchanged.
    """

    provider: str = attrs.field(validator=check_text)
    payload: Any = attrs.field(hash=False)
    """JSON data in the provider's own form. Treat it as read-only: the payload of a decoded message
    is sent back without being inspected, so an edit in place would be sent unnoticed."""
    joins_previous: bool = attrs.field(
        default=False, kw_only=True, validator=must_be(bool), hash=False
    )
    """Whether the provider's item began in the previous message: then both are kept or dropped
    together. For example, one user item may hold tool results, which become a tool message, and
    text, which becomes a user message."""
    without_reasoning: bool = attrs.field(
        default=False, kw_only=True, validator=must_be(bool), hash=False
    )
    """Whether the payload is sent without its reasoning. A model that binds its reasoning to the
    request that produced it refuses it behind any other request."""
