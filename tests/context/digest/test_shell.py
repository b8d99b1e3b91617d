import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.context.compactors import Digest
from agentic.context.digest._shell import (
    effects,
    patch_effects,
    split_command,
)
from agentic.messages import Message, ToolCall, ToolResult

PIECES = [
    "a.py", "cat", "sed -i s/a/b/", ">", ">>", "2>&1", "<<EOF", "<<-'E'", "EOF", "\n", "&&", "|",
    ";", "(", ")", "$(", "`", "'", '"', "\\", "#", "git", "checkout", "stash", "mv", "bash -c",
    "python -c", 'open("x", "w")', "\ud800", "\t", "--- a/f\n+++ b/f\n", "cd", "/a", "*", "tee",
]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo x > a.py", [("a.py", "write")]),
        ("make >> build.log 2>&1", [("build.log", "edit")]),
        ("make &> build.log", [("build.log", "write")]),
        ("make > /dev/null 2>&1", []),
        ("make 2>&1 | tee -a build.log", [("build.log", "edit")]),
        ("cat > 'a b' << 'E'\nx > y\nE\ntouch z", [("a b", "write"), ("z", "write")]),
        ("cat <<-END > a\n\tEND of it\n\tEND\nrm a", [("a", "write"), ("a", "delete")]),
        ("sed -i 's/a > b/c/' src/a.py", [("src/a.py", "edit")]),
        ("sed -i '' 's/a/b/' a.py b.py", [("a.py", "edit"), ("b.py", "edit")]),
        ("sed -i -e s/a/b/ -e s/c/d/ Makefile", [("Makefile", "edit")]),
        ("sed -n '1,9p' a.py | head -3", [("a.py", "read")]),
        ("perl -i -pe 's/a/b/' a.py", [("a.py", "edit")]),
        ("sed -i 's/don\\'t/do not/ of it' a.py", []),
        ("mv a.py src/", [("a.py", "delete"), ("src/a.py", "write")]),
        ("cp a.py b.py", [("b.py", "write")]),
        ("git mv a.py b.py", [("a.py", "delete"), ("b.py", "write")]),
        ("git rm -f a.py && git rm --cached b.py", [("a.py", "delete")]),
        ("rm -rf build *.pyc", [("build", "delete"), ("*.pyc", "delete")]),
        ("git checkout -- a.py", [("a.py", "revert")]),
        ("git checkout -b new", []),
        ("git restore a.py && git restore --staged b.py", [("a.py", "revert")]),
        ("git apply <<'E'\n--- a/f.py\n+++ b/f.py\nE", [("f.py", "edit")]),
        ("cat > a.patch <<'E'\n+++ b/f.py\nE", [("a.patch", "write")]),
        ("git reset --hard && git reset a.py", [(".", "revert")]),
        ("cd src && rm a.py; cd .. && touch b", [("src/a.py", "delete"), ("b", "write")]),
        ("python - <<'EOF'\nopen('a.py', 'w').write('')\nEOF", []),
        ("python -c 'print(1)' && touch a.py", [("a.py", "write")]),
        ("grep -n def a.py && ls", []),
        ("touch $FILE `date` {a,b}", []),
        ("echo 'rm a.py' # > b.py", []),
        ('echo "unbalanced > a.py', []),
    ],
)  # fmt: skip
def test_reads_what_a_command_does(command: str, expected: list[tuple[str, str]]) -> None:
    """A plain reader of the command would say the same, without running or expanding anything."""
    assert list(effects(command)) == expected


def test_failed_command_did_all_but_last() -> None:
    """What runs behind a pipe belongs to the part before it."""
    command = "sed -i s/a/b/ a.py && cat a.py | tail -3 > b.txt"
    assert list(effects(command, is_error=True)) == [("a.py", "edit")]


def test_patch_adds_moves_and_deletes() -> None:
    """Both forms of a patch say what they do to a file."""
    own = (
        "*** Begin Patch\n*** Add File: a\n*** Update File: b\n*** Move to: c\n*** Delete File: d\n"
    )
    diff = "--- a/e\n+++ b/e\n--- a/f\n+++ /dev/null\n"
    assert patch_effects(own + diff) == [
        ("a", "write"), ("b", "edit"), ("c", "edit"), ("d", "delete"), ("e", "edit"),
        ("/dev/null", "edit"),
    ]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4)).map(" ".join))
def test_any_text_is_read(command: str) -> None:
    """Whatever a model wrote, nothing raises, and every path is printable."""
    assert all(path.isprintable() for path, _ in effects(command))


@given(st.lists(st.text("ab.-/", min_size=1), min_size=1))
def test_plain_words_are_kept(words: list[str]) -> None:
    """Without quotes and operators, the words of a command are those between its blanks."""
    assert [part.words for part in split_command(" ".join(["make", *words]))] == [["make", *words]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["x'y\"z $(\n", '"\\"', "<<A ", "open(a, ", "\n\tx", "\\\n", "--- a"]
)
def test_cost_is_linear(piece: str) -> None:
    """A large heredoc or a stray quote does not make reading quadratic.

    Reading 200 KB takes a second; if it were quadratic, the test would take minutes.
    """
    body = piece * (200_000 // len(piece))
    found = [*effects(body), *effects(f"cat > a.py <<EOF\n{body}\nEOF\n")]
    assert found == [("a.py", "write")]


@pytest.mark.parametrize("repeated", ["cat a.py | ", "git apply x; ", "cd a && "])
def test_long_command_costs_its_length(
    repeated: str, growth: Callable[[Callable[[int], object], int], float]
) -> None:
    """Four times as many parts take about four times as long."""

    def digest(number: int) -> str:
        command = json.dumps({"command": repeated * number + "tail"})
        call = Message("assistant", tool_calls=[ToolCall("c1", "bash", command)])
        answer = Message("tool", tool_results=[ToolResult("c1", "bash", "ok")])
        return Digest(max_tokens=500).write([Message("user", "Go."), call, answer])

    assert growth(digest, 4_000) < 10


def test_patch_is_read_once_for_a_command() -> None:
    """However often the command applies it."""
    command = "git apply <<'EOF' && git apply x\n+++ b/src/a.py\nEOF"

    assert list(effects(command)) == [("src/a.py", "edit")]
