"""What a digest of a digest keeps."""

import asyncio
import re
from collections.abc import Sequence

import pytest

from agentic.context.compactors import Digest, message_ref
from agentic.messages import (
    ContextSummary,
    Message,
    SummaryText,
    ToolCall,
    ToolResult,
    split_rounds,
)

EDIT = ToolCall("c1", "edit", '{"path": "src/a.py"}')
TALK = [
    Message("user", "Mend the parser."),
    Message("assistant", "We decided on tabs.", tool_calls=[EDIT]),
    Message("tool", tool_results=[ToolResult("c1", "edit", "ok")]),
    Message("assistant", "The parser is mended now."),
]


def fold(messages: Sequence[Message], generations: int, digest: Digest) -> str:
    """Digest a conversation in parts, each time with the former digest before it."""
    rounds = split_rounds(messages)
    size = -(-len(rounds) // generations)
    text = ""
    for start in range(0, len(rounds), size):
        part = [each for found in rounds[start : start + size] for each in found.messages]
        text = asyncio.run(digest.compact([*former(text), *part]))
    return text


def former(text: str) -> list[Message]:
    """Return the message that a digest comes back as."""
    return [ContextSummary(text, 1, notes=SummaryText(text).notes).to_message()] if text else []


def test_a_digest_alone_stays_the_same() -> None:
    """Nothing came since, so nothing changes."""
    once = asyncio.run(Digest().compact(TALK))

    assert asyncio.run(Digest().compact(former(once))) == once


def test_sections_continue_the_former_ones() -> None:
    """Files, requests and decisions of both are told, and nothing is nested."""
    later = [Message("user", "And the lexer."), *TALK[1:3], Message("assistant", "Both work now.")]

    got = fold([*TALK, *later], 2, Digest())

    assert got == asyncio.run(Digest().compact([*TALK, *later]))
    assert "- src/: a.py (edited)" in got
    assert "- Both work now." in got


def test_digest_without_notes_is_quoted() -> None:
    """As the text of any other summary: nothing is read back from it."""
    once = str(asyncio.run(Digest().compact(TALK)))

    got = asyncio.run(Digest().compact([ContextSummary(once, 4).to_message()]))

    assert got.startswith(
        "# Digest of the conversation so far\n\n## Former summaries and notices\n- \\# Digest"
    )
    assert "\\## Files changed" in got


def test_other_versions_notes_are_not_read() -> None:
    """The text beside them is quoted."""
    other = ContextSummary("The text.", 1, notes={"digest": {"v": 3, "requests": []}})

    got = asyncio.run(Digest().compact([other.to_message()]))

    assert "## Former summaries and notices\n- The text." in got


def test_a_cut_request_keeps_its_reference() -> None:
    """However often it is folded, it names the message that it began with."""
    asked = Message("user", "Mend the parser. " + "Details follow here. " * 900)
    digest = Digest(max_tokens=500, recall="recall")
    text = asyncio.run(digest.compact([asked]))
    for n in range(3):
        text = asyncio.run(digest.compact([*former(text), Message("user", f"Wish {n}.")]))

    assert f'recall(ref="{message_ref(asked)}") ...]' in text


@pytest.mark.parametrize("generations", [1, 2, 3, 5])
def test_an_action_gets_its_output_later(generations: int) -> None:
    """Where a part ends between the two, the output is no request, and the file is changed."""
    talk = [Message("user", "Mend the build.")]
    for command, output in (
        ("touch src/a.py", ""),
        ("make", "Error: 1"),
        ("make test", "3 passed"),
    ):
        talk.append(Message("assistant", f"Now I go on.\n```\n{command}\n```"))
        talk.append(Message("user", f"<output>\n{output}\n</output>"))

    got = fold(talk, generations, Digest())

    assert "asked\n- Mend the build.\n\n## Where" in got
    assert "- src/: a.py (new)" in got
    assert "no result yet" not in got


def test_notes_stay_small() -> None:
    """Some times the text, however much there was."""
    asked = [Message("user", f"Wish {n}: {'and so on, ' * 500}") for n in range(100)]

    notes = SummaryText(asyncio.run(Digest().compact(asked))).notes

    assert len(str(notes)) < 40_000


@pytest.mark.corpus
@pytest.mark.slow
def test_recorded_sessions_survive_ten_folds(sessions: dict[str, list[Message]]) -> None:
    """All changed files and the first words of every request are there to the end."""
    for messages in (each for each in sessions.values() if len(each) >= 100):
        once = asyncio.run(Digest().compact(messages))
        folded = fold(messages, 10, Digest())
        for heading, pattern in (
            ("What the user asked", "- .{,30}"),
            ("Files changed", r"[\w./]+"),
        ):
            shown = [_section(text, heading) for text in (once, folded)]
            found = [set(re.findall(pattern, text)) for text in shown]
            assert len(found[0] & found[1]) >= 0.9 * len(found[0])


@pytest.mark.corpus
@pytest.mark.slow
def test_recorded_sessions_keep_the_size(sessions: dict[str, list[Message]]) -> None:
    """At every size, and something is always said."""
    for messages in sessions.values():
        for max_tokens in (200, 2_000, 20_000):
            got = asyncio.run(Digest(max_tokens=max_tokens).compact(messages))
            assert 0 < len(got) <= 4 * max_tokens


@pytest.mark.corpus
def test_references_lead_to_messages(sessions: dict[str, list[Message]]) -> None:
    """Through four generations, whatever was said or attached."""
    for messages in sessions.values():
        text = fold(messages, 4, Digest(max_tokens=1_000, recall="recall"))
        references = set(re.findall(r'recall\(ref="(text-[0-9a-f]+)"\)', text))
        assert references <= set(map(message_ref, messages))


def _section(text: str, heading: str) -> str:
    return text.partition(f"\n## {heading}\n")[2].partition("\n\n## ")[0]
