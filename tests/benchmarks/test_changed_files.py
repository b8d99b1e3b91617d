"""Which files a conversation changed, and which a text says were changed."""

import pytest
from conversations import called, said, shell

from benchmarks.retention.facts.changed import Changes, changes_of, kept_changes, right_changes

PATCH = "git apply << 'EOF'\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\nEOF"
SCRIPT = "cat > fix.py << 'EOF'\np = 'src/a.py'\ns = open(p).read()\nopen(p, 'w').write(s)\nEOF"


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("echo x > a.py", {"a.py"}),
        ("cd /src && cat >> b/a.py << 'EOF'\nrm old.py\nEOF", {"/src/b/a.py"}),
        ("make 2>&1 | tee build.log | tail -3", {"build.log"}),
        ("pytest > /dev/null 2>&1", set()),
        ("sed -i 's/a > b/c/' a.py b.py && sed -n 1,5p c.py", {"a.py", "b.py"}),
        ("sed -i.bak -e s/x/y/ a.py", {"a.py"}),
        ("perl -pi -e 's/x/y/' a.py", {"a.py"}),
        ("cp a.py b.py && mv b.py c.py", {"c.py"}),
        ("cp a.py src/", {"src/a.py"}),
        ("touch 'with space.md'", {"with space.md"}),
        ("git rm old.py", set()),
        ("cat old.py; rm old.py", {"old.py"}),
        (PATCH, {"a.py"}),
        ("patch -p1 < x.diff", {"src/a.py"}),
        (SCRIPT, {"fix.py"}),
        (f"{SCRIPT}\npython fix.py", {"fix.py", "src/a.py"}),
        ("grep -E 'a > b.py' x; echo \"it's > c.py\"", set()),
        ("echo 'open > a.py", set()),
    ],
)
def test_shell_commands_change_what_they_name(command: str, files: set[str]) -> None:
    """A redirection, a here-document, an edit in place and a shown script change what they name."""
    output = "patching file src/a.py" if command.startswith("patch") else ""
    used = shell("cat old.py", "x") if command.startswith("cat old") else []

    assert changes_of([*used, *shell(command, output)]).changed == files


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Edit", {"file_path": "/r/a.py", "old_string": "x", "new_string": "y"}),
        ("Write", {"file_path": "/r/a.py", "content": "x"}),
        ("StrReplaceFile", {"path": "/r/a.py"}),
        ("str_replace_editor", {"path": "/r/a.py", "command": "str_replace"}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: /r/a.py\n@@\n-x\n+y"}),
    ],
)
def test_tools_that_edit_change_their_file(tool: str, arguments: dict[str, str]) -> None:
    """An edit counts if it succeeded, and not if it failed."""
    assert changes_of(called(tool, "Done.", **arguments)).changed == {"/r/a.py"}
    assert not changes_of(called(tool, "Error: no match", **arguments)).changed
    assert not changes_of(called(tool, "no match", is_error=True, **arguments)).changed


def test_tools_that_read_change_nothing() -> None:
    """Neither a tool that reads, nor an editor that is asked to view."""
    read = called("read", "x", path="a.py") + called(
        "str_replace_editor", "x", path="b.py", command="view"
    )

    assert changes_of(read) == Changes(frozenset(), frozenset(), frozenset())


@pytest.mark.parametrize(
    "undo",
    [
        "git checkout -- src/a.py",
        "git checkout HEAD src/a.py",
        "git restore src",
        "cd /r && git checkout .",
        "git stash",
        "git reset --hard",
    ],
)
def test_reverted_file_is_not_changed(undo: str) -> None:
    """What version control put back is not changed; a new file is not put back."""
    edit = called("edit", "Done.", path="/r/src/a.py") + shell("echo x > new.py")

    found = changes_of(edit + shell(undo))

    assert found.changed == {"new.py"}
    assert found.undone == {"/r/src/a.py"}


def test_stash_pop_and_edit_count_again() -> None:
    """A stash that is taken back changes the files again, and so does an edit after a revert."""
    edit = called("edit", "Done.", path="a.py")

    assert changes_of(edit + shell("git stash && make; git stash pop")).changed == {"a.py"}
    assert changes_of(edit + shell("git checkout a.py") + edit).changed == {"a.py"}


def test_committed_file_stays_changed() -> None:
    """A revert takes back what was not committed, and no more."""
    edit = called("edit", "Done.", path="a.py") + shell("git commit -am x")

    assert changes_of(edit + shell("git checkout .")).changed == {"a.py"}


def test_temporary_file_is_not_changed() -> None:
    """A scratch file that is gone again leaves nothing behind."""
    found = changes_of(
        shell("echo x > t1.py; echo y > keep.py") + shell("python t1.py && rm t*.py")
    )

    assert found.changed == {"keep.py"}
    assert found.undone == {"t1.py"}


def test_copy_put_back_reverts_the_file() -> None:
    """A backup of the file as it was found puts it back; the backup itself was written."""
    edited = shell("cp a.py a.py.bak") + shell("sed -i s/x/y/ a.py")

    assert changes_of(edited).changed == {"a.py", "a.py.bak"}
    assert changes_of(edited + shell("cp a.py.bak a.py")).changed == {"a.py.bak"}


def test_failed_command_changes_its_earlier_parts() -> None:
    """The status is that of the last command; one without a status failed by what it says."""
    failed = shell("cat > t.py << 'E'\nx\nE\nsed -i s/x/y/ a.py", "sed: can't read", status=1)

    assert changes_of(failed).changed == {"t.py"}
    assert not changes_of(
        shell("sed -i s/x/y/ a.py; ls", "sed: can't read a.py: No such file")
    ).changed


def test_two_spellings_are_one_file() -> None:
    """A path from the root and one from the folder of the project name the same file."""
    edits = called("edit", "Done.", path="/r/src/a.py") + shell("cd /r && sed -i s/x/y/ ./src/a.py")

    assert changes_of(edits + shell("sed -i s/x/y/ src/a.py")).changed == {"/r/src/a.py"}


def test_text_agent_edits_its_open_file() -> None:
    """An agent without tool calls writes its command into the reply."""
    conversation = [
        said("user", "Mend it."),
        said("assistant", "I edit.\n```\nedit 1:1\nx\nend_of_edit\n```"),
        said("user", "[File: /r/a.py (3 lines total)]\nFile updated."),
        said("assistant", "I write.\n```\necho x > b.py\n```"),
        said("user", "$"),
    ]

    assert changes_of(conversation).changed == {"/r/a.py", "b.py"}


CHANGES = Changes(
    frozenset({"/r/src/a.py", "/r/src/deep/b.py", "/r/lib/__init__.py", "/r/Makefile"}),
    frozenset({"/r/moved.py"}),
    frozenset({"/r/src/__init__.py"}),
)


@pytest.mark.parametrize(
    "view",
    [
        "## Files changed\n- /r/src/a.py\n- src/deep/b.py\n- lib/__init__.py, Makefile",
        "## Modified\n`a.py` (3 edits), `b.py`\n- lib/__init__.py: new\n- Makefile",
        "### Edited\n/r/\n  src/\n    a.py (x)\n    deep/\n      b.py\n  lib/__init__.py\nMakefile",
        "**Edited files**\n- src/: a.py, deep/b.py\n- lib/\n  - __init__.py - new\n- Makefile",
        "# Changed\nsrc/\n├── a.py\n└── deep/\n    └── b.py\nlib/\n└── __init__.py\nMakefile",
        "## Files changed\n- edited src/{a,deep/b}.py\n- created lib/__init__.py\n- Makefile",
    ],
)
def test_lists_and_trees_name_same_files(view: str) -> None:
    """A flat list, names behind a folder, and a tree with or without branches are all read."""
    assert kept_changes(CHANGES, view) == (4, 4)
    assert right_changes(CHANGES, view) == (4, 4)


@pytest.mark.parametrize(
    "view",
    [
        "- /r/src/a.py",
        "## Files read\n- /r/src/a.py",
        "## Unchanged files\n- /r/src/a.py",
        "## Files changed\n## Files read\n- /r/src/a.py",
        "~~~\n## Files changed\n- /r/src/a.py\n~~~",
        "## Files changed\n- xa.py",
        "## Files changed\n- __init__.py",
    ],
)
def test_misplaced_or_doubtful_names_never_count(view: str) -> None:
    """A file must be named under the heading, in words that mean no other file that was touched."""
    assert kept_changes(CHANGES, view) == (0, 4)


def test_listing_every_path_costs_precision() -> None:
    """A digest that lists each path it ever saw is not exact, though it misses nothing."""
    paths = [*sorted(CHANGES.changed), *sorted(CHANGES.undone), "/r/x.py", "/r/y.py", "/r/z.py"]
    view = "## Files changed\n" + "\n".join(f"- {path}" for path in paths)

    assert kept_changes(CHANGES, view) == (4, 4)
    assert right_changes(CHANGES, view) == (4, 8)


def test_doubtful_file_counts_neither_way() -> None:
    """The old name of a moved file may be listed or not."""
    assert right_changes(CHANGES, "## Changed\n- src/a.py\n- moved.py") == (1, 1)


def test_words_behind_name_are_no_name() -> None:
    """A note on a change may name what it likes."""
    view = "## Changed\n- src/a.py: calls os.path in c.py\n- src/deep/b.py (like d.py) - see e.py"

    assert right_changes(CHANGES, view) == (2, 2)
