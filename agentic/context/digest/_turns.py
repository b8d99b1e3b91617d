"""A conversation as a digest reads it: what was said and called, record by record."""

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
    "ENDS", "TRACEBACK", "Called", "Kind", "Turn", "Words", "exit_codes", "message_ref",
    "read_call", "read_turns",
]  # fmt: skip

ENDS = 400
"""Characters at either end of an output in which an exit code is looked for: harnesses write it
around what the command printed, and a file that is printed may hold any text."""
TRACEBACK = "Traceback (most recent call last)"

_EXIT_CODE = re.compile(
    r"(?:return_?code|exit_?code|exited with(?: code| status)?|exit(?: code| status))"
    r"[\"'>:=\s]*(-?[0-9]+)\b"
)
_REFUSAL = re.compile(
    r"(?:Error|error|ERROR|fatal)\b[^\n]*:|<tool_use_error>|[^\n]*(?:No such file|not found in|"
    r"command not found|Permission denied|String to replace not found|no changes|did not apply)"
)
"""How the output of a call begins that was refused. The words are those of programs, which hardly
any program translates."""

Kind: TypeAlias = Literal["request", "reply", "notice", "summary", "call"]
"""A notice is a system message, or a pinned output: neither the user's nor the assistant's word."""


@attrs.frozen
class Words:
    """What somebody said: the user without what a harness put around it, the assistant in prose."""

    kind: Kind
    text: str
    message: Message
    """Where they stand; its notes if it is a former summary."""

    @property
    def ref(self) -> str:
        """The reference of the message; a summary has none."""
        return "" if self.kind == "summary" else message_ref(self.message)


@attrs.frozen
class Called:
    """A call with its result; None as long as there is none."""

    kind: ClassVar[Kind] = "call"
    call: ToolCall
    arguments: Mapping[str, Any]
    """The arguments, parsed; empty if they are no JSON object."""
    does: str | None
    """What the tool table says that the tool does: read, write, edit, delete, run, or None."""
    command: str
    """What is run, if it runs something."""
    paths: tuple[str, ...]
    """The files that the arguments name, if it does something to files."""
    result: ToolResult | None
    output: str
    """What the model saw of the result."""
    exit_code: str
    """The exit code of a command, if its output states one; empty if not."""
    failed: bool

    @property
    def label(self) -> str:
        """The call in one line: the command, or the tool and what it was given."""
        given = [str(value)[:LINE] for value in self.arguments.values()]
        words = [self.command[:LINE]] if self.command else [self.call.name, *given]
        return cut(one_line(" ".join(words)), LINE)


Turn: TypeAlias = Words | Called


def message_ref(message: Message) -> str:
    """Return the reference by which a message is found again that a digest quotes in part.

    It is `text-` and the first 12 hex digits of the SHA-256 of what the message says, in UTF-8 with
    lone surrogates in their surrogatepass form: it needs no place in the history, and survives
    every fold.

    >>> message_ref(Message("user", "Why is the build red?"))
    'text-16b0eae8ab6a'
    """
    said = _text_of(message).encode("utf-8", "surrogatepass")
    return f"text-{hashlib.sha256(said).hexdigest()[:12]}"


def _text_of(message: Message) -> str:
    """Return the texts of a message, and the types of what was attached to it."""
    texts = [message.content, *(result.text for result in message.tool_results)]
    said = "\n".join(text for text in texts if text.strip())
    attached = ", ".join(media.media_type for media in message.media)
    return " ".join(part for part in (said, attached and f"[attached: {attached}]") if part)


def read_turns(messages: Sequence[Message], table: ToolTable) -> Iterator[Turn]:
    """Yield the turns of a conversation. System messages that it starts with are no part of it."""
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
            call, start = actions[position]
            if prose := first.content[:start].strip():
                yield Words("reply", prose, first)
            output = messages[position + 1].content if position + 1 in outputs else None
            result = None if output is None else ToolResult("", call.name, output)
            yield read_call(call, result, table)
        elif is_summary(first) and position != users[-1]:
            yield Words("summary", first.content, first)
        elif not is_prompt and position not in outputs:
            yield from _read_round(found, table)


def _read_round(found: Round, table: ToolTable) -> Iterator[Turn]:
    """Yield what a round says and calls, then what stands beside the results."""
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
    """Return a call with what the table knows of its tool."""
    try:
        arguments = call.parse()
    except ValueError:
        arguments = {}
    does = table.kind_of(call.name, arguments)
    command = table.command_of(arguments) if does == "run" else ""
    paths = table.paths_of(arguments) if does and does != "run" else ()
    output = "" if result is None else result.text
    ends = output if len(output) < ENDS else f"{output[:ENDS]}\n{output[-ENDS:]}"
    code = exit_codes(ends)[-1:] if does == "run" else []
    went_wrong = result is not None and _failed(result, code, is_command=does == "run")
    return Called(call, arguments, does, command, paths, result, output, "".join(code), went_wrong)


def _failed(result: ToolResult, code: Sequence[str], *, is_command: bool) -> bool:
    """Return whether a call failed: it has an error, or an exit code says so, or its output."""
    text = result.output
    if result.error is not None or not is_command:
        return result.error is not None or bool(_REFUSAL.match(text))
    if code:
        return code[-1] != "0"
    # A long output may be the text of a file.
    return TRACEBACK in text or (len(text) < ENDS and bool(_REFUSAL.match(text)))


def exit_codes(text: str) -> list[str]:
    r"""Return the exit codes that a text states.

    >>> exit_codes("no rule\nexit code: 2")
    ['2']
    """
    low = text.lower()
    # Few texts have these words, and finding out is much faster than matching.
    return _EXIT_CODE.findall(low) if "code" in low or "exit" in low else []
