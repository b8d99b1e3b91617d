"""`agentic digest`: the note, and where each line comes from."""

import json
from pathlib import Path
from typing import Any

import pytest

TALK = [
    {"role": "user", "content": "Mend the parser."},
    {"role": "assistant", "content": "The root cause is a tab in the parser."},
]


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """Write a small transcript."""
    path = tmp_path / "talk.jsonl"
    path.write_text("\n".join(map(json.dumps, TALK)))
    return path


def test_note_is_printed(agentic: Any, transcript: Path) -> None:
    """As a compaction would hand it over."""
    done = agentic("digest", transcript)

    assert done.out.startswith("# Digest of the conversation so far\n\n## What the user asked\n")
    assert "- Mend the parser.\n" in done.out


def test_explain_shows_messages_and_reasons(agentic: Any, transcript: Path) -> None:
    """The number beside each line, the reason beside its heading."""
    lines = agentic("digest", transcript, "--explain").out.split("\n")

    assert lines[0].strip().startswith("## What the user asked (a request")
    assert lines[1].split() == ["m1", "-", "Mend", "the", "parser."]


def test_json_has_the_lines(agentic: Any, transcript: Path) -> None:
    """One object a transcript, with messages counted from 1."""
    plain = json.loads(agentic("digest", transcript, "--json").out)

    assert plain["transcript"] == "talk"
    assert plain["lines"][0]["messages"] == [1]


def test_size_is_kept(agentic: Any, transcript: Path) -> None:
    """A note without room is empty, and none at all is a mistake."""
    assert agentic("digest", transcript, "-t", "3").out == "(there is nothing to hand over)\n"
    assert "pass --max-tokens" in agentic("digest", transcript, "-t", "0").err
