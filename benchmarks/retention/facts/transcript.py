"""Recorded messages as a plain reader takes them: texts, calls, and whether a call failed."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import attrs

__all__ = ["Call", "Raw", "calls_of", "content_of", "source_lines", "speaks_in_text"]

Raw: TypeAlias = dict[str, Any]
"""A message as it lies in the file."""

_MARKS = ("x_is_error", "is_error", "isError")
_STATUS = re.compile(
    r"(?:exit(?:ed)?|return(?:ed)?)[ _]?(?:with )?(?:code|status)[>:= ]*(-?[0-9]+)", re.IGNORECASE
)
_SAYS_FAILED = re.compile(
    r"\W*(?:\w+>\W*)?(?:error|failed|failure|fatal|traceback|cannot|could not|unable|no such file|"
    r"string (?:to replace )?not found|permission denied|the user doesn't want)\b",
    re.IGNORECASE,
)
_ACTION = re.compile(r"```[^\n`]*\n(.*?)```|<command>\n?(.*?)</command>", re.DOTALL)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_PATH_KEYS = ("file_path", "path", "filepath", "filename", "target_file", "notebook_path", "file")


@attrs.frozen
class Call:
    """What an assistant did, and what came of it."""

    at: int
    """The position of the message that has it."""
    tool: str
    arguments: dict[str, Any]
    output: str | None
    """None if nothing came back before the cut."""
    failed: bool = False

    @property
    def path(self) -> str:
        """The file that the arguments name; empty if there is none."""
        named = (self.arguments.get(key) for key in _PATH_KEYS)
        return next((value for value in named if isinstance(value, str) and value), "")

    @property
    def command(self) -> str:
        """What a shell was asked to do; empty if it is no call of a shell."""
        given = self.arguments.get("command", self.arguments.get("cmd", ""))
        if self.path or not given:
            return ""
        if isinstance(given, list):
            words = [str(word) for word in given]
            return words[-1] if words[1:2] in (["-c"], ["-lc"]) else " ".join(words)
        return str(given)


def content_of(message: Raw) -> str:
    """Return the text of a message, without the thinking that some models write into it.

    >>> content_of({"role": "user", "content": [{"type": "text", "text": "Look."}]})
    'Look.'
    """
    content = message.get("content") or ""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        content = "\n".join(part for part in parts if isinstance(part, str))
    return _THOUGHT.sub("", content) if message.get("role") == "assistant" else str(content)


def speaks_in_text(messages: Sequence[Raw]) -> bool:
    """Return whether actions stand in the replies, and outputs come back as user messages.

    That is so where there is no tool call at all, and half of the replies or more hold a command.
    """
    replies = [message for message in messages if message.get("role") == "assistant"]
    if not replies or any(message.get("tool_calls") for message in messages):
        return False
    return 2 * sum(bool(_ACTION.search(content_of(reply))) for reply in replies) >= len(replies)


def calls_of(messages: Sequence[Raw]) -> list[Call]:
    """Return the calls of a conversation in order, each with its output."""
    if speaks_in_text(messages):
        return list(_text_calls(messages))
    answers: dict[str, Raw] = {}
    for message in messages:
        if message.get("role") == "tool":
            answers.setdefault(str(message.get("tool_call_id")), message)
    return [
        _call(at, call, answers.get(str(call.get("id"))))
        for at, message in enumerate(messages)
        for call in message.get("tool_calls") or ()
    ]


def source_lines(messages: Sequence[Raw]) -> Iterator[str]:
    """Yield the lines of all that was said, called and put out, without white space around them."""
    for message in messages:
        texts = [content_of(message)]
        for call in message.get("tool_calls") or ():
            texts.extend(_texts(_arguments(call)))
        for text in texts:
            yield from filter(None, map(str.strip, text.split("\n")))


def _call(at: int, call: Raw, answer: Raw | None) -> Call:
    name = str(call.get("function", {}).get("name", ""))
    output = None if answer is None else content_of(answer)
    return Call(at, name, _arguments(call), output, answer is not None and _failed(answer))


def _arguments(call: Raw) -> dict[str, Any]:
    given = call.get("function", {}).get("arguments") or "{}"
    try:
        read = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return {"": given}
    return read if isinstance(read, dict) else {"": read}


def _text_calls(messages: Sequence[Raw]) -> Iterator[Call]:
    for at, message in enumerate(messages):
        action = _ACTION.search(content_of(message)) if message.get("role") == "assistant" else None
        if action:
            following = messages[at + 1 : at + 2]
            answer = following[0] if following and following[0].get("role") == "user" else None
            output = None if answer is None else content_of(answer)
            failed = answer is not None and _failed(answer)
            command = (action[1] or action[2] or "").strip()
            yield Call(at, "shell", {"command": command}, output, failed)


def _failed(answer: Raw) -> bool:
    """Decide by what the message is marked with, or the status that it states, or its first line.

    >>> _failed({"content": "<returncode>1</returncode>"}), _failed({"content": "Error: no file"})
    (True, True)
    """
    marks = [bool(answer[key]) for key in _MARKS if key in answer]
    if any(marks):
        return True
    lines = [line for line in content_of(answer).split("\n") if line.strip()]
    stated = [found for line in (*lines[:1], *lines[-1:]) if (found := _STATUS.search(line))]
    if stated:
        return any(int(found[1]) != 0 for found in stated)
    return not marks and bool(lines and _SAYS_FAILED.match(lines[0]))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _texts(each)
    else:
        yield str(value)
