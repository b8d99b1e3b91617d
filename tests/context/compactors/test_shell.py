from collections.abc import Callable

import pytest

from agentic.messages import Message

Run = Callable[..., str]
Called = Callable[..., list[Message]]
Cut = Callable[[str, str], str]


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("echo x > a.py", "- `a.py`: 1 write"),
        ("echo x >> a.py", "- `a.py`: 1 edit"),
        ("cat > 'my file.py' << 'EOF'\nx > y.py\nEOF", "- `my file.py`: 1 write"),
        ("sed -i 's/a > b/c/' src/a.py", "- `src/a.py`: 1 edit"),
        ("make 2>&1 | tee build.log", "- `build.log`: 1 write"),
        ("cd src && git rm -f a.py", "- `a.py`: 1 deletion"),
        ("mv a.py b.py", "- `b.py`: 1 write\n- `a.py`: 1 deletion"),
        ("LANG=C sudo cp -r a.py b.py", "- `b.py`: 1 write"),
    ],
)
def test_a_command_changes_the_files_that_its_words_name(
    digest: Run, called: Called, section: Cut, command: str, changed: str
) -> None:
    """Most agents change files with a shell at some time."""
    got = digest(*called("bash", "", command=command))

    assert section(got, "Files changed") == changed


@pytest.mark.parametrize(
    "command",
    ["make > /dev/null", "make 2> log", "rm *.pyc", 'echo "a > b.py"', "cat < a.py", "[ 1 -gt 2 ]"],
)
def test_what_changes_no_known_file_is_no_change(digest: Run, called: Called, command: str) -> None:
    """Wildcards and quoted text say nothing of a file."""
    assert "Files changed" not in digest(*called("bash", "", command=command))


def test_a_command_reads_the_lines_that_it_prints(
    digest: Run, called: Called, section: Cut
) -> None:
    """`sed -n` says which."""
    got = digest(*called("bash", "text", command="cat b.py | head -n 20; sed -n '3,9p' src/a.py"))

    assert section(got, "Files read") == "- `b.py`: 1 read\n- `src/a.py`: 1 read, last lines 3-9"


def test_a_command_that_failed_changed_nothing(digest: Run, called: Called) -> None:
    """As far as anybody knows."""
    got = digest(*called("bash", "fatal: no space\nexit code: 1", command="echo x > a.py"))

    assert "Files changed" not in got
