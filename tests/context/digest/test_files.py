import json
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.context.digest._calls import Files, FilesRead
from agentic.context.digest._turns import Called

Make = Callable[..., Called]

SHELL = [
    "echo > a.py", "sed -i s/a/b/ a.py", "cp a.py a.bak", "cp a.bak a.py", "mv a.py src/b.py",
    "rm a.py", "mv src/b.py a.py", "git checkout a.py", "git stash", "git stash pop",
    "git commit -m x", "git reset --hard", "git clean -fd", "cd /repo && touch src/b.py",
    "cat > fix.py <<E\nopen('src/b.py', 'w')\nE", "python fix.py", "rm -rf src *.bak", "cat a.py",
    "cat /repo/src/b.py",
]  # fmt: skip


def lines(turns: Iterable[Called]) -> list[str]:
    """Return the lines of the files that calls changed."""
    section = Files()
    for turn in turns:
        section.take(turn)
    return [line.text for line in section.lines()]


def shell(called: Make, *commands: str, output: str = "") -> list[str]:
    """Return the lines of the files that commands changed."""
    return lines(called("bash", output, command=command) for command in commands)


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        (["cat a.py", "echo > a.py"], ["a.py (edited)"]),
        (["sed -i s/a/b/ a.py"] * 3, ["a.py (edited)"]),
        (["echo > a.py", "echo >> a.py"], ["a.py (new)"]),
        (["echo > a.py", "rm a.py"], []),
        (["echo > t1.py", "echo > t2.py", "rm t*.py"], []),
        (["sed -i s/a/b/ src/a.py", "rm -rf src"], ["src/: a.py (deleted)"]),
        (["rm a.py", "echo > a.py"], ["a.py (edited)"]),
        (["rm old.py", "rm -rf build *.o"], ["old.py (deleted)"]),
        (["mv a.py src/b.py"], ["src/: b.py (new)", "a.py (deleted)"]),
        (["echo > a.py", "mv a.py b.py"], ["b.py (new)"]),
        (["sed -i s/a/b/ a.py", "git checkout -- a.py"], []),
        (["sed -i s/a/b/ src/a.py", "git checkout src"], []),
        (["sed -i s/a/b/ a.py", "touch b", "git reset --hard"], ["b (new)"]),
        (["sed -i s/a/b/ a.py", "git reset a.py"], ["a.py (edited)"]),
        (["sed -i s/a/b/ a.py", "git checkout ."], []),
        (
            ["cd /repo && sed -i s/a/b/ a.py", "cd /repo/src && git checkout ."],
            ["/repo/: a.py (edited)"],
        ),
        (["sed -i s/a/b/ a.py", "git stash", "git stash pop"], ["a.py (edited)"]),
        (["cd /repo && touch src/a", "rm src/a", "rm /repo/src/a"], []),
        (["cd /repo && touch src/a", "rm src/b", "rm /repo/src/a"], []),
        (["cd /var/folders/x && touch a"], ["/var/folders/x/: a (new)"]),
    ],
)
def test_commands_change_files(called: Make, commands: list[str], expected: list[str]) -> None:
    """What was put back, or created and deleted again, is not changed."""
    assert shell(called, *commands) == expected


def test_tools_change_files(called: Make) -> None:
    """Tools say what they do by their kind, and a patch says it in its text."""
    patch = "*** Begin Patch\n*** Add File: src/c.py\n*** Delete File: old.py\n"
    assert lines(
        [
            called("write_file", path="src/a.py", content="x"),
            called("edit", file_path="src/a.py", old_string="x", new_string="y"),
            called("read", path="src/b.py"),
            called("write", path="src/b.py", content="x"),
            called("apply_patch", input=patch),
        ]
    ) == ["old.py (deleted)", "src/: c.py (new), b.py (edited), a.py (new)"]


def test_absolute_and_relative_paths_are_one(called: Make) -> None:
    """A file is known by its path from the working directory, however a call names it."""
    turns = [
        called("edit", path="/repo/src/a.py", old="x"),
        called("bash", command="sed -i s/a/b/ src/a.py"),
        called("edit", path="/repo/b.py", old="x"),
    ]
    assert lines(turns) == ["/repo/: b.py (edited)", "/repo/src/: a.py (edited)"]


def test_many_new_files_cost_linear_time(called: Make) -> None:
    """Even if none is absolute, which each could belong to; quadratic, it would take minutes."""
    names = [f"d/{number}.py" for number in range(40_000)]

    assert len(shell(called, f"touch {' '.join(names)}")) == 4_000


def test_many_deleted_files_cost_linear_time(called: Make) -> None:
    """Whether they are known or not; quadratic, it would take minutes."""
    names = " ".join(f"d/{number}.py" for number in range(40_000))
    section = Files(known={f"d/{number}.py": "edited" for number in range(20_000)})

    section.take(called("bash", command=f"rm {names}"))

    assert [*section.known.values()] == ["deleted"] * 40_000


def test_shells_script_is_one_word(called: Make) -> None:
    """Some tools take the words of a command, of which the last is the script of a shell."""
    turn = called("shell", command=["bash", "-lc", "cd src && touch a.py"])
    assert lines([turn]) == ["src/: a.py (new)"]


@pytest.mark.parametrize(
    "turn",
    [
        {"tool": "edit", "output": "Error: String to replace not found in file.", "path": "a.py"},
        {"tool": "edit", "error": "no such file", "path": "a.py"},
        {"tool": "edit", "output": None, "path": "a.py"},
        {"tool": "bash", "output": "no a.py\nexit code: 2", "command": "sed -i s/a/b/ a.py"},
    ],
)  # fmt: skip
def test_failed_call_changes_nothing(called: Make, turn: dict[str, str]) -> None:
    """An error, an output that says so, or no result at all."""
    assert lines([called(**turn)]) == []


def test_patch_says_what_it_changed(called: Make) -> None:
    """A patch may have been written to a file long before."""
    commands = ["patch -p1 < fix.patch"]

    assert shell(called, *commands, output="patching file src/a.py") == ["src/: a.py (edited)"]
    assert shell(called, *commands, output="patching file src/a.py\nexit code: 1") == []


def test_failed_command_did_its_first_parts(called: Make) -> None:
    """A test that fails after an edit does not undo the edit."""
    command = "sed -i s/a/b/ a.py && pytest > out.txt"
    assert shell(called, command, output="<returncode>1</returncode>") == ["a.py (edited)"]


def test_large_folder_has_several_lines(called: Make) -> None:
    """A folder of many files does not go as a whole for want of room."""
    found = shell(called, *[f"touch src/{number}.py" for number in range(25)])
    assert len(found) == 3
    assert all(line.startswith("src/: ") for line in found)


def test_read_files_are_not_changed_ones(called: Make) -> None:
    """A file that was read and then changed is in the other section."""
    section = Files()
    for command in ["cat a.py src/b.py", "sed -i s/a/b/ a.py"]:
        section.take(called("bash", command=command))
    assert [line.text for line in FilesRead(section.known).lines()] == ["src/: b.py"]


def test_a_moved_file_is_the_newest(called: Make) -> None:
    """Also if something was known of that name before, such as that it was put back."""
    files = Files()
    for command in ("mv src/b.py a.py", "git checkout a.py", "echo > c.py", "mv a.py src/b.py"):
        files.take(called("bash", command=command))

    assert [line.text for line in files.lines()] == ["src/: b.py (edited)", "c.py (new)"]


@given(st.lists(st.sampled_from(SHELL)), st.data())
def test_restored_record_goes_on(called: Make, commands: list[str], data: st.DataObject) -> None:
    """Two generations say what one would have said."""
    cut = data.draw(st.integers(0, len(commands)))
    turns = [called("bash", command=command) for command in commands]
    older, newer, whole = (Files() for _ in range(3))
    for turn in turns:
        whole.take(turn)
    for turn in turns[:cut]:
        older.take(turn)
    newer.restore(json.loads(json.dumps(older.to_plain(10_000))))
    for turn in turns[cut:]:
        newer.take(turn)
    assert list(newer.lines()) == list(whole.lines())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["root", "clock", "files", "stashes", "a.py", "edits"]), inner
        )
    ),
)


@given(JSON)
def test_damaged_data_is_passed_over(called: Make, plain: object) -> None:
    """What a store did to the data does not stop a session."""
    section = Files()
    section.restore(plain)
    section.take(called("bash", command="sed -i s/a/b/ x.py; git checkout .; git stash pop"))
    assert all(line.text for line in section.lines())


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "changed", "untouched"),
    [
        (
            "pi_large-session",
            ["dark.json (edited)", "main.ts (edited)", "test-theme-colors.ts (new)"],
            ["nord.json", "test.json", "package.json"],
        ),
        (
            "msa_deepseek_reasoner_dev_sqlfluff__sqlfluff-1733",
            ["L003.yml (edited)", "L003.py.backup (new)", "debug.py (new)"],
            ["inspect.py"],
        ),
        (
            "msa_deepseek_lite_dev_pylint-dev__astroid-1333",
            ["manager.py (edited", "test_repro/src/project/: file.py"],
            [" builder.py ("],
        ),
        (
            "msa_deepseek_chat_dev_rerun_pydicom__pydicom-1139",
            ["valuerep.py (edited", "patch_personname.py (new)"],
            [" uid.py"],
        ),
    ],
)  # fmt: skip
def test_real_sessions(
    recorded: Callable[[str], list[Called]], name: str, changed: list[str], untouched: list[str]
) -> None:
    """Checked by reading: files edited by scripts, put back by name, deleted again."""
    text = "\n".join(lines(recorded(name)))
    assert [each for each in changed if each not in text] == []
    assert [each for each in untouched if each in text] == []


def test_folders_and_patterns_are_no_files(called: Callable[..., Called]) -> None:
    """What is shown of a folder, or of all files of a kind, is no file that was read."""
    files = Files()
    for command in ("cat src/*.ts", "cp -r src backup", "head -3 Makefile"):
        files.take(called("bash", "x", command=command))
    files.take(called("read", "a.py\nb.py", path="src"))
    files.take(called("read", "x = 1", path="src/a.py"))

    assert list(files.known) == ["src/a.py"]
