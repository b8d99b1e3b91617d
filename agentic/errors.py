"""The errors that callers can act on, as one tree.

Start with `ConfigError`, `ProviderError` and `HistoryError`.

    AgenticError
    ├── ConfigError         fix the call; also a ValueError
    ├── ProviderError       the model's side
    │   ├── ContextOverflow     the request is larger than the window
    │   ├── IncompleteReply     the stream ended before the decision
    │   └── RequestFailed       the provider answered with an error, or not at all
    │       └── BoundReasoning      kept reasoning belongs to another request
    ├── HistoryError        the store's side
    │   ├── HistoryConflict     another store is writing this session
    │   ├── HistoryCorrupt      an entry cannot be read
    │   │   └── HistoryTooNew       a newer version wrote it
    │   ├── HistoryNotWritten   the entry is not stored; the state is unchanged
    │   ├── HistoryUnavailable  the store cannot be reached, or refuses
    │   ├── MessageNotFound     no message has that id
    │   ├── NothingToRestore    no compaction is left to undo
    │   ├── OutputNotFound      no output is stored under that reference
    │   └── SessionNotFound     there is no session of that name
    └── CompactionRefused   a summary that is worse than no summary
        └── HistoryChanged      the history was replaced meanwhile

Fields are positional, so that an error survives pickling. The text says what was given, what is
allowed and what to do next.
"""

import reprlib
from typing import Literal

import attrs

__all__ = [
    "AgenticError",
    "BoundReasoning",
    "CompactionRefused",
    "ConfigError",
    "ContextOverflow",
    "HistoryChanged",
    "HistoryConflict",
    "HistoryCorrupt",
    "HistoryError",
    "HistoryNotWritten",
    "HistoryTooNew",
    "HistoryUnavailable",
    "IncompleteReply",
    "MessageNotFound",
    "NothingToRestore",
    "OutputNotFound",
    "ProviderError",
    "RequestFailed",
    "SessionNotFound",
]


@attrs.define
class AgenticError(Exception):
    """The root: catch it to catch everything that this library raises on purpose."""


@attrs.define
class ConfigError(AgenticError, ValueError):
    """An argument or a setting that cannot be used.

    >>> print(ConfigError("max_turns", 0, "a whole number >= 1"))
    max_turns must be a whole number >= 1, got 0
    >>> print(ConfigError("content", b"", "a str", "decode bytes first"))
    content must be a str, got b''; decode bytes first
    """

    name: str
    """The argument's name, as the caller writes it."""
    given: object
    """What was passed."""
    allowed: str
    """What would have been accepted."""
    remedy: str = ""
    """How to fix it, if that is not obvious."""
    message: str = ""
    """The complete sentence, if "must be ..., got ..." does not fit."""

    def __str__(self) -> str:
        try:
            # Shortened, because it may be a whole conversation.
            value = reprlib.repr(self.given)
        # Of an int of more than 4,300 digits (https://github.com/python/cpython/issues/95778).
        except ValueError:
            value = "an int that is too long to be shown"
        return self.message or self.explain(self.name, value, self.allowed, self.remedy)

    @staticmethod
    def explain(name: str, given: str, allowed: str, remedy: str) -> str:
        """Return what is wrong with a value, given as text, and how to fix it."""
        return f"{name} must be {allowed}, got {given}" + (f"; {remedy}" if remedy else "")


# No attrs class, as it has no field of its own: each takes its time in every import.
class ProviderError(AgenticError):
    """The provider, or the decider that calls it, failed."""


@attrs.define
class ContextOverflow(ProviderError):
    """The request is larger than the model's window, or than what its provider takes."""

    model: str
    sent: int | None = None
    """The size of the request; None if unknown."""
    window: int | None = None
    """The size that is accepted; None if unknown."""
    kind: Literal["tokens", "bytes", "images"] = "tokens"
    """What is counted: `tokens`, or on the wire `bytes` or `images`."""

    def __str__(self) -> str:
        window = "fewer" if self.window is None else str(self.window)
        size = "more" if self.sent is None else str(self.sent)
        start = f"{self.model!r} accepts {window} {self.kind}, the request has {size}: "
        if self.kind != "tokens":
            field = "max_images" if self.kind == "images" else "max_request_bytes"
            return f"{start}give the Runner a budget.Manager whose Policy has {field}"
        return (
            f"{start}give the Runner a budget.Manager with the model's window, or lower "
            "Policy.keep_recent_tokens and the limits of truncation"
        )


@attrs.define
class IncompleteReply(ProviderError):
    """A streamed reply ended before its decision."""

    received: str
    """The text that had arrived."""

    def __str__(self) -> str:
        return (
            f"the stream ended after {len(self.received)} characters and without a Decision: "
            "yield one as the last item, or raise the provider's error"
        )


@attrs.define
class RequestFailed(ProviderError):
    """A request that received no reply."""

    provider: str
    """The provider: a name or an address."""
    status: int | None
    """The HTTP status; None if there was no response."""
    problem: str
    """The provider's message, or what went wrong on the way."""

    def __str__(self) -> str:
        status = "no answer" if self.status is None else f"HTTP {self.status}"
        return f"{self.provider} did not serve the request ({status}): {self.problem}"


class BoundReasoning(RequestFailed):
    """A request with reasoning that the model made after another beginning of the conversation.

    >>> print(BoundReasoning("acme", 400, "messages.1.content.0: Invalid signature"))
    acme refused reasoning that belongs to another conversation (HTTP 400): messages.1.content.0: \
Invalid signature; leave out the reasoning of earlier replies, or ask the server to drop it
    """

    def __str__(self) -> str:
        status = "no status" if self.status is None else f"HTTP {self.status}"
        return (
            f"{self.provider} refused reasoning that belongs to another conversation ({status}): "
            f"{self.problem.rstrip('.')}; leave out the reasoning of earlier replies, or ask the "
            "server to drop it"
        )


class HistoryError(AgenticError):
    """A store could not do what was asked; what it had acknowledged is still stored."""


@attrs.define
class HistoryConflict(HistoryError):
    """A second writer on one session."""

    session: str
    problem: str = (
        "is in use by another writer: wait until that run is over, or use another session"
    )

    def __str__(self) -> str:
        return f"{self.session} {self.problem}"


@attrs.define
class HistoryCorrupt(HistoryError):
    """An entry that is complete and still cannot be read."""

    session: str
    offset: int
    """The offset of the entry, in bytes."""
    problem: str

    def __str__(self) -> str:
        # A parser may have ended its sentence, and here follows another.
        problem = self.problem.rstrip(".")
        return (
            f"{self.session} cannot be read at byte {self.offset}: {problem}. Nothing was "
            "changed: if this is a session, move the entry aside or restore the file from a copy; "
            "if not, choose another file"
        )


class HistoryTooNew(HistoryCorrupt):
    """An entry with something in it that changes its meaning and that this version does not know.

    >>> print(HistoryTooNew("monday.jsonl", 120, "an entry of type 'splice'"))
    monday.jsonl needs a newer version of agentic-weave, which knows an entry of type 'splice'
    """

    def __str__(self) -> str:
        return f"{self.session} needs a newer version of agentic-weave, which knows {self.problem}"


@attrs.define
class HistoryNotWritten(HistoryError):
    """An entry that is not stored, because writing it failed."""

    session: str
    problem: str

    def __str__(self) -> str:
        return (
            f"{self.session} was not written: {self.problem}. The session is as it was before: "
            "fix the cause and append again"
        )


@attrs.define
class HistoryUnavailable(HistoryError):
    """A store on a server that cannot be reached, or that refuses."""

    session: str
    problem: str

    def __str__(self) -> str:
        return f"{self.session} is not available: {self.problem}"


@attrs.define
class MessageNotFound(HistoryError):
    """There is no message with the given id or position.

    >>> print(MessageNotFound("monday.jsonl", 12))
    monday.jsonl has no message at position 12: look in full()
    """

    session: str
    message_id: str | int

    def __str__(self) -> str:
        which = "at position" if isinstance(self.message_id, int) else "with the id"
        return f"{self.session} has no message {which} {self.message_id!r}: look in full()"


@attrs.define
class NothingToRestore(HistoryError):
    """Every compaction has already been undone."""

    session: str

    def __str__(self) -> str:
        return f"{self.session} has no compaction to undo: full() has every message"


@attrs.define
class OutputNotFound(HistoryError):
    """A reference to an output that was never stored here."""

    session: str
    ref: str

    def __str__(self) -> str:
        return (
            f"{self.session} keeps no output {self.ref}: look for the reference in this session's "
            "notices, or run the tool again"
        )


@attrs.define
class SessionNotFound(HistoryError):
    """There is no session with the given id."""

    session: str
    place: str
    """The place that was searched."""

    def __str__(self) -> str:
        return (
            f"{self.place} holds no session {self.session!r}: list the sessions to see their names"
        )


@attrs.define
class CompactionRefused(AgenticError):
    """A compaction that was not done, because the history is better without it."""

    problem: str

    def __str__(self) -> str:
        return f"not compacted: {self.problem}; the history is unchanged"


@attrs.define
class HistoryChanged(CompactionRefused):
    """A summary of a history that was replaced while the summary was being made."""

    problem: str = "another summary or an edit of the history came first"

    def __str__(self) -> str:
        return f"the summary was not used: {self.problem}"
