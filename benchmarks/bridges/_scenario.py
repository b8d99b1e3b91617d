"""The conversation that every bridge is measured on: 40 turns, and tool outputs that grow.

A turn is a request, a call of one tool, its output, and a reply. A message carries its number as a
marker (`m0017`), and an output names files. So everything is counted in the text that arrived at a
model, whatever the framework's types are. Nothing here imports agentic.
"""

import json
import re
from collections.abc import Sequence
from itertools import pairwise

import attrs

__all__ = ["TURNS", "WINDOW", "Figures", "Recorder", "ScenarioTurn", "numbered_lines", "turns"]

WINDOW = 16_000
"""The window in tokens, for the framework's own middleware and for ours."""
TURNS = 40
_LINES_PER_TURN = 6
_CHARS_PER_TOKEN = 4
_SUMMARY_FILES = 60
"""The model that summarizes keeps the newest files that it reads, as a short summary does."""
_MARKER = re.compile(r"m\d{4}\b")
_FILE = re.compile(r"src/part\d+/file\d+\.py\b")


@attrs.frozen
class ScenarioTurn:
    """What happens in one turn."""

    request: str
    call_id: str
    path: str
    """The argument `path` of the call of the tool `read`."""
    output: str
    reply: str


def numbered_lines(number: int, count: int) -> str:
    """Return the text of an output: `count` lines, of which every sixth names a file.

    >>> print(numbered_lines(3, 2))
    src/part3/file0.py imports what line 0 of part 3 defines
    line 1 of part 3 says nothing that is needed later
    """
    return "\n".join(
        f"src/part{number}/file{line}.py imports what line {line} of part {number} defines"
        if line % 6 == 0
        else f"line {line} of part {number} says nothing that is needed later"
        for line in range(count)
    )


def turns(count: int = TURNS) -> tuple[ScenarioTurn, ...]:
    """Return the turns; the output of turn `n` has 6 lines more than the one before it."""
    return tuple(
        ScenarioTurn(
            request=f"m{4 * n:04d} Read src/part{n}/file0.py and say what it imports.",
            call_id=f"call_{n}",
            path=f"src/part{n}/file0.py?m{4 * n + 1:04d}",
            output=f"m{4 * n + 2:04d} {numbered_lines(n, _LINES_PER_TURN * (n + 1))}",
            reply=f"m{4 * n + 3:04d} It imports line 0 of part {n}.",
        )
        for n in range(count)
    )


@attrs.frozen
class Figures:
    """What one run cost, and what its last request still contained."""

    requests: int
    summaries: int
    messages_summarized: int
    """Counted once for every summary that a message was sent for."""
    tokens_sent: int
    """To the agent's model and to the one that summarizes, at 4 characters a token."""
    largest_request: int
    """In tokens, at 4 characters a token."""
    prefix_reused: float
    """The share of the agent's requests that a prompt cache had seen: 0 to 1."""
    evidence_kept: float
    """The share of all the files ever named that the last request contains: 0 to 1."""


@attrs.define
class Recorder:
    """Stands behind the two models of a run, and sees every text that they get."""

    sent: list[str] = attrs.field(factory=list)
    prompts: list[str] = attrs.field(factory=list)

    def request(self, texts: Sequence[object]) -> None:
        """Record a request: its messages in order, as text or as JSON data."""
        parts = (text if isinstance(text, str) else json.dumps(text) for text in texts)
        self.sent.append("\n".join(parts))

    def summarize(self, prompt: str) -> str:
        """Record a request to the summarizing model, and return its summary."""
        self.prompts.append(prompt)
        files = list(dict.fromkeys(_FILE.findall(prompt)))[-_SUMMARY_FILES:]
        return "\n".join(["## Files read", *files])

    def figures(self) -> Figures:
        """Return the figures of the requests recorded so far."""
        sent = self.sent
        total = sum(map(len, sent))
        reused = sum(_shared(*pair) for pair in pairwise(sent))
        named = {name for turn in turns() for name in _FILE.findall(turn.output)}
        return Figures(
            requests=len(sent),
            summaries=len(self.prompts),
            messages_summarized=sum(len(set(_MARKER.findall(each))) for each in self.prompts),
            tokens_sent=(total + sum(map(len, self.prompts))) // _CHARS_PER_TOKEN,
            largest_request=max(map(len, sent), default=0) // _CHARS_PER_TOKEN,
            prefix_reused=reused / total if total else 0.0,
            evidence_kept=len(named & set(_FILE.findall(sent[-1]))) / len(named) if sent else 0.0,
        )


def _shared(former: str, text: str) -> int:
    """Return how many characters two texts have in common at their beginnings."""
    low, high = 0, min(len(former), len(text))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text.startswith(former[:middle]) else (low, middle - 1)
    return low
