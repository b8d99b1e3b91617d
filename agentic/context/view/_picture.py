"""What fills the window, as a bar: in a notebook as HTML, in a terminal by rich.

Whatever comes from a conversation is escaped, or is plain text without markup.
"""

import html
from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from agentic.context.view._draft import Draft
from agentic.context.view._explain import Removal, explain
from agentic.context.view._prepared import EpochNote
from agentic.messages import Message
from agentic.tokens._count import TokenCache

_CELLS = 60
"""The width of the bar in a terminal."""
_COLORS = {
    "system": "#5f6873",
    "tools": "#8b3aa8",
    "summary": "#c2410c",
    "requests": "#0b67b2",
    "replies": "#00795f",
    "outputs": "#8a6400",
    "free": "#b9beb7",
}
"""Every kind of content, in the order of the bar."""
_NAMES = ("white", "magenta", "red", "blue", "green", "yellow", "bright_black")
_TERMINAL = dict(zip(_COLORS, _NAMES, strict=True))


@attrs.frozen
class WindowPart:
    """The size of one kind of content in a request."""

    kind: str
    """`system`, `tools`, `summary`, `requests`, `replies`, `outputs` or `free`."""
    tokens: int


def measure_parts(
    messages: Iterable[Message], token_cache: TokenCache, *, system: int, tools: int, window: int
) -> tuple[WindowPart, ...]:
    """Return the kinds of content that a request holds, with what is left of the window as `free`.

    All sizes are in tokens by the counter. Without a window (0), nothing is free.
    """
    sizes = dict.fromkeys(_COLORS, 0) | {"system": system, "tools": tools}
    for message in messages:
        sizes[_kind(message)] += token_cache.count_message(message)
    sizes["free"] = max(0, window - sum(sizes.values()))
    return tuple(WindowPart(kind, tokens) for kind, tokens in sizes.items() if tokens)


def _kind(message: Message) -> str:
    if message.summary is not None:
        return "summary"
    return {"user": "requests", "assistant": "replies", "tool": "outputs"}.get(
        message.role, "system"
    )


class Explanation(list[Removal]):
    """What is missing from a request or shortened in it, and what fills its window.

    It is a list of `Removal`. A notebook and rich show it as a bar and a table.

    >>> shown = Explanation([], [WindowPart("requests", 750), WindowPart("free", 250)])
    >>> shown == []
    True
    >>> print(shown.as_text())
    requests 750 (75%), free 250 (25%)
    Nothing is left out.
    """

    def __init__(
        self,
        removals: Iterable[Removal] = (),
        parts: Iterable[WindowPart] = (),
        epoch: EpochNote | None = None,
    ) -> None:
        super().__init__(removals)
        self.parts = tuple(parts)
        self.epoch = EpochNote() if epoch is None else epoch

    @classmethod
    def of_draft(
        cls, draft: Draft, token_cache: TokenCache | None, window: int, epoch: EpochNote
    ) -> "Explanation":
        """Explain a draft that was sent. Without a counter, the sizes of its parts are unknown."""
        removals = explain(draft.branch, draft.repaired, draft.stages, token_cache)
        parts: tuple[WindowPart, ...] = ()
        if token_cache is not None:
            system = min(token_cache.count_text(draft.system_prompt), draft.overhead_tokens)
            tools = draft.overhead_tokens - system
            parts = measure_parts(
                draft.view, token_cache, system=system, tools=tools, window=window
            )
        return cls((attrs.evolve(each, epoch=epoch.changes) for each in removals), parts, epoch)

    def as_text(self) -> str:
        """Return the sizes, why the epoch began and at what price, and a line for each removal."""
        sizes = ", ".join(f"{p.kind} {p.tokens:,} ({self._percent(p)})" for p in self.parts)
        lines = [" ".join(filter(None, _cells(each))) for each in self]
        return "\n".join(
            filter(None, [sizes, self.epoch.sentence, *(lines or ["Nothing is left out."])])
        )

    def _percent(self, part: WindowPart) -> str:
        return f"{part.tokens / max(1, sum(each.tokens for each in self.parts)):.0%}"

    def _repr_html_(self) -> str:
        """Return the bar and the table for a notebook."""
        bar = "".join(
            f'<span title="{p.kind}: {p.tokens:,} tokens" style="flex:{p.tokens} 0 0;'
            f'background:{_COLORS[p.kind]}"></span>'
            for p in self.parts
        )
        key = " · ".join(
            f'<span style="color:{_COLORS[p.kind]}">■</span> {p.kind} {p.tokens:,} '
            f"({self._percent(p)})"
            for p in self.parts
        )
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(each)) + "</tr>"
            for each in self
        )
        if self.epoch.sentence:
            key += f"<br>{html.escape(self.epoch.sentence)}"
        table = f"<table>{rows}</table>" if rows else "<p>Nothing is left out.</p>"
        return (
            '<div><div style="display:flex;height:1.2em;overflow:hidden;border-radius:4px">'
            f"{bar}</div><p>{key}</p>{table}</div>"
        )

    def __rich_console__(self, *_: Any) -> Iterator[Any]:
        """Yield the bar, its key, and a line for each removal."""
        from rich.text import Text  # noqa: PLC0415  only rich calls this

        total = max(1, sum(part.tokens for part in self.parts))
        bar = Text()
        for part in self.parts:
            # At least one cell, so that nothing that is there looks absent.
            bar.append("█" * max(1, round(_CELLS * part.tokens / total)), _TERMINAL[part.kind])
        yield bar
        # A Text of its own: in a str, rich would take brackets for markup.
        yield Text(self.as_text())


def _cells(removal: Removal) -> tuple[str, ...]:
    how = "shortened" if removal.shortened else "left out"
    count = len(removal.positions)
    messages = f"{count:,} message{'' if count == 1 else 's'}"
    where = f"The whole is {removal.where}." if removal.where else ""
    size = f"{removal.tokens:,} tokens:"
    return removal.part, how, messages, size, f"{removal.reason}.", where
