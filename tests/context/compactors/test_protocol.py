from collections.abc import Callable

import pytest

from agentic.messages import Message

Run = Callable[..., str]
Cut = Callable[[str, str], str]


def _talk(*pairs: tuple[str, str]) -> list[Message]:
    return [
        Message(role, text)
        for pair in pairs
        for role, text in zip(("assistant", "user"), pair, strict=True)
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I look.\n```bash\nls src\n```", "I test.\n```bash\nmake test\n```"),
        (
            "I look.\n<run_command>\n<command>ls src</command>\n</run_command>",
            "<run_command>\n<command>make test</command>\n</run_command>",
        ),
        (
            "Thought: look\nAction: bash\nAction Input: ls src",
            "Action: bash\nAction Input: make test",
        ),
    ],
)
def test_an_action_in_a_reply_is_a_call_and_its_answer_an_output(
    digest: Run, section: Cut, first: str, second: str
) -> None:
    """However the agent writes its actions."""
    got = digest(
        Message("user", "Mend the build."),
        *_talk((first, "<output>\na.py\n</output>"), (second, "Error: no rule\nexit code: 2")),
    )

    assert section(got, "Asked by the user") == "- Mend the build."
    assert section(got, "Commands and their outcome") == (
        "- `ls src` -> a.py\n- `make test` -> failed, exit 2"
    )


def test_answers_of_a_person_to_code_are_requests(digest: Run, section: Cut) -> None:
    """Somebody who only talks about code is no machine."""
    code = "So:\n```python\nprint(1)\n```"

    got = digest(*_talk((code, "Thanks, now with tabs."), (code, "And make it faster, please.")))

    assert section(got, "Asked by the user") == (
        "- Thanks, now with tabs.\n- And make it faster, please."
    )


def test_an_agent_with_tool_calls_has_no_actions_in_its_text(
    digest: Run, called: Callable[..., list[Message]], section: Cut
) -> None:
    """Then a fenced block is an example, and a user is a user."""
    got = digest(
        *called("bash", "ok", command="ls"),
        *_talk(("```\nls\n```", "$ that fails"), ("```\nls\n```", "$ that fails too")),
    )

    assert section(got, "Asked by the user") == "- $ that fails\n- $ that fails too"
