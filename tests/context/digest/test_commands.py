import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.context.digest._calls import Commands, Failures, error_line
from agentic.context.digest._turns import Called

Make = Callable[..., Called]

TRACEBACK = "Traceback (most recent call last):\n  File 'a.py'\nTypeError: no len()\n"


def ran(commands: Commands, called: Make, *runs: tuple[str, str]) -> list[str]:
    """Return the lines of what succeeded after commands with their outputs."""
    for command, output in runs:
        commands.take(called("bash", output, command=command))
    commands.finish()
    return [line.text for line in commands.lines()]


def failed(commands: Commands, called: Make, *runs: tuple[str, str]) -> list[str]:
    """Return the lines of what still fails after commands with their outputs."""
    ran(commands, called, *runs)
    return [line.text for line in Failures(commands.known).lines()]


@pytest.mark.parametrize(
    ("command", "output", "error"),
    [
        ("make", "cc a.c\na.c:3: error: expected ';'\nexit code: 2", "a.c:3: error: expected ';'"),
        ("python a.py", f"<returncode>1</returncode>\n{TRACEBACK}", "TypeError: no len()"),
        ("python a.py | tail", TRACEBACK, "TypeError: no len()"),
        ("foo", "bash: foo: command not found", "bash: foo: command not found"),
        ("cat a", "cat: a: No such file or directory", "cat: a: No such file or directory"),
        ("pytest", "E   ValueError: x is 3\n1 failed in 0.1s\nExit code 1", "E ValueError: x is 3"),
    ],
)  # fmt: skip
def test_failure_names_its_error(called: Make, command: str, output: str, error: str) -> None:
    """The line that says what went wrong, not the one that says that something did."""
    label = command.partition(" |")[0]
    assert failed(Commands(), called, (command, output)) == [f"`{label}`: {error}"]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("python a.py", f"<returncode>0</returncode>\n{TRACEBACK}"),
        ("cat log.txt", "a: No such file or directory\n" * 50),
        ("grep x a.py", "exit code: 1"),
        ("make", "0 errors"),
    ],
)
def test_success_is_no_failure(called: Make, command: str, output: str) -> None:
    """Words of errors are no errors where the exit code says so, or where a file may be shown."""
    assert failed(Commands(), called, (command, output)) == []


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("it timed out", "it timed out"),
        ("Exit code 1\n--- FAIL: TestParse (0.00s)\nFAIL", "--- FAIL: TestParse (0.00s)"),
        ("Exit code 2\nbuild started\na.ts(3,1): error TS2304: x", "a.ts(3,1): error TS2304: x"),
        (
            "a.go:7:2: undefined: x\nan error\n\nCommand exited with code 1",
            "a.go:7:2: undefined: x",
        ),
        ("Exit code 1\na.c:3: warning: unused\na.c:9: error: no ;", "a.c:9: error: no ;"),
        ("Command exited with code 1", ""),
        (f"Exit code 1\n{TRACEBACK}", "TypeError: no len()"),
    ],
)
def test_flag_is_read_without_a_word_of_ours(called: Make, message: str, line: str) -> None:
    """A result that is marked as an error needs no words, and a caption of a code names none."""
    turn = called("bash", "", error=message, command="make")

    assert turn.failed
    assert error_line(turn.output or "") == line
    assert failed(Commands(), called) == []
    commands = Commands()
    commands.take(turn)
    commands.finish()
    assert [each.text for each in Failures(commands.known).lines()] == [
        f"`make`: {line or 'failed'}"
    ]


@pytest.mark.parametrize(
    ("command", "fails"),
    [
        ("pytest -q 2>&1 | tail -3", True),
        ("pytest -q", False),
        ("cat log.txt | tail -3", False),
    ],
)
def test_failure_behind_a_pipe_is_one(called: Make, command: str, fails: bool) -> None:
    """The exit code is that of `tail`; what only looks may show any text."""
    output = "<returncode>0</returncode>\nFAILED tests/test_a.py::test_b\n1 failed, 3 passed"

    lines = failed(Commands(), called, (command, output))

    assert lines == ["`pytest -q`: FAILED tests/test_a.py::test_b"] * fails


@pytest.mark.parametrize("tool", ["Grep", "Glob", "list_dir"])
def test_searches_are_no_commands(called: Make, tool: str) -> None:
    """They are no step of the work."""
    commands = Commands()
    commands.take(called(tool, "src/a.py", pattern="parse"))
    commands.finish()

    assert commands.known == {}


def test_refused_command_has_not_failed(called: Make) -> None:
    """The user's reason is a statement; nothing ran."""
    commands = Commands()
    commands.take(called("bash", "", error="The user rejected the call.", command="git push"))
    commands.finish()

    assert commands.known == {}


@pytest.mark.parametrize(
    ("again", "cleared"),
    [
        ("cd src && make test 2>&1 | tail; echo $?", True),
        ("make lint", False),
        ("make", False),
    ],
)
def test_later_success_clears_a_failure(called: Make, again: str, cleared: bool) -> None:
    """The same words count, whatever is before and behind them; others do not."""
    runs = ("make test", "error: 3 failed\nexit code: 2"), (again, "exit code: 0")
    assert failed(Commands(), called, *runs) == ["`make test`: error: 3 failed"] * (not cleared)


def test_each_command_has_a_line(called: Make) -> None:
    """The newest first; what only looks, and what still fails, is left out."""
    assert ran(
        Commands(),
        called,
        ("pytest tests/a", "3 passed"),
        ("cd src; pytest tests/a | tail", "4 passed"),
        ("pytest tests/b", "9 passed"),
        ("cat a.py", "x"),
        ("npm run check", "error: no\nexit code: 1"),
        ("git commit -m x", "<returncode>0</returncode>\n<output>\n1 file changed\n</output>"),
        ("./run", "<returncode>0</returncode>\n<output>\n</output>"),
    ) == [
        "`./run` (ok)",
        "`git commit -m x` (1 file changed)",
        "`pytest tests/b` (9 passed)",
        "`pytest tests/a` (4 passed)",
    ]


def test_commands_that_ended_alike_share_a_line(called: Make) -> None:
    """In the place of the newest, as many as a line has room for."""
    names = [f"check {at} of the {'long ' * 10}list" for at in range(5)]

    lines = ran(
        Commands(),
        called,
        ("pytest a", "ok"),
        ("make", "3 passed"),
        *((name, "done") for name in names),
        ("pytest b", "ok"),
    )

    assert lines == [
        "`pytest b`, `pytest a` (ok)",
        f"`{names[4]}`, `{names[3]}` (done)",
        f"`{names[2]}`, `{names[1]}` (done)",
        f"`{names[0]}` (done)",
        "`make` (3 passed)",
    ]


def test_long_error_has_a_short_form(called: Make) -> None:
    """It is cut between words."""
    failures = Commands()
    ran(failures, called, ("make", "error: " + "no rule for it " * 20 + "\nexit code: 2"))

    [line] = Failures(failures.known).lines()

    assert line.short.startswith("`make`: error: no rule for it")
    assert line.short.endswith(" ...")
    assert len(line.short) < len(line.text)


RUNS = st.tuples(
    st.sampled_from(["make", "make -j2", "pytest a", "cat x", "python a.py", "echo $(", ""]),
    st.sampled_from(["", "exit code: 1", "exit code: 0", TRACEBACK, "error: no\nexit code: 2"]),
)


@pytest.mark.parametrize("lines", [ran, failed])
@given(runs=st.lists(RUNS), data=st.data())
def test_restored_section_goes_on(
    called: Make, lines: Callable[..., list[str]], runs: list[tuple[str, str]], data: st.DataObject
) -> None:
    """Two generations say what one would have said."""
    cut = data.draw(st.integers(0, len(runs)))
    older, newer = Commands(), Commands()
    ran(older, called, *runs[:cut])
    newer.restore(json.loads(json.dumps(older.to_plain(10_000))))
    assert lines(newer, called, *runs[cut:]) == lines(Commands(), called, *runs)


@given(st.dictionaries(st.text(), st.none() | st.dictionaries(st.sampled_from(["label", "runs"]), st.text() | st.integers())) | st.text())  # fmt: skip  # noqa: E501
def test_damaged_data_is_passed_over(plain: object) -> None:
    """What a store did to the data does not stop a session."""
    section = Commands()
    section.restore(plain)
    assert all(line.text for line in section.lines())


def test_what_is_handed_on_is_small(called: Make) -> None:
    """A script of a megabyte that is an argument does not go on to the next generation."""
    section = Commands()
    ran(section, called, ("python -c '" + "x = 1\n" * 200_000 + "'", "error: no\nexit code: 1"))
    assert len(json.dumps(section.to_plain(10_000))) < 1000


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "failing", "cleared"),
    [
        (
            "pi_large-session",
            ["npm run publish", "no exported member 'EditorTheme'", "npm run build"],
            ["npm run check"],
        ),
        (
            "msa_deepseek_chat_dev_rerun_pydicom__pydicom-1139",
            ["python run_tests.py"],
            ["test_issue.py"],
        ),
    ],
)
def test_real_sessions(
    recorded: Callable[[str], list[Called]], name: str, failing: list[str], cleared: list[str]
) -> None:
    """Checked by reading what failed to the end, and what worked later."""
    section = Commands()
    for turn in recorded(name):
        section.take(turn)
    section.finish()
    text = "\n".join(line.text for line in Failures(section.known).lines())
    assert [each for each in failing if each not in text] == []
    assert [each for each in cleared if each in text] == []
