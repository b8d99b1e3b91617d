"""Facts that a model's summary lacks are listed below it, without another request."""

import asyncio
import json
from typing import Any

import attrs
import pytest

from agentic import events
from agentic.context.budget import Compaction, Manager, Policy
from agentic.context.compactors import Continuation, Digest, first_of, with_coverage
from agentic.errors import ConfigError
from agentic.messages import Message, ToolCall, ToolResult, from_plain, to_plain
from agentic.messages._coverage import Coverage
from agentic.protocols import CompactionContext, Decision, Input, LastRequest
from agentic.testing import EventRecorder, check_compactor
from agentic.tokens import CharCounter

_HEADING = "## Facts that the summary above lacks"


@attrs.define
class _Author:
    """Writes the next of these summaries, and keeps what it read."""

    texts: list[str]
    read: list[list[Message]] = attrs.field(factory=list)

    async def compact(self, messages: list[Message], /) -> str:
        self.read.append(messages)
        return self.texts.pop(0)


def _call(name: str, output: str, *, failed: bool = False, **arguments: Any) -> list[Message]:
    call = ToolCall(f"c-{name}-{len(output)}", name, json.dumps(arguments))
    text = f"{output}\nexit code 1" if failed else output
    return [
        Message("assistant", tool_calls=[call]),
        Message("tool", tool_results=[ToolResult(call.id, name, text)]),
    ]


def _work() -> list[Message]:
    todos = [{"content": "Port the lexer", "status": "pending"}]
    return [
        Message("user", "Mend the parser. Never touch the tests."),
        *_call("edit", "ok", path="src/parser.py", old="a", new="b"),
        *_call("todo_write", "ok", todos=todos),
        *_call("bash", "E   AssertionError: 3 != 4", failed=True, command="pytest tests/lexer"),
        Message("user", "Go on with the lexer."),
    ]


def _cover(text: str, *, kept: tuple[Message, ...] = (), **options: Any) -> str:
    compactor = attrs.evolve(with_coverage(_Author([text])), **options)
    return asyncio.run(compactor.compact_in(_work(), CompactionContext(kept=kept)))


def _added(text: str) -> list[str]:
    return text.partition(f"\n\n{_HEADING}\n")[2].split("\n")


def test_summary_that_lacks_everything_gets_each_fact() -> None:
    """Rules first, the request last; what is no fact is not listed."""
    assert _added(_cover("Some work was done.")) == [
        "- Rule of the user: Never touch the tests.",
        "- To do: Port the lexer",
        "- Still fails: `pytest tests/lexer`: E AssertionError: 3 != 4",
        "- File changed: src/parser.py (edited)",
        "- Latest request: Go on with the lexer.",
    ]


@pytest.mark.parametrize(
    ("mention", "fact"),
    [
        ("The tests must never be touched.", "Rule of the user"),
        ("Next: port the lexer.", "To do"),
        ("pytest tests/lexer raises AssertionError.", "Still fails"),
        ("parser.py was edited", "File changed"),
        ("The user said to go on with the lexer.", "Latest request"),
    ],
)
def test_fact_that_the_summary_has_is_not_repeated(mention: str, fact: str) -> None:
    """In whatever words, as long as most of them are there."""
    added = _added(_cover(mention))

    assert not any(line.startswith(f"- {fact}") for line in added)
    assert len(added) >= 2


@pytest.mark.parametrize("name", ["myparser.py", "parser.pyc", "parser-py", "src"])
def test_similar_file_name_is_no_mention(name: str) -> None:
    """A name counts as a whole."""
    assert "- File changed: src/parser.py (edited)" in _added(_cover(f"Changed {name} today."))


def test_complete_summary_is_returned_as_it_is() -> None:
    """Its coverage says that nothing was missing."""
    text = (
        "Never touch the tests. Port the lexer; pytest tests/lexer fails: AssertionError. parser.py"
    )
    summary = _cover(f"{text}. Go on with the lexer.")

    assert _HEADING not in summary


def test_request_that_stays_is_not_listed() -> None:
    """It follows the summary in the user's own words."""
    added = _added(_cover("Some work was done.", kept=(Message("user", "And now?"),)))

    assert not any("request" in line for line in added)


def test_what_does_not_fit_is_counted() -> None:
    """The most important facts are listed."""
    added = _added(_cover("Some work was done.", max_tokens=35))

    assert added == ["- Rule of the user: Never touch the tests.", "- To do: Port the lexer",
                     "- (3 more)"]  # fmt: skip


def test_digest_is_not_checked_by_itself() -> None:
    """It was written from the same facts."""
    chain = with_coverage(first_of(Digest()))

    assert asyncio.run(chain.compact(_work())) == asyncio.run(Digest().compact(_work()))


def _compact(manager: Manager, messages: list[Message]) -> Compaction:
    return asyncio.run(manager.compact_if_needed(messages, force=True, allow_growth=True))


def test_facts_of_former_summaries_are_looked_up_again() -> None:
    """Also after a restart: they are in the notes, wherever the prose forgot them."""
    author = _Author(["It began.", "It went on."])
    policy = Policy(0, min_recent_messages=1)
    manager = Manager(CharCounter(), with_coverage(author), policy)

    first = _compact(manager, [*_work(), Message("user", "And then?"), Message("assistant", "So.")])
    stored = [from_plain(to_plain(each)) for each in first.messages]
    more = [Message("user", f"Remark {n}.") for n in range(4)]
    second = _compact(manager, [*stored, *more, Message("assistant", "Done.")])

    assert first.coverage is not None
    assert first.coverage.missing == first.coverage.facts == 4
    assert second.summary is not None
    assert "- Rule of the user: Never touch the tests." in _added(second.summary.content)
    assert "- File changed: src/parser.py (edited)" in _added(second.summary.content)


def test_share_is_in_the_event() -> None:
    """Whoever watches an agent sees how good its summaries are."""
    manager = Manager(CharCounter(), with_coverage(_Author(["parser.py"])), Policy(0))
    talk = [*_work(), *[Message("user", "Go on.")] * 9]

    with EventRecorder(events.context_compaction_end) as recorder:
        done = _compact(manager, talk)

    assert done.coverage == Coverage(facts=4, missing=3)
    assert [each.coverage for each in recorder.of(events.ContextCompactionEnd)] == [done.coverage]


def test_continuation_lists_what_its_model_forgot() -> None:
    """By default, without another request."""
    asked: list[Input] = []

    async def ask(request: Input) -> Decision:
        asked.append(request)
        return Decision("## Done\nparser.py was mended.")

    context = CompactionContext(last_request=LastRequest(messages=tuple(_work()), age_seconds=1))
    text = asyncio.run(Continuation(ask).compact_in(_work(), context))
    plain = asyncio.run(Continuation(ask, coverage=False).compact_in(_work(), context))

    assert "- Rule of the user: Never touch the tests." in _added(text)
    assert plain == "## Done\nparser.py was mended."
    assert len(asked) == 2


def test_it_is_a_compactor() -> None:
    """It fails as its model does, and refuses what is none."""
    check_compactor(lambda: with_coverage(_Author(["It is so."] * 99)))
    with pytest.raises(ConfigError, match="model"):
        with_coverage(None)  # type: ignore[arg-type]
    with pytest.raises(IndexError):
        asyncio.run(with_coverage(_Author([])).compact(_work()))
