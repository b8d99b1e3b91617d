"""Names of tools, and ids, that a provider refuses: what is sent in their place, and the way back.

Rewriting is deterministic, so that a tool and its calls, a call and its result, and the requests of
one history agree. A digest keeps apart what the rewriting would make alike.
"""

import hashlib
import re
from collections.abc import Iterable

import attrs

from agentic.loop import Decision
from agentic.tools import ToolDefinition

__all__ = ["NameRule"]

_OTHER = re.compile(r"[^a-zA-Z0-9_-]")


@attrs.frozen
class NameRule:
    """What a provider takes as the name of a tool, or as the id of a call."""

    accepted: re.Pattern[str]
    """Matches the whole of it. What starts with _, and has letters, digits, _ and - after it, is
    to be accepted up to `longest`."""
    longest: int
    """In characters."""

    def accept(self, name: object) -> bool:
        """Tell whether a name is sent as it is."""
        return isinstance(name, str) and self.accepted.fullmatch(name) is not None

    def wire(self, name: str) -> str:
        """Give the name to send: the tool's own where that will do.

        >>> rule = NameRule(re.compile("[a-z_][a-z0-9_]*"), 64)
        >>> rule.wire("read"), rule.wire("files.read"), rule.wire("2 files")
        ('read', 'files_read_601e4eb6', '_2_files_ad2c7750')
        """
        if self.accept(name):
            return name
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        rewritten = f"{_OTHER.sub('_', name)[: self.longest - 10]}_{digest}"
        return rewritten if self.accept(rewritten) else f"_{rewritten}"

    def restore(self, decision: Decision, tools: Iterable[ToolDefinition]) -> Decision:
        """Give the calls of a decision the tools' own names again."""
        ours = {self.wire(tool.name): tool.name for tool in tools}
        calls = [
            attrs.evolve(call, name=ours.get(call.name, call.name)) for call in decision.tool_calls
        ]
        return attrs.evolve(decision, tool_calls=calls)
