"""What a notebook and a terminal show of a window."""

import io

from rich.console import Console

from agentic.bridges.dicts import Conversation
from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.view import View
from agentic.context.view._picture import Explanation
from agentic.messages import Message, ToolCall, ToolResult
from agentic.protocols import ToolDefinition
from agentic.providers import openai_chat
from agentic.tokens import CharCounter

READ = ToolDefinition("read", "Read a file.", {"type": "object"})


def _view() -> View:
    view = View(Policy(1_000), counter=CharCounter(), compactor=Digest())
    talk = [Message("user", f"Remark {number}: " + "so it goes. " * 20) for number in range(40)]
    talk += [
        Message("assistant", "Let me look.", tool_calls=[ToolCall("c1", "read", "{}")]),
        Message("tool", tool_results=[ToolResult("c1", "read", "The build is red.")]),
    ]
    view.prepare_sync(talk, system_prompt="Be brief.", tools=[READ])
    return view


def _printed(shown: object) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(shown)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_parts_add_up_to_the_window() -> None:
    """Each kind of content has its size, and the rest is free."""
    parts = {part.kind: part.tokens for part in _view().explain().parts}

    assert list(parts) == [
        "system",
        "tools",
        "summary",
        "requests",
        "replies",
        "outputs",
        "free",
    ]
    assert sum(parts.values()) == 1_000


def test_notebook_and_terminal_show_what_is_left_out() -> None:
    """A View shows what its explanation shows."""
    view = _view()

    page, text = view._repr_html_(), _printed(view)

    assert page.count("<span title=") == len(view.explain().parts)
    assert page.count("<tr>") == len(view.explain()) > 0
    assert "the window trigger fired" in page
    assert "compaction left out" in text
    assert "█" in text


def test_nothing_of_a_conversation_is_markup() -> None:
    """Neither HTML nor the brackets of rich."""
    removal, *_ = _view().explain()
    hostile = type(removal)(
        part="<script>alert(1)</script>", reason="[red]so[/red]", positions=(0,), where="<b>"
    )

    shown = Explanation([hostile])

    assert "<script>" not in shown._repr_html_()
    assert "&lt;script&gt;" in shown._repr_html_()
    assert "[red]so[/red]" in _printed(shown)


def test_a_conversation_shows_the_same_by_its_items() -> None:
    """Before the first request there is nothing to show."""
    conversation = Conversation(openai_chat, Policy(1_000))
    assert conversation.explain() == []
    assert "Nothing is left out." in conversation._repr_html_()

    conversation.fit([{"role": "user", "content": f"Remark {n}: " + "so " * 60} for n in range(40)])

    assert "left out" in _printed(conversation)
    assert conversation.explain().parts


def test_repr_of_a_removal_is_bounded() -> None:
    """However many messages and lines it is about."""
    removal, *_ = _view().explain()

    assert len(removal.positions) > 20
    assert len(repr(removal)) < 2_000


def test_the_epoch_is_named_with_its_reason_and_price() -> None:
    """The second request fits no more: what is written to the cache again is named and priced."""
    view = View(Policy(1_000), counter=CharCounter(), compactor=Digest(), model="claude-opus-4-5")
    talk = [Message("user", f"Remark {number}: " + "so it goes. " * 20) for number in range(8)]
    view.prepare_sync(talk)
    first = view.explain().epoch
    talk += [Message("user", f"Remark {number}: " + "so it goes. " * 20) for number in range(8, 40)]

    request = view.prepare_sync(talk)
    explanation = view.explain()

    assert (first.number, first.changes, first.sentence) == (1, (), "")
    epoch = explanation.epoch
    assert (epoch.number, epoch.changes) == (2, request.changes)
    assert "compaction" in epoch.changes
    assert epoch.tokens_rewritten == request.tokens - request.reused_tokens > 0
    assert epoch.price == 1.25 * epoch.tokens_rewritten
    assert "Epoch 2 began with compaction" in explanation.as_text()
    assert epoch.sentence in _printed(view)
    assert "Epoch 2 began with compaction" in explanation._repr_html_()
