from agentic.messages import Media, Message, ToolCall, ToolResult
from agentic.providers import cohere


def test_text_before_call_is_plan() -> None:
    """An edited message keeps its place on the wire; what one says without calls is content."""
    call = ToolCall("c1", "read", "{}")
    result = Message("tool", tool_results=[ToolResult("c1", "read", "text")])
    said = Message("assistant", "I look.", tool_calls=[call])

    sent = cohere.encode([Message("user", "Go."), said, result, Message("assistant", "Done.")])

    assert [each.get("tool_plan", each.get("content")) for each in sent] == [
        "Go.",
        "I look.",
        "text",
        "Done.",
    ]


def test_user_image_is_sent_others_named() -> None:
    """A tool may send only text, and no role a PDF."""
    image, pdf = Media("image/png", b"\x89PNG"), Media("application/pdf", b"%PDF")
    call = Message("assistant", tool_calls=[ToolCall("c1", "look", "{}")])
    shown = Message("tool", tool_results=[ToolResult("c1", "look", "a tree")], media=[image])

    sent = cohere.encode([Message("user", "See.", media=[image, pdf]), call, shown])

    assert [part["type"] for part in sent[0]["content"]] == ["text", "image_url"]
    assert "[application/pdf]" in sent[0]["content"][0]["text"]
    assert sent[2]["content"] == "a tree\n[image/png]"
