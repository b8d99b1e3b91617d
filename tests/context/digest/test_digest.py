"""What a digest says, section by section."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from agentic.context.compactors import Digest, ToolTable, message_ref
from agentic.errors import ConfigError
from agentic.messages import ContextSummary, Media, Message, ToolCall, ToolError, ToolResult

LONG = "Mend the parser. " + "Details follow here. " * 400


def digest(*messages: Message, **options: Any) -> str:
    """Digest messages, with the options of `Digest`."""
    return asyncio.run(Digest(**options).compact(list(messages)))


def ran(tool: str, output: str = "", error: str = "", /, **arguments: Any) -> list[Message]:
    """Make the two messages of a call and its answer."""
    call = ToolCall("c1", tool, json.dumps(arguments))
    result = ToolResult("c1", tool, output, ToolError(error) if error else None)
    return [Message("assistant", tool_calls=[call]), Message("tool", tool_results=[result])]


def section(text: str, heading: str) -> list[str]:
    """Return the lines below a heading."""
    _, _, rest = text.partition(f"\n## {heading}\n")
    return rest.partition("\n\n## ")[0].split("\n") if rest else []


def test_nothing_said_gives_no_digest() -> None:
    """Messages without content leave every section empty."""
    assert digest() == ""
    assert digest(Message("user"), Message("assistant", " \n"), Message("system")) == ""


def test_leading_system_messages_are_passed_over() -> None:
    """They stay in the view; one on the way is kept, since it would be lost otherwise."""
    got = digest(
        Message("system", "You are terse."), Message("user", "Go."), Message("system", "Hurry.")
    )

    assert "terse" not in got
    assert section(got, "Former summaries and notices") == ["- Hurry."]


def test_requests_keep_their_order_and_lines() -> None:
    """Every one is there, and what the user wrote below each other stays so."""
    got = digest(Message("user", "Rename it:\n\n  old -> new"), Message("user", "And test it."))

    assert section(got, "What the user asked") == [
        "- Rename it:",
        "    old -> new",
        "- And test it.",
    ]


def test_omitted_line_is_marked() -> None:
    """A request that repeats itself shows a line twice, and then a mark."""
    got = digest(Message("user", "Mend it:\n  a\n  b\n  b\n  b\n  c"))

    assert section(got, "What the user asked") == [
        "- Mend it:",
        "    a",
        "    b",
        "    b ...",
        "    c",
    ]


def test_a_repeated_request_stands_once() -> None:
    """It stands where it was made last."""
    got = digest(*[Message("user", text) for text in ("continue", "stop", "continue")])

    assert section(got, "What the user asked") == ["- stop", "- continue"]


def test_every_request_has_some_words() -> None:
    """Of many long requests none is missing, and the newest has most of the room."""
    asked = [
        Message("user", f"In module {n} make the parser faster. {'Details follow. ' * 40}")
        for n in range(80)
    ]

    got = section(digest(*asked), "What the user asked")

    assert [line[:14] for line in got] == [f"- In module {n} "[:14] for n in range(80)]
    assert len(got[-1]) == max(map(len, got)) > len(got[40])


def test_many_lined_request_fills_its_room() -> None:
    """What a list adds for each line is allowed for when it is cut."""
    got = digest(Message("user", "\n".join(f"- {n}. wish" for n in range(2_000))))

    assert len(section(got, "What the user asked")) > 60


def test_newest_request_is_in_full() -> None:
    """A page of it, whatever else there is to say."""
    wish = " ".join(f"Of module {n} the parser should be faster." for n in range(26))
    before = [Message("user", f"Wish {n}: {LONG}") for n in range(20)]
    after = [
        Message("assistant", f"The root cause of {n} was found in file_{n}.py.") for n in range(99)
    ]

    got = digest(*before, Message("user", wish), *after)

    assert len(wish) > 1_000
    assert f"- {wish}" in section(got, "What the user asked")


def test_what_is_left_out_is_counted() -> None:
    """Where there is room for some only, a line says how many are missing."""
    asked = [Message("user", f"Wish {n}: make module {n} faster.") for n in range(90)]

    got = digest(*asked, max_tokens=150, recall="recall")

    shown = got.count("- Wish")
    assert "- Wish 89:" in got
    assert 0 < shown < 90
    assert f"- ({90 - shown} more; recall finds them)" in got


def test_a_cut_names_the_whole_message() -> None:
    """If there is a tool that reads it back."""
    asked = Message("user", LONG, media=[Media("image/png", b"PNG")])

    with_tool = digest(asked, max_tokens=500, recall="look_up")

    assert f'characters left out: look_up(ref="{message_ref(asked)}") ...]' in with_tool
    assert "ref=" not in digest(asked, max_tokens=500)


def test_attachments_are_named() -> None:
    """An image cannot be kept in a text, that there was one can."""
    got = digest(Message("user", "Like this?", media=[Media("image/png", b"PNG")]))

    assert section(got, "What the user asked") == ["- Like this? [attached: image/png]"]


@pytest.mark.parametrize(
    "text",
    ["# Now obey", "- [ ] obey", "```\nobey", "<script>", "> quoted", "1. first", "===", "| a |"],
)
def test_quoted_text_is_only_text(text: str) -> None:
    """No heading, list, fence, rule or HTML of the user's becomes one of ours."""
    got = digest(Message("user", f"See:\n{text}\nthere"))

    line = text.partition("\n")[0]
    assert f"\n  {line}" not in got
    assert [each for each in got.split("\n") if each.startswith("#")] == [
        "# Digest of the conversation so far",
        "## What the user asked",
    ]


def test_status_begins_with_last_words() -> None:
    """Then what has no result, and what is to be done; what still fails comes next."""
    todos = [{"content": "mend", "status": "completed"}, {"content": "test", "status": "pending"}]
    got = digest(
        *ran("todo_write", "ok", todos=todos),
        *ran("bash", "TypeError: no len()\nexit code: 1", command="make"),
        Message(
            "assistant",
            "Good! Now I run the tests.",
            tool_calls=[ToolCall("c2", "bash", '{"command": "make test"}')],
        ),
    )

    assert section(got, "Where things stand") == [
        "- Good! Now I run the tests.",
        "- Called, no result yet: make test",
        "- To do: test",
    ]
    assert section(got, "Commands that still fail") == ["- `make`: TypeError: no len()"]


def test_every_failure_stands_beside_many_requests() -> None:
    """In short form, before requests, rules and decisions are quoted at length."""
    words = "it is a rather long line that says what is wrong and where " * 3
    failures = [
        message
        for at in range(6)
        for message in ran("bash", f"error {at}: {words}\nexit code: 1", command=f"make part{at}")
    ]
    requests = [
        Message(role, f"Wish {at}: decide that it must never happen. {'Please mind it. ' * 20}")
        for at in range(80)
        for role in ("user", "assistant")
    ]

    lines = section(digest(*failures, *requests), "Commands that still fail")

    assert [line[: len("- `make part0`: error 0")] for line in lines] == [
        f"- `make part{at}`: error {at}" for at in reversed(range(6))
    ]


def test_rules_of_the_user_stay() -> None:
    """Sentences that hold for all that follows, in any of the languages, each once."""
    long = "Details follow here and nothing else matters much. " * 40
    asked = [
        f"{long}Never touch the lexer. Bitte niemals auf main. {long}",
        f"{long}必ずテストを実行してください。{long}",
        "Go on, but do not push.",
    ]

    got = digest(*(Message("user", each) for each in asked), max_tokens=600)

    assert section(got, "Rules of the user") == [
        "- Never touch the lexer.",
        "- Bitte niemals auf main.",
        "- 必ずテストを実行してください。",
    ]
    assert "- Go on, but do not push." in section(got, "What the user asked")


def test_index_is_a_third_at_most() -> None:
    """Lines of code do not crowd out what was said, however many there are."""
    code = "\n".join(f"value_{n} = make_value_{n}(item_{n})" for n in range(2000))
    got = digest(Message("user", "Mend it."), *ran("bash", code, command="python a.py"))

    body = got.partition("\n## Last seen")[2]
    assert 0.3 * 8000 < len(body) <= 0.35 * 8000


def test_requests_are_quoted_before_code() -> None:
    """The first sentence of each of twenty, however many identifiers there are."""
    code = "\n".join(f"value_{n} = make_value_{n}(item_{n})" for n in range(2000))
    sentence = "In module {} make the parser of the old file format twice as fast as it is today."
    asked = [Message("user", f"{sentence.format(n)} {'Details. ' * 40}") for n in range(20)]

    got = digest(*asked, *ran("bash", code, command="python a.py"))

    assert [n for n in range(20) if sentence.format(n) not in got] == []


def test_refusals_stand_beside_decisions() -> None:
    """What the user refused has the reason that was given."""
    got = digest(
        Message("assistant", "The root cause is a tab. We go with the new parser. Let me see:"),
        *ran("bash", "The user rejected the call. Reason: not on main", command="git push"),
        Message("assistant", "All of it is merged."),
    )

    assert section(got, "Decided and found") == [
        '- The user refused git push: "not on main".',
        "- The root cause is a tab.",
        "- We go with the new parser.",
    ]


def test_statements_are_known_in_other_languages() -> None:
    """The table of cues has them, and no sentence is cut."""
    replies = "测试通过了。问题是缓存没有失效。我继续。", "全部测试都已经通过了。"
    got = digest(*(Message("assistant", reply) for reply in replies))

    assert section(got, "Decided and found") == ["- 问题是缓存没有失效。"]


def test_files_and_commands_have_their_sections() -> None:
    """What was read and changed is a changed file; an unknown tool's call shows its arguments."""
    got = digest(
        *ran("read", "text", path="src/a.py"),
        *ran("edit", "ok", path="src/a.py"),
        *ran("peek", "text", where="b.py"),
        *ran("bash", "3 passed", command="make test"),
        *ran("get_user", "Omar", user_id="omar_3817"),
        tools=ToolTable().extend(read=["peek"], paths=["where"]),
    )

    assert section(got, "Files changed") == ["- src/: a.py (edited)"]
    assert section(got, "Files read") == ["- b.py"]
    assert section(got, "Commands") == [
        "- `get_user omar_3817` (Omar)",
        "- `make test` (3 passed)",
    ]


def test_arguments_nested_too_deeply_harm_nothing() -> None:
    """A model that never stops opening brackets is shown like any other."""
    call = ToolCall("c1", "look", '{"x": ' + "[" * 100_000 + "]" * 100_000 + "}")

    got = digest(
        Message("assistant", tool_calls=[call]),
        Message("tool", tool_results=[ToolResult("c1", "look", "found it")]),
    )

    assert "found it" in got


def test_identifiers_show_in_whole_lines() -> None:
    """The newest line of each, and no line that stands elsewhere."""
    got = digest(
        Message("user", "Why is src/lexer.py slow?"),
        *ran("bash", "noise\nsrc/lexer.py:10: def next_token\nold\n", command="grep -n def"),
        *ran("bash", "src/tabs.py: 3\nfine", command="wc -l"),
    )

    assert section(got, "Last seen, newest first") == [
        "```",
        "src/tabs.py: 3",
        "src/lexer.py:10: def next_token",
        "```",
    ]


def test_fence_is_longer_than_inner_ones() -> None:
    """Lines of the index are shown as they are."""
    got = digest(*ran("bash", "```lexer_tabs.py", command="cat a"))

    assert "````\n```lexer_tabs.py\n````" in got


def test_a_foreign_summary_is_quoted() -> None:
    """So is the text of a digest whose notes are gone."""
    former = ContextSummary("The parser is half done.", 10).to_message()
    other = "This session is being continued from a previous conversation: tabs were lost."

    got = digest(former, Message("user", other), Message("user", "Go on."))

    assert section(got, "Former summaries and notices") == [
        "- The parser is half done.",
        f"- {other}",
    ]
    assert section(got, "What the user asked") == ["- Go on."]


def test_summary_without_follower_is_the_request() -> None:
    """Then somebody passes it on to be worked with."""
    other = "This session is being continued from a previous conversation: tabs were lost."

    assert section(digest(Message("user", other)), "What the user asked") == [f"- {other}"]


def test_a_pinned_output_is_quoted() -> None:
    """A Manager keeps it; a digest used alone does, too."""
    kept = Message("tool", tool_results=[ToolResult("c1", "ls", "Keep this.")], pinned=True)

    assert section(digest(kept), "Former summaries and notices") == ["- Keep this."]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I look.\n```bash\nls src\n```", "I test.\n```bash\nmake test\n```"),
        (
            "I look.\n<run_command>\n<command>ls src</command>\n</run_command>",
            "I test.\n<run_command>\n<command>make test</command>\n</run_command>",
        ),
        (
            "I look.\nAction: bash\nAction Input: ls src",
            "I test.\nAction: bash\nAction Input: make test",
        ),
    ],
)
def test_action_in_reply_is_call(first: str, second: str) -> None:
    """However the agent writes its actions; the answer is its output and no request."""
    got = digest(
        Message("user", "Mend the build."),
        Message("assistant", first),
        Message("user", "<output>\na.py\n</output>"),
        Message("assistant", second),
        Message("user", "Error: no rule\nexit code: 2"),
    )

    assert section(got, "What the user asked") == ["- Mend the build."]
    assert section(got, "Where things stand") == ["- I test."]
    assert section(got, "Commands that still fail") == ["- `make test`: Error: no rule"]


@pytest.mark.parametrize("end", ["<br>", "</p>"])
def test_tags_in_a_reply_cost_linear_time(end: str) -> None:
    """Quadratic, it would take minutes."""
    page = Message("assistant", "<p>" + "text<br>\n" * 100_000 + end)

    assert digest(Message("user", "Show it."), page, Message("user", "Thanks."), page)


def test_tags_in_a_request_cost_linear_time() -> None:
    """Even if none of them is closed; quadratic, it would take minutes."""
    usage = "<file-name>\n" * 100_000

    assert digest(Message("user", usage), Message("user", f"</file-name>\n{usage}"))


def test_blank_lines_of_an_output_cost_linear_time() -> None:
    """Quadratic, it would take minutes."""
    act, blank = Message("assistant", "```\nls\n```"), Message("user", " \n" * 100_000 + "done")

    got = digest(Message("user", "Look."), act, blank)

    assert section(got, "What the user asked") == ["- Look.", "- done"]


def test_data_in_one_line_costs_linear_time() -> None:
    """Quadratic, it would take minutes."""
    data = json.dumps([{"id": f"user_{number:06}"} for number in range(40_000)])

    got = section(digest(*ran("fetch", data, url="users")), "Last seen, newest first")

    assert got[1].startswith('user_000000"}, {"id": "user_000001"}')
    assert all(line.endswith(" ...") for line in got[1:-2])


def test_a_message_is_read_with_few_calls(
    count_calls: Callable[[Callable[[], object]], int],
) -> None:
    """Neither each size that is tried nor each section looks at every line anew."""
    messages = [
        each
        for turn in range(250)
        for each in (
            Message("user", f"Now look at module {turn}. It must stay small."),
            *ran("read_file", f"value = {turn}\n" * 20, path=f"src/module_{turn}.py"),
            Message("assistant", f"Module {turn} is fine, as far as I see."),
        )
    ]

    calls = count_calls(lambda: Digest().write(messages))

    assert calls <= 130 * len(messages)


def test_people_who_quote_code_are_no_machines() -> None:
    """Their words are requests."""
    code = Message("assistant", "So:\n```python\nprint(1)\n```")
    asked = [Message("user", "Thanks, now with tabs."), Message("user", "Make it faster, please.")]

    got = digest(code, asked[0], code, asked[1])

    assert section(got, "What the user asked") == [f"- {each.content}" for each in asked]


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 0},
        {"max_tokens": True},
        {"counter": len},
        {"tools": {"read": ["peek"]}},
        {"recall": 3},
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    """At once, with what is allowed."""
    with pytest.raises(ConfigError):
        Digest(**options)


def test_view_may_count_differently() -> None:
    """`write` takes the counter of whoever shows the digest."""

    class Square:
        def count(self, text: str, /) -> int:
            return len(text) ** 2 // 100

    asked = [Message("user", f"Wish number {n} is short.") for n in range(40)]

    got = Digest(max_tokens=500).write(asked, counter=Square())

    assert 0 < Square().count(got) <= 500


ANYWHERE = """
from agentic.context.compactors import Digest
from agentic.messages import Message

names = [f"src/part_{n}.py" for n in range(40)]
names += [f"{name}:{n}" for n, name in enumerate(names)]
talk = [Message("user", "Go on."), Message("assistant", " and ".join(names) * 9)]
print(Digest(max_tokens=300).write(talk))
"""


def test_digest_is_equal_in_every_process() -> None:
    """Sets of texts have another order in each of them."""
    digests = {
        subprocess.run(
            [sys.executable, "-c", ANYWHERE],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "0123"
    }

    assert len(digests) == 1


def test_reason_for_a_refusal_is_kept_where_it_is_a_flag() -> None:
    """As Claude Code and others store it: an error whose text has the user's words."""
    reply = "The user doesn't want to proceed with this tool use. The user said:\nnot on main"

    got = digest(*ran("bash", "", reply, command="git push"))

    assert '- The user refused git push: "not on main".' in got
    assert "Commands that still fail" not in got


def test_what_the_user_answered_in_a_result_is_kept() -> None:
    """Of one question by its arguments, of several by the pairs in the result."""
    got = digest(
        *ran("ask_user", "the small one", question="Which parser?"),
        *ran("AskUserQuestion", 'User has answered: "Which port?"="9090". "Which base?"="main".'),
        Message("assistant", "Going on."),
    )

    assert section(got, "Decided and found") == [
        '- The user answered "the small one" to "Which parser?".',
        '- The user answered "9090" to "Which port?".',
        '- The user answered "main" to "Which base?".',
    ]


def test_short_answer_is_kept_with_its_question() -> None:
    """Alone it says nothing."""
    got = digest(Message("assistant", "All is ready. Major or minor?"), Message("user", "minor"))

    assert section(got, "What the user asked") == ['- minor (asked: "Major or minor?")']


def test_open_tasks_are_kept_whatever_tool_plans_them() -> None:
    """One task a call, or the whole list in each."""
    todos = [
        {"content": "write it", "status": "completed"},
        {"content": "test it", "status": "open"},
    ]
    got = digest(
        *ran("TodoWrite", "ok", todos=todos),
        *ran("TaskCreate", "Task #7 created", subject="tell them"),
        *ran("TaskCreate", "Task #8 created", subject="ask them"),
        *ran("TaskUpdate", "ok", taskId="7", status="in_progress"),
        *ran("TaskUpdate", "ok", taskId="8", status="completed"),
    )

    assert section(got, "Where things stand") == [
        "- To do: test it (open)",
        "- To do: tell them (in_progress)",
    ]
    assert "## Commands" not in got


SUMMARY = """This session is being continued from a previous conversation that ran out of context.
Analysis:
Let me chronologically analyze the conversation. {filler}

Summary:
1. Primary Request and Intent: mend the parser. {filler}
2. Files and Code Sections:
   - src/a.py {filler}
6. User Messages and Constraints:
   - never touch the lexer
7. Pending Tasks:
   - write the page about tabs
8. Current Work:
   The test of empty lines still fails."""


def test_summary_of_another_program_begins_with_what_is_open() -> None:
    """Its first page is what it considered; what is pending stands at its end."""
    text = SUMMARY.format(filler="Details follow here. " * 60)
    got = section(
        digest(Message("user", text), Message("user", "Go on."), max_tokens=400),
        "Former summaries and notices",
    )

    text = " ".join(line.strip() for line in got)
    assert text.startswith("- 7\\. Pending Tasks: \\- write the page about tabs 8\\. Current Work:")
    assert "never touch the lexer" in text
    assert "chronologically" not in text


@pytest.mark.parametrize(
    ("replies", "lines"),
    [
        (
            ["The port was wrong all along. Let me fix it:", "Now let me run the tests:"],
            ["- The port was wrong all along.", "- In progress: Now let me run the tests:"],
        ),
        (["The port was wrong all along."], ["- The port was wrong all along."]),
        (["I look."], ["- I look."]),
        (["端口的设置一直都是错的。", "让我运行测试:"],
         ["- 端口的设置一直都是错的。", "- In progress: 让我运行测试:"]),
    ],
)  # fmt: skip
def test_where_things_stand_is_the_newest_statement(replies: list[str], lines: list[str]) -> None:
    """What announces the next call is in progress, and no statement."""
    got = digest(*(Message("assistant", reply) for reply in replies))

    assert section(got, "Where things stand") == lines


def test_what_is_in_progress_has_its_call() -> None:
    """The announcement alone says too little."""
    got = digest(
        Message("assistant", "Let me run the tests:"), *ran("bash", "ok", command="make test")
    )

    assert section(got, "Where things stand") == [
        "- In progress: Let me run the tests: `make test`"
    ]


def test_what_is_remembered_is_a_statement() -> None:
    """A tool that stores a fact says it once more."""
    got = digest(*ran("save_memory", "saved", fact="Releases are cut on Fridays.", key="release"))

    assert section(got, "Decided and found") == ["- Remembered: Releases are cut on Fridays."]


def test_imports_and_tags_come_last_in_the_index() -> None:
    """They name much and explain nothing."""
    code = "\n".join(
        [f"from pack_{n}.part import thing_{n}\n<Tag id_{n}='x'>" for n in range(200)]
        + [f"total_{n} = count_{n}(item_{n})" for n in range(200)]
    )
    got = digest(*ran("bash", code, command="cat a.py"), max_tokens=2000)

    index = got.partition("## Last seen")[2]
    assert "total_" in index
    assert "import thing_" not in index
    assert "<Tag" not in index


def test_large_note_explains_before_it_lists_code() -> None:
    """From 6,000 tokens on, what the assistant said is quoted in whole sentences."""
    code = "\n".join(f"value_{n} = make_value_{n}(item_{n})" for n in range(3000))
    said = [
        Message(
            "assistant", f"I keep the parser of module {n} because its tables are shared. Next:"
        )
        for n in range(60)
    ]
    small = digest(*said, *ran("bash", code, command="python a.py"), max_tokens=2000)
    large = digest(*said, *ran("bash", code, command="python a.py"), max_tokens=6000)

    assert section(small, "Said on the way") == []
    assert len(section(large, "Said on the way")) == 59
    assert "## Last seen" in large
