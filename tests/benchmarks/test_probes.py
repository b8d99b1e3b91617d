"""What a successor asks after a cut, and what answers."""

import pytest
from conversations import called, said, shell

from benchmarks.retention.facts.transcript import Raw, content_of, source_lines
from benchmarks.retention.probes import KINDS, Cut, Probe, probes_at, score
from benchmarks.retention.probes.score import Purpose
from benchmarks.retention.sessions import FOLDER, read_sessions

ASKED = "Mend the parser in src/parse_line.py. Never touch the lexer, please."


def probes(past: list[Raw], future: list[Raw], kind: str) -> list[tuple[tuple[str, ...], ...]]:
    """Return the answers of the probes of one kind."""
    cut = Cut([*past, *future], len(past))
    return [each.answers for each in probes_at(cut) if each.kind == kind]


def test_kinds_make_four_classes_of_four() -> None:
    """Sixteen kinds, so that no class hides behind another."""
    classes = [of for of, _ in KINDS.values()]

    assert len(classes) == 16
    assert {classes.count(each) for each in classes} == {4}


def test_requests_are_asked_for_by_their_first_sentence() -> None:
    """The newest is the task; the others are older requests."""
    past = [said("user", ASKED), said("assistant", "Done."), said("user", "Now run all tests.")]

    assert probes(past, [], "task") == [(("Now run all tests.",),)]
    assert probes(past, [], "request") == [(("Mend the parser in src/parse_line.py.",),)]
    assert probes(past, [], "rule") == [(("Never touch the lexer, please.",),)]


def test_names_and_values_are_asked_for_if_they_are_used_next() -> None:
    """What comes next proves the need, and the past must have it."""
    past = [said("user", "Serve get_user_name on localhost:8080 with order OBUT9V, or 3.1.4.")]
    future = shell("curl localhost:8080/OBUT9V --name get_user_name --other set_other")

    assert probes(past, future, "value") == [(("8080",),), (("OBUT9V",),)]
    assert probes(past, future, "name") == [(("get_user_name",),)]


def test_files_are_asked_for() -> None:
    """What was changed, what is edited, created and read."""
    past = [
        said("user", ASKED),
        *shell("cat > check.py << 'EOF'\nprint(1)\nEOF"),
        *shell("cat src/parse_line.py src/lexer.py"),
        *shell("sed -i s/a/b/ src/parse_line.py"),
    ]
    future = [
        *shell("sed -i s/b/c/ src/parse_line.py"),
        *shell("python check.py; cat src/lexer.py"),
    ]

    assert probes(past, future, "changed") == [(("check.py",),), (("parse_line.py",),)]
    assert probes(past, future, "edited") == [(("parse_line.py",),)]
    assert probes(past, future, "created") == [(("check.py",),)]
    assert probes(past, future, "read") == [(("lexer.py",),)]


def test_two_files_of_one_name_need_their_folder() -> None:
    """The name alone would answer for either."""
    past = [*shell("touch a/x.py"), *shell("touch b/x.py")]

    answers = probes(past, [], "changed")

    assert (("a/x.py",), ("a/", "x.py")) in answers
    assert not Probe("changed", answers[0]).is_answered(["- x.py (new)"])
    assert Probe("changed", answers[0]).is_answered(["- a/: y.py (new), x.py (new)", "- b/: z"])


def test_commands_and_failures_are_asked_for() -> None:
    """A command that runs again, without what only shows; a failure by the line of its error."""
    past = [*shell("cd src && make test 2>&1 | tail -3", "a.c:3: error: no ';'", status=2)]

    assert probes(past, shell("make test; ls"), "command") == [(("make test",), ("make test",))]
    assert probes(past, [], "failure") == [(("a.c:3: error: no ';'",),)]


@pytest.mark.parametrize(
    ("reply", "step"),
    [
        ("The port was wrong all along. Now let me fix it:", "The port was wrong all along."),
        ("Perfect! Let me check what is left:", "It works for the empty line."),
        ("Is it what you want?", "It works for the empty line."),
    ],
)
def test_step_is_the_newest_statement(reply: str, step: str) -> None:
    """An announcement of the next call is none, nor is a question."""
    past = [said("assistant", "It works for the empty line."), said("assistant", reply)]

    assert probes(past, [], "step") == [((step,),)]


def test_open_todos_are_asked_for() -> None:
    """Of a list, of tools for single tasks, and of check boxes."""
    todos = [
        {"content": "write it", "status": "completed"},
        {"content": "test it", "status": "open"},
    ]
    past = [
        *called("TodoWrite", "ok", todos=todos),
        *called("TaskCreate", "Task #7 created", subject="tell them"),
        *called("TaskCreate", "Task #8 created", subject="ask them"),
        *called("TaskUpdate", "ok", taskId="8", status="completed"),
        said("assistant", "- [ ] add a page\n- [x] add a test"),
    ]

    assert probes(past, [], "todo") == [(("test it",),), (("tell them",),), (("add a page",),)]


def test_reasons_and_causes_are_asked_for_if_their_subject_comes_up() -> None:
    """Others are talk."""
    past = [
        said("assistant", "The root cause is that parse_line skips blanks. We stay calm here."),
        said("assistant", "I keep parse_line instead of a regex. The root cause is other_thing."),
    ]
    future = shell("grep parse_line src")

    assert probes(past, future, "finding") == [
        (("The root cause is that parse_line skips blanks.",),)
    ]
    assert probes(past, future, "choice") == [(("I keep parse_line instead of a regex.",),)]


def test_verdicts_are_asked_for() -> None:
    """The user's reasons, answers in results of tools, and replies to questions."""
    past = [
        *called("bash", "The user rejected the call. Reason: not on main", command="git push"),
        *called("AskUserQuestion", 'Your answer: "Which?"="the small one"', q="Which?"),
        said("assistant", "Major or minor?"),
        said("user", "minor, this is a big change"),
    ]

    assert [answers[0][0] for answers in probes(past, [], "verdict")] == [
        "not on main",
        "the small one",
        "minor, this is a big change",
    ]


def test_answers_stand_in_whole_lines_or_not() -> None:
    """And lines that answer nothing and state no purpose are idle."""
    past = [
        said("user", ASKED),
        *shell("touch src/a.py"),
        said("assistant", "It was the old port."),
    ]
    cut = Cut(past, len(past))
    view = "# Note\n- Mend the parser in src/parse_line.py.\n- a.py (new)\n- x = 1\n- (3 more)"

    result = score(view, probes_at(cut), Purpose(cut))

    assert result.answers == {"task": (1, 1), "changed": (1, 1), "step": (0, 1), "rule": (0, 1)}
    assert result.whole == (2, 2)
    assert result.idle == (1, 3)
    clipped = score(
        "- Mend the parser in src/parse_line.py. Never touch the ...", probes_at(cut), Purpose(cut)
    )
    assert clipped.whole == (0, 1)


@pytest.mark.corpus
def test_whole_past_answers_every_probe() -> None:
    """An answer that the past does not have would ask too much."""
    sessions = [each for each in read_sessions() if not each.is_held_out][::5]
    if not FOLDER.is_dir():
        pytest.skip("the recorded sessions are absent")
    for session in sessions:
        cut = Cut(session.raw, 2 * len(session.raw) // 3)
        past = [*source_lines(cut.past), *(content_of(each) for each in cut.past)]
        labels = [" ".join(str(call.arguments).split()) for call in cut.past_calls]
        asked = [each for each in probes_at(cut) if each.kind not in {"command", "todo"}]
        result = score("\n".join([*past, *labels]), asked)
        missing = {kind for kind, (hits, every) in result.answers.items() if hits < every}
        assert not missing, session.name
