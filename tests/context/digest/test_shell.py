import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.context.digest._shell import effects, patch_effects, script_writes, split_command

PIECES = [
    "a.py", "cat", "sed -i s/a/b/", ">", ">>", "2>&1", "<<EOF", "<<-'E'", "EOF", "\n", "&&", "|",
    ";", "(", ")", "$(", "`", "'", '"', "\\", "#", "git", "checkout", "stash", "mv", "bash -c",
    "python -c", 'open("x", "w")', "\ud800", "\t", "--- a/f\n+++ b/f\n", "cd", "/a", "*", "tee",
]  # fmt: skip


def seen(command: str) -> list[tuple[str, str]]:
    """Return the paths of a command with what it does to them."""
    return [(effect.path, effect.what) for effect in effects(command)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo x > a.py", [("a.py", "written")]),
        ("make >> build.log 2>&1", [("build.log", "changed")]),
        ("make &> build.log", [("build.log", "written")]),
        ("make > /dev/null 2>&1", []),
        ("make 2>&1 | tee -a build.log", [("build.log", "changed")]),
        ("cat > 'a b' << 'E'\nx > y\nE\ntouch z", [("a b", "written"), ("z", "written")]),
        ("cat <<-END > a\n\tEND of it\n\tEND\nrm a", [("a", "written"), ("a", "deleted")]),
        ("sed -i 's/a > b/c/' src/a.py", [("src/a.py", "changed")]),
        ("sed -i '' 's/a/b/' a.py b.py", [("a.py", "changed"), ("b.py", "changed")]),
        ("sed -i -e s/a/b/ -e s/c/d/ Makefile", [("Makefile", "changed")]),
        ("sed -n '1,9p' a.py | head -3", [("a.py", "read")]),
        ("perl -i -pe 's/a/b/' a.py", [("a.py", "changed")]),
        ("sed -i 's/don\\'t/do not/ of it' a.py", []),
        ("mv a.py src/", [("src/a.py", "moved")]),
        ("LANG=C sudo cp a.py b.py", [("b.py", "written")]),
        ("git mv a.py b.py", [("b.py", "moved")]),
        ("git rm -f a.py && git rm --cached b.py", [("a.py", "deleted")]),
        ("rm -rf build *.pyc", [("build", "deleted"), ("*.pyc", "deleted")]),
        ("git checkout -- a.py", [("a.py", "reverted")]),
        ("git checkout -b new", []),
        ("git restore a.py && git restore --staged b.py", [("a.py", "reverted")]),
        ("git show HEAD:a.py > a.py", [("a.py", "reverted")]),
        ("git apply <<'E'\n--- a/f.py\n+++ b/f.py\nE", [("f.py", "changed")]),
        ("patch -p1 < fix.patch", [("fix.patch", "ran")]),
        ("cd src && rm a.py; cd .. && touch b", [("src/a.py", "deleted"), ("b", "written")]),
        ("bash -lc 'cd src && touch a'", [("src/a", "written")]),
        ("python - <<'EOF'\nopen('a.py', 'w').write('')\nEOF", [("a.py", "changed")]),
        ("python -c 'print(1)' && timeout 60 python3 fix.py", [("fix.py", "ran")]),
        ("grep -n def a.py && ls", []),
        ("touch $FILE `date` {a,b}", []),
        ("echo 'rm a.py' # > b.py", []),
        ('echo "unbalanced > a.py', []),
    ],
)  # fmt: skip
def test_reads_what_a_command_does(command: str, expected: list[tuple[str, str]]) -> None:
    """A plain reader of the command would say the same, without running or expanding anything."""
    assert seen(command) == expected


def test_failed_command_did_all_but_its_last_part() -> None:
    """What runs behind a pipe belongs to the part before it."""
    command = "sed -i s/a/b/ a.py && python a.py | tail -3"
    assert [effect.path for effect in effects(command, failed=True)] == ["a.py"]
    assert [effect.path for effect in effects(command)] == ["a.py", "a.py"]


def test_script_is_carried_with_the_file() -> None:
    """A script changes the file that it opens once it is run, not when it is written."""
    [written] = effects(
        "cat > fix.py <<'EOF'\np = 'src/a.py'\nopen(p, 'w').write(open(p).read())\nEOF"
    )
    assert written.path == "fix.py"
    assert written.writes == ("src/a.py",)


@pytest.mark.parametrize(
    ("script", "written"),
    [
        ("Path('a.py').write_text('')", ("a.py",)),
        ("p = Path('a.py')\np.write_text('')", ("a.py",)),
        ("fs.writeFileSync('a.js', text)", ("a.js",)),
        ("open('a.py', 'rb').read(); open('b.py')", ()),
        ("open(f'{name}.py', 'w')", ()),
    ],
)
def test_script_writes_what_it_opens(script: str, written: tuple[str, ...]) -> None:
    """A file counts if the script names it where it opens it, or names no other."""
    assert script_writes(script) == written


def test_patch_adds_moves_and_deletes() -> None:
    """Both forms of a patch say what they do to a file."""
    own = (
        "*** Begin Patch\n*** Add File: a\n*** Update File: b\n*** Move to: c\n*** Delete File: d\n"
    )
    diff = "--- /dev/null\n+++ b/e\n--- a/f\n+++ /dev/null\n"
    assert [(each.path, each.what) for each in patch_effects(own + diff)] == [
        ("a", "written"), ("c", "moved"), ("d", "deleted"), ("e", "written"), ("f", "deleted"),
    ]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4)).map(" ".join))
def test_any_text_is_read(command: str) -> None:
    """Whatever a model wrote, nothing raises, and every path is printable."""
    assert all(effect.path.isprintable() for effect in effects(command))


@given(st.lists(st.text("ab.-/", min_size=1), min_size=1))
def test_plain_words_are_kept(words: list[str]) -> None:
    """Without quotes and operators, the words of a command are those between its blanks."""
    assert [part.words for part in split_command(" ".join(words))] == [words]


@pytest.mark.parametrize(
    "piece", ["x'y\"z $(\n", '"\\"', "<<A ", "open(a, ", "\n\tx", "\\\n", "--- a"]
)
def test_cost_is_linear(piece: str) -> None:
    """A large heredoc or a stray quote does not make reading quadratic.

    Reading 200 KB takes a second; if it were quadratic, the test would take minutes.
    """
    body = piece * (200_000 // len(piece))
    found = [*effects(body), *effects(f"cat > a.py <<EOF\n{body}\nEOF\n")]
    assert [effect.path for effect in found] == ["a.py"]
    assert script_writes(body) == ()
