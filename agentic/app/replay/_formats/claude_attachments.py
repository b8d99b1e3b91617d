"""What Claude Code attaches to a request: typed requests, files, hints of hooks and of the editor.

Each is an entry of the type `attachment`, with an object that has a `type`. Described in
https://github.com/ticpu/claude-conversation-search-mcp/blob/main/docs/jsonl-format.md (2026-11).
"""

from typing import Any

from agentic.app.replay._reading import Reading
from agentic.providers.kit import text_at

_SENT = {
    *("queued_command", "file", "edited_text_file", "directory", "nested_memory", "pdf_reference"),
    *("selected_lines_in_ide", "opened_file_in_ide", "hook_additional_context", "mcp_resource"),
    *("plan_file_reference", "hook_success", "hook_blocking_error", "diagnostics", "plan_mode"),
    *("critical_system_reminder", "task_status", "relevant_memories", "invoked_skills"),
}
_NOT_SENT = {
    *("already_read_file", "command_permissions", "hook_cancelled", "hook_non_blocking_error"),
    *("hook_error_during_execution", "hook_permission_decision", "hook_system_message"),
    *("todo_reminder", "task_reminder", "todo", "deferred_tools_delta", "structured_output"),
    *("compact_file_reference", "agent_mention", "skill_listing", "date_change", "auto_mode"),
    *("hook_stopped_continuation", "async_hook_response", "mcp_instructions_delta"),
}
"""Those without a text of their own, or whose text is that of the program."""
_TEXTS = ("prompt", "content", "snippet", "text", "message")


def attachment_text(attachment: Any, reading: Reading) -> str:
    """Return what the model read of an attachment; empty if it was not sent.

    >>> attachment_text({"type": "queued_command", "prompt": "And b.py."}, Reading())
    'And b.py.'
    """
    kind = text_at(attachment, "type")
    if not isinstance(attachment, dict) or kind not in _SENT:
        if kind not in _NOT_SENT:
            reading.skip(f"attachment of the kind {kind or 'none'!r}", attachment)
        return ""
    text = "\n".join(_texts(attachment))
    name = next((attachment[key] for key in ("filename", "path") if text_at(attachment, key)), "")
    return f"{name}\n{text}" if name and text else text


def _texts(item: Any) -> list[str]:
    """Return the texts below the keys that hold them, at any depth."""
    if isinstance(item, str):
        return [item]
    if isinstance(item, list):
        return [text for each in item for text in _texts(each)]
    if isinstance(item, dict):
        inner = [item[key] for key in (*_TEXTS, "file") if key in item]
        return [text for each in inner for text in _texts(each)]
    return []
