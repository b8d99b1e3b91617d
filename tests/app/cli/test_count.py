import json
from pathlib import Path
from typing import Any

import pytest

from agentic import tokens

TEXT = "The build is red: test_parser failed.\n"


def test_each_file_and_total_are_counted(agentic: Any, tmp_path: Path) -> None:
    """The count first and the name after it, as wc(1) prints them."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(TEXT)
    count = tokens.count_text(TEXT)

    done = agentic("count", tmp_path / "a.txt", tmp_path / "b.txt")

    lines = [line.split(maxsplit=1) for line in done.out.splitlines()]
    assert lines == [
        [str(count), str(tmp_path / "a.txt")],
        [str(count), str(tmp_path / "b.txt")],
        [str(2 * count), "total"],
    ]


def test_stdin_is_a_number_alone(agentic: Any) -> None:
    """The pipe gets the number; the person is told what it is worth."""
    done = agentic("count", "--model", "claude-sonnet-4-5", stdin=TEXT.encode())

    assert int(done.out) == tokens.count_text(TEXT, "claude-sonnet-4-5")
    assert done.err.startswith("agentic: estimated: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "cl100k_base by quicktok; no model was named: with --model NAME it is counted for"),
        (["-m", "gpt-4o"], "exact: o200k_base by quicktok\n"),
        (["-m", "gpt-4x"], "unknown model 'gpt-4x' (did you mean 'gpt-4'?): "),
        (["-m", "acme-1"], "unknown model 'acme-1': estimated: "),
        (["-m", "claude-sonnet-4-5"], "times 1.3; o200k_base itself is estimated, within 10 %"),
    ],
)
def test_the_exactness_of_counts_is_told(agentic: Any, arguments: list[str], said: str) -> None:
    """A number alone looks exact."""
    assert said in agentic("count", *arguments, stdin=TEXT.encode()).err


def test_json_calls_no_unnamed_model_exact(agentic: Any) -> None:
    """Another model has another vocabulary."""
    unnamed = json.loads(agentic("count", "--json", stdin=b"text").out)
    unknown = json.loads(agentic("count", "--json", "-m", "acme-1", stdin=b"text").out)

    assert (unnamed["exact"], unknown["known"]) == (False, False)


def test_json_names_counter_and_exactness(agentic: Any, tmp_path: Path) -> None:
    """One object with everything."""
    (tmp_path / "a.txt").write_text(TEXT)

    said = json.loads(agentic("count", "--json", "-m", "gpt-4o", tmp_path / "a.txt").out)

    file = {"file": str(tmp_path / "a.txt"), "tokens": said["tokens"], "bytes": len(TEXT)}
    assert said["files"] == [file]
    assert said["exact"] is True
    assert said["counter"] == "exact: o200k_base by quicktok"


def test_large_texts_are_counted_in_parts(agentic: Any, tmp_path: Path) -> None:
    """Parts end with a line, where a tokenizer cuts too."""
    long = TEXT * 80_000
    (tmp_path / "long.txt").write_text(long)

    done = agentic("count", tmp_path / "long.txt")

    counted = int(done.out.split()[0])
    assert counted == pytest.approx(tokens.count_text(long), abs=100)


def test_odd_bytes_count_as_their_replacement(agentic: Any) -> None:
    """A picture among the files is no traceback."""
    done = agentic("count", stdin=b"\xff\xfe\x00")

    assert int(done.out) == tokens.count_text("\ufffd\ufffd\x00")


def test_a_missing_file_does_not_stop_others(agentic: Any, tmp_path: Path) -> None:
    """As wc(1) does: the problem on stderr, the rest on stdout, status 1."""
    (tmp_path / "a.txt").write_text(TEXT)

    done = agentic("count", "gone.txt", tmp_path / "a.txt")

    assert done.status == 1
    assert "agentic: gone.txt: no such file or directory" in done.err
    assert str(tmp_path / "a.txt") in done.out


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["."], 1, "agentic: .: is a directory"),
        (["--modle", "gpt-5"], 2, "No such option '--modle'"),
        (["--model"], 2, "requires an argument"),
    ],
)
def test_a_mistake_is_one_sentence(
    agentic: Any, arguments: list[str], status: int, said: str
) -> None:
    """Nothing is counted, and nothing is raised."""
    done = agentic("count", *arguments)

    assert done.status == status
    assert said in done.err
    assert done.err.count("\n") == 1
