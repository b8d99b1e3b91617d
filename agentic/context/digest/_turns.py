"""A conversation as a digest reads it: a sequence of turns, each of them a text or a tool call."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

import attrs

from agentic.context.digest._harness import actions_in_text, is_summary, own_words
from agentic.context.digest._text import LINE, cut, one_line
from agentic.context.digest._tools import ToolTable
from agentic.messages import Message, Round, ToolCall, ToolResult, split_rounds

__all__ = [
    "ENDS", "TRACEBACK", "Called", "Kind", "Turn", "Words", "exit_code", "message_ref",
    "read_call", "read_turns",
]  # fmt: skip

ENDS = 400
"""The number of characters at either end of an output that are searched for an exit code. Harnesses
write it before or after the command's own output; a file that is printed may contain any text."""
TRACEBACK = "Traceback (most recent call last)"

_EXIT_CODE = re.compile(
    r"(?:return_?code|exit_?code|exited with(?: code| status)?|exit(?: code| status))"
    r"[\"'>:=\s]*(-?[0-9]+)\b"
)
_REFUSAL = re.compile(
    r"(?:Error|error|ERROR|fatal)\b[^\n]*:|<tool_use_error>|[^\n]*(?:No such file|not found in|"
    r"command not found|Permission denied|String to replace not found|no changes|did not apply)"
)
"""The beginning of the output of a failed call. These are the words of programs, which are rarely
translated."""

Kind: TypeAlias = Literal["request", "reply", "notice", "summary", "call"]
"""A notice is a system message or a pinned output, which neither user nor assistant wrote."""


@attrs.frozen
class Words:
    """A text: the user's words without what a harness added, the assistant's prose, and so on."""

    kind: Kind
    text: str
    message: Message
    """The message that contains the text; if it is a former summary, it also has the notes."""

    @property
    def ref(self) -> str:
        """The reference of the message; a summary has none."""
        return "" if self.kind == "summary" else message_ref(self.message)


@attrs.frozen
class Called:
    """A tool call with its result."""

    kind: ClassVar[Kind] = "call"
    call: ToolCall
    arguments: Mapping[str, Any]
    """The arguments, parsed; empty if they are not a JSON object."""
    does: str | None
    """What the tool table says that the tool does: read, write, edit, delete, run, or None."""
    command: str
    """The command, if the tool runs commands."""
    paths: tuple[str, ...]
    """The paths in the arguments, if the tool works on files."""
    output: str | None
    """The result as the model saw it; None if there is none yet."""
    failed: bool

    @property
    def label(self) -> str:
        """The call in one line: the command, or the tool and its arguments."""
        given = [str(value)[:LINE] for value in self.arguments.values()]
        words = [self.command[:LINE]] if self.command else [self.call.name, *given]
        return cut(one_line(" ".join(words)), LINE)


Turn: TypeAlias = Words | Called


def message_ref(message: Message) -> str:
    """Return the reference for reading a message of which a digest quotes only a part.

    It is `text-` and the first 12 hex digits of the SHA-256 of the text of the message, encoded in
    UTF-8 with the `surrogatepass` error handler. Because it does not depend on the position in the
    history, it remains valid after any number of compactions.

    >>> message_ref(Message("user", "Why is the build red?"))
    'text-16b0eae8ab6a'
    """
    said = _text_of(message).encode("utf-8", "surrogatepass")
    return f"text-{hashlib.sha256(said).hexdigest()[:12]}"


def _text_of(message: Message) -> str:
    """Return the text of a message and its tool results, and the types of its attachments."""
    texts = [message.content, *(result.text for result in message.tool_results)]
    said = "\n".join(text for text in texts if text.strip())
    attached = ", ".join(media.media_type for media in message.all_media)
    return " ".join(part for part in (said, attached and f"[attached: {attached}]") if part)


def read_turns(messages: Sequence[Message], table: ToolTable) -> Iterator[Turn]:
    """Yield the turns of a conversation, without the system messages at its start."""
    actions = actions_in_text(messages)
    users = [at for at, message in enumerate(messages) if message.role == "user"]
    outputs = {at + 1 for at in actions}.intersection(users)
    is_prompt = True
    for found in split_rounds(messages):
        first, position = found.messages[0], found.positions[0]
        is_prompt = is_prompt and first.role == "system" and first.summary is None
        if first.summary is not None:
            yield Words("summary", first.summary.content, first)
        elif position in actions:
            call, prose = actions[position]
            if prose:
                yield Words("reply", prose, first)
            output = messages[position + 1].content if position + 1 in outputs else None
            result = None if output is None else ToolResult("", call.name, output)
            yield read_call(call, result, table)
        elif is_summary(first) and position != users[-1]:
            yield Words("summary", first.content, first)
        elif not is_prompt and position not in outputs:
            yield from _read_round(found, table)


def _read_round(found: Round, table: ToolTable) -> Iterator[Turn]:
    """Yield the replies and calls of a round, then its requests and notices."""
    results = {each.call_id: each for message in found.messages for each in message.tool_results}
    for message in found.messages:
        if message.role == "assistant" and message.content.strip():
            yield Words("reply", message.content, message)
        for call in message.tool_calls:
            yield read_call(call, results.get(call.id), table)
    for message in found.messages:
        if message.role == "user":
            if (text := own_words(message.content)) or message.media:
                yield Words("request", _text_of(message.replace(content=text)), message)
        elif message.role == "system" or message.pinned:
            yield Words("notice", _text_of(message), message)


def read_call(call: ToolCall, result: ToolResult | None, table: ToolTable) -> Called:
    """Return a call with what the table says about its tool."""
    try:
        arguments = call.parse()
    except ValueError:
        arguments = {}
    does = table.kind_of(call.name, arguments)
    command = table.command_of(arguments) if does == "run" else ""
    paths = table.paths_of(arguments) if does and does != "run" else ()
    failed = result is not None and (
        result.error is not None or _failed(result.output, is_command=does == "run")
    )
    return Called(call, arguments, does, command, paths, result.text if result else None, failed)


def _failed(output: str, *, is_command: bool) -> bool:
    """Return whether a call failed, judging by its exit code or its output."""
    if is_command:
        if code := exit_code(f"{output[:ENDS]}\n{output[-ENDS:]}"):
            return code != "0"
        # A long output may be the text of a file.
        if TRACEBACK in output or len(output) >= ENDS:
            return TRACEBACK in output
    return bool(_REFUSAL.match(output))


def exit_code(text: str) -> str:
    r"""Return the last exit code that a text states; empty if there is none.

    >>> exit_code("no rule\nexit code: 2")
    '2'
    """
    low = text.lower()
    # Few texts contain these words, and these tests are much faster than the pattern.
    codes = _EXIT_CODE.findall(low) if "code" in low or "exit" in low else []
    return "".join(codes[-1:])
