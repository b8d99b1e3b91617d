"""Where the record of earlier conversation stands in a request, for every wire.

In our own form, a summary is a system message at the start of a history. On the wire it is a user
message of its own, after the system messages and before all other messages:

- A text that a model wrote must not have the operator's authority.
- The system prompt is the same before and after a compaction, so it stays in the prompt cache, and
  the provider's own compaction requires it.
- Chat templates refuse a second system message: "System message must be at the beginning",
  https://github.com/vllm-project/vllm/issues/41114 (2026-11).

A record that was written when the provider's own compaction was kept goes behind that: Anthropic
reads nothing before its block (https://platform.claude.com/docs/en/build-with-claude/compaction,
2026-11-27).

The message keeps its `summary`, by which an encoder recognizes it.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import attrs

from agentic.errors import ConfigError
from agentic.messages import Message, leading_system_count
from agentic.messages._provider_compaction import compaction_text

RecordRole: TypeAlias = Literal["user", "system"]
_ROLES = get_args(RecordRole)


def check_record_role(role: object) -> None:
    """Raise unless a record can be sent in this role.

    Raises:
        ConfigError: the role is neither `user` nor `system`.
    """
    if role not in _ROLES:
        remedy = "leave it out to send the summary as a user message"
        raise ConfigError("record_role", role, " or ".join(_ROLES), remedy)


def valid_record_role(_: object, __: object, role: object) -> None:
    """Check the `record_role` of a decider, as an attrs validator."""
    check_record_role(role)


def move_record(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with a summary after all system messages at the start.

    >>> from agentic.messages import ContextSummary
    >>> record = ContextSummary("- the parser is done", 12).to_message()
    >>> move_record([record, Message("system", "Be brief.")])[1] is record
    True
    """
    leading = messages[: leading_system_count(messages)]
    records = [message for message in leading if message.summary is not None]
    if not records:
        return list(messages)
    rest = [message for message in leading if message.summary is None]
    others = messages[len(leading) :]
    end = _end_of_compaction(others, records[-1])
    return [*rest, *others[:end], *records, *others[end:]]


def _end_of_compaction(messages: Sequence[Message], record: Message) -> int:
    """Return where the round with the provider's compaction ends that was kept with a record.

    0 if there is none: a later compaction covers the record, too.
    """
    end = min(record.summary.messages_kept if record.summary else 0, len(messages))
    # All that is kept is looked at for each request: only replies are worth a call.
    while end and not (
        messages[end - 1].role == "assistant" and compaction_text(messages[end - 1]) is not None
    ):
        end -= 1
    while 0 < end < len(messages) and messages[end].role == "tool":
        end += 1
    return end


def place_record(messages: Sequence[Message], role: RecordRole = "user") -> list[Message]:
    """Return a conversation with its summary in the role and at the place in which it is sent.

    With the role `system`, the messages are returned as they are.

    >>> from agentic.messages import ContextSummary
    >>> record = ContextSummary("- the parser is done", 12).to_message()
    >>> placed = place_record([record, Message("system", "Be brief."), Message("user", "Go on.")])
    >>> [message.role for message in placed]
    ['system', 'user', 'user']

    Raises:
        ConfigError: the role is neither `user` nor `system`.
    """
    check_record_role(role)
    # Not `any`: its generator would cost an unchanged message as much as all the rest.
    for message in messages:
        if message.summary is not None:
            break
    else:
        return list(messages)
    return list(messages) if role == "system" else list(map(_as_user, move_record(messages)))


def _as_user(message: Message) -> Message:
    if message.summary is None or message.role != "system":
        return message
    # Evolved, not replaced: the payload of a record that was sent as a user message is kept.
    return attrs.evolve(message, role="user")
