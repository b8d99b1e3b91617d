"""Agents that call tools in plain text, and get what those put out as user messages.

Their actions stand at the end of a reply: a fenced block, a tag, or `Action:` lines. Whether user
messages after those are outputs is decided for a conversation as a whole: it has no tool calls,
nearly every reply ends in an action, and most of what follows does not look written by a person.
"""

import json
import re
from collections.abc import Mapping, Sequence

import attrs

from agentic.context.digest._outcome import ENDS
from agentic.messages import Message, ToolCall

__all__ = ["Action", "actions_in_text"]

_FEWEST, _MOST = 2, 0.6
"""Two actions, three replies of five that end in one, and three answers to those of five that look
like outputs: a person who talks about code now and then is not taken for a machine."""
_FENCE = "```"
_TAGGED = re.compile(r"<(?P<tag>[a-z]\w{1,40})>(?P<body>.*)</(?P=tag)>\s*\Z", re.DOTALL)
_INNER = re.compile(r"<(\w{1,40})>(.*?)</\1>", re.DOTALL)
_REACT = re.compile(r"^Action:\s*(\S.*)\n+Action Input:\s*(.*)\Z", re.DOTALL | re.MULTILINE)
_MACHINE_START = re.compile(
    r"\s*(?:</?\w+|(?i:observation|output|execution result|result|exit code)\b|[\[{($/|+=>~-]"
    r"|[0-9]+[:\s]|total [0-9]|Traceback|\w*Error\b|diff |\S+:[0-9]+:|\Z)"
)
_MACHINE_END = re.compile(r"(?:[$#>%]|exit(?:ed with)? code:? -?[0-9]+\W*|</\w+>|[}\])])\s*\Z")


@attrs.frozen
class Action:
    """A call that a reply ends in."""

    call: ToolCall
    start: int
    """Where it begins in the reply; before it stands prose."""


def actions_in_text(messages: Sequence[Message]) -> Mapping[int, Action]:
    r"""Return the actions of replies by position; the message after each is its output.

    >>> talk = [Message("assistant", "I look:\n```\nls\n```"), Message("user", "a.py\n$ ")] * 3
    >>> actions_in_text(talk)[0].call.arguments
    '{"command": "ls"}'
    """
    if any(message.tool_calls or message.tool_results for message in messages):
        return {}
    replies = [at for at, message in enumerate(messages) if message.role == "assistant"]
    found = {at: action for at in replies if (action := _action(messages[at].content))}
    answers = [messages[at + 1] for at in replies[:-1] if messages[at + 1].role == "user"]
    answered = [at for at in found if at + 1 < len(messages) and messages[at + 1].role == "user"]
    outputs = sum(_is_output(messages[at + 1].content) for at in answered)
    enough = max(_FEWEST, _MOST * len(answers))
    return found if len(answered) >= enough and outputs >= _MOST * len(answered) else {}


def _action(reply: str) -> Action | None:
    text = reply.rstrip()
    if text.endswith(_FENCE):
        start = text.rfind(_FENCE, 0, -len(_FENCE))
        command = text[start : -len(_FENCE)].partition("\n")[2].strip("\n")
        return _make("bash", {"command": command}, start) if start >= 0 else None
    if text.endswith(">") and (tagged := _TAGGED.search(text, max(text.rfind("\n\n<"), 0))):
        inner = dict(_INNER.findall(tagged["body"]))
        given = inner or {"input": tagged["body"].strip()}
        return _make(tagged["tag"], given, tagged.start())
    if called := _REACT.search(text, max(text.rfind("\nAction:"), 0)):
        return _make(called[1].strip(), {"input": called[2].strip()}, called.start())
    return None


def _make(name: str, arguments: dict[str, str], start: int) -> Action:
    return Action(ToolCall("", name, json.dumps(arguments)), start)


def _is_output(text: str) -> bool:
    return bool(_MACHINE_START.match(text) or _MACHINE_END.search(text[-ENDS:]))
