"""The parts of a message of OpenCode: texts, calls with their results, and what a step used."""

from agentic.app.replay._formats._format import Entry
from agentic.app.replay._formats._usage import separate_usage
from agentic.app.replay._parts import make_result
from agentic.app.replay._reading import Reading
from agentic.messages import ToolResult
from agentic.providers.kit import at, text_at
from agentic.usage import Usage

_READ = {"text", "reasoning", "tool", "file"}
_SILENT = {
    *("step-start", "step-finish", "snapshot", "patch", "compaction", "retry", "agent"),
    *("subtask",),
}
"""Parts that are not sent as such: what they bring in is a text part of its own."""


def usage_of(parts: list[Entry]) -> Usage | None:
    """Return what the last request of a step used."""
    ends = [part for part in parts if part.get("type") == "step-finish"]
    tokens = at(ends[-1], "tokens") if ends else None
    if not isinstance(tokens, dict):
        return None
    cache = tokens.get("cache")
    counts = {"input": tokens.get("input"), "read": at(cache, "read"), "write": at(cache, "write")}
    return separate_usage(counts, ("input", "read", "write"), tokens.get("output"))


def skip_unknown(parts: list[Entry], reading: Reading) -> None:
    """Count the parts whose kind is not known."""
    for part in parts:
        kind = part.get("type")
        if kind not in (*_READ, *_SILENT):
            reading.skip(f"part of the kind {kind!r}", part)


def result_of(part: Entry) -> ToolResult:
    """Return the result of a tool part."""
    is_error = at(part, "state", "status") == "error"
    text = text_at(part, "state", "error" if is_error else "output")
    return make_result(text_at(part, "callID"), text_at(part, "tool"), text, is_error=is_error)


def texts_of(parts: list[Entry], kind: str) -> str:
    """Return the texts of a kind; those that the user excluded were not sent."""
    texts = [
        text_at(part, "text")
        for part in parts
        if part.get("type") == kind and not part.get("ignored")
    ]
    return "\n".join(filter(None, texts))
