"""Tools and instructions may change by what is appended, in exactly the documented forms.

https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks and
https://developers.openai.com/api/docs/guides/keep-prefix-unchanged (2026-11-27).
"""

import copy
from typing import Any

import pytest

from agentic.testing import AgentScript, ModelServer
from agentic.testing._model_server import ServerReply

_SCHEMA = {"type": "object"}
_READ = {"name": "read", "description": "Read a file.", "input_schema": _SCHEMA}
_LATER = {"name": "write", "input_schema": _SCHEMA, "defer_loading": True}
_REFERENCE = {"type": "tool_reference", "name": "write"}
_INLINE = {"type": "tool_definition", "definition": {"name": "edit", "input_schema": _SCHEMA}}
_BETA = {"anthropic-beta": "inline-tools-2026-09-15"}
_BY_NAME = {"anthropic-beta": "mid-conversation-tool-changes-2026-07-01"}


class _Talk:
    """A conversation with one of the two wires, in which the owner only appends."""

    def __init__(self, path: str, items: str, **rest: Any) -> None:
        self.server = ModelServer(script=AgentScript(turns=9, rounds=0), strict=True)
        self.path, self.field, self.rest, self.items = path, items, rest, []  # type: ignore[var-annotated]

    def say(self, *items: Any, headers: Any = None, **changes: Any) -> ServerReply:
        self.items += items
        body = copy.deepcopy({**self.rest, **changes, self.field: self.items})
        reply = self.server.post(self.path, body, headers)
        if reply.status == 200:
            said = reply.body.get("output") or [
                {"role": "assistant", "content": reply.body["content"]}
            ]
            self.items += said
        return reply


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _anthropic() -> _Talk:
    model = {"model": "claude-fable-5-2", "max_tokens": 100, "system": "Be brief."}
    talk = _Talk("/v1/messages", "messages", **model, tools=[_READ, _LATER])
    assert talk.say(_user("Why?")).status == 200
    return talk


def _system(*blocks: Any) -> dict[str, Any]:
    return {"role": "system", "content": [*blocks]}


@pytest.mark.parametrize(
    ("block", "headers"),
    [
        ({"type": "text", "text": "Be kind."}, None),
        ({"type": "tool_addition", "tool": _REFERENCE}, _BY_NAME),
        ({"type": "tool_removal", "tool": {**_REFERENCE, "name": "read"}}, _BY_NAME),
        ({"type": "tool_removal", "tool": {**_REFERENCE, "name": "read"}}, _BETA),
        ({"type": "tool_addition", "tool": _INLINE}, _BETA),
    ],
)
def test_anthropic_takes_what_is_appended(block: Any, headers: Any) -> None:
    """It changes nothing of what precedes it, so all reasoning stays valid."""
    talk = _anthropic()

    assert talk.say(_user("And now?"), _system(block), headers=headers).status == 200
    assert talk.say(_user("And then?"), headers=headers).status == 200

    report = talk.server.report
    assert (report.changes, report.reasoning_stale, report.reasoning_lost) == (0, 0, 0)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (_system({"type": "tool_addition", "tool": {**_REFERENCE, "name": "fly"}}), "tools"),
        (_system({"type": "tool_addition", "tool": "write"}), "tools"),
        (_system({"type": "tool_removal", "tool": _INLINE}), "tools"),
        (_system({"type": "tool_addition", "tool": {**_INLINE, "type": "x"}}), "tools"),
        (_system({"type": "image", "source": {}}), "tools"),
        (
            {"role": "user", "content": [{"type": "tool_addition", "tool": _REFERENCE}]},
            "tools",
        ),
    ],
)
def test_anthropic_refuses_other_forms(message: Any, reason: str) -> None:
    """An unknown tool, a name without its type, and a change in a user's message."""
    talk = _anthropic()

    assert talk.say(_user("And now?"), message, headers=_BY_NAME).status == 400

    assert talk.server.report.refused == {reason: 1}


@pytest.mark.parametrize(
    ("tool", "headers"), [(_REFERENCE, None), (_INLINE, None), (_INLINE, _BY_NAME)]
)
def test_anthropic_demands_the_beta(tool: Any, headers: Any) -> None:
    """A definition by value needs the later one."""
    talk, block = _anthropic(), {"type": "tool_addition", "tool": tool}

    assert talk.say(_user("And now?"), _system(block), headers=headers).status == 400

    assert talk.server.report.refused == {"control": 1}


def test_anthropic_calls_what_is_offered() -> None:
    """A tool that was added by a message, and none that was removed."""
    talk, later = _anthropic(), {"type": "tool_removal", "tool": {**_REFERENCE, "name": "read"}}
    talk.server.script = AgentScript(turns=9, rounds=1)
    gone = [later, {"type": "tool_removal", "tool": _REFERENCE}]

    reply = talk.say(
        _user("Now?"), _system(*gone, {"type": "tool_addition", "tool": _INLINE}), headers=_BETA
    )

    assert [block.get("name") for block in reply.body["content"]][-1] == "edit"


@pytest.mark.parametrize("change", [{"tools": [_READ]}, {"system": "Be kind."}, {"tools": []}])
def test_anthropic_takes_all_else_for_a_change(change: Any) -> None:
    """The reasoning behind it is refused."""
    talk = _anthropic()

    reply = talk.say(_user("And now?"), **change)

    # A tool that is loaded later is in no prompt until then.
    assert reply.status == (200 if change == {"tools": [_READ]} else 400)


def _responses() -> _Talk:
    tool = {"type": "function", "name": "read", "parameters": _SCHEMA}
    talk = _Talk("/v1/responses", "input", model="gpt-6.2-sol", store=False, tools=[tool])
    assert talk.say(_user("Why?")).status == 200
    return talk


_MORE = {
    "type": "additional_tools",
    "role": "developer",
    "tools": [{"type": "function", "name": "write", "parameters": _SCHEMA}],
}


@pytest.mark.parametrize("item", [_MORE, {"role": "developer", "content": "Be kind."}])
def test_openai_takes_what_is_appended(item: Any) -> None:
    """An item of tools, and a developer's message."""
    talk = _responses()

    assert talk.say(item, _user("And now?")).status == 200
    assert talk.say(_user("And then?")).status == 200

    report = talk.server.report
    assert (report.changes, report.reasoning_dropped, report.reasoning_lost) == (0, 0, 0)


@pytest.mark.parametrize("change", [{"role": "user"}, {"tools": []}, {"tools": [{"name": "x"}]}])
def test_openai_refuses_other_forms(change: Any) -> None:
    """The role is the developer's, and each tool has a type."""
    talk = _responses()

    assert talk.say({**_MORE, **change}, _user("And now?")).status == 400


def test_openai_takes_all_else_for_a_change() -> None:
    """More tools at the start of the request drop the reasoning without an error."""
    talk = _responses()

    talk.say(_user("And now?"), tools=[*talk.rest["tools"], *_MORE["tools"]])

    assert (talk.server.report.changes, talk.server.report.reasoning_dropped) == (1, 1)
