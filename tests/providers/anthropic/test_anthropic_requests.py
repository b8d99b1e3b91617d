"""What else a request holds: the system prompt, the summary, the tools."""

from agentic.messages import ContextSummary, Message
from agentic.providers import anthropic
from agentic.tools import ToolDefinition


def test_summary_is_no_system_prompt_block() -> None:
    """It is a user message of its own after the leading system messages."""
    summary = ContextSummary("The build is red.", 4).to_message()
    messages = [Message("system", "Be kind."), summary, Message("user", "Why?")]

    request = anthropic.encode_request(messages, system_prompt="Be brief.")

    assert list(request) == ["system", "messages"]
    assert [block["text"] for block in request["system"]] == [
        "Be brief.",
        "Be kind.",
    ]
    assert request["messages"] == [
        {"role": "user", "content": summary.content},
        {"role": "user", "content": "Why?"},
    ]


def test_single_system_part_is_a_text() -> None:
    """Blank ones do not count."""
    messages = [Message("system", " \n"), Message("user", "Why?")]

    assert anthropic.encode_request(messages, system_prompt="Be brief.")["system"] == "Be brief."
    assert "system" not in anthropic.encode_request(messages)


def test_tools_are_told_with_their_schema() -> None:
    """A name that the API refuses is rewritten as in the calls; only its own callers are named."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    tools = [
        ToolDefinition("read", "Read a file.", schema),
        ToolDefinition("fs.write"),
        ToolDefinition("run", allowed_callers=["direct", "code_execution_20250825", "cron"]),
    ]

    read, write, run = anthropic.encode_request([], tools=tools)["tools"]

    assert read == {"name": "read", "description": "Read a file.", "input_schema": schema}
    assert write["name"].startswith("fs_write_")
    assert run["allowed_callers"] == ["direct", "code_execution_20250825"]
    assert (
        anthropic.validate({"messages": [{"role": "user", "content": "?"}], "tools": [write]}) == []
    )
