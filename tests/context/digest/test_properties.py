"""What holds for every conversation, whatever stands in it."""

import asyncio
import copy
import json
import re
from collections import Counter

from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentic.context.compactors import Digest
from agentic.messages import ContextSummary, Media, Message, SummaryText, ToolCall, ToolResult

ODD = st.sampled_from(
    ["\n", "# ", "## Files changed\n", "```", "~~~", "- ", "- [ ] ", "\ud800", "\x1b[1m", "\r",
     "<!--", "<script>", "1. ", "===", "---\n", "src/a.py ", "b_c.py:1: x", "决定了。",
     "We decided on it. ", "exit code: 1\n", "Error: no\n", "<system-reminder>",
     "</system-reminder>"]
)  # fmt: skip
CONTENT = st.lists(st.one_of(ODD, st.text(max_size=20)), max_size=12).map("".join)
IDS = st.sampled_from(["c1", "c2", "c3"])
TOOLS = st.sampled_from(["bash", "read", "edit", "write", "find_user", "todo_write"])
ARGUMENTS = st.one_of(
    CONTENT,
    CONTENT.map(lambda text: json.dumps({"command": text})),
    st.sampled_from(
        ['{"path": "src/a.py"}', '{"path": "/tmp/b"}', '{"command": "touch x && rm y.py"}']
    ),
)
CALLS = st.lists(st.builds(ToolCall, IDS, TOOLS, ARGUMENTS), max_size=3)
RESULTS = st.lists(st.builds(ToolResult, IDS, TOOLS, CONTENT), max_size=3)
MEDIA = st.lists(st.just(Media("image/png", b"PNG")), max_size=1)
MESSAGES = st.one_of(
    st.builds(Message, st.just("user"), CONTENT, media=MEDIA),
    st.builds(Message, st.just("assistant"), CONTENT, tool_calls=CALLS),
    st.builds(Message, st.just("tool"), tool_results=RESULTS, pinned=st.booleans()),
    st.builds(Message, st.just("system"), CONTENT),
    CONTENT.map(lambda text: ContextSummary(text, 1).to_message()),
)
CONVERSATIONS = st.lists(MESSAGES, max_size=12)
HEADINGS = {
    "What the user asked", "Rules of the user", "Former summaries and notices",
    "Where things stand", "Decided and found", "Said on the way", "Files changed", "Files read",
    "Commands", "Commands that still fail", "Last seen, newest first",
}  # fmt: skip

unhurried = settings(deadline=None)


def digest(messages: list[Message], max_tokens: int = 2000, recall: str | None = None) -> str:
    """Digest messages."""
    return asyncio.run(Digest(max_tokens=max_tokens, recall=recall).compact(messages))


def summarized(text: str) -> Message:
    """Return the message that a digest comes back as, with its notes."""
    return ContextSummary(text, 1, notes=SummaryText(text).notes).to_message()


@unhurried
@given(CONVERSATIONS, st.integers(1, 600), st.sampled_from([None, "recall"]))
def test_the_size_is_kept(messages: list[Message], size: int, recall: str | None) -> None:
    """Damaged conversations included; nothing raises, and what is written can be encoded."""
    got = digest(messages, size, recall)

    assert len(got) <= 4 * size
    got.encode()


@unhurried
@given(CONVERSATIONS)
def test_a_digest_is_deterministic(messages: list[Message]) -> None:
    """And the conversation is left as it was."""
    before = copy.deepcopy(messages)

    assert digest(messages) == digest(before)
    assert messages == before


@unhurried
@given(CONVERSATIONS, st.integers(50, 600))
@example(
    [
        Message("user", "```# "),
        Message("system", "# \n```"),
        Message("system", "```# \n```"),
        Message("assistant", "```# \n```"),
    ],
    50,
)
def test_every_heading_is_ours(messages: list[Message], size: int) -> None:
    """Outside of the one fence nothing that was quoted is a heading, a list or a fence."""
    text, _, index = digest(messages, size).partition("\n## Last seen, newest first\n")

    lines = text.split("\n")
    assert {line[3:] for line in lines if line.startswith("## ")} <= HEADINGS
    for line in lines[1:]:
        assert line == "" or line.startswith(("## ", "- ", "  "))
        assert not re.match(r"(?:- | +)(?:#{1,6}\s|```|~~~|<|[-+*>] )", line)
    fence, _, body = index.partition("\n")
    assert not index or (index.endswith(f"\n{fence}") and body.count(fence) == 1)


@unhurried
@given(CONVERSATIONS, st.integers(50, 600))
def test_no_line_stands_three_times(messages: list[Message], size: int) -> None:
    """Whatever the user, a tool or a former summary repeats; and in the index none stands twice."""
    text = digest([*messages, *messages, *messages], size)

    lines = Counter(line for line in text.split("\n") if line)
    assert [line for line, times in lines.items() if times > 2] == []
    body = text.partition("\n## Last seen, newest first\n")[2].split("\n")[1:-1]
    assert len(body) == len(set(body))


@unhurried
@given(CONVERSATIONS)
def test_only_users_make_requests(messages: list[Message]) -> None:
    """A tool's words never are one."""
    got = digest([message for message in messages if message.role != "user"])

    assert "## What the user asked" not in got


@unhurried
@given(CONVERSATIONS, st.data())
def test_two_generations_say_what_one_says(messages: list[Message], data: st.DataObject) -> None:
    """Of what was asked, in requests short enough for the notes to keep them whole."""
    messages = [
        each.replace(content=each.content[:60])
        for each in messages
        if each.role in {"user", "system"} and not each.summary
    ]
    cut = data.draw(st.integers(0, len(messages)))
    asked = [message for message in messages if message.role == "user"]
    before = [each for each in messages[:cut] if each.role == "user"]

    former = digest(before, 100_000)
    later = [each for each in messages[cut:] if each.role == "user"]
    folded = digest([*([summarized(former)] if former else []), *later], 100_000)

    once = digest(asked, 100_000)
    told, at_once = (text.partition("## Last seen")[0].rstrip() for text in (folded, once))
    assert told == at_once


@unhurried
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner:
    st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from([*sorted(HEADINGS), "v"]), inner, max_size=5)))  # fmt: skip
def test_damaged_notes_are_passed_over(plain: object) -> None:
    """A store may hold anything under our name."""
    found = plain if isinstance(plain, dict) else {"Commands": plain}
    notes = {"digest": {**found, "v": 6}}
    former = ContextSummary("Gone.", 1, notes=notes).to_message()

    assert "- Go on." in digest([former, Message("user", "Go on.")])
