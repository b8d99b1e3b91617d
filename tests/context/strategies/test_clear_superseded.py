"""Which outputs a newer one replaces."""

from typing import Any

import pytest

from agentic.context.budget import Policy
from agentic.context.strategies import ClearSuperseded
from agentic.context.view import View
from agentic.errors import ConfigError
from agentic.messages import Message, ToolCall, ToolError, ToolResult
from agentic.tokens import CharCounter

_OUTPUT = "a line of it\n" * 40


def _talk(*calls: tuple[str, str], error_at: int | None = None) -> list[Message]:
    talk = [Message("user", "Look.")]
    for number, (tool, arguments) in enumerate(calls):
        error = ToolError("gone") if number == error_at else None
        result = ToolResult(f"c{number}", tool, "" if error else _OUTPUT, error)
        talk.append(Message("assistant", tool_calls=[ToolCall(f"c{number}", tool, arguments)]))
        talk.append(Message("tool", tool_results=[result]))
    return talk


def _cleared(strategy: ClearSuperseded, talk: list[Message]) -> list[int]:
    view = strategy.compact(talk)
    return [n for n, m in enumerate(view[2::2]) if "[Cleared" in m.tool_results[0].text]


_FILE, _PART = '{"path": "a.py"}', '{"path": "a.py", "offset": 9}'


@pytest.mark.parametrize(
    ("calls", "cleared"),
    [
        ([("read", _FILE), ("read", _FILE)], [0]),
        ([("read", _PART), ("cat", _FILE)], [0]),
        ([("read", _FILE), ("read", _PART)], []),
        ([("read", _FILE), ("read", '{"path": "b.py"}')], []),
        ([("fetch", '{"url": "u"}'), ("fetch", '{"url": "u"}'), ("fetch", '{"url": "u"}')], [0, 1]),
        ([("bash", '{"command": "make"}'), ("bash", '{"command": "make"}')], []),
        ([("write", _FILE), ("write", _FILE)], []),
        ([("read", "no JSON"), ("read", "no JSON")], []),
    ],
)
def test_newer_output_of_the_same_replaces_older(
    calls: list[tuple[str, str]], cleared: list[int]
) -> None:
    """By the table of tools; a part does not replace the whole."""
    assert _cleared(ClearSuperseded(), _talk(*calls)) == cleared


def test_error_replaces_nothing() -> None:
    """Nor is it cleared: it says how the call ended."""
    talk = _talk(("read", _FILE), ("read", _FILE), error_at=1)

    assert ClearSuperseded().compact(talk) is talk


def test_pinned_round_is_kept() -> None:
    """As by every strategy."""
    talk = _talk(("read", _FILE), ("read", _FILE))
    talk[1] = talk[1].replace(pinned=True)

    assert ClearSuperseded().compact(talk) is talk


def test_own_rule_takes_the_place_of_the_table() -> None:
    """For a tool whose arguments say in another way what it reads."""

    def same(call: ToolCall) -> Any:
        return call.parse().get("page") if call.name == "browse" else None

    talk = _talk(
        ("browse", '{"page": 1, "step": 1}'),
        ("browse", '{"page": 1}'),
        ("read", _FILE),
        ("read", _FILE),
    )

    assert _cleared(ClearSuperseded(same=same), talk) == [0]
    with pytest.raises(ConfigError, match="same must be"):
        ClearSuperseded(same="page")  # type: ignore[arg-type]


def test_in_a_view_it_waits_for_an_epoch() -> None:
    """Until then, each request extends the last one."""
    view = View(Policy(100_000), counter=CharCounter(), strategies=[ClearSuperseded()])
    talk = _talk(*[("read", _FILE)] * 12)
    kept = []

    for length in range(3, len(talk) + 1, 2):
        prepared = view.prepare_sync(talk[:length])
        kept.append(sum(_OUTPUT in m.tool_results[0].text for m in prepared.messages[2::2]))
        assert prepared.extends == (prepared.changes == ())

    assert max(kept) > 1
    assert kept[-1] < len(kept)
