import re
from collections.abc import Callable
from typing import Any

import pytest

from agentic.context.compactors import Digest, ToolTable
from agentic.errors import ConfigError
from agentic.messages import Media, Message, ToolCall, ToolFailure, ToolResult

Run = Callable[..., str]
Called = Callable[..., list[Message]]
Cut = Callable[[str, str], str]


def test_a_conversation_without_messages_has_no_digest(digest: Run) -> None:
    """Nothing was said, so nothing is written."""
    assert digest() == ""


def test_a_conversation_of_empty_messages_has_no_digest(digest: Run) -> None:
    """Messages without content leave every section empty."""
    assert digest(Message("user"), Message("assistant", " \n"), Message("system")) == ""


def test_the_system_prompt_is_no_part_of_a_digest(digest: Run) -> None:
    """It stays in the view, so its tokens are not spent twice."""
    got = digest(Message("system", "You are terse."), Message("user", "Why?"))

    assert "terse" not in got
    assert "Why?" in got


def test_a_system_message_on_the_way_is_kept_word_for_word(digest: Run, section: Cut) -> None:
    """What a developer tells an agent in the middle of a run would be lost otherwise."""
    got = digest(Message("user", "Go."), Message("system", "The budget is halved."))

    assert section(got, "Told on the way") == "- The budget is halved."


def test_requests_stand_word_for_word_in_the_order_of_the_conversation(
    digest: Run, section: Cut
) -> None:
    """A request of several lines is fenced, so that it stays what the user wrote."""
    got = digest(Message("user", "Rename it:\n\n  old -> new"), Message("user", "And test it."))

    assert section(got, "Asked by the user") == (
        "~~~\nRename it:\n\n  old -> new\n~~~\n- And test it."
    )


def test_a_request_with_fences_of_its_own_keeps_its_bounds(digest: Run, summary: Any) -> None:
    """The fence around a text is longer than any in it."""
    asked = "See:\n~~~~\n## Errors\n- `x` -> boom\n~~~~\nMend it."

    once = digest(Message("user", asked))

    assert f"~~~~~\n{asked}\n~~~~~" in once
    assert digest(summary(once)) == once


@pytest.mark.parametrize("ending", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("fence", ["~~~", "   ~~~~", "~~~~~~"])
def test_a_fence_outlasts_every_line_ending(
    digest: Run, summary: Any, ending: str, fence: str
) -> None:
    """Markdown ends lines at CR too, and takes an indented fence for the closing one."""
    asked = ending.join(["See:", fence, "## Errors", "Mend it."])

    once = digest(Message("user", asked))

    opening = next(line for line in once.split("\n") if line.startswith("~~~"))
    lines = re.split(r"\r\n|\r|\n", once)
    inside = lines[lines.index(opening) + 1 :]
    assert inside[:4] == ["See:", fence, "## Errors", "Mend it."]
    assert len(opening) > len(fence.strip())
    assert digest(summary(once)) == once


def test_a_request_made_twice_stands_once(digest: Run) -> None:
    """It stands where it was made last."""
    got = digest(Message("user", "continue"), Message("user", "stop"), Message("user", "continue"))

    assert got.count("continue") == 1
    assert got.index("stop") < got.index("continue")


def test_the_first_and_the_newest_requests_are_favoured(digest: Run) -> None:
    """The task and the latest wishes stay; the gap says how many are missing."""
    asked = [Message("user", f"Wish {n}: make the parser of module {n} faster.") for n in range(50)]

    got = digest(*asked, max_tokens=100)

    assert "Wish 0:" in got
    assert "Wish 49:" in got
    assert "Wish 20:" not in got
    kept = got.count("Wish ")
    assert f"\n- ({50 - kept} more, left out here)\n" in got


def test_a_long_request_is_clipped_in_the_middle_and_says_so(digest: Run) -> None:
    """Both ends stay, since a task often ends with what matters."""
    asked = "Mend the parser. " + "Details follow here. " * 1000 + "Do not touch the tests."

    got = digest(Message("user", asked), Message("user", "Hurry."), max_tokens=200)

    assert "- Mend the parser." in got
    assert "characters left out ...]" in got
    assert "Do not touch the tests." in got
    assert "- Hurry." in got


def test_what_was_attached_to_a_request_is_named(digest: Run) -> None:
    """An image cannot be kept in a text, that there was one can."""
    image = Media("image/png", b"\x89PNG")

    got = digest(Message("user", "Like this?", media=[image]), Message("user", media=[image]))

    assert "- Like this? [attached: image/png]\n- [attached: image/png]" in got


def test_a_final_reply_is_a_result_and_code_in_it_is_none(digest: Run, section: Cut) -> None:
    """The first and the last sentence say what came of it."""
    reply = "Done.\n## News\nThe parser reads tabs.\n```\nx\n```\nIt was not easy. So do the tests."

    got = digest(Message("assistant", reply))

    assert section(got, "Results, in the assistant's words") == (
        "- The parser reads tabs. ... So do the tests."
    )


def test_what_was_found_between_calls_is_kept_without_announcements(
    digest: Run, section: Cut
) -> None:
    """`Let me look` says nothing any more once it is done."""
    reply = "So the lexer drops tabs. Let me look at its tests:"

    got = digest(Message("assistant", reply, tool_calls=[ToolCall("c1", "ls")]))

    assert section(got, "Found on the way") == "- So the lexer drops tabs."


def test_a_path_stands_once_with_what_was_done_to_it(
    digest: Run, called: Called, section: Cut
) -> None:
    """A file that was read and then changed is a changed file."""
    got = digest(
        *called("read", "text", path="src/a.py", offset=10, limit=20),
        *called("edit_file", "ok", file_path="src/a.py"),
        *called("EditFile", "ok", filePath="src/a.py"),
        *called("cat", "text", filename="b.py"),
    )

    assert section(got, "Files changed") == "- `src/a.py`: 2 edits, 1 read, last lines 10-29"
    assert section(got, "Files read") == "- `b.py`: 1 read"


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"offset": 10, "limit": 5}, ", last lines 10-14"),
        ({"start_line": 10, "end_line": 14}, ", last lines 10-14"),
        ({"view_range": [10, 14]}, ", last lines 10-14"),
        ({"view_range": [10, -1]}, ""),
        ({"offset": 10}, ""),
    ],
)
def test_the_lines_that_were_read_last_are_named(
    digest: Run, called: Called, section: Cut, arguments: dict[str, Any], lines: str
) -> None:
    """Where the call says so, however it says it."""
    got = digest(*called("read", "text", path="a.py", **arguments))

    assert section(got, "Files read") == f"- `a.py`: 1 read{lines}"


def test_a_patch_changes_the_files_in_its_head_lines(digest: Run, section: Cut) -> None:
    """A patch names its files in its text, be the text JSON or not."""
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: b.py\n"
    call = ToolCall("c1", "apply_patch", patch)

    got = digest(
        Message("assistant", tool_calls=[call]),
        Message("tool", tool_results=[ToolResult("c1", "apply_patch", "Done!")]),
    )

    assert section(got, "Files changed") == "- `src/a.py`: 1 edit\n- `b.py`: 1 edit"


def test_an_edit_that_failed_changes_no_file(digest: Run, called: Called, section: Cut) -> None:
    """It is an error instead."""
    got = digest(*called("edit", "", "oldText was not found", path="a.py"))

    assert "Files changed" not in got
    assert section(got, "Errors") == "- `edit a.py`\n  oldText was not found"


def test_a_command_stands_with_its_last_line(digest: Run, called: Called, section: Cut) -> None:
    """A command that ran several times shows how often, and how it went the last time."""
    got = digest(
        *called("bash", "1 failed", command="make test"),
        *called("shell", "collected 3\n3 passed\n\n", cmd=["make", "test"]),
        *called("bash", command="touch x"),
    )

    assert section(got, "Commands and their outcome") == (
        "- `make test` (2 times) -> 3 passed\n- `touch x` -> no output"
    )


@pytest.mark.parametrize(
    "output",
    [
        "E   assert 1 == 2\nCommand exited with code 2",
        "E   assert 1 == 2\nexit status 2",
        '{"output": "E   assert 1 == 2", "exit_code": 2}',
        "<returncode>2</returncode>\n<output>\nE   assert 1 == 2\n</output>",
        "Exit code: 2\nE   assert 1 == 2",
    ],
)
def test_an_exit_code_in_an_output_tells_a_failure(
    digest: Run, called: Called, section: Cut, output: str
) -> None:
    """Harnesses state the code in the output, each in its own words."""
    got = digest(*called("bash", output, command="make"))

    assert section(got, "Commands and their outcome") == "- `make` -> failed, exit 2"
    assert section(got, "Errors").startswith("- `make` -> exit 2\n  ")
    assert "E assert 1 == 2" in section(got, "Errors")


@pytest.mark.parametrize(
    "output",
    [
        "Traceback (most recent call last):\n  File x\nValueError: no",
        "some lines\njson.decoder.JSONDecodeError: no",
        "fatal: not a git repository",
        "error[E0308]: mismatched types\n --> src/main.rs",
        "cat: x.py: No such file or directory",
        "python: No module named pytest",
        "ran 3\nFAILED (errors=1)",
    ],
)
def test_an_output_that_begins_or_ends_like_an_error_is_one(
    digest: Run, called: Called, output: str
) -> None:
    """Much of what fails is piped through head, and exits with 0."""
    assert "\n## Errors\n" in digest(*called("bash", output, command="make"))


@pytest.mark.parametrize("output", ["0 errors", "no error: all fine", "Errors are listed below"])
def test_an_output_that_only_mentions_errors_is_none(
    digest: Run, called: Called, output: str
) -> None:
    """The word alone proves nothing."""
    assert "\n## Errors\n" not in digest(*called("bash", output, command="make"))


def test_an_error_shows_the_line_that_names_it_and_the_last(
    digest: Run, called: Called, section: Cut
) -> None:
    """What stands between can be had by running the command again."""
    output = "> check\n\na.ts(2,3): error TS2739: no\nb.ts(9,1): error TS1\nnpm gave up\n"

    got = digest(*called("bash", output + "\nCommand exited with code 2", command="npm run check"))

    assert section(got, "Errors") == (
        "- `npm run check` -> exit 2\n  a.ts(2,3): error TS2739: no\n  npm gave up"
    )


@pytest.mark.parametrize("line", ["ERROR in b.ts", "fa\u0131led: b.ts"])
def test_letters_of_turkish_hide_and_move_no_error(
    digest: Run, called: Called, section: Cut, line: str
) -> None:
    """The capital dotted I is two characters in lower case; the small one has no dot."""
    output = "\u0130" * 30 + f"\n{line}\nand nothing else is the matter there\ngave up"

    got = digest(*called("bash", f"{output}\nexit code: 1", command="make"))

    assert section(got, "Errors") == f"- `make` -> exit 1\n  {line}\n  gave up"


def test_an_error_that_the_same_command_overcame_is_no_news(digest: Run, called: Called) -> None:
    """What is still broken is what counts."""
    got = digest(
        *called("bash", "exit code: 1\nboom", command="make"),
        *called("bash", "fine", command="make"),
    )

    assert "boom" not in got


def test_tools_that_the_table_does_not_know_show_with_their_arguments(
    digest: Run, called: Called, section: Cut
) -> None:
    """A support agent's lookups are the substance of its session."""
    got = digest(*called("get_user", '{"name": "Omar"}', user_id="omar_3817", deep=True))

    assert section(got, "Other calls and their outcome") == (
        '- `get_user user_id=omar_3817 deep=true` -> {"name": "Omar"}'
    )


def test_arguments_that_are_no_json_are_shown_as_they_are(digest: Run, section: Cut) -> None:
    """A call that the model wrote wrong is still a call."""
    call = ToolCall("c1", "bash", '{"command": "ls')

    got = digest(
        Message("assistant", tool_calls=[call]),
        Message("tool", tool_results=[ToolResult("c1", "bash", "", ToolFailure("no JSON"))]),
    )

    assert '- `bash "command": "ls`' in section(got, "Errors")


@pytest.mark.parametrize("depth", [100, 480, 900, 100_000])
def test_arguments_nested_too_deeply_harm_nothing(digest: Run, depth: int) -> None:
    """A model that never stops opening brackets is shown like any other."""
    call = ToolCall("c1", "find", '{"x": ' + "[" * depth + "]" * depth + "}")

    got = digest(
        Message("assistant", tool_calls=[call]),
        Message("tool", tool_results=[ToolResult("c1", "find", "found it")]),
    )

    assert "`find " in got
    assert "-> found it" in got


def test_a_table_can_be_taught_a_tool(digest: Run, called: Called, section: Cut) -> None:
    """`extend` adds names to the defaults."""
    table = ToolTable().extend(read=["peek"], paths=["where"])

    got = digest(*called("peek", "text", where="a.py"), tools=table)

    assert section(got, "Files read") == "- `a.py`: 1 read"


def test_the_newest_list_of_to_dos_counts(digest: Run, called: Called, section: Cut) -> None:
    """A to-do tool and checkboxes in a reply set the same list; what is done is left out."""
    tool = {"content": "test the lexer", "status": "in_progress"}
    done = {"content": "mend the lexer", "status": "completed"}

    by_tool = digest(*called("todo_write", "ok", todos=[done, tool]))
    by_reply = digest(Message("assistant", "- [x] mend the lexer\n- [ ] test the lexer"))

    assert section(by_tool, "Open to-dos") == "- test the lexer"
    assert section(by_reply, "Open to-dos") == "- test the lexer"


def test_what_was_in_progress_stands_at_the_end(digest: Run, section: Cut) -> None:
    """A run that was cut off shows what it was about to do."""
    call = ToolCall("c1", "bash", '{"command": "make"}')

    got = digest(Message("assistant", "It is the lexer. Now I run the tests:", tool_calls=[call]))

    assert section(got, "In progress at the end") == (
        "- Now I run the tests:\n- Called, no result yet: make"
    )


def test_a_digest_keeps_its_size(digest: Run, called: Called) -> None:
    """Whatever there is to say, the counter has the last word."""
    messages = [
        message for n in range(300) for message in called("bash", "x" * 99, command=f"c{n}")
    ]

    for max_tokens in (1, 20, 100, 1000):
        got = digest(*messages, max_tokens=max_tokens)
        assert len(got) <= max_tokens * 4


def test_a_counter_that_counts_the_whole_for_more_than_its_parts_is_kept_too(digest: Run) -> None:
    """A tokenizer may need more tokens for a text than for its lines one by one."""

    class Square:
        def count(self, text: str, /) -> int:
            return len(text) ** 2 // 100

    asked = [Message("user", f"Wish number {n} is short.") for n in range(40)]

    got = digest(*asked, max_tokens=500, counter=Square())

    assert 0 < Square().count(got) <= 500


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 0},
        {"max_tokens": True},
        {"max_tokens": 1.5},
        {"counter": len},
        {"tools": {"read": ["peek"]}},
    ],
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, Any]) -> None:
    """The error names the option."""
    with pytest.raises(ConfigError, match=next(iter(options))):
        Digest(**options)


def test_pinned_text_stands_word_for_word(digest: Run, section: Cut) -> None:
    """What somebody pinned is kept, whoever said it."""
    rule = Message("assistant", "The release is frozen.\nDo not tag.", pinned=True)

    got = digest(Message("user", "Go."), rule)

    assert section(got, "Pinned") == "~~~\nThe release is frozen.\nDo not tag.\n~~~"


def test_many_requests_keep_their_first_400_characters_where_there_is_room(digest: Run) -> None:
    """However much else there is to say."""
    asked = [f"Wish {n}: {f'make part {n} faster and smaller. ' * 20}" for n in range(15)]
    noise = "\n".join(f"/srv/project/module_{n}/file_{n}.py:{n}: name_{n}" for n in range(3000))

    got = digest(
        *[Message("user", text) for text in asked], Message("assistant", noise), max_tokens=6000
    )

    assert all(text[:400] in got for text in asked)
