"""Agents that call tools in plain text, and get what those put out as user messages.

Their actions stand at the end of a reply: a fenced block, a tag, or `Action:` lines. Whether user
messages after those are outputs is decided for a conversation as a whole: it has no tool calls,
nearly every reply ends in an action, and most of what follows does not look written by a person.
"""

import json
import re
from collections.abc import Sequence

from agentic.messages import Message, ToolCall

__all__ = ["outputs_in_text"]

_FEWEST, _ENOUGH_ACTIONS, _ENOUGH_OUTPUTS = 2, 0.8, 0.6
_WINDOW = 400
"""How much of either end of an answer is looked at, in characters."""
_FENCE = "```"
_TAGGED = re.compile(r"<(?P<tag>[a-z]\w{1,40})>(?P<body>.*)</(?P=tag)>\s*\Z", re.DOTALL)
_INNER = re.compile(r"<(\w{1,40})>(.*?)</\1>", re.DOTALL)
_REACT = re.compile(r"^Action:\s*(\S.*)\n+Action Input:\s*(.*)\Z", re.DOTALL | re.MULTILINE)
_MACHINE_START = re.compile(
    r"\s*(?:</?\w+|(?i:observation|output|execution result|result|exit code)\b|[\[{($/|+=>~-]"
    r"|[0-9]+[:\s]|total [0-9]|Traceback|\w*Error\b|diff |\S+:[0-9]+:|\Z)"
)
_MACHINE_END = re.compile(r"(?:[$#>%]|exit(?:ed with)? code:? -?[0-9]+\W*|</\w+>|[}\])])\s*\Z")


def outputs_in_text(messages: Sequence[Message]) -> dict[int, ToolCall]:
    r"""Give the positions of user messages that are outputs, and the calls that they answer.

    >>> talk = [Message("assistant", "```\nls\n```"), Message("user", "a.py\n$ ")] * 3
    >>> outputs_in_text(talk)[1].arguments
    '{"command": "ls"}'
    """
    if any(message.tool_calls or message.tool_results for message in messages):
        return {}
    answered = [
        position
        for position in range(1, len(messages))
        if (messages[position].role, messages[position - 1].role) == ("user", "assistant")
    ]
    found = {at: call for at in answered if (call := _action(messages[at - 1].content))}
    outputs = sum(_is_output(messages[at].content) for at in found)
    enough = max(_FEWEST, _ENOUGH_ACTIONS * len(answered))
    return found if len(found) >= enough and outputs >= _ENOUGH_OUTPUTS * len(found) else {}


def _action(reply: str) -> ToolCall | None:
    """Read the action that a reply ends in."""
    text = reply.rstrip()
    if text.endswith(_FENCE):
        start = text.rfind(_FENCE, 0, -len(_FENCE))
        _, _, command = text[start : -len(_FENCE)].partition("\n")
        return _call("bash", {"command": command.strip("\n")}) if start >= 0 else None
    if text.endswith(">") and (tagged := _TAGGED.search(text, max(text.rfind("\n\n<"), 0))):
        inner = dict(_INNER.findall(tagged["body"]))
        return _call(tagged["tag"], inner or {"input": tagged["body"].strip()})
    if called := _REACT.search(text, max(text.rfind("\nAction:"), 0)):
        return _call(called[1].strip(), {"input": called[2].strip()})
    return None


def _call(name: str, arguments: dict[str, str]) -> ToolCall:
    return ToolCall("", name, json.dumps(arguments))


def _is_output(text: str) -> bool:
    return bool(_MACHINE_START.match(text) or _MACHINE_END.search(text[-_WINDOW:]))
